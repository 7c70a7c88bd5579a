#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# trace start, stop, status on a running job of the stand-in host: the file is Chrome's format
# to the letter, decisions are those of their collectives also over a change, and NCCL is asked
# for nothing when the last reader has gone. trace_files.t and trace_readers.t have the rest.
. "$TOP/test/integration/shm_room.sh"
shm_room "traces" "$0" "$@"
. "$TOP/test/integration/trace_lib.sh"
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
			local d = assert(e.args.decision, encode(e))
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
await state one "$silent"
ok "and NCCL is asked for nothing again" $?
! grep -q "first collective" err out
ok "nothing is said of the first collective" $?
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

# a change while it runs
if [ -e "$B/policies/size_aware.policy" ]; then
	status 0 "a policy is loaded" -J one policy load "$B/policies/size_aware.policy"
	env --default-signal=INT "$S" -J one trace start out=change.json events=coll,kernel_ch \
		>change.out 2>&1 &
	one=$!
	jobs="$jobs $one"
	timed() { grep '"cat":"coll".*"exec_us"' change.json | grep -q "\"generation\":$1"; }
	await timed 0
	status 0 "and used" -J one -T 300 policy use size_aware
	await settled one
	newer() { # never, if the trace has ended
		timed '[1-9]' && return
		case $(ps -o stat= -p $one) in '' | Z*) return $NEVER ;; esac
		return 1
	}
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

# the job ends first
env --default-signal=INT "$S" -J one -o json trace start out=end.json >end.out 2>&1 &
one=$!
jobs="$jobs $one"
await kept end.json
kill $job
wait $one
rc=$?
[ $rc -eq 0 ] && grep -q '"ended":"gone"' end.out
ok "a job that ends ends the trace" $?
chrome "with a whole file" end.json 'assert(#slices > 0)'

finish
trap - EXIT
