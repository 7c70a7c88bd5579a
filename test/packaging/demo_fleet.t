#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# make demo-fleet, as a user sees it: three sites change together, an agent and
# the store fail and come back, the change is undone.
if ! command -v etcd >/dev/null; then
	echo "1..0 # SKIP the demo of several hosts: etcd-server is not installed"
	exit 0
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
. "$TOP/test/tap.sh"
log=$out
timeout -k 10 550 "$TOP/examples/fleet/demo.sh" "$B" >"$out" 2>&1
say $? "the demo runs to its end"
grep -q '^llm  *3 .* 6  *6  *0  *attachable$' "$out"
say $? "list: three sites, six processes"
# the first change waits until all sites have registered
[ "$(grep -cE '^[0-9a-f]{16}  committed .* 6 ' "$out")" -eq 3 ] &&
	[ "$(grep -c '^policy .*: committed, generation' "$out")" -eq 3 ]
say $? "all six ranks have passed each of the three changes"
grep -qi 'policy use: http://127.0.0.1:[0-9]*/.*connect' "$out" &&
	grep -q '^\[exit status 69\]$' "$out"
say $? "without the store a change is refused, with the reason"
grep -qE '^[0-9a-f]{16} .* size_aware,force ' "$out"
say $? "and the job keeps what it has"
grep -q 'policy undo .*committed as generation' "$out"
say $? "the undo is in the audit"
echo "1..$n"
