#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The tap in front of libibverbs, over a virtual adapter: below a ring of
# processes. verbs_nccl.t has it below NCCL's own InfiniBand transport, verbs_tap.t by
# itself.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1

# The third way in: what NCCL 2.30.3 opens because NCCL_IBVERBS_LIB names it,
# here in front of the libibverbs.so.1 of this machine, where it has one.
if ldconfig -p | grep -q 'libibverbs\.so\.1 '; then
	"$V/load_check" "$B/ncclbpf/libncclbpf-verbs.so" >"$T/why" 2>&1
	ok "NCCL_IBVERBS_LIB: every function at its version, from the tap or from libibverbs" $?
else
	tests=$((tests + 1))
	echo "ok $tests - NCCL_IBVERBS_LIB # SKIP no libibverbs.so.1 on this machine"
fi

# A ring of four processes, opened by NCCLBPF_VERBS: the shell sees its life.
ring watched "$E/qp_watch.bpf.o:$E/step_latency.bpf.o:$E/slow_rail.bpf.o"
run -J watched -o json verbs
cat >"$T/verbs.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local n, peers = 0, {}
for _, p in ipairs(d.processes) do
	local v = p.data
	-- 4 rounds of 6 steps: a grant for each message received, a write for each sent
	assert(v.tap == true and v.live == 2 and v.created == 2 and v.devices == 1, "queue pairs")
	assert(v.sends == 48 and v.receives == 24 and v.completions == 72, "work")
	assert(v.sent_bytes == 245760 + 24 * 24 and v.received_bytes == 245760, "bytes")
	for _, k in ipairs { "errors", "failed_changes", "strays", "unseen", "overflows", "refused",
			"undone", "tuned" } do
		assert(v[k] == 0, k)
	end
	for _, q in ipairs(v.queue_pairs) do
		assert(q.state == "RTS" and q.device == "vhca0" and q.outstanding == 0
			and q.errors == 0, "state")
		peers[q.qp] = q.peer_qp
		n = n + 1
	end
end
for qp, peer in pairs(peers) do assert(peers[peer] == qp, "both ends name each other") end
assert(n == 8, "eight of them")
L
lua_run "$T/verbs.lua" <"$T/out" 2>>"$T/why"
ok "verbs: each queue pair, what it moved, and its peer" $?
run -J watched -o table verbs
has "for people" out "verbs: 8 queue pairs, 192 sends" "READY US" "RTS" "vhca0"
run -J watched -o table status
has "status says so as well" out "verbs          8 queue pairs, 192 sends"
run -J watched -o json doctor
has "and doctor" out '"name":"verbs","level":"ok"' \
	"2 queue pairs on 1 adapters: 0 completions failed"
run -J watched -o table stats
has "stats has a line about them" out "verbs: 8 queue pairs, 192 sends"
run -J watched -o table metrics
cp "$T/out" "$T/metrics"
cat >"$T/metrics.lua" <<'L'
local sum, kind = {}, {}
for line in io.lines() do
	local n, k = line:match "^# TYPE (%S+) (%S+)$"
	if n then kind[n] = k end
	local name, labels, value = line:match "^(ncclbpf_verbs_[%w_]+){(.-)} (%d+)$"
	if name then
		assert(labels:find 'pid="%d+"' and kind[name], name)
		assert((kind[name] == "counter") == (name:find "_total$" ~= nil),
			"convention: " .. name)
		sum[name] = (sum[name] or 0) + tonumber(value)
	end
end
assert(sum.ncclbpf_verbs_queue_pairs == 8 and sum.ncclbpf_verbs_sends_total == 192)
assert(sum.ncclbpf_verbs_receives_total == 96 and sum.ncclbpf_verbs_completions_total == 288)
assert(sum.ncclbpf_verbs_received_bytes_total == 4 * 245760 and sum.ncclbpf_verbs_regions > 0)
assert(sum.ncclbpf_verbs_faults_total == 0 and sum.ncclbpf_verbs_other_contexts == 0)
L
lua_run "$T/metrics.lua" <"$T/metrics" 2>>"$T/why"
ok "metrics: the sums of verbs, named as Prometheus wants it" $?
if command -v promtool >/dev/null; then
	promtool check metrics <"$T/metrics" >"$T/why" 2>&1
	ok "promtool finds nothing wrong" $?
fi
run -J watched -o json map dump qps
cat >"$T/qps.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local n = 0
for _, p in ipairs(d.processes) do
	for _, e in ipairs(p.data.entries) do
		local l = e.value
		assert(l.init_ns > 0 and l.init_ns <= l.rtr_ns and l.rtr_ns <= l.rts_ns, "order")
		assert(l.errors == 0 and l.failed_changes == 0 and l.destroyed == 0)
		n = n + 1
	end
end
assert(n == 8)
L
lua_run "$T/qps.lua" <"$T/out" 2>>"$T/why"
ok "qp_watch: INIT, RTR and RTS of each queue pair, in this order" $?
run -J watched -o json map dump steps
cat >"$T/steps.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local sent, received = 0, 0
for _, p in ipairs(d.processes) do
	for _, e in ipairs(p.data.entries) do
		assert(e.value.max_ns > 0 and e.value.sum_ns >= e.value.max_ns
			and e.value.posts == e.value.count)
		if e.key.send == 1 then
			sent = sent + e.value.count
		else
			received = received + e.value.count
		end
	end
end
assert(sent == 192 and received == 96)
L
lua_run "$T/steps.lua" <"$T/out" 2>>"$T/why"
ok "step_latency: every post has its completion and its time" $?
end_ring "the ring ends well, its sums are right"

cat >"$T/tune.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
for _, p in ipairs(d.processes) do
	local v = p.data
	assert(v.live == 2 and v.tuned == WANT[1] and v.undone == WANT[2] and v.refused == WANT[3],
		("%d %d %d"):format(v.tuned, v.undone, v.refused))
end
L
tuned() { # CLAIM WANT
	run -J "$ring_job" -o json verbs
	lua_run -e "WANT = { $2 } dofile '$T/tune.lua'" <"$T/out" 2>>"$T/why"
	ok "$1" $?
}
ring tuned "$V/tune.bpf.o"
tuned "a policy's values are used, those out of range are not" "4, 0, 2"
end_ring "and the ring goes on"
ring undone "$V/tune.bpf.o" VHCA_MAX_TIMEOUT=19
tuned "a value that the adapter refuses is taken back" "2, 2, 2"
end_ring "and the ring goes on as well"

# What it takes to be seen.
ring late "" NCCLBPF_VERBS=off
run -J late -o table verbs
has "without the tap" out "no queue pairs are seen"
run -J late -o json doctor
has "doctor says that libibverbs is open without it" out '"name":"verbs"' \
	"without the tap in front of it" "NCCLBPF_VERBS=on"
end_ring "the ring needs no tap"
mkdir "$T/alone"
cp "$B/libncclbpf.so" "$T/alone/"
timeout 300 env LD_LIBRARY_PATH="$V" NCCLBPF_VERBS=on NCCLBPF_CHAIN_NET="$V/libnccl-net-verbs.so" \
	"$R" "$T/alone/libncclbpf.so" --rounds 1 --bytes 64 --log >"$T/out" 2>"$T/err"
rc=$?
cat "$T/out" "$T/err" >"$T/why"
ok "a tap that is not installed is no obstacle" $rc
tap=$T/alone/ncclbpf/libncclbpf-verbs.so
has "and said" err "NCCLBPF_VERBS=on: the tap sees no verbs calls: $tap: cannot open"
