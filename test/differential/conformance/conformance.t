#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# The interpreter and the compiler agree with bpf_conformance's programs, whose
# data files are not a part of this repository.
set -u
if [ -z "${SHARED:-}" ] || [ ! -d "$SHARED/conformance" ]; then
	echo "1..0 # SKIP conformance: no data files in ../shared/conformance"
	exit 0
fi
engines=--interpret
[ "$(uname -m)" = x86_64 ] && engines="$engines --jit"
failed=0
for engine in $engines; do
	"$B/test/differential/conformance/run" "$B/test/differential/conformance/plugin" \
		"$SHARED/conformance" $engine || failed=1
done >"${TMPDIR:-/tmp}/conformance.$$"
# one plan for all
awk '/^(not )?ok /{ n++; sub(/ok [0-9]+/, "ok " n) } /^1\.\./{ next } { print }
	END { print "1.." n }' "${TMPDIR:-/tmp}/conformance.$$"
rm -f "${TMPDIR:-/tmp}/conformance.$$"
exit $failed
