#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Real bytes between two pretended nodes of two ranks, with the real libnccl: virtual GPUs that
# move data (VGPU_DATA=1), and a job that compares every element, over NCCL's own sockets and over
# our net plugin, with a policy that chooses the channels.
set -u
. "$TOP/test/integration/shm_room.sh"
shm_room "bytes between two nodes" "$0" "$@"
v=$B/test/fakes/vgpu
if [ ! -x "$v/job" ]; then
	echo "1..0 # SKIP bytes between two nodes: no libnccl and CUDA headers at build time"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/log
all=allreduce,allgather,reducescatter,broadcast,reduce,sendrecv,allgatherv
run() { # [NAME=value...] -- job's arguments
	vars=
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	env LD_PRELOAD="$v/libvgpu.so" VGPU_CLOCK=virtual VGPU_DATA=1 VGPU_LOG=1 \
		NCCL_SOCKET_IFNAME=lo NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_P2P_LL_THRESHOLD=0 \
		NCCL_MIN_NCHANNELS=4 NCCL_DEBUG=INFO NCCLBPF_SOCKET_DIR="$dir" $vars \
		timeout -k 10 300 "$v/job" --procs --check "$@" >"$dir/log" 2>&1
}
large='launch rank .*AllReduce Sum f32 RING/SIMPLE channels 0\.\.3, 4194304 bytes'
run NCCL_NET=Socket -- --ranks 4 --per-node 2 --coll $all --min 16 --max 4M --factor 64
rc=$?
if [ $rc -eq 77 ]; then
	echo "1..0 # SKIP bytes between two nodes: $(grep -m1 SKIP "$dir/log")"
	exit 0
fi
say $rc "seven collectives of 16 B to 4 MiB: each element is what it must be"
grep -q 'nNodes 2 ' "$dir/log" && [ "$(grep -c "$large" "$dir/log")" -eq 4 ]
say $? "between two nodes, on rings of four channels"
# Broadcasts of several roots in a group are one kernel since 2.29.
bcasts='Broadcast RING/SIMPLE .* and 3 more'
[ "$("$v/job" --nccl)" -lt 22900 ] || bcasts='AllGatherV RING/SIMPLE channels 0\.\.[0-9]*'
[ "$(grep -c "launch rank .* $bcasts, 4194304 bytes" "$dir/log")" -eq 4 ]
say $? "broadcasts of all roots in a group are one launch"
run NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_POLICY="$B/test/corpus/answers/two_channels.policy" \
	-- --ranks 4 --per-node 2 --coll $all --min 1K --max 4M --factor 64
say $? "the same over our net plugin, with a policy"
grep -q 'Using network ncclbpf' "$dir/log"
say $? "NCCL says whose network it is"
large='launch rank .*AllReduce Sum f32 RING/SIMPLE channels 0\.\.1, 4194304 bytes'
[ "$(grep -c "$large" "$dir/log")" -eq 4 ]
say $? "all ranks launch what the policy chose: two channels"
run NCCL_NET=Socket VGPU_DATA=0 -- --ranks 4 --per-node 2 --min 4K --max 4K
rc=$?
[ $rc -eq 1 ] && grep -q 'element .* is .*, not' "$dir/log"
say $? "the job notices where no bytes move"
echo "1..$n"
exit $bad
