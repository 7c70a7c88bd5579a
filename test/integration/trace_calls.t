#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# trace calls: three clocks by NCCL's own events in the stand-in host, by
# uprobes in the real libnccl where the kernel lets us; and the demo of it.
. "$TOP/test/integration/trace_lib.sh"
cat >closes.lua <<'L'
-- A process that does not answer with its last events.
local m, closed = { pid = 1 }, 0
local s = { living = function() return { m } end,
	follow = function(_, _, each) return each({ next = 1, fields = {} }, m) or true end,
	ask = function() return { { member = m, data = 7 } } end }
local p = { read = function() return {} end, dropped = function() return 0 end,
	close = function() closed = closed + 1 end }
local ok = pcall(require "ncclbpf.trace.kernel".follow, s, "trace start", 1, p, function() end,
	function() end)
assert(not ok and closed == 1, closed)
L
lua_run closes.lua 2>why
ok "an error at its end leaves no programs in the kernel" $?
cat >last.lua <<'L'
-- Of three processes one does not answer with its last events, and one has them in two answers.
local errors, trace = require "ncclbpf.base.errors", require "ncclbpf.trace.trace"
local members, got, asked, most = { { pid = 1 }, { pid = 2 }, { pid = 3 } }, {}, {}, 0
local function span(at) return { "coll", at, at } end
local s = { living = function() return members end }
function s.follow(_, _, each)
	for _, m in ipairs(members) do
		-- the third: how many lines the shell has missed
		each({ next = 10, fields = { "event", "start_ns", "end_ns" }, lost = 1,
			spans = { span(9) } }, m, 1)
	end
	return true
end
function s.ask(_, line, opts)
	local out = {}
	most = math.max(most, line == "trace status" and 1 or #opts.members)
	for i, m in ipairs(opts.members) do
		local at = tonumber(line:match "^trace read after=(%d+)$")
		out[i] = m.pid == 2 and { member = m, err = errors.new("timed_out", "late") }
			or { member = m, data = { next = at and at + 1, spans = { at and span(at) },
				more = m.pid == 3 and at == 10, lost = 1 } }
		if line ~= "trace status" then asked[#asked + 1] = m.pid end
	end
	return out
end
local take, losses, rest = trace.taker(function(list, m)
	for _, x in ipairs(list) do got[#got + 1] = ("%d:%d"):format(m.pid, x.start_ns) end
end)
local _, ok, good, err = trace.followed(s, "trace start", take, rest)
assert(ok and good and err.message:find "late", tostring(err))
assert(table.concat(got, " ") == "1:9 2:9 3:9 1:10 3:10 3:11", table.concat(got, " "))
assert(table.concat(asked, " ") == "1 3 3" and most == 1, table.concat(asked, " "))
assert(losses() == 6)
L
lua_run last.lua 2>why
ok "a process that does not answer is named; the others give their last events one by one" $?
calls() { # JOB ARGS...
	name=$1
	shift
	standin "$name" --ranks 2 --procs --min 4K --max 4M --factor 1024 --pause-ms 5 "$@"
}
clocks='assert(#d.rows == 2, "rows")
	for _, r in ipairs(d.rows) do
		assert(r.coll == "allreduce" and (r.bytes == 4096 or r.bytes == 4 << 20)
			and r.count > 0 and r.source == "kernel_gpu")
		assert(r.wall_p50_ns >= r.exec_p50_ns and r.wall_p50_ns >= r.cpu_p50_ns
			and r.cpu_p50_ns > 0)
		assert(r.unseen_before_pct >= 0 and r.unseen_before_pct < 100 and r.seen_now_pct > 0
			and r.seen_now_pct <= 100)
	end'
timed() { # JOB: until collectives were timed
	run -J "$1" -o json trace calls seconds=500ms uprobes=no
	truth 'assert(#d.rows == 2)' 2>/dev/null
}
calls five --nccl 2.28.9
await timed five
truth "assert(d.clock == 'api_events') $clocks"
ok "by NCCL's events of the call" $?
table() {
	run -J five -o table trace calls seconds=500ms uprobes=no
	grep -q 'WALL us' out
}
await table
has "for people" out "CPU calls timed by NCCL's events of the call" "WALL us" \
	"UNSEEN BEFORE %" "SEEN NOW %"
if command -v setpriv >/dev/null &&
		setpriv --bounding-set=-all --inh-caps=-all true 2>/dev/null; then
	without_caps() {
		setpriv --bounding-set=-all --inh-caps=-all timeout 300 "$S" -J five \
			-o table trace calls seconds=500ms >out 2>err
		grep -q 'WALL us' out
	}
	await without_caps
	has "without permission what is missing is named" out \
		"no uprobes: missing: CAP_BPF and CAP_PERFMON" "CPU calls timed by NCCL's events"
fi
run -J five -o json trace status
truth 'for _, p in ipairs(d.processes) do assert(#p.data.asked == 0 and p.data.traces == 0) end'
ok "NCCL is asked for nothing afterwards" $?
status 64 "a wrong duration" -J five trace calls seconds=soon
kill $job
calls four --nccl 2.27.3
await timed four
truth "assert(d.clock == 'enqueue') $clocks"
ok "where there are none, by those of the enqueuing" $?
kill $job

# the demo, with the real NCCL where it is at hand
mkdir demo
TMPDIR=$T timeout 300 "$TOP/examples/trace/demo.sh" "$B" "$T/demo" >demo.out 2>&1
rc=$?
cp demo.out why
ok "the demo runs to its end" $rc
has "and shows what was measured" demo.out "CPU calls timed by" "trace.json: "
cp demo/calls.json out
truth 'assert(#d.rows == 3 and d.rows[1].count > 0 and d.rows[1].bytes == 1 << 20)'
ok "of three sizes" $?
lua_run - >>why 2>&1 <<'L'
local d = require("ncclbpf.core").decode(io.open("demo/calls.json"):read "a").data
local shown = io.open("demo.out"):read "a"
for _, r in ipairs(d.rows) do
	assert(shown:find(("allreduce +%dM +%d +[%%d.]+ "):format(r.bytes >> 20, r.count)), r.count)
end
L
ok "the table shows the measurement that the file has" $?
if grep -q '"clock":"uprobes"' demo/calls.json; then
	truth 'assert(d.calls > 0 and d.why == nil)
		for _, r in ipairs(d.rows) do
			assert(r.cpu_p50_ns > 0 and r.cpu_p99_ns >= r.cpu_p50_ns)
		end
	'
	ok "by uprobes in the real libnccl" $?
else
	tests=$((tests + 1))
	echo "ok $tests - by uprobes in the real libnccl # SKIP" \
		"$(grep -o 'no uprobes: .*' demo.out | head -1)"
fi
lua_run "$TOP/test/integration/trace_check.lua" demo/trace.json 'assert(#events > 0)' >"$T/why" 2>&1
ok "its trace is in Chrome's format" $?
[ "$(grep -c '<rect' demo/trace.svg)" -ge 12 ] && grep -q '^</svg>' demo/trace.svg &&
	! grep -q 'nan\|inf' demo/trace.svg
ok "its picture is drawn" $?
finish
trap - EXIT
