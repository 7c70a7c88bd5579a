#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The CPU's number without the kernel's area (rseq refused by the user): both
# engines ask the C library, and see the same per-CPU values.
set -u
n=0 failed=0
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
ok() { # claim, command...
	claim=$1
	shift
	n=$((n + 1))
	if GLIBC_TUNABLES=glibc.pthread.rseq=0 "$@" >"$dir/out" 2>&1; then
		echo "ok $n - $claim"
	else
		sed 's/^/# /' "$dir/out"
		echo "not ok $n - $claim"
		failed=1
	fi
}
asked() {
	"$B/test/unit/test_jit_inline" >"$dir/inline" 2>&1 || {
		cat "$dir/inline"
		return 1
	}
	grep -E 'CPU number: call|# SKIP' "$dir/inline"
}
ok "machine code and interpreter ask" asked
ok "helpers ask" "$B/test/unit/test_trace"
ok "loops over a map's elements" "$B/test/unit/test_callbacks"
ok "random programs, both engines" env JIT_PROGRAMS=2000 "$B/test/unit/test_jit_random"
echo "1..$n"
exit $failed
