-- SPDX-License-Identifier: MIT
-- Run by lua_rollout.t: a job called staged runs, two ranks, three communicators
-- at once; nvlink_ring_mid is faster there, one_channel 20 times slower.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, raises, fails = tap.test, tap.raises, tap.fails

local t <close>, ids = tap.staged(nb)
local plan = tap.plan
local function using() return tap.using(t, ids) end

-- ---- the object ----
fails("no rollout yet", "not_found", "this job has no rollout", t:rollout())
local r = assert(t:rollout(plan("mid", "nvlink_ring_mid")))
test("planned, nothing asked of the job",
	r.state == "planned" and r.blocks == 0 and r.of == 8 and t:rollout() == nil)
test("prints in one line", tostring(r) == "rollout mid: planned, 0 of 8 blocks", tostring(r))
test("locked, read-only", getmetatable(r) == "rollout" and not pcall(setmetatable, r, {})
	and not pcall(function() r.state = "succeeded" end))
raises("a method without it", "object:method()", r.step)
test("its plan is complete",
	r:plan().warmup_pct == 10 and r:plan().on_fail == "rollback" and #r:steps() > 5)
fails("a plan with a field that is none", "bad_argument", "nearest: blocks",
	t:rollout { candidate = "none", blcks = 3 })
fails("NaN", "bad_argument", "judge.confidence: a number",
	t:rollout { candidate = "none", judge = { confidence = 0 / 0 } })
fails("step before start", "refused", "has not been started", r:step())
fails("likewise pause", "refused", "has not been started", r:pause())
raises("a plan that is none", "target:rollout: plan: table expected, found number", t.rollout, t, 7)
raises("nb.rollout without a target", "a target of nb.attach expected", nb.rollout, {})
test("nb.rollout names the target",
	nb.rollout { target = t, candidate = "none" }.state == "planned")
test("started", r:start() == r and r.state == "progressing" and r.id:find "^mid%-" ~= nil
	and r.running == false, r.reason)
fails("not twice", "refused", "has been started", r:start())
fails("nor another beside it", "busy", "rollout mid of this job is progressing",
	assert(t:rollout(plan("other", "one_channel"))):start())
test("a block", r:step() == r and r.blocks == 1
	and tostring(r) == "rollout mid: progressing, 1 of 8 blocks: " .. r.reason, tostring(r))
test("paused", r:pause() == r and r.state == "paused" and using() == "- - -", using())
test("where it is paused, a step is none", r:step().blocks == 1)
local again = assert(t:rollout())
test("the job's rollout, by another object",
	again.id == r.id and again.state == "paused" and again.blocks == 1)
test("resumed there", again:resume() == again and again.state == "progressing")
fails("so the first has it no longer", "busy", "runs it", r:step())
local told = 0
test("run to its end",
	again:wait { progress = function(x) told = told + (x == again and 1 or 0) end } == again,
	again.reason)
test("promoted", again.state == "succeeded" and again.blocks == 8 and told == 7
	and again.verdict.verdict == "pass", again)
test("in use on all", using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid", using())
local seen = {}
for _, e in ipairs(again:history()) do
	seen[e.to] = e
	if not (e.time and e.rollout == again.id and e.from and e.actor and e.reason) then
		test("a whole event", false, nb.json.encode(e))
	end
end
test("every transition",
	seen.preparing and seen.progressing and seen.paused and seen.promoting and seen.succeeded)
test("with what it rests on",
	seen.succeeded.evidence.verdict == "pass" and seen.promoting.evidence.look == 1)
local report = assert(again:report("r.html", { label = "replayed" }))
test("a report",
	report.bytes > 10000 and report.csv == "r.csv" and again:status().verdict.verdict == "pass")
fails("what has ended is not paused", "refused", "it has ended: succeeded", again:pause())
test("undone", r:undo() == r and r.state == "rolled_back" and using() == "- - -", using())
fails("once", "refused", "only a promoted rollout", again:undo())
r = assert(t:rollout(plan("bad", "one_channel")))
r:start()
test("a bad one is stopped by its guard", r:wait().state == "rolled_back"
	and r.reason:find "slower by" ~= nil and using() == "- - -", r)
fails("an object of one before it says so", "refused", "another rollout of this job began",
	again:refresh())

-- ---- fields of plans ----
local function bad(fields, text)
	fields.candidate = fields.candidate or "none"
	fails("refused: " .. text, "bad_argument", text, t:rollout(fields))
end
bad({ steps = { { units = 2 }, { units = 1 } } },
	"steps[2].units: 1, fewer than the 2 of the step before")
bad({ steps = {} }, "steps: a list of 1 to 20 tables expected, found an empty table")
bad({ steps = { {} } }, "steps[1]: one of units or fraction expected")
bad({ steps = { { units = 1, fraction = "50%" } } },
	"steps[1]: one of units or fraction expected")
bad({ steps = { { units = 1 }, { units = 0 } } },
	"steps[2].units: a whole number from 1 to 1000 expected, found 0")
bad({ steps = { { fraction = 0 / 0 } } }, "steps[1].fraction: a share like")
bad({ steps = { { units = 1, bakes = 3 } } }, "steps[1].bakes: no such field")
bad({ bake = "soon" }, "bake: a duration")
bad({ holdback = 0 }, "holdback: how many communicators")
bad({ holdback = "100%" }, "holdback: how many communicators")
bad({ max_units = 0.5 }, "max_units: a whole number")
bad({ unit = "job" }, 'unit: "window"')
bad({ interval = 0 }, 'interval: a duration from "10ms"')
bad({ failure_limit = -1 }, "failure_limit: a whole number from 0")
bad({ inconclusive_limit = 0 }, "inconclusive_limit: a whole number from 1")
bad({ metrics = { { aggregate = "p50" } } }, "metrics[1].name: missing")
bad({ metrics = { { name = "x", aggregate = "p42" } } },
	"metrics[1].aggregate: p50 or p95 or p99 or mean or busbw expected, found \"p42\"")
bad({ metrics = { { name = "x", min_effect_pct = 0 / 0 } } },
	"metrics[1].min_effect_pct: a number from 0 to 100")
bad({ metrics = { { name = "x" }, { name = "x" } } }, 'metrics[2].name: "x" is that of metrics[1]')
bad({ metrics = { { name = "x", aggregate = "p99" } } },
	"metrics[1]: a block of 50 samples has no p99; samples = 100 or more needed")
bad({ metrics = { { name = "x", critical = false } } }, "no metric is critical")
bad({ bake = "30m", steps = { { units = 1 }, { units = 2 } } },
	"deadline: more than the bake time 60m expected, found 60m")
bad({ warmup = "10%" }, "warmup: no such field")
bad({ blocks = 5, steps = { { units = 1 }, { units = 2 } } },
	"blocks: 5 are too few for confidence 0.98; 6 or more needed")
local p = assert(t:rollout { candidate = "none" }):plan()
test("defaults", p.unit == "window" and p.interval == 0.05 and p.failure_limit == 0
	and p.inconclusive_limit == 3 and p.metrics == nil and p.steps == nil)
fails("more than there are", "refused", "steps[1].units: 4 communicators requested, there are 3",
	assert(t:rollout(plan("s", "nvlink_ring_mid", { steps = { { units = 4 } } }))):start())
fails("fewer than before", "refused", "steps[2]: 1 communicator, fewer",
	assert(t:rollout(plan("s", "nvlink_ring_mid",
		{ blocks = 6, steps = { { fraction = "100%" }, { units = 1 } } }))):start())
fails("more than are allowed", "refused",
	"max_units: 3 communicators would be reached at once, 2 are allowed",
	assert(t:rollout(plan("s", "nvlink_ring_mid", { max_units = 2 }))):start())
fails("all held back", "refused", "no communicator could run the candidate",
	assert(t:rollout(plan("s", "nvlink_ring_mid", { holdback = 3 }))):start())
test("none of these has begun", assert(t:rollout()).name == "bad" and using() == "- - -", using())

-- ---- a job that ends ----
r = assert(t:rollout(plan("last", "nvlink_ring_mid")))
r:start()
for _, x in ipairs(t:processes()) do os.execute("kill -9 " .. x.pid) end
r:wait()
test("a job that ends fails it",
	r.state == "failed" and r.reason:find "the job has ended" ~= nil, r)
