#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# A reload without a fence stops a job and is explained; one with a fence does
# not stop it: with the real NCCL on virtual GPUs, and with the stand-in.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
demo() { # output
	timeout -k 10 550 "$TOP/examples/coherence/demo.sh" "$B" >"$1" 2>&1
	echo $? >"$1.rc"
}
shows() { # host, output
	say "$(cat "$2.rc")" "$1: the demo runs to its end" "$2"
	differs='the first decision that differs is number\|recorded decision that differs'
	[ "$(grep -c "$differs" "$2")" -eq 2 ]
	say $? "$1: the decision is named, by the living and by the dead" "$2"
	[ "$(grep -c '^\[exit status 2\]$' "$2")" -eq 2 ]
	say $? "$1: with exit status 2" "$2"
	grep -q '8 of 8 ranks here, compared up to decision [0-9]*: agree' "$2"
	say $? "$1: with a fence all ranks agree" "$2"
}
DEMO_HOST=standin demo "$dir/standin" &
demo "$dir/real"
wait
shows "stand-in" "$dir/standin"
if grep -q 'mock NCCL' "$dir/real"; then
	echo "ok $((n + 1)) - real NCCL # SKIP no libnccl 2.28.9 with CUDA headers"
	echo "1..$((n + 1))"
	exit 0
fi
shows "real NCCL" "$dir/real"
grep -q '^    rank [0-9 ]*: AllReduce' "$dir/real"
say $? "real NCCL: the launches that wait for each other are shown" "$dir/real"
echo "1..$n"
