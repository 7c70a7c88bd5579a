#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The tap in front of libibverbs, over a virtual adapter, below NCCL's own InfiniBand transport.
. "$TOP/test/integration/shm_room.sh"
shm_room "verbs below NCCL" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1

# NCCL's own InfiniBand, unchanged, between two pretended nodes.
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	tests=$((tests + 1))
	echo "ok $tests - NCCL's own InfiniBand # SKIP no libnccl and CUDA headers at build time"
	exit 0
fi
nccl() { # JOB [NAME=value...]: until it is stopped
	ring_job=$1
	shift
	rm -f "$VHCA"
	env LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual NCCL_GIN_TYPE=0 \
		NCCL_NET=IB NCCL_DEBUG=INFO NCCLBPF_JOB="$ring_job" \
		NCCLBPF_POLICY="$E/qp_watch.bpf.o:$E/step_latency.bpf.o" \
		"$@" timeout 0 "$J" --ranks 2 --procs --per-node 1 --coll allreduce \
		--min 4K --max 4M --factor 32 --seconds inf >"$T/$ring_job" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
seen() {
	run -J "$ring_job" -o json verbs
	[ "$rc" -eq 0 ] && lua_run "$T/nccl.lua" <"$T/out" 2>"$T/why"
}
cat >"$T/nccl.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local n = 0
for _, p in ipairs(d.processes) do
	local v = p.data
	assert(v.tap and v.live > 0 and v.sends > 0 and v.errors == 0 and v.strays == 0
		and v.unseen == 0 and v.regions > 0)
	n = n + v.live
end
assert(#d.processes == 2 and n % 2 == 0)
L
until_seen() { # CLAIM
	await while_lives $job seen
	if grep -q '^vgpu: SKIP' "$T/$ring_job"; then
		tests=$((tests + 1))
		echo "ok $tests - $1 # SKIP $(grep -m1 '^vgpu: SKIP' "$T/$ring_job")"
		return
	fi
	seen
	rc=$?
	cat "$T/$ring_job" >>"$T/why"
	ok "$1" $rc
	kill -TERM $job
	wait $job
	rc=$?
	cp "$T/$ring_job" "$T/why"
	ok "and the job ends well" $rc
}
# Opened early from the net slot; by LD_LIBRARY_PATH, the tuner alone loaded.
nccl slot LD_LIBRARY_PATH="$V" NCCLBPF_VERBS=on NCCLBPF_NET=off NCCL_NET_PLUGIN="$B/libncclbpf.so"
until_seen \
	"NCCL's own InfiniBand with the tap from the net slot: queue pairs, posts and completions"
nccl path LD_LIBRARY_PATH="$B/ncclbpf:$V" NCCL_TUNER_PLUGIN="$B/libncclbpf.so"
until_seen "with the tap from LD_LIBRARY_PATH"

# No libibverbs: NCCL 2.28 crashed after a net plugin without a device.
mkdir "$T/none"
: >"$T/none/libibverbs.so"
: >"$T/none/libibverbs.so.1"
none() { # CLAIM NAME=value...
	claim=$1
	shift
	env LD_LIBRARY_PATH="$T/none" LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" \
		VGPU_CLOCK=virtual NCCL_DEBUG=INFO NCCLBPF_VERBS=on \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" "$@" timeout 300 "$J" --ranks 2 --procs \
		--per-node 1 --min 4K --max 4K --loops 1 >"$T/why" 2>&1
	rc=$?
	grep -q '^vgpu: SKIP' "$T/why" && return
	[ $rc -eq 0 ] && grep -q 'via NET/Socket' "$T/why" &&
		grep -q 'the tap sees no verbs calls: .*libibverbs.so.1' "$T/why"
	ok "no libibverbs, and $claim: NCCL uses sockets and our log says that it sees no verbs" $?
}
none "NCCLBPF_NET=off" NCCLBPF_NET=off
none "a wrapped plugin without a device" NCCLBPF_CHAIN_NET="$B/test/fakes/host/net_plugin_v11.so" \
	NET_PLUGIN_FAIL=none
none "a wrapped plugin whose init fails" NCCLBPF_CHAIN_NET="$B/test/fakes/host/net_plugin_v12.so" \
	NET_PLUGIN_FAIL=init
