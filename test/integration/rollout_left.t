#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# What a job is left with where a rollout goes wrong: its runner is killed
# between a change and the note of it, a change that was made cannot be followed
# up, one of a promotion's changes fails, somebody else changes something. On a
# job of the stand-in with three communicators that replays times.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "what a rollout leaves" "the mock NCCL (standin) was not built"
[ -e "$B/policies/size_aware.policy" ] && [ -e "$B/test/corpus/events/loop_hostile.policy" ] ||
	skip_all "what a rollout leaves" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
cp "$B/policies/nvlink_ring_mid.policy" "$B/policies/size_aware.policy" .
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=left timeout 0 "$B/test/fakes/host/standin" \
	--ranks 2 --procs --groups 3 --events --seconds inf --pause-ms 2 --min 8M --max 8M \
	--table "$TOP/test/fakes/vgpu/b300.csv" >job.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach left >/dev/null 2>&1
need "a job: left" $?
cat >killed.lua <<'L'
local core = require "ncclbpf.core"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local t = assert(require "ncclbpf".attach "left")
assert(t:policy_load "nvlink_ring_mid.policy")
local r = assert(tap.rollout("left", { candidate = { "nvlink_ring_mid" }, blocks = 8, samples = 5,
	judge = { looks = 1, confidence = 0.5 } }))
assert(r:start())
local write = core.write
core.write = function(path, text, ...)
	-- the candidate is in place, which is about to be written down
	if text:find('"arm":"b"', 1, true) then
		os.execute("kill -9 " .. (core.ids and select(2, core.ids())))
	end
	return write(path, text, ...)
end
for _ = 1, 8 do assert(r:step()) end
L
lua_run killed.lua 2>why
[ $? -eq 137 ]
ok "killed before it could write down that the candidate is in place" $?
with() { # POLICIES: what the job decides with
	timeout 300 "$S" -J left -o json status >out 2>why &&
		grep -q "\"policies\":\[$1\],\"scopes\":\[\]" out
}
paused() {
	timeout 300 "$S" -J left -o json rollout status >out 2>why && grep -q '"state":"paused"' out
}
await paused
ok "its supervisor pauses the rollout" $?
await with ''
ok "with the baseline" $?
status 0 "abort" -J left rollout abort
with ''
ok "keeps it" $?

# ---- a record that cannot be written or read, from the candidate's change on ----
cat >unsaved.lua <<'L'
-- unsaved.lua KIND HOW. HOW is stays, dies (the runner is killed) or unread (it is killed, and its
-- supervisor cannot read the record at first).
local core = require "ncclbpf.core"
local runner = require "ncclbpf.rollout.runner"
local kind, how = arg[1], arg[2]
local candidate = kind == "sweep" and "sweep%-" or "nvlink_ring_mid"
local full = os.getenv "HOME" .. "/full" -- while it exists, the disk is full
local function own_pid() return select(2, core.ids()) end
local me = own_pid()
local group = assert(require "ncclbpf.job.session".attach { job = "left" })
local Group = getmetatable(group).__index
local change, write, read = Group.change, core.write, core.read
Group.change = function(g, line, ...)
	local done, err = change(g, line, ...)
	if done and own_pid() == me and line:find(candidate) then
		if how == "unread" then os.execute("kill -9 " .. me) end
		assert(write(full, ""))
	end
	return done, err
end
core.write = function(path, ...)
	if not path:find "%.json$" or not core.stat(full) then return write(path, ...) end
	if how == "dies" and own_pid() == me then os.execute("kill -9 " .. me) end
	return nil, { code = "io", message = "cannot write " .. path
		.. ": No space left on device" }
end
local reads = 0
core.read = function(path, ...)
	if how == "unread" and own_pid() ~= me and path:find "%.json$" and reads < 2 then
		reads = reads + 1
		return nil, { code = "io", message = "cannot read " .. path }
	end
	return read(path, ...)
end
local r
if kind == "sweep" then
	r = assert(require "ncclbpf.sweep.run".start(group, assert(require
		"ncclbpf.sweep.choose".read { algos = { "ring" }, protos = { "ll128" },
		channels = { 0 }, rounds = 8, samples = 5, confidence = 0.5,
		scope = { collectives = { "allreduce" } } })))
else
	local p = assert(require "ncclbpf.rollout.plan".check { blocks = 8, samples = 5,
		candidate = { "nvlink_ring_mid" }, judge = { looks = 1, confidence = 0.5 } })
	r = assert(require "ncclbpf.rollout.run".start(group, p))
end
local done, err = runner.run(r)
print(done, err)
assert(done == nil and tostring(err):find "No space left on device")
assert(#assert(group:one "status").policies == 0, "the candidate is in use")
L
over() { # KIND: its record says that it has ended, after an abort if need be
	timeout 300 "$S" -J left "$1" abort >/dev/null 2>&1
	timeout 300 "$S" -J left -o json "$1" status >out 2>why &&
		grep -qE '"state":"(rolled_back|abandoned|stopped)"' out
}
for kind in rollout sweep; do
	lua_run unsaved.lua $kind stays >why 2>&1
	ok "$kind: when the record cannot be written, its runner restores the baseline" $?
	rm full
	await over $kind
	ok "$kind: which is recorded when it can be" $?
	for how in dies unread; do
		lua_run unsaved.lua $kind $how >why 2>&1
		[ $? -eq 137 ]
		ok "$kind: the runner is killed with the candidate in use ($how)" $?
		await with ''
		ok "$kind: its supervisor restores the baseline ($how)" $?
		rm -f full
		await over $kind
		ok "$kind: the run has ended ($how)" $?
	done
done

# ---- a communicator gets policies of its own while a sweep has no runner and no supervisor ----
cat >scoped.lua <<'L'
local core = require "ncclbpf.core"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local t = assert(require "ncclbpf".attach "left")
local group = assert(require "ncclbpf.job.session".attach { job = "left" })
local r = assert(require "ncclbpf.sweep.run".start(group, assert(require
	"ncclbpf.sweep.choose".read { algos = { "ring" }, protos = { "ll128" }, channels = { 0 },
	rounds = 8, samples = 5, confidence = 0.5, scope = { collectives = { "allreduce" } } })))
assert(t:policy_load { "size_aware.policy", name = r.prefix .. "1" })
assert(t:policy_use(r.prefix .. "1"))
assert(t:policy_use { "nvlink_ring_mid", comm = tap.comms(t)[2] })
print(tap.using(t, tap.comms(t)))
L
lua_run scoped.lua >using 2>why && grep -q '^sweep-[0-9-]* nvlink_ring_mid sweep-[0-9-]*$' using
ok "a table of a sweep is in use, and one communicator has policies of its own" $?
status 0 "sweep abort" -J left sweep abort
scoped() {
	timeout 300 "$S" -J left -o json status >out 2>why &&
		grep -q '"policies":\[\],"scopes":\[{"comms":\["[0-9a-f]*"\],"policies":\["nvl' out
}
scoped
ok "restores the baseline of the others, and leaves that communicator alone" $?
status 0 "all communicators without policies" -J left policy use none
lua_suite rollout_left.lua

# ---- controllers that change their maps all the time
H=test/corpus/events/loop_hostile
NCCLBPF_POLICY=$B/$H.policy NCCLBPF_CONTROLLER_MS=50 NCCL_TUNER_PLUGIN=$B/libncclbpf.so \
	NCCLBPF_JOB=loop \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds inf \
	--pause-ms 2 --min 8M --max 8M --table "$TOP/test/fakes/vgpu/b300.csv" >loop.out 2>&1 &
jobs="$jobs $!"
await timeout 300 "$S" -q attach loop >/dev/null 2>&1
need "a job: loop" $?
cat >loop.lua <<'L'
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local t = assert(nb.attach "loop")
assert(t:policy_load "nvlink_ring_mid.policy")
local Group = getmetatable(require "ncclbpf.job.session".attach({ job = "loop" }, 5)).__index
local change, ask = Group.change, Group.ask
local function another() -- until they have made one more
	local from = t:status().generation
	for _ = 1, 6000 do
		if t:status().generation > from then return end
		nb.sleep(0.01)
	end
	error "controllers make no generation"
end
local r = assert(tap.rollout("loop", { candidate = { "loop_hostile", "nvlink_ring_mid" },
	blocks = 3, samples = 5, seed = 7,
	judge = { looks = 1, confidence = 0.5, min_effect_pct = 50 } }))
assert(r:start())
local waits = 0
Group.change = function(g, line, ...)
	if line:find "^policy use" and waits < 4 then waits = waits + 1 another() end
	return change(g, line, ...)
end
local lists = 0
Group.ask = function(g, line, ...)
	lists = lists + (line == "policy list" and 1 or 0)
	if line == "policy list" and lists % 4 == 2 and lists < 20 then another() end
	return ask(g, line, ...)
end
r:wait()
print(r, waits, lists)
assert(r.state == "succeeded" and r.blocks == 6 and waits == 4)
assert(table.concat(t:status().policies, ",") == "loop_hostile,nvlink_ring_mid")
L
status 0 "a controller is told to change a map at each run" -J loop map set loop_hostile/ask 0 4
lua_run loop.lua >why 2>&1
ok "its generations are no reason to pause" $?
