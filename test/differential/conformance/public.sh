#!/bin/sh
# SPDX-License-Identifier: MIT
# public.sh RUNNER TESTS PLUGIN: run bpf_conformance's runner on its tests with
# our interpreter and our machine code. TESTS defaults to the folder tests/ in
# or above the runner's. Fails where the runner does not pass every test, or
# passes none.
set -u
runner=$1 tests=$2 plugin=$3
if ! [ -x "$runner" ]; then
	echo "check-conformance: no program at RUNNER='$runner': give the path of" \
		"bpf_conformance_runner (github.com/Alan-Jowett/bpf_conformance)" >&2
	exit 64
fi
dir=$(cd "$(dirname "$runner")" && pwd)
while [ -z "$tests" ] && [ "$dir" != / ]; do
	[ -d "$dir/tests" ] && tests=$dir/tests
	dir=$(dirname "$dir")
done
if ! [ -d "$tests" ]; then
	echo "check-conformance: no folder of tests: give TESTS=dir" >&2
	exit 64
fi
rc=0
for engine in interpret jit; do
	out=$("$runner" --test_file_directory "$tests" --plugin_path "$plugin" \
		--plugin_options "--$engine" --cpu_version "${CPU:-v4}" 2>&1) || rc=1
	printf '%s\n' "$out" | grep -v '^PASS\|^SKIP' | sed "s/^/$engine: /"
	printf '%s\n' "$out" | grep -q '^PASS' || rc=1
done
exit $rc
