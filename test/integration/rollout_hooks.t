#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Hooks of a plan: functions in their order, over recorded blocks and on a job; and hooks that loop,
# allocate, raise, catch their stop, change a map that they may not.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
lua_run "$TOP/test/integration/report_make.lua" . || exit 1
plan() { # NAME HOOKS
	echo "return { candidate = 'none', hooks = { $2 } }" >"$1.lua"
}
seconds=300 # limit of a call
dry() { # STATUS CODE WHAT NAME
	fails "$1" "$2" "$3" -e 'require("ncclbpf.base.clock").times.callback = '$seconds \
		rollout start "$4.lua" data=one.json
}

# ---- over recorded blocks ----
cat >good.lua <<'END'
local LIMIT = 7
return { candidate = "none", name = ("by-%s"):format("me"), hooks = {
	setup = function(ctx)
		ctx.log("setup", ctx.dry_run, LIMIT, ctx.size "4M")
		ctx.n = 0
	end,
	step = function(ctx, n) ctx.n = ctx.n + 1 assert(ctx.n == n and ctx.blocks == n) end,
	judge = function(ctx, a, b)
		for kind, list in pairs(a) do
			local j = ctx.judge { a = list, b = b[kind], block = 1,
				min_effect_pct = LIMIT }
			if j.verdict ~= "pass" then
				return "inconclusive", kind .. " " .. j.reason
			end
		end
		return "pass", "by my own judgement"
	end,
	done = function(ctx, r) ctx.log("done", r.verdict, r.blocks == ctx.n) end,
} }
END
status 0 "hooks over recorded blocks" -o table rollout start good.lua data=one.json
has "by their own judge" out "replayed from one.json" "pass: by my own judgement; then: promote"
has "called in order" err "good.lua: setup true 7 4194304" "good.lua: done pass true"
sed -e 's/return "pass", "by my own judgement"/return "fail", "too slow for me"/' good.lua >bad.lua
status 2 "a candidate that its judge refuses" -o table rollout start bad.lua data=one.json
has "would be rolled back" out "fail: too slow for me; then: rollback"
has "which is an error" err "it would be rolled back: fail: too slow for me"
status 2 "the same in JSON" -o json rollout start bad.lua data=one.json
has "has what would follow" out '"action":"rollback"' '"verdict":"fail"'
sed -e 's/{ candidate = "none",/{ candidate = "none", on_pass = "pause",/' good.lua >held.lua
status 3 "one that passes and waits" -o table rollout start held.lua data=one.json
has "is paused" out "pass: by my own judgement; then: pause"
cat >dry.lua <<'END'
return { candidate = "none", hooks = {
	setup = function(ctx)
		local s = assert(ctx.job:status())
		ctx.log("of", s.job, s.version, ctx.job:comm_list().comms[1].ranks,
			ctx.job:policy_list().policies[1].name)
		assert(ctx.job:map_set { "m", 0, 1 })
		local none, err = ctx.job:stats()
		ctx.log("stats", none, err.code)
		none, err = ctx.job:policy_use "force"
		ctx.log("use", none, err.code)
	end,
	judge = function(ctx, a, b)
		local sum, last = 0, nil
		for kind, list in pairs(a) do
			assert(kind.coll == "allreduce" and kind.comm == "c0ffee0000000000")
			assert(#list == #b[kind] and ("%s"):format(kind) == kind .. "")
			sum, last = sum + kind.bytes // ctx.size "1M", kind
		end
		assert(ctx.last == nil or b[ctx.last])
		ctx.last = last
		local fine, why = pcall(function() return last.size end)
		return "inconclusive", ("%d MiB in all; %s"):format(sum, why)
	end,
} }
END
status 3 "functions of the job, over recorded blocks" -o table rollout start dry.lua data=one.json
has "say what the file has" err "dry.lua: of train 0.1.0 8 nvlink_ring_mid" \
	"dry.lua: stats nil not_supported" "dry.lua: use nil not_permitted"
has "kinds of collectives have fields" out "508 MiB in all; " \
	"a kind of collective has no field size (bytes, coll, comm)"
status 0 "the plan's steps" rollout plan good.lua
has "have the plan's name" out "rollout by-me"
status 66 "a file that is not there" rollout start none.lua data=one.json

# ---- hooks that are none ----
plan x 'setpu = function() end'
dry 64 bad_argument "an unknown hook" x
plan x 'setup = 3'
dry 64 bad_argument "a function that is none" x
echo 'return { candidate = "none", hooks = 3 }' >x.lua
dry 64 bad_argument "hooks that are no table" x
echo '{ "candidate": "none", "hooks": { "step": "x" } }' >x.json
status 64 "nor has JSON functions" rollout plan x.json
echo 'return 3' >x.lua
dry 64 bad_argument "no table" x
echo 'return { candidate = "none", blcks = 3, hooks = { step = function() end } }' >x.lua
dry 64 bad_argument "a plan that is none" x
echo 'return {' >x.lua
dry 65 lua_syntax "no Lua" x

# ---- what they may not ----
seconds=0.5
for f in setup step judge; do
	plan x "$f = function() while true do end end"
	dry 1 script_failed "$f that loops" x
done
echo 'while true do end' >x.lua
dry 64 bad_argument "a file that loops" x
plan x 'step = function(ctx) while true do pcall(function() while true do end end) end end'
dry 1 script_failed "one that catches its stop" x
plan x 'step = function(ctx) pcall(function() while true do end end) ctx.log "went on" end,
	done = function(ctx) ctx.log "was called" end'
dry 1 script_failed "one that catches it and returns" x
! grep -q 'went on\|was called' err
ok "gets no further, and is not called again" $?
seconds=300
plan x 'step = function(ctx) local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end end'
ends 1 script_failed "one that allocates without bound" rollout start x.lua data=one.json
plan x 'step = function(ctx) local s = ("x"):rep(1 << 40) end'
dry 1 script_failed "one large string" x
plan x 'step = function(ctx) error "my word" end'
dry 1 script_failed "one that raises" x
plan x 'step = function(ctx) error(setmetatable({}, {})) end'
dry 1 script_failed "setmetatable is not there" x
plan x 'step = function(ctx) os.exit(0) end'
dry 1 script_failed "nor is os" x
plan x 'step = function(ctx) require "ncclbpf" end'
dry 1 script_failed "nor require" x
plan x 'judge = function() return "yes" end'
dry 1 script_failed "a verdict that is none" x
lua_run -e 'local core = require "ncclbpf.core"
	local ok, why, limit = core.limited(0.05, 1 << 20,
		function() while true do pcall(function() while true do end end) end end)
	assert(ok == false and why == "runs too long" and limit == true)
	ok, why, limit = core.limited(5, 1 << 20, function() return ("x"):rep(1 << 22) end)
	assert(ok == false and why == "takes too much memory" and limit == true)
	assert(select("#", core.limited(5, 1 << 20, function(...) return ... end, 1, nil, 3)) == 4)
	assert(not pcall(core.limited, 5, 1 << 20, nil)
		and not pcall(core.limited, 0 / 0, 1, print))
	ok, why, limit = core.computed(0.05, 1 << 20, function() while true do end end)
	assert(ok == false and why == "runs too long" and limit == true)
	assert(core.computed(0.05, 1 << 20, core.sleep, 0.2)) -- others may compute meanwhile
	ok, why, limit = core.limited(0.05, 1 << 20, core.sleep, 1e6)
	assert(ok == false and why == "runs too long" and limit == true)
	ok, why = core.limited(5, 1 << 20, function() return core.limited(5, 1, print) end)
	assert(not ok and tostring(why):find "within itself")
	local n = 0
	for i = 1, 1e6 do n = n + 1 end -- nothing is left armed
	assert(n == 1e6 and not debug.gethook())' 2>why
ok "the limits, from a plain Lua" $?

# ---- on a job ----
if [ ! -x "$B/test/fakes/host/standin" ] || [ ! -e "$B/policies/noop.bpf.o" ]; then
	tests=$((tests + 1))
	echo "ok $tests - on a job # SKIP no stand-in host or no clang at build time"
	exit
fi
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=hooked \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds inf \
	--pause-ms 2 --min 8M --max 8M --table "$TOP/test/fakes/vgpu/b300.csv" >job.out 2>&1 &
jobs="$jobs $!"
export NCCLBPF_JOB=hooked
await timeout 300 "$S" -q attach hooked >/dev/null 2>&1
need "a job" $?
cat >wait.lua <<'END'
require "ncclbpf"
local clock, hooks = require "ncclbpf.base.clock", require "ncclbpf.rollout.hooks"
local session = require "ncclbpf.job.session"
local group
local function call(timeout, f)
	group = assert(session.attach({ job = "hooked" }, timeout))
	local h = assert(hooks.open("x.lua", { step = f }, { group = group, say = print }))
	return h:call("step", h.ctx, 1)
end
local function all_answer()
	for _, r in ipairs(group:ask "status") do assert(r.data, r.err) end
end
assert(call(300, function(ctx)
	assert(ctx.job:status())
	local none, err = ctx.job:status { timeout = 0.001 }
	assert(not none and err.code == "not_permitted", err)
end))
assert(group.timeout == 300)
clock.times.callback = 0.2
local pid
local ok, err = call(0, function(ctx)
	pid = group.members[1].pid
	os.execute(". $TOP/test/await.sh; halt " .. pid)
	ctx.job:status()
end)
os.execute("kill -CONT " .. pid)
assert(not ok and err.message == "step: runs too long", err)
all_answer()
local n, left = 0, nil
ok, err = call(0, function(ctx)
	ctx.job:decision_tail { follow = function()
		n = n + 1
		while true do end
	end }
end)
assert(not ok and err.message == "step: runs too long", err)
left = n
for _ = 1, 20 do all_answer() end
assert(n == left)
END
lua_run wait.lua 2>why
ok "no timeout of their own, none that outlasts the limit, no stream left" $?
P='candidate = { "force" }, blocks = 4, samples = 6, judge = { confidence = 0.5, looks = 1 },
	seed = 1'
run policy load "$B/policies/force.bpf.o"
cat >live.lua <<END
return { $P, hooks = {
	setup = function(ctx)
		ctx.log("comms", #ctx.job:comm_list().comms, ctx.dry_run)
		local used, err = ctx.job:policy_use "force"
		ctx.log("use", used, err.code)
		local sent, why = ctx.job:request "policy use force"
		ctx.log("request", sent, why.code)
		ctx.job:decision_tail { count = 1, follow = function(p)
			ctx.log("follows", #p.decisions)
			return true
		end }
	end,
	step = function(ctx, n)
		if n ~= 2 then return end
		local ok, err = ctx.job:map_set { "force", 0, { channels = 2 } }
		ctx.log("change", ok, err.code)
		assert(ctx.job:map_get { "force", 0 }.entries[1].value.channels == 0)
	end,
	judge = function(ctx, a, b) return "pass", "mine" end,
	done = function(ctx, r) ctx.log("done", r.state, r.verdict) end } }
END
status 0 "hooks on a job" -o table rollout start live.lua
has "to their own verdict" out "succeeded" "pass at look 1: mine"
has "their job object may read, and nothing else" err "live.lua: use nil not_permitted" \
	"live.lua: request nil not_permitted" "live.lua: follows 1"
has "a coherent map stays" err "live.lua: comms 1 false" "live.lua: change nil not_permitted" \
	"live.lua: done succeeded pass"
run rollout undo
sed -e 's/return "pass", "mine"/error "no"/' live.lua >change.lua
fails 1 script_failed "one that raises pauses the rollout" rollout start change.lua
run -o json rollout status
grep -q '"state":"paused"' out
ok "with the baseline" $?
status 2 "all its blocks are judged, so it is not resumed" rollout resume
status 0 "abort" rollout abort
# paused before its end, and resumed by another shell with the same hooks
cat >half.lua <<END
return { $P, hooks = { step = function(ctx, n) if n == 3 then ctx.log "three" end end,
	judge = function() return "pass", "mine" end,
	done = function(ctx, r) ctx.log("done", r.state) end } }
END
lua_run -e 'local core, hooks = require "ncclbpf.core", require "ncclbpf.rollout.hooks"
	local plan, run = require "ncclbpf.rollout.plan", require "ncclbpf.rollout.run"
	local g = assert(require "ncclbpf.job.session".attach { job = "hooked" })
	local p, f, digest = assert(plan.read "half.lua")
	local h = assert(hooks.open(os.getenv "HOME" .. "/half.lua", f, { digest = digest,
		say = print }))
	local r = assert(run.start(g, p, h:of_run()))
	assert(run.run(r, nil, 2))
	assert(run.tell(r, g, "pause"))' 2>why
ok "two blocks, then a pause" $?
cp half.lua kept.lua
echo '-- changed' >>half.lua
fails 2 refused "a plan's file that has changed" rollout resume
cp kept.lua half.lua
status 0 "the same file is" -o table rollout resume
has "with its hooks, to their verdict" out "succeeded" "pass at look 1: mine"
has "which are called again" err "half.lua: three" "half.lua: done succeeded"
run rollout undo
cat >own.lua <<END
local nb = require "ncclbpf"
local job, blocks, seen = assert(nb.attach "hooked"), 0, {}
local plan = { $P, hooks = { judge = function(ctx, a, b)
	return "pass", #ctx.job:comm_list().comms .. " communicator"
end } }
local r = assert(job:rollout_start { plan, follow = function(now) blocks = now.blocks end })
assert(r.state == "succeeded" and r.reason:find "1 communicator" and blocks == 8, r.reason)
assert(plan.hooks.judge and job:rollout_undo().state == "rolled_back")
plan.hooks = { judge = function() error "no" end }
local none, err = job:rollout_start { plan }
assert(not none and err.code == "script_failed" and err.message:find "no", err)
none, err = job:rollout_resume()
assert(not none and err.code == "refused", err)
assert(job:rollout_abort())
END
lua_run own.lua >why 2>&1
ok "functions of a script are hooks of its plan" $?
messages
