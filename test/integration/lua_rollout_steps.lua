-- SPDX-License-Identifier: MIT
-- Run by lua_rollout_steps.t: a job called staged runs, two ranks, three communicators
-- at once; nvlink_ring_mid is faster there, one_channel 20 times slower.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test, fails = tap.test, tap.fails

local t <close>, ids = tap.staged(nb)
local plan = tap.plan
local function using() return tap.using(t, ids) end
local function rollout(p) return tap.rollout("staged", p) end

local loose = { confidence = 0.5, looks = 1, min_effect_pct = 2 }
-- ---- steps: one, half, all, each judged and baked ----
local r = assert(rollout(plan("staged", "nvlink_ring_mid", { judge = loose,
	steps = { { units = 1, bake = 0.2 }, { fraction = "50%", min_samples = 20 },
		{ fraction = 1.0 } } })))
local steps = nb.json.encode(require("ncclbpf.rollout.plan").steps(r.p))
test("what it would do", steps:find("1 communicator, bakes 200ms; then 50%% of the communicators, "
	.. "20 collectives of each kind; then 100 %%", 1) ~= nil, steps)
assert(r:start())
local reached = { "^%S+ %- %-$", "^%S+ %S+ %-$", "^%S+ %S+ %S+$" }
local wrong
assert(r:wait { progress = function(x)
	local s = x:status()
	if x.state == "progressing" and not using():find(reached[s.step]) then
		wrong = ("step %d: %s"):format(s.step, using())
	end
end })
test("each step reaches its own alone", not wrong, wrong)
test("and all passed", r.state == "succeeded" and r.blocks == 24
	and using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid",
	tostring(r) .. " " .. using())
local said = {}
for _, e in ipairs(r:history()) do said[#said + 1] = e.reason end
said = table.concat(said, "\n")
test("its history has steps and bakes",
	said:find("keeps the candidate for 200ms %(bake%)\nbaked 200ms: %d+ collectives\n"
		.. "step 2 of 3: 2 communicators\n") and
	said:find "step 3 of 3: all communicators\n" ~= nil, said)
r:undo()
test("undone everywhere", using() == "- - -", using())

-- ---- a bad one never leaves its first step; a step without enough data passes nothing ----
r = assert(rollout(plan("bad", "one_channel",
	{ judge = loose, steps = { { units = 1 }, { fraction = 1.0 } } })))
r:start()
test("a bad one is stopped in its first step",
	r:wait().state == "rolled_back" and r:status().step == 1 and using() == "- - -", r)
r = assert(rollout(plan("few", "nvlink_ring_mid",
	{ steps = { { units = 1, min_samples = 1000 } } })))
r:start()
test("too few collectives are inconclusive",
	r:wait().state == "paused" and r.reason:find "collectives; 1000 each needed" ~= nil, r)
fails("and do not go on by themselves", "refused", "all its blocks have been judged", r:resume())
test("aborted",
	r:abort().state == "rolled_back" and r:history()[#r:history() - 1].to == "aborting", r)

-- ---- held back ----
r = assert(rollout(plan("held", "nvlink_ring_mid", { holdback = "30%" })))
r:start()
test("all but the last have it",
	r:wait().state == "succeeded" and using() == "nvlink_ring_mid nvlink_ring_mid -"
	and r.held[1] == ids[3] and #r.held == 1, using())
local hb
for _ = 1, 400 do
	hb = assert(t:rollout_status()).holdback
	if hb.rows[1] and hb.rows[1].held_count > 5 and hb.rows[1].promoted_count > 5 then break end
	nb.sleep(0.05)
end
test("and can be compared", hb.comms[1] == ids[3] and hb.rows[1].coll == "allreduce"
	and hb.rows[1].held_us > 0 and hb.rows[1].promoted_us > 0, nb.json.encode(hb))
test("released", r:promote() == r and using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid"
	and r.held == nil, using())
test("undone", r:undo() and using() == "- - -", using())
r = assert(rollout(plan("held", "nvlink_ring_mid",
	{ holdback = 1, scope = { comms = { ids[1] } } })))
r:start()
test("a scope of one communicator: promoted everywhere but on the one held back",
	r:wait().state == "succeeded" and using() == "nvlink_ring_mid nvlink_ring_mid -", using())
test("undone where it is held back", r:undo() and using() == "- - -", using())

-- ---- metrics ----
r = assert(rollout(plan("metrics", "nvlink_ring_mid",
	{ judge = loose, samples = 20, scope = { comms = 1 }, metrics = {
	{ name = "bandwidth", aggregate = "busbw" }, { name = "tail", aggregate = "p95" },
	{ name = "mean", aggregate = "mean", direction = "either", critical = false },
	{ name = "far", aggregate = "p99", must_have_data = false } } })))
r:start()
r:wait()
local m = r.verdict.metrics
test("bandwidth and tail decide", r.state == "succeeded" and m.bandwidth.verdict == "pass"
	and m.tail.verdict == "pass" and m.bandwidth.critical, tostring(r) .. nb.json.encode(m))
test("a change that counts either way and decides nothing", m.mean.verdict == "fail"
	and m.mean.critical == false and m.mean.reason:find "faster by" ~= nil,
	nb.json.encode(m.mean))
test("data that need not be there", m.far.verdict == "pass")
test("each with its kinds", t:rollout_status().verdict.metrics.bandwidth.strata ~= nil)
r:undo()

-- ---- how often a look may fail ----
for limit = 0, 1 do
	r = assert(rollout(plan("limits", "one_channel", { samples = 5, scope = { comms = 1 },
		guards = { slower_pct = 10000 }, failure_limit = limit,
		judge = { confidence = 0.5, looks = 2, min_effect_pct = 2 } })))
	r:start()
	test(("failure_limit %d"):format(limit),
		r:wait().state == "rolled_back" and r.blocks == (limit == 0 and 4 or 8), r)
end

-- ---- what gets slow while it bakes ----
r = assert(rollout(plan("bake", "nvlink_ring_mid", { scope = { comms = 1 }, bake = 60 })))
r:start()
while #r:history() == 0 or not r:history()[#r:history()].reason:find "^keeps the candidate for" do
	assert(r:wait { blocks = 1 })
end
local f <close> = assert(io.open("slow", "w"))
f:write "20"
f:close()
test("is rolled back by the guard", r:wait().state == "rolled_back"
	and r.reason:find "slower by" ~= nil and using() == "- - -", r)
os.remove "slow"
