#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Chrome's own loader takes our traces: the Performance panel of Chromium's
# DevTools opens a file that was ended, one whose writer was killed at work,
# one that has turned, and shows every slice, name and argument.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "traces in Chrome" "the mock NCCL (standin) was not built"
browser=$(command -v chromium || command -v chromium-browser)
[ -n "$browser" ] || skip_all "traces in Chrome" "chromium is not installed (test/setup.sh browser)"
command -v python3 >/dev/null || skip_all "traces in Chrome" "no python3"
trap finish EXIT
cd "$T" || exit 1
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=one \
	timeout 0 "$B/test/fakes/host/standin" --events --seconds inf --ranks 2 --procs \
	--nccl 2.28.9 --min 4K --max 4M --factor 1024 --pause-ms 20 >one.out 2>&1 &
jobs=$!
await timeout 300 "$S" -q attach one >/dev/null 2>&1
need "a job: one" $?
traced() { # FILE ARGS...: until it has collectives and their times
	run -J one trace start out="$@" seconds=1
	[ "$(grep -c '"cat":"coll".*"exec_us"' "$1")" -gt 12 ]
}
await traced whole.json
turned() {
	run -J one trace start out=turned.json size=64K keep=2 seconds=1
	[ -e turned.json.1 ] && grep -q '"ph":"X"' turned.json
}
await turned
"$S" -J one trace start out=killed.json >killed.out 2>&1 &
writer=$!
jobs="$jobs $writer"
enough() { [ "$(grep -c '"cat":"coll".*"exec_us"' killed.json)" -gt 12 ]; }
await enough
halt $writer # not in the middle of a write
kill -KILL $writer
wait $writer 2>/dev/null
head -c $(($(wc -c <whole.json) / 2)) whole.json >cut.json

# A browser that does not come on a busy machine, or without its own locale, is begun again, once.
for try in 1 2; do
	rm -rf profile
	timeout -k 5 300 python3 "$TOP/test/integration/devtools.py" "$browser" "$T/profile" \
		cut.json whole.json turned.json turned.json.1 killed.json >loaded 2>why
	rc=$?
	[ $rc -eq 0 ] && break
	echo "# try $try ended with $rc: $(tail -1 why)"
done
case $rc in 124 | 137) rc=3 && echo "chromium did not answer within 60 s, twice" >why ;; esac
if [ $rc -eq 3 ]; then
	echo "ok $((tests + 1)) - Chrome loads a trace # SKIP $(head -1 why | cut -c1-120)"
	tests=$((tests + 1))
	exit
fi
[ $rc -eq 0 ]
ok "the Performance panel was opened" $?
cat >shown.lua <<'L'
local decode = require "ncclbpf.core".decode
local name, cut = ...
local r
for l in io.lines "loaded" do
	local d = decode(l)
	if d.file == name then r = d end
end
assert(r, "not loaded")
if cut then return assert(r.error and next(r.processes) == nil, "half a file was taken") end
assert(not r.error, r.error)
assert(#r.said == 0, r.said[1])
assert(r.generic, "taken for a web page's")
-- what is in the file
local processes, threads, n = {}, {}, 0
local function thread(e)
	local key = e.pid .. "." .. e.tid
	threads[key] = threads[key] or { slices = 0, args = 0, decisions = 0 }
	return threads[key]
end
for _, e in ipairs(decode(io.open(name):read "a").traceEvents) do
	if e.ph == "M" and e.name == "process_name" then
		processes[tostring(e.pid)] = e.args.name
	end
	if e.ph == "M" and e.name == "thread_name" then thread(e).name = e.args.name end
	if e.ph == "X" then
		local t = thread(e)
		t.slices, t.args = t.slices + 1, t.args + (e.args.comm and 1 or 0)
		t.decisions = t.decisions + (e.args.decision and 1 or 0)
		n = n + 1
	end
end
-- is what the panel has, and no more
local shown, decisions = 0, 0
for pid, p in pairs(r.processes) do
	assert(p.name == processes[pid], ("process %s is %s"):format(pid, p.name))
	processes[pid] = nil
	for tid, t in pairs(p.threads) do
		local want = threads[pid .. "." .. tid] or { slices = 0, args = 0, decisions = 0 }
		assert(t.slices == 0 or t.name == want.name,
			("thread %s is %s"):format(tid, t.name))
		for _, k in ipairs { "slices", "args", "decisions" } do
			assert(t[k] == want[k],
				("%s: %d of %d %s"):format(want.name, t[k], want[k], k))
		end
		shown, decisions = shown + t.slices, decisions + t.decisions
	end
end
assert(next(processes) == nil and shown == n and n > 0 and (decisions > 5 or name:find "^turned"),
	("%d of %d, %d decisions"):format(shown, n, decisions))
print(("# %s: %d slices, %d with decisions"):format(name, n, decisions))
L
lua_run shown.lua cut.json cut 2>why
ok "half a file is refused: what it says is heard" $?
for f in whole.json turned.json turned.json.1 killed.json; do
	lua_run shown.lua "$f" 2>why
	ok "$f: every slice, name and argument is shown, without a word" $?
	lua_run "$TOP/test/integration/trace_check.lua" "$f" 'assert(#slices > 0)' >why 2>&1
	ok "$f: keeps the format's and Perfetto's rules" $?
done
