#!/bin/sh
# SPDX-License-Identifier: MIT
# A reload without a fence stops a job and is explained; one with a fence does
# not stop it.
out=$(mktemp)
trap 'rm -f "$out"' EXIT
n=0
is() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		sed 's/^/# /' "$out"
	fi
}
timeout 100 "$TOP/examples/coherence/demo.sh" "$B" >"$out" 2>&1
is $? "the demo runs to its end"
[ "$(grep -c 'the first decision that differs is number\|decisions kept that differs' "$out")" -eq 2 ]
is $? "the decision is named, by the living and by the dead"
grep -q '8 of 8 ranks here, compared up to decision [0-9]*: agree' "$out"
is $? "with a fence all ranks agree"
echo "1..$n"
