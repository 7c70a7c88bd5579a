#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# What goes wrong on an adapter, below a ring of processes and below NCCL's own
# InfiniBand transport: the hooks, the shell and the log say it, the caller gets
# what the adapter said. And what the tap does not see, it says.
. "$TOP/test/integration/shm_room.sh"
shm_room "faults of InfiniBand" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1

# Queue pairs of `verbs` and of qp_watch's map: as many errors, the same last
# status. STATUS: of the queue pair that took the fault; ERRORS: at least.
cat >"$T/seen.lua" <<'L'
local decode = require "ncclbpf.core".decode
local function read(path)
	local f <close> = assert(io.open(path))
	return decode(f:read "a").data
end
local verbs, map = read(VERBS), read(MAP)
local told, errors, events, failed, last = {}, 0, 0, 0, {}
for _, p in ipairs(map.processes) do
	for _, e in ipairs(p.data.entries) do
		told[("%s %d"):format(p.pid, e.key.qp)] = e.value
		events = events + e.value.events
	end
end
for _, p in ipairs(verbs.processes) do
	local v, sum = p.data, 0
	for _, q in ipairs(v.queue_pairs) do
		local t = assert(told[("%s %d"):format(p.pid, q.qp)],
			"a queue pair that no program was told of")
		assert(t.errors == q.errors and t.last_status == q.last_status,
			"hook and verbs differ")
		sum = sum + q.errors
		if q.errors > 0 then last[q.last_status] = true end
		assert(q.state == "ERR" or q.errors == 0, "state")
		if q.state == "ERR" then failed = failed + 1 end
	end
	assert(sum == v.errors, "sum")
	assert(v.strays == 0 and v.overflows == 0 and v.unseen == 0, "records are wrong")
	errors = errors + sum
	if STATUS == 21 then assert(v.events == v.failures) end
	events = events - v.failures
	-- NCCL hears of an event before it takes the completion
	if v.failures > 0 then errors, last[STATUS] = errors + 1, true end
end
assert(errors >= 1 and failed >= 1, "no error")
assert(last[STATUS] or last[5], "status")
assert(events == 0, "events")
L
seen() { # STATUS
	run -J "$ring_job" -o json map dump qps
	cp "$T/out" "$T/map.json"
	run -J "$ring_job" -o json verbs
	cp "$T/out" "$T/verbs.json"
	lua_run -e "VERBS = '$T/verbs.json' MAP = '$T/map.json' STATUS = $1 dofile '$T/seen.lua'" \
		>>"$T/why" 2>&1
}

for fault in "r 12 retries used up" "n 13 receiver not ready" "a 10 no remote access" \
		"f 21 queue pair fatal"; do
	letter=${fault%% *} rest=${fault#* }
	status=${rest%% *} what=${rest#* }
	FAULT=$letter ring "ring_$letter" "$E/qp_watch.bpf.o"
	seen "$status"
	ok "ring, $what: programs and verbs say status $status" $?
	has "the transport's log too, and its result reaches the caller" "$ring_job.err" \
		"completion with status $status" "result 6"
	run -J "$ring_job" -o json doctor
	has "doctor warns" out '"name":"verbs","level":"warn"' '"name":"chain_net","level":"warn"'
	run -J "$ring_job" -o table status
	grep -q 'verbs .*errors [1-9]' "$T/out"
	ok "status counts it" $?
	run -J "$ring_job" -o table metrics
	grep -q '^ncclbpf_verbs_faults_total{.*reason="errors"} [1-9]' "$T/out"
	ok "metrics too, by reason" $?
	if [ "$letter" = f ]; then
		run -J "$ring_job" -o table verbs
		has "verbs has the event" out "events 1"
		has "and so has the log" "$ring_job.err" "asynchronous event 1"
	fi
	end_ring "the ring has failed" 1
done

# A completion that never comes: no error, but its post stays.
cat >"$T/lost.lua" <<'L'
local d, lost, sends = require "ncclbpf.core".decode(io.read "a").data, 0, 0
for _, p in ipairs(d.processes) do
	assert(p.data.errors == 0)
	sends = sends + p.data.sends
	for _, q in ipairs(p.data.queue_pairs) do
		-- sending queue pairs of this transport receive nothing
		if q.receives == 0 and q.sends > 0 then lost = lost + q.outstanding end
	end
end
print(lost, sends)
L
stuck() {
	run -J ring_l -o json verbs
	now=$(lua_run "$T/lost.lua" <"$T/out" 2>>"$T/why")
	[ "$now" = "${before:-}" ] && [ "${now%%[!0-9]*}" = 1 ] && return 0
	before=$now
	return 1
}
FAULT=l ring ring_l ""
await stuck
ok "ring, a lost completion: its post stays outstanding" $?
kill $job
wait $job
exec 3>&-

FAULT=u ring ring_u ""
run -J ring_u -o json doctor
has "a completion of an unknown queue pair: counted and said" out '"name":"verbs","level":"warn"' \
	"1 completions of queue pairs that are not seen"
end_ring "and harmless"

OPTIONS=--wrong-handle ring ring_handle "$E/qp_watch.bpf.o"
seen 10
ok "a receive with the handle of another buffer: the adapter refuses it" $?
has "and the transport says so" ring_handle.err "completion with status 10"
end_ring "the ring has failed" 1

ring ring_slow "$E/step_latency.bpf.o" VHCA_SLOW_US=3000
cat >"$T/slow.lua" <<'L'
local d, n = require "ncclbpf.core".decode(io.read "a").data, 0
for _, p in ipairs(d.processes) do
	for _, e in ipairs(p.data.entries) do
		if e.key.send == 1 then
			assert(e.value.sum_ns >= e.value.count * 3000000, "faster than the adapter")
			n = n + e.value.count
		end
	end
end
assert(n == 192)
L
run -J ring_slow -o json map dump steps
lua_run "$T/slow.lua" <"$T/out" 2>>"$T/why"
ok "a slow adapter: each step takes as long as that" $?
end_ring "and the ring ends well"

for verb in create_qp poll_cq; do
	ring "broken_$verb" "$E/qp_watch.bpf.o" VHCA_BROKEN=$verb
	run -J "$ring_job" -o json verbs
	[ "$rc" -eq 0 ] && grep -q '"tap":true' "$T/out"
	ok "an adapter whose $verb fails: the processes live on" $?
	end_ring "and get the error" 1
done

# What goes past the tap. A descriptor of an adapter that somebody else opened,
# and GPUs that post themselves.
mkdir "$T/infiniband"
: >"$T/infiniband/uverbs0"
ring own "" VHCA_UVERBS="$T/infiniband/uverbs0"
run -J own -o json verbs
! grep -q '"other_contexts":[1-9]' "$T/out" && grep -q '"other_contexts":0' "$T/out"
ok "the tap's own context is no other" $?
run -J own -o json doctor
! grep -q verbs_unseen "$T/out"
ok "and doctor has nothing to say" $?
end_ring "the ring ends well"
exec 4<"$T/infiniband/uverbs0"
ring others "" VHCA_UVERBS="$T/infiniband/uverbs0" NCCL_GIN_TYPE=3
exec 4<&-
run -J others -o table status
has "status: contexts and posts that are not seen" out "other contexts 4" \
	"the tap does not see posts of GPUs"
run -J others -o json doctor
contexts="contexts opened before the tap was loaded, or by other libraries: 1"
queues="queues of the extended interface: 0"
has "doctor too" out "not seen: $contexts; $queues; operations that GPUs post themselves"
end_ring "the ring ends well"

# NCCL's own InfiniBand, unchanged.
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	tests=$((tests + 1))
	echo "ok $tests - NCCL's own InfiniBand # SKIP no libnccl and CUDA headers at build time"
	exit 0
fi
nccl() { # JOB [NAME=value...]
	ring_job=$1
	shift
	export VHCA="$T/fabric_$ring_job"
	env LD_LIBRARY_PATH="$V" LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual \
		NCCL_NET=IB NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$T/$ring_job.log.%p" \
		NCCLBPF_JOB="$ring_job" NCCLBPF_VERBS=on NCCLBPF_NET=off \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCLBPF_POLICY="$E/qp_watch.bpf.o" \
		"$@" timeout 0 "$J" --ranks 2 --procs --per-node 1 --coll allreduce \
		--min 1M --max 1M --seconds inf --hold >"$T/$ring_job" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
works() {
	kill -0 $job || return 0
	run -J "$ring_job" -o json verbs
	[ "$rc" -eq 0 ] && [ "$(grep -o '"sends":[1-9]' "$T/out" | wc -l)" -ge 2 ]
}
nccl plain NCCL_GIN_TYPE=0
await works
kill -TERM $job 2>/dev/null
wait $job
if grep -q '^vgpu: SKIP' "$T/plain"; then
	tests=$((tests + 1))
	echo "ok $tests - NCCL's own InfiniBand # SKIP $(grep -m1 '^vgpu: SKIP' "$T/plain")"
	exit 0
fi
for fault in "r 12 retries used up" "n 13 receiver not ready" "a 10 no remote access" \
		"f 21 queue pair fatal"; do
	letter=${fault%% *} rest=${fault#* }
	status=${rest%% *} what=${rest#* }
	nccl "nccl_$letter" NCCL_GIN_TYPE=0
	await works
	printf '%s' "$letter" | dd of="$VHCA" conv=notrunc 2>/dev/null
	await grep -qs 'asynchronous error' "$T/$ring_job"
	seen "$status"
	ok "NCCL, $what: programs and verbs say status $status" $?
	grep -qE "status=[A-Z_]*\\(($status|5)\\)|async fatal event" "$T/$ring_job".log.*
	ok "NCCL's log too" $?
	run -J "$ring_job" -o json doctor
	has "doctor warns" out '"name":"verbs","level":"warn"'
	kill -TERM $job
	wait $job
	[ $? -ne 0 ]
	ok "the job's asynchronous error: $(grep -om1 'asynchronous error.*' "$T/$ring_job")" $?
done
