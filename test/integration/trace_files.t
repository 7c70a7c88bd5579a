#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# trace start: limits of a file, wrong requests, a first collective, very many events at once.
. "$TOP/test/integration/shm_room.sh"
shm_room "traces" "$0" "$@"
. "$TOP/test/integration/trace_lib.sh"
standin one --ranks 2 --procs --nccl 2.28.9 --min 4K --max 4M --factor 1024 --pause-ms 5
await state one 'p.profiler_abi == 5'
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

# the module
lua_run -e 'local nb = require "ncclbpf"
local d = assert(nb.trace_start { out = "lua.json", seconds = "200ms", events = "coll" })
assert(d.ended == "seconds" and d.file == "lua.json")
assert(nb.trace_status().processes[1].data.traces == 0)' >"$T/why" 2>&1
ok "from Lua" $?

echo before >x.json
status 64 "a wrong event" -J one trace start out=x.json events=coll,frob
[ "$(cat x.json)" = before ]
ok "and the older file stays" $?
status 64 "a wrong format" -J one trace start out=x.json format=xml
status 64 "a size without a file" -J one trace start size=1M
status 73 "a file that cannot be made" -J one trace start out=/nonexistent/x.json

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

finish
trap - EXIT
