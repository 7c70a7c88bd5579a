#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# make demo-rollout with fewer and shorter blocks, on the real NCCL on virtual GPUs where that is
# there: it looks at its own numbers, and here at what it says. A guard needs 10 collectives of a
# kind, so blocks have more samples.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/out
has() { # pattern, name
	grep -Eq "$1" "$dir/out"
	say $? "$2"
}
if [ ! -x "$B/test/fakes/host/standin" ] || [ ! -e "$B/examples/rollout/one_channel.bpf.o" ]; then
	echo "1..0 # SKIP demo-rollout: no stand-in host or no clang at build time"
	exit 0
fi
LC_ALL=C.UTF-8 timeout -k 10 500 "$TOP/examples/rollout/demo.sh" "$B" 8 12 >"$dir/out" 2>&1
say $? "the demo runs to its end"
grep -o 'The real NCCL.*virtual GPUs\|A mock NCCL' "$dir/out" | sed 's/^/# /'
has 'promoted for allreduce 4M\.\.128M, held back elsewhere' \
	"promoted from 4 to 128 MiB, held back elsewhere"
[ "$(grep -c 'promoted .*nvlink_ring_mid\.4M-128M$' "$dir/out")" -eq 6 ] &&
	[ "$(grep -c 'held back .*NCCL$' "$dir/out")" -eq 2 ]
say $? "six sizes are decided by it, two by NCCL"
decided='[0-9]+ collectives of a communicator were decided'
has "slower by [0-9]+ % after [0-9]+ collectives; $decided" \
	"the bad policy is rolled back, and how soon is said"
has 'times: replayed from test/fakes/vgpu/b300\.csv' "times are called replayed"
grep -q 'Times are not measured: replayed from test/fakes/vgpu/b300\.csv' "$B/rollout.html"
say $? "in the report as well"
echo "1..$n"
