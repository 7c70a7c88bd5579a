#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# make demo-closed-loop, with shorter intervals: channels go 2, 12, 2, 12 on
# all ranks alike, with the real NCCL on virtual GPUs and with the stand-in.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
demo() { # output
	timeout -k 10 550 "$TOP/examples/closed-loop/demo.sh" "$B" 60 >"$1" 2>&1
	echo $? >"$1.rc"
}
shows() { # host, output
	say "$(cat "$2.rc")" "$1: the demo runs to its end" "$2"
	same='^[1-9][0-9]* decisions, each the same on all 4 ranks'
	grep -Eq "$same"'.*clean ([1-9][0-9]*) times of \1\.$' "$2"
	say $? "$1: all ranks chose alike at each decision, check agreement was clean" "$2"
	# the picture: it ends in full height
	grep -Eq "$3" "$2"
	say $? "$1: the curve is drawn" "$2"
}
DEMO_HOST=standin NO_COLOR=1 demo "$dir/standin" &
LC_ALL=C.UTF-8 NO_COLOR='' demo "$dir/real"
wait
shows "stand-in" "$dir/standin" '^  12 \| .*#$'
if grep -q 'a mock NCCL' "$dir/real"; then
	echo "ok $((n + 1)) - real NCCL # SKIP no libnccl 2.28.9 with CUDA headers"
	echo "1..$((n + 1))"
	exit 0
fi
shows "real NCCL" "$dir/real" '^  12 │ .*█$'
echo "1..$n"
