#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Queue pairs in a trace: a track for each, with its changes of state, its posts and
# its messages from post to completion, on the clock of NCCL's events.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1

cat >"$T/words.lua" <<'L'
-- Posts and completions number their operations differently (ibv_wr_opcode, ibv_wc_opcode).
local FIELDS = { "event", "start_ns", "end_ns", "seq", "send", "x0", "x1", "x2", "x3" }
local function operations(event, send, status, ...)
	local spans, words = {}, {}
	for i, x in ipairs { ... } do spans[i] = { event, 1, 2, 7, send, x, 1, 0, status } end
	require("ncclbpf.trace.trace").taker(function(list)
		for i, s in ipairs(list) do words[i] = s.operation or "none" end
	end)({ fields = FIELDS, spans = spans, lost = 0, left_out = 0 }, 1)
	return table.concat(words, " ")
end
local function same(found, want) assert(found == want, found .. ", not " .. want) end
same(operations("verbs_post", true, 0, 0, 1, 2, 3, 4, 5, 6),
	"write write send send read atomic atomic")
same(operations("verbs_done", true, 0, 0, 1, 2, 3, 4), "send write read atomic atomic")
same(operations("verbs_done", true, 12, 0, 1), "none none")
same(operations("verbs_done", false, 0, 128, 129), "receive receive")
L
lua_run "$T/words.lua" >"$T/why" 2>&1
ok "operations of posts and of completions have their own numbers; a failed send has none" $?

OPTIONS=--wait ring traced ""
status 0 "a trace of queue pairs needs no profiler" \
	-J traced trace start events=verbs_qp,verbs_post,verbs_done
cp "$T/err" "$T/why"
! grep -q "has not called the profiler" "$T/err"
ok "nor is one missed" $?
env --default-signal=INT "$S" -J traced trace start "out=$T/live.json" \
	events=verbs_qp,verbs_post,verbs_done >"$T/live.out" 2>&1 &
live=$!
jobs="$jobs $live"
# the recorded trace and this one
two_traces() {
	"$S" -J traced -o json trace status >"$T/status.json" &&
		[ "$(grep -o '"traces": *2' "$T/status.json" | wc -l)" -eq 4 ]
}
await two_traces
echo go >&3
await grep -qE 'every sum|failed' "$T/traced"
kill -INT $live
wait $live
run -J traced -o json verbs
cp "$T/out" "$T/verbs.json"
run -J traced trace stop "out=$T/qp.json"
cp "$T/out" "$T/why"
cat >"$T/check.lua" <<'L'
local decode = require "ncclbpf.core".decode
local counted, want = {}, { live = 0, sends = 0, receives = 0 }
for _, p in ipairs(decode(io.open(os.getenv "T" .. "/verbs.json"):read "a").data.processes) do
	want.live, want.sends, want.receives = want.live + p.data.live, want.sends + p.data.sends,
		want.receives + p.data.receives
	for _, q in ipairs(p.data.queue_pairs) do
		counted[#counted + 1] = { device = q.device, qp = q.qp, sends = q.sends,
			receives = q.receives, sent = q.sent_bytes }
	end
end
assert(want.live == 8 and want.sends > 0 and want.receives > 0 and #counted == 8, #counted)
local by = {}
local function row(e)
	local name = threads[e.pid .. "." .. e.tid]
	local track = name:gsub(" %(%d+%)$", "")
	assert(track == ("%s queue pair %d"):format(e.args.device, e.args.qp), name)
	by[track] = by[track]
		or { sends = 0, receives = 0, bytes = 0, states = {}, pid = e.pid, posts = {} }
	assert(by[track].pid == e.pid, "two processes on one track")
	return by[track]
end
for _, e in ipairs(of "verbs_qp") do
	local r = row(e)
	r.states[#r.states + 1] = e.name
end
for _, e in ipairs(of "verbs_post") do
	local r = row(e)
	local key = e.name == "post receive" and "receives" or "sends"
	assert(e.name == "post receive" or e.name == "post write", e.name)
	assert(e.dur > 0 and e.args.requests == 1)
	r[key] = r[key] + 1
	r.posts[("%.3f"):format(e.ts)] = true
end
local messages = 0
for _, e in ipairs(of "verbs_done") do
	local r = row(e)
	assert(e.args.status == 0 and e.dur > 0, "a message has its time")
	assert(e.name:find "^write %d" or e.name:find "^receive %d", e.name)
	assert(r.posts[("%.3f"):format(e.ts)], "it begins with its post")
	if e.name:find "^write" then r.bytes = r.bytes + e.args.bytes end
	messages = messages + 1
end
local n = 0
for track, r in pairs(by) do
	n = n + 1
	assert(table.concat(r.states, " ") == "create to INIT to RTR to RTS",
		table.concat(r.states, " "))
	local found
	for _, q in ipairs(counted) do
		found = found
			or q.sends == r.sends and q.receives == r.receives and q.sent == r.bytes
			and track == ("%s queue pair %d"):format(q.device, q.qp)
	end
	assert(found, track .. " has not the counts of the tap")
end
assert(n == 8 and messages > 100, messages)
assert(#of "coll" == 0)
L
for file in qp live; do
	T=$T lua_run "$TOP/test/integration/trace_check.lua" "$T/$file.json" \
		"$(cat "$T/check.lua")" >"$T/why" 2>&1
	rc=$?
	[ $file = qp ] && ok "a track for each queue pair: its life, and the posts, messages \
and bytes that the tap counted" $rc
done
ok "a trace that Ctrl-C ends has all of it, too, up to the last message" $rc
run -J traced trace start "out=$T/other.json" events=coll seconds=100ms
lua_run "$TOP/test/integration/trace_check.lua" "$T/other.json" \
	'assert(#of "verbs_done" == 0)' 2>"$T/why"
ok "a trace of other events has none of them" $?
ends 64 bad_argument "a wrong event of queue pairs" -J traced trace start "out=$T/x.json" \
	events=verbs_frob
end_ring "the ring ends well"

# A failed message and its queue pair's end.
FAULT=r OPTIONS=--wait ring failing ""
run -J failing trace start
echo go >&3
await grep -qE 'every sum|failed' "$T/failing"
run -J failing trace stop "out=$T/failed.json"
lua_run "$TOP/test/integration/trace_check.lua" "$T/failed.json" '
	local failed = {}
	for _, e in ipairs(of "verbs_done") do
		assert(e.args.status == 0
			or e.name == ("failed, status %d"):format(e.args.status), e.name)
		failed[e.args.status] = true
	end
	assert(failed[12], "no message has failed")' >"$T/why" 2>&1
ok "a trace of all events has a failed message with its status" $?
end_ring "the ring that failed says so" 1
