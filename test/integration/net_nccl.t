#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The real NCCL, two pretended nodes, its data through our net plugin.
. "$TOP/test/integration/shm_room.sh"
shm_room "the real NCCL over our net plugin" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1
export NCCL_SOCKET_IFNAME=lo
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	tests=$((tests + 1))
	echo "ok $tests - the real NCCL over our net plugin # SKIP" \
		"no libnccl and CUDA headers at build time"
	exit 0
fi
(
	export LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCL_DEBUG=INFO NCCLBPF_JOB=nccl \
		NCCLBPF_POLICY="$B/examples/ring-allreduce/net_steps.bpf.o"
	exec timeout 0 "$J" --ranks 4 --procs --per-node 2 --coll allreduce --min 4K \
		--max 4M --factor 32 --seconds inf
) >"$T/nccl" 2>&1 &
job=$!
jobs="$jobs $job"
seen() {
	run -J nccl -o json map dump steps
	[ "$rc" -eq 0 ] && [ "$(grep -o '"count":[1-9]' "$T/out" | wc -l)" -ge 2 ]
}
await while_lives $job seen
if grep -q '^vgpu: SKIP' "$T/nccl"; then
	tests=$((tests + 1))
	echo "ok $tests - the real NCCL over our net plugin # SKIP" \
		"$(grep -m1 '^vgpu: SKIP' "$T/nccl")"
	exit 0
fi
seen
ok "the real NCCL between two pretended nodes: its steps are seen" $?
kill -TERM $job
wait $job
rc=$?
cp "$T/nccl" "$T/why"
ok "and the job ends well" $rc
has "NCCL says whose network it is" nccl "Using network ncclbpf" "via NET/ncclbpf/0"
