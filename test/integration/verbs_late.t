#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# What is late below NCCL's own InfiniBand: a completion that never comes, of
# which NCCL says nothing, and an adapter that is slower than another.
. "$TOP/test/integration/shm_room.sh"
shm_room "what is late below NCCL's InfiniBand" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	skip_all "what is late below NCCL's InfiniBand" "no libnccl and CUDA headers at build time"
fi
trap finish EXIT
cd "$TOP" || exit 1

# nccl JOB POLICIES [NAME=value...]: until it is stopped. Ranks as $RANKS says.
RANKS="--procs --per-node 1"
nccl() {
	ring_job=$1 policies=$2
	shift 2
	export VHCA="$T/$ring_job.fabric"
	: >"$VHCA"
	# shellcheck disable=SC2086
	env LD_LIBRARY_PATH="$V" LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual \
		NCCL_NET=IB NCCL_GIN_TYPE=0 NCCL_DEBUG=WARN NCCL_DEBUG_FILE="$T/$ring_job.log.%p" \
		NCCLBPF_JOB="$ring_job" NCCLBPF_VERBS=on NCCLBPF_NET=off \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCLBPF_POLICY="$policies" \
		"$@" timeout 0 "$J" --ranks 2 $RANKS --coll allreduce --min 1M --max 1M \
		--seconds inf >"$T/$ring_job" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
works() {
	kill -0 $job || return 0
	run -J "$ring_job" -o json verbs
	[ "$rc" -eq 0 ] && [ "$(grep -o '"sends":[1-9]' "$T/out" | wc -l)" -ge 2 ]
}

nccl lost "$E/qp_watch.bpf.o"
await works
why=$(sed -n 's/^vgpu: SKIP: //p' "$T/lost" | head -1)
[ -z "$why" ] || skip_all "what is late below NCCL's InfiniBand" "$why"
run -J lost -o json doctor
[ "$rc" -le 1 ] && grep -q '"name":"verbs","level":"ok"' "$T/out" &&
	! grep -q verbs_stalled "$T/out"
ok "while completions come, doctor has nothing to say" $?
printf l | dd of="$VHCA" conv=notrunc 2>/dev/null
# The queue pair that waits, and its peer, must be the same everywhere.
cat >"$T/stalled.lua" <<'L'
local d, found = require "ncclbpf.core".decode(io.read "a").data, nil
local processes = {}
for _, p in ipairs(d.processes) do
	processes[#processes + 1] = p.data
	assert(p.data.errors == 0 and p.data.events == 0, "an error")
	for _, q in ipairs(p.data.queue_pairs) do
		if q.waiting_ms >= 5000 then
			assert(not found, "two of them")
			assert(q.outstanding == 1 and q.state == "RTS" and p.data.stalled == 1)
			found = q
		end
	end
end
assert(found, "none")
local peers = 0
for _, p in ipairs(processes) do
	for _, q in ipairs(p.queue_pairs) do
		if q.qp == found.peer_qp then
			-- the data have arrived: its receives wait for the next message
			assert(q.peer_qp == found.qp and q.waiting_ms < 5000)
			peers = peers + 1
		end
	end
end
assert(peers == 1)
print(("queue pair %d of vhca0, to queue pair %d: 1 sends and no completion for")
	:format(found.qp, found.peer_qp))
L
stalled() {
	run -J lost -o json verbs
	words=$(lua_run "$T/stalled.lua" <"$T/out" 2>"$T/why")
}
await stalled
ok "NCCL, a lost completion: verbs names the queue pair that waits" $?
run -J lost -o json doctor
has "doctor too, and its peer" out '"name":"verbs_stalled","level":"warn"' "$words" \
	"NCCL waits without a time-out"
logged() {
	cat "$T"/lost.log.* | grep -q "verbs: $words [0-9]* s; NCCL waits for it without a time-out"
}
await logged
ok "NCCL's log too" $?
[ "$(cat "$T"/lost.log.* | grep -c 'NCCL waits for it')" -eq 1 ]
ok "once" $?
run -J lost -o table status
has "status counts it" out "stalled 1"
run -J lost -o table metrics
grep -q '^ncclbpf_verbs_stalled{.*} 1$' "$T/out"
ok "metrics too" $?
run -J lost -o json verbs
pids=$(grep -o '"pid":[0-9]*' "$T/out" | cut -d: -f2 | sort -u)
# shellcheck disable=SC2086
kill -KILL $pids
wait $job
[ $? -ne 0 ] && grep -q 'ended by signal' "$T/lost"
ok "the job waits until it is ended" $?

# Two adapters in one process, of which one is slow; windows of 40 completions.
sed 's/WINDOW = 1000/WINDOW = 40/' examples/rdma/slow_rail.bpf.c >"$T/slow_rail.bpf.c"
status 0 "slow_rail with short windows" policy build "$T/slow_rail.bpf.c" "out=$T/slow_rail.policy"
cat >"$T/rails.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local rail = {}
for _, e in ipairs(d.processes[1].data.entries) do rail[e.key] = e.value end
local slow, fast = rail[SLOW], rail[1 - SLOW]
assert(slow.windows > 1 and fast.windows > 1 and slow.mean_ns >= 1000000)
assert(slow.slow > fast.slow and slow.mean_ns > fast.mean_ns,
	("%d %d, %d %d"):format(slow.slow, fast.slow, slow.mean_ns, fast.mean_ns))
L
named() {
	kill -0 $job || return 0
	run -J "$ring_job" -o json map dump rails
	[ "$rc" -eq 0 ] && lua_run -e "SLOW = $1 dofile '$T/rails.lua'" <"$T/out" 2>"$T/why"
}
for rail in 0 1; do
	RANKS="" nccl "slow_$rail" "$T/slow_rail.policy" VHCA_RAILS=2 VHCA_SLOW_RAIL=$rail \
		VHCA_SLOW_US=1000 NCCL_NET_MERGE_LEVEL=LOC NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
	await named $rail && kill -0 $job
	ok "NCCL over two adapters, vhca$rail slow: slow_rail names it" $?
	# Without KILL its queued calls would continue.
	kill -KILL "$(grep -o '"pid":[0-9]*' "$T/out" | head -1 | cut -d: -f2)"
	wait $job 2>/dev/null || :
done
