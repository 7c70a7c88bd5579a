-- SPDX-License-Identifier: MIT
-- Run by lua_rollout.t: a job called staged runs, two ranks, three communicators
-- at once; nvlink_ring_mid is faster there, one_channel 20 times slower.
local nb = require "ncclbpf"
local n = 0
local function test(name, ok, why)
	n = n + 1
	print(("%sok %d - %s"):format(ok and "" or "not ", n, name))
	if not ok and why ~= nil then print("# " .. tostring(why):gsub("\n", "\n# ")) end
	return ok
end
local function raises(name, text, f, ...)
	local ok, e = pcall(f, ...)
	test(name, not ok and tostring(e):find(text, 1, true) ~= nil, e)
end
local function fails(name, code, text, v, err)
	test(name, v == nil and type(err) == "table" and err.code == code and tostring(err):find(text, 1, true) ~= nil, err or v)
end

local t <close> = assert(nb.attach { job = "staged" })
assert(t:policy_load { path = "nvlink_ring_mid.policy" })
assert(t:policy_load { path = "one_channel.bpf.o" })
local ids = {}
for i, c in ipairs(t:comms()) do ids[i] = c.comm end
table.sort(ids)
local function plan(name, candidate, more)
	local p = { name = name, candidate = { candidate }, blocks = 4, samples = 6, judge = { confidence = 0.8, looks = 1, min_effect_pct = 2 },
		guards = { slower_pct = 200 }, seed = 7 }
	for k, v in pairs(more or {}) do p[k] = v end
	return p
end
-- which policies each communicator decides with
local function using()
	local s = assert(t:status())
	local by = {}
	for _, id in ipairs(ids) do by[id] = table.concat(s.policies, ",") end
	for _, x in ipairs(s.scopes) do
		for _, id in ipairs(x.comms) do by[id] = table.concat(x.policies, ",") end
	end
	local list = {}
	for i, id in ipairs(ids) do list[i] = by[id] == "" and "-" or by[id] end
	return table.concat(list, " ")
end

-- ---- the object ----
fails("no rollout yet", "not_found", "this job has no rollout", t:rollout())
local r = assert(t:rollout(plan("mid", "nvlink_ring_mid")))
test("planned, nothing asked of the job", r.state == "planned" and r.blocks == 0 and r.of == 8 and t:rollout() == nil)
test("prints in one line", tostring(r) == "rollout mid: planned, 0 of 8 blocks", tostring(r))
test("locked, read-only", getmetatable(r) == "rollout" and not pcall(setmetatable, r, {}) and not pcall(function() r.state = "succeeded" end))
raises("a method without it", "object:method()", r.step)
test("its plan is complete", r:plan().warmup_pct == 10 and r:plan().on_fail == "rollback" and #r:steps() > 5)
fails("a plan with a field that is none", "bad_argument", "nearest: blocks", t:rollout { candidate = "none", blcks = 3 })
fails("NaN", "bad_argument", "judge.confidence: a number", t:rollout { candidate = "none", judge = { confidence = 0 / 0 } })
fails("step before start", "refused", "has not been started", r:step())
fails("likewise pause", "refused", "has not been started", r:pause())
raises("a plan that is none", "target:rollout: plan: table wanted, found number", t.rollout, t, 7)
raises("nb.rollout without a target", "what nb.attach returns wanted", nb.rollout, {})
test("nb.rollout names the target", nb.rollout { target = t, candidate = "none" }.state == "planned")
test("started", r:start() == r and r.state == "progressing" and r.id:find "^mid%-" ~= nil and r.running == false, r.reason)
fails("not twice", "refused", "has been started", r:start())
fails("nor another beside it", "busy", "rollout mid of this job is progressing", assert(t:rollout(plan("other", "one_channel"))):start())
test("a block", r:step() == r and r.blocks == 1 and tostring(r) == "rollout mid: progressing, 1 of 8 blocks: " .. r.reason, tostring(r))
test("paused", r:pause() == r and r.state == "paused" and using() == "- - -", using())
test("where it is paused, a step is none", r:step().blocks == 1)
local again = assert(t:rollout())
test("the job's rollout, by another object", again.id == r.id and again.state == "paused" and again.blocks == 1)
test("resumed there", again:resume() == again and again.state == "progressing")
fails("so the first has it no longer", "busy", "runs it", r:step())
local told = 0
test("run to its end", again:wait { progress = function(x) told = told + (x == again and 1 or 0) end } == again, again.reason)
test("promoted", again.state == "succeeded" and again.blocks == 8 and told == 7 and again.verdict.verdict == "pass", again)
test("in use on all", using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid", using())
local seen = {}
for _, e in ipairs(again:history()) do
	seen[e.to] = e
	if not (e.time and e.rollout == again.id and e.from and e.actor and e.reason) then test("a whole event", false, nb.json.encode(e)) end
end
test("every transition", seen.preparing and seen.progressing and seen.paused and seen.promoting and seen.succeeded)
test("with what it rests on", seen.succeeded.evidence.verdict == "pass" and seen.promoting.evidence.look == 1)
local report = assert(again:report("r.html", { label = "replayed" }))
test("a report", report.bytes > 10000 and report.csv == "r.csv" and again:status().verdict.verdict == "pass")
fails("what has ended is not paused", "refused", "it has ended: succeeded", again:pause())
test("undone", r:undo() == r and r.state == "rolled_back" and using() == "- - -", using())
fails("once", "refused", "only what was promoted", again:undo())
r = assert(t:rollout(plan("bad", "one_channel")))
r:start()
test("a bad one is stopped by its guard", r:wait().state == "rolled_back" and r.reason:find "slower by" ~= nil and using() == "- - -", r)
fails("an object of one before it says so", "refused", "another rollout of this job began", again:refresh())
