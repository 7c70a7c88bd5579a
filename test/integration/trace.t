#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# trace start, stop, status on a running job of the stand-in host: the file is
# Chrome's format to the letter, decisions are those of their collectives
# also over a change, readers that are slow or die disturb nobody, and NCCL
# is asked for nothing when the last has gone.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "trace" "the stand-in host was not built"
trap finish EXIT
cd "$T" || exit 1
P=$B/libncclbpf.so
C=$TOP/test/integration/trace_check.lua

standin() { # JOB ARGS...
	name=$1
	shift
	NCCL_TUNER_PLUGIN=$P NCCLBPF_JOB=$name timeout 300 "$B/test/fakes/host/standin" --events \
		--seconds 180 "$@" >"$T/$name.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$name" >/dev/null 2>&1
}
truth() { # CODE: over d, the data of the JSON answer in $T/out
	cp "$T/out" "$T/truth.in"
	lua_run -e '
		local core = require "ncclbpf.core"
		local ok, d = pcall(function() return core.decode(io.read "a") end)
		assert(ok, d)
		if d.data then d = d.data end
		'"$1" <"$T/truth.in" 2>>"$T/why"
}
state() { # JOB CODE: trace status says so, of each process p
	run -J "$1" -o json trace status
	truth "
		for _, p in ipairs(d.processes) do
			p = p.data
			assert($2, require 'ncclbpf.core'.encode(p))
		end" 2>/dev/null
}
chrome() { # NAME FILE CODE
	lua_run "$C" "$2" "$3" >"$T/why" 2>&1
	ok "$1" $?
}
silent='#p.asked == 0 and #p.events == 0 and p.traces == 0'

standin one --ranks 2 --procs --nccl 2.28.9 --min 4K --max 4M --factor 1024 --pause-ms 5
await state one 'p.profiler_abi == 5'
await state one "$silent and p.written == 0 and not p.recording" 2>/dev/null
ok "nothing is written down before it is asked for" $?

# a file
traced() { # until a second had enough in it
	run -J one -o json trace start out=a.json seconds=1
	[ "$(grep -c '"cat":"coll".*"exec_us"' a.json)" -gt 12 ]
}
await traced
truth 'assert(d.ended == "seconds" and d.spans > 0 and d.left_out == 0 and d.bytes > 1000)'
ok "a trace of a second" $?
[ "$(wc -c <a.json)" -eq "$(truth 'print(d.bytes)')" ]
ok "says how large it is" $?
chrome "is in Chrome's format" a.json '
	assert(processes[0]:find "^rank 0 " and processes[1]:find "^rank 1 ")
	for _, cat in ipairs { "coll", "kernel_ch", "group", "group_api", "coll_api" } do
		assert(#of(cat) > 0, cat)
	end
	assert(text:find "\"ts\":%d+%.%d%d%d," and #processes == 1)'
chrome "each collective with its decision, on its communicator's thread" a.json '
	local n = 0
	for _, e in ipairs(of "coll") do
		if e.args.exec_us then
			local d = e.args.decision
			assert(d.generation == 0 and d.answer.algo == e.args.algo
				and d.answer.proto == e.args.proto and d.bytes == e.args.bytes)
			assert(threads[e.pid .. "." .. e.tid]:find("comm " .. e.args.comm, 1, true)
				and e.name:find "^allreduce 4[KM] ")
			assert(math.abs(e.dur - e.args.exec_us) < 0.001
				and e.args.source == "kernel_gpu")
			n = n + 1
		end
	end
	assert(n > 10)'
state one "$silent"
ok "and NCCL is asked for nothing again" $?
! grep -q "first collective" err out
ok "nothing is said of the first collective" $?
kept=$job
standin first --ranks 2 --procs --nccl 2.28.9 --min 4K --max 4K --pause-ms 100000
decided() {
	run -J first -o json status
	truth 'for _, p in ipairs(d.processes) do assert(p.data.decisions == 1) end' 2>/dev/null
}
await decided
run -J first -o table trace start out=first.json seconds=200ms
cat out err >why
waits="NCCL makes its connections in the first collective"
grep -q "no process has made more than one decision; $waits" why
ok "a trace of the first collective says why it has few events" $?
kill "$job"
job=$kept

# lines
lines() {
	run -J one -o json trace start out=a.nd format=ndjson seconds=500ms events=coll,kernel_ch
	grep -q '"exec_ns"' a.nd
}
await lines
lua_run -e 'local n, decode = 0, require "ncclbpf.core".decode
for l in io.lines "a.nd" do
	local s = assert(decode(l))
	assert(s.schema == "ncclbpf.trace/1" and s.job == "one"
		and (s.event == "coll" or s.event == "kernel_ch") and s.end_ns >= s.start_ns)
	assert(#s.comm == 16 and s.rank == s.comm_rank)
	if s.event == "coll" then
		assert(s.coll == "allreduce" and s.decision and s.done_ns >= s.end_ns)
		n = n + (s.exec_ns and 1 or 0)
	end
end
assert(n > 0)' >"$T/why" 2>&1
ok "NDJSON, of some events alone" $?

# a limit
status 0 "a file with a limit" -J one -o table trace start out=small.json size=64K
has "says that it was reached" out "the file's limit is reached" "stopped at 64K"
[ "$(grep -c "stopped at 64K" out)" -eq 1 ]
ok "once" $?
[ "$(wc -c <small.json)" -le 65536 ]
ok "and kept" $?
chrome "and the file is whole" small.json 'assert(#slices > 10)'

# the last files of a size
turned() {
	run -J one -o json trace start out="$1" size=64K keep=3 seconds=1 "$2"
	truth 'assert(d.files > 4)'
}
await turned turn.json format=chrome
[ "$(ls turn.json* | wc -l)" -eq 3 ] && [ -e turn.json.2 ] &&
	[ "$(cat turn.json* | wc -c)" -le $((3 * 65536)) ] &&
	truth 'assert(d.ended == "seconds")'
ok "with keep=3 the last three files of a size, and it goes on" $?
for f in turn.json turn.json.1 turn.json.2; do
	chrome "$f is whole in itself" "$f" 'assert(#slices > 0 and next(processes))'
done
lua_run -e 'local C = require "ncclbpf.core"
local last = 0
for _, f in ipairs { "turn.json.2", "turn.json.1" } do
	local most = 0
	for _, e in ipairs(C.decode(io.open(f):read "a").traceEvents) do
		if e.ph == "X" and e.cat == "coll" then
			assert(e.ts >= last, f)
			most = math.max(most, e.ts)
		end
	end
	last = most
end' >"$T/why" 2>&1
ok "one behind the other" $?
await turned turn.nd format=ndjson
lua_run -e 'for _, f in ipairs { "turn.nd", "turn.nd.1", "turn.nd.2" } do
	for l in io.lines(f) do
		assert(require "ncclbpf.core".decode(l).schema == "ncclbpf.trace/1")
	end
end' >"$T/why" 2>&1
ok "lines too" $?
[ "$(ls turn.nd* | wc -l)" -eq 3 ]
ok "and no more than that" $?
status 64 "keep= of nothing" -J one trace start out=x.json keep=0

# the ring of the processes, without a reader
status 0 "a trace into the rings" -J one trace start events=coll,kernel_ch
await state one 'p.written > 2000 and p.recording'
state one 'table.concat(p.asked, " ") == "coll p2p kernel_ch" and
	table.concat(p.events, " ") == "coll kernel_ch"'
ok "asks NCCL for its events and their parents alone" $?
run -J one -o json trace stop out=ring.json
truth 'assert(d.ended == "ring" and d.spans > 100)'
ok "written when it is stopped" $?
chrome "in the same format" ring.json 'assert(#of "coll" > 0 and #of "kernel_ch" > 0)'
state one "$silent and not p.recording"
ok "the rings stay, NCCL is asked for nothing" $?

# two readers
env --default-signal=INT "$S" -J one trace start out=two1.json events=coll seconds=100 \
	>two1.out 2>&1 &
one=$!
env --default-signal=INT "$S" -J one trace start out=two2.json events=kernel_ch seconds=100 \
	>two2.out 2>&1 &
two=$!
jobs="$jobs $one $two"
await state one 'p.traces == 2 and table.concat(p.events, " ") == "coll kernel_ch"'
kept() { grep -q '"ph":"X"' "$1" 2>/dev/null; }
await kept two1.json && await kept two2.json
kill -INT $one
wait $one
await state one 'p.traces == 1 and table.concat(p.events, " ") == "kernel_ch"'
ok "of two readers one ends, the other goes on" $?
chrome "each has what it asked for" two1.json 'assert(#of "coll" == #slices)'
kill -STOP $two # not in the middle of a write
kill -KILL $two
wait $two 2>/dev/null
await state one "$silent"
ok "one that is killed takes its trace with it" $?
chrome "and its file is whole" two2.json 'assert(#of "kernel_ch" == #slices and #slices > 0)'

# a change while it runs
if [ -e "$B/policies/size_aware.policy" ]; then
	status 0 "a policy is loaded" -J one policy load "$B/policies/size_aware.policy"
	env --default-signal=INT "$S" -J one trace start out=change.json events=coll,kernel_ch \
		seconds=100 >change.out 2>&1 &
	one=$!
	jobs="$jobs $one"
	await kept change.json
	run -J one policy use size_aware
	await settled one
	newer() { grep -q '"generation":[1-9]' change.json; }
	await newer
	kill -INT $one
	wait $one
	chrome "over a change each has the decision of its generation" change.json '
		local seen = {}
		for _, e in ipairs(of "coll") do
			-- while the change was made nobody read, and on a loaded machine
			-- the oldest decisions may be gone by then
			local d = e.args.exec_us and e.args.decision
			if d then
				seen[d.generation] = true
				assert((d.by == "size_aware") == (d.generation ~= 0) or not d.by)
				assert(d.answer.algo == e.args.algo
					and d.answer.proto == e.args.proto)
			end
		end
		local n = 0
		for _ in pairs(seen) do n = n + 1 end
		assert(n == 2 and seen[0])'
fi

# the module
lua_run -e 'local nb = require "ncclbpf"
local d = assert(nb.trace.start { out = "lua.json", seconds = "200ms", events = "coll" })
assert(d.ended == "seconds" and d.file == "lua.json")
assert(nb.trace.status {}.processes[1].data.traces == 0)' >"$T/why" 2>&1
ok "from Lua" $?

echo before >x.json
status 64 "a wrong event" -J one trace start out=x.json events=coll,frob
[ "$(cat x.json)" = before ]
ok "and the older file stays" $?
status 64 "a wrong format" -J one trace start out=x.json format=xml
status 64 "a size without a file" -J one trace start size=1M
status 73 "a file that cannot be made" -J one trace start out=/nonexistent/x.json

# the job ends first
env --default-signal=INT "$S" -J one -o json trace start out=end.json seconds=100 >end.out 2>&1 &
one=$!
jobs="$jobs $one"
await kept end.json
kill $job
wait $one
rc=$?
[ $rc -eq 0 ] && grep -q '"ended":"gone"' end.out
ok "a job that ends ends the trace" $?
chrome "with a whole file" end.json 'assert(#slices > 0)'

# more events within half a second than the shell has memory for
status 0 "a trace of very many events at once" -e 'local F = require "ncclbpf.trace.file"
local w = assert(F.open("many.json", "chrome", 1 << 30, "x"))
for page = 0, 79 do
	local list = {}
	for i = 1, 1000 do
		local at = (page * 1000 + i) * 4000
		list[i] = { event = "kernel_ch", comm = "c0ffee0000000001", comm_rank = 0,
			channel = i % 4, bytes = 4096, id = at, start_ns = at, end_ns = at + 12000,
			gpu_start_ns = at, gpu_stop_ns = at + 11000 }
	end
	assert(w:add(list, { rank = 0, pid = 7 }))
end
assert(w:close())
assert(w.spans == 80000)'
[ "$(grep -c '"cat":"kernel_ch"' many.json)" -eq 80000 ] && [ "$(tail -n 1 many.json)" = "]}" ]
ok "is written whole" $?
rm -f many.json

# a reader that stands still: events come as fast as they can
standin fast --ranks 2 --threads --nccl 2.30.7 --min 4K --max 4K
env --default-signal=INT "$S" -J fast -o json trace start out=slow.json seconds=100 \
	>slow.out 2>slow.err &
one=$!
jobs="$jobs $one"
await kept slow.json
kill -STOP $one
run -J fast -o json trace status
written=$(truth 'print(d.processes[1].data.written)')
await state fast "p.written > $written + 200000"
ok "a reader that stands still holds nobody up" $?
# what it had in its buffers first, then what came after the gap
before=$(wc -c <slow.json)
grown() { [ "$(wc -c <slow.json)" -gt $((before + (4 << 20))) ]; }
kill -CONT $one
await grown
kill -INT $one
wait $one
cp slow.out out
cp slow.out why
truth 'assert(d.ended == "interrupted" and d.lost > 0)'
ok "what it missed is counted" $?
chrome "its file is whole" slow.json 'assert(#slices > 0 and processes[0] and processes[1])'
# but for the calls that fences of NCCL 2.30 are numbers of
await state fast 'table.concat(p.asked, " ") == "coll_api" and #p.events == 0 and p.traces == 0'
ok "and NCCL is asked for nothing" $?
finish
trap - EXIT
