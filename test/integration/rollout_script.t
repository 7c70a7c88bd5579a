#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# Rollout scripts: header, arguments by name, functions in their order, over
# recorded blocks and on a job; and scripts that loop, allocate, raise, catch
# their stop, change a map that they may not.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
export XDG_STATE_HOME="$T/state"
lua_run "$TOP/test/integration/report_make.lua" . || exit 1
script() { # NAME FIELDS
	echo "return { plan = { candidate = 'none' }, $2 }" >"$1.lua"
}
dry() { # STATUS WHAT NAME ARGS...
	want=$1 what=$2 name=$3
	shift 3
	status "$want" "$what" -e 'require("ncclbpf.base.clock").times.callback = 0.1' \
		-n -o table rollout script "$name.lua" data=one.json "$@"
}

# ---- over recorded blocks ----
cat >good.lua <<'END'
return {
	description = "a judge of its own", author = "somebody", categories = { "observe" },
	args = { limit = { default = 5, help = "per cent" }, who = { required = true },
		size = "4M" },
	plan = function(ctx) return { candidate = "none", name = "by-" .. ctx.args.who } end,
	setup = function(ctx)
		ctx.log("setup", ctx.dry_run, ctx.args.limit, ctx.size(ctx.args.size))
		ctx.n = 0
	end,
	step = function(ctx, n) ctx.n = ctx.n + 1 assert(ctx.n == n and ctx.blocks == n) end,
	judge = function(ctx, a, b)
		for kind, list in pairs(a) do
			local j = ctx.judge { a = list, b = b[kind], block = 1,
				min_effect_pct = tonumber(ctx.args.limit) }
			if j.verdict ~= "pass" then
				return "inconclusive", kind .. " " .. j.reason
			end
		end
		return "pass", "by my own judgement"
	end,
	done = function(ctx, r) ctx.log("done", r.verdict, r.blocks == ctx.n, ctx.map "x") end,
}
END
dry 0 "a script over recorded blocks" good who=me limit=7
has "by its own judge" out "dry run of good.lua" "pass: by my own judgement; then: promote"
has "called in order, with its arguments" err "good.lua: setup true 7 4194304" \
	"good.lua: done pass true nil"
dry 64 "an argument that is missing" good
has "is named" err "argument who: missing"
dry 64 "an argument that is none" good who=me limt=3
has "names the nearest" err "no argument limt" "nearest: limit"
dry 64 "a word that is no argument" good who
has "says what is expected" err '"who": NAME=VALUE expected'
status 64 "a dry run without data" -n rollout script good.lua who=me
status 66 "a file that is not there" -n rollout script none.lua data=one.json

# ---- headers that are none ----
script x 'setpu = function() end'
dry 64 "an unknown field" x
has "names the nearest" err "setpu: no such field" "nearest: setup"
script x 'setup = 3'
dry 64 "a function that is none" x
has "says so" err "setup: a function expected, found number"
script x 'categories = { "delete" }'
dry 64 "a category that is none" x
has "says which" err '"delete"; observe or change expected'
script x 'args = { limit = { defualt = 3 } }'
dry 64 "an argument's field that is none" x
script x 'requires = "a"'
dry 64 "requires that is no list" x
echo 'return 3' >x.lua
dry 64 "no table" x
echo 'return { plan = { candidate = "none", blcks = 3 } }' >x.lua
dry 64 "a plan that is none" x
has "with its field" err "blcks: no such field"
echo 'return {' >x.lua
dry 65 "no Lua" x

# ---- what they may not ----
for f in setup step judge; do
	script x "$f = function() while true do end end"
	dry 1 "$f that loops" x
	has "is stopped" err "$f: runs too long" "hint: a call may take 0.1 s"
done
echo 'while true do end' >x.lua
dry 1 "a file that loops" x
script x 'step = function(ctx) while true do pcall(function() while true do end end) end end'
dry 1 "one that catches its stop" x
has "is stopped all the same" err "step: runs too long"
script x 'step = function(ctx) pcall(function() while true do end end) ctx.log "went on" end,
	done = function(ctx) ctx.log "was called" end'
dry 1 "one that catches it and returns" x
! grep -q 'went on\|was called' err
ok "gets no further, and is not called again" $?
script x 'step = function(ctx) local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end end'
status 1 "one that allocates without bound" -n rollout script x.lua data=one.json
has "is stopped" err "step: "
script x 'step = function(ctx) local s = ("x"):rep(1 << 40) end'
dry 1 "one large string" x
script x 'step = function(ctx) error "my word" end'
dry 1 "one that raises" x
has "with its words" err "my word"
script x 'step = function(ctx) error(setmetatable({}, {})) end'
dry 1 "setmetatable is not there" x
script x 'step = function(ctx) os.exit(0) end'
dry 1 "nor is os" x
script x 'step = function(ctx) require "ncclbpf" end'
dry 1 "nor require" x
script x 'judge = function() return "yes" end'
dry 1 "a verdict that is none" x
has "says which there are" err '"pass", "fail" or "inconclusive" expected, found yes'
lua_run -e 'local core = require "ncclbpf.core"
	local ok, why, limit = core.limited(0.05, 1 << 20,
		function() while true do pcall(function() while true do end end) end end)
	assert(ok == false and why == "runs too long" and limit == true)
	ok, why, limit = core.limited(5, 1 << 20, function() return ("x"):rep(1 << 22) end)
	assert(ok == false and why == "takes too much memory" and limit == true)
	assert(select("#", core.limited(5, 1 << 20, function(...) return ... end, 1, nil, 3)) == 4)
	assert(not pcall(core.limited, 5, 1 << 20, nil)
		and not pcall(core.limited, 0 / 0, 1, print))
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
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=scripted \
	timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds inf \
	--pause-ms 2 --min 8M --max 8M --table "$TOP/test/fakes/vgpu/b300.csv" >job.out 2>&1 &
jobs="$jobs $!"
export NCCLBPF_JOB=scripted
await timeout 300 "$S" -q attach scripted >/dev/null 2>&1
need "a job: scripted" $?
P='plan = { candidate = { "force" }, blocks = 4, samples = 6,
		judge = { confidence = 0.5, looks = 1 }, seed = 1 }'
echo "return { $P, requires = { 'force' } }" >x.lua
status 1 "what it requires is not there" rollout script x.lua
has "is said" err "requires policy force"
run policy load "$B/policies/force.bpf.o"
cat >live.lua <<END
return { $P, requires = { 'force' },
	setup = function(ctx)
		local p, c = ctx.policies()[1], ctx.comms()[1]
		ctx.log("comms", #ctx.comms(), ctx.dry_run)
		ctx.log("plain", p.name, p.use, p.add, p.unload, p.refresh, c.use, c.refresh,
			#c.comm > 0)
		local sets, why = pcall(function() return p:use() end)
		ctx.log("use", sets)
		ctx.decisions { count = 1, follow = function(d)
			ctx.log("follows", #d.comm > 0, d.changed)
			return true
		end }
	end,
	step = function(ctx, n)
		if n ~= 2 then return end
		local ok, err = ctx.map "force":set(0, { channels = 2 })
		ctx.log("change", ok, err.code)
		assert(ctx.map "force":get(0).channels == 0)
	end,
	judge = function(ctx, a, b) return "pass", "mine" end,
	done = function(ctx, r) ctx.log("done", r.state, r.verdict) end }
END
status 0 "a script runs a rollout" -o table rollout script live.lua
has "to its own verdict" out "succeeded" "pass at look 1: mine"
has "what it is given is data, without a method that sets" err \
	"live.lua: plain force nil nil nil nil nil nil true" "live.lua: use false" \
	"live.lua: follows true nil"
has "a map it may not change stays" err "live.lua: comms 1 false" \
	"live.lua: change nil not_permitted" "live.lua: done succeeded pass"
run rollout undo
sed -e 's/requires = /categories = { "change" }, requires = /' \
	-e 's/return "pass", "mine"/error "no"/' live.lua >change.lua
status 1 "one that raises pauses the rollout" rollout script change.lua
has "with its words" err "judge: " "no"
has "nor may it change a coherent map" err "change nil not_permitted"
run -o json rollout status
grep -q '"state":"paused"' out
ok "with the baseline" $?
status 2 "resume alone" rollout resume
has "names the script" err "script change.lua runs this rollout" \
	"rollout script change.lua resume=yes"
status 2 "another script" rollout script live.lua resume=yes
has "is not the one" err "another script started this rollout: change.lua"
status 0 "abort" rollout abort
