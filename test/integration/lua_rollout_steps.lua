-- SPDX-License-Identifier: MIT
-- Run by lua_rollout_steps.t: a job called staged runs, two ranks, three communicators
-- at once; nvlink_ring_mid is faster there, one_channel 20 times slower.
local nb = require "ncclbpf"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
local test = tap.test

local t <close>, ids = tap.staged(nb)
local plan = tap.plan
local function using() return tap.using(t, ids) end
local function rollout(p) return tap.rollout("staged", p) end

local loose = { confidence = 0.5, looks = 1, min_effect_pct = 2 }
-- ---- steps: one, half, all, each judged and baked ----
local r = assert(rollout(plan("staged", "nvlink_ring_mid", { judge = loose,
	steps = { { units = 1, bake = 0.2 }, { fraction = "50%" },
		{ fraction = 1.0 } } })))
local steps = nb.json.encode(require("ncclbpf.rollout.plan").steps(r.p))
test("what it would do", steps:find("1 communicator, bakes 200ms; then 50%% of the communicators; "
	.. "then 100 %%") ~= nil, steps)
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

-- ---- what gets slow while it bakes ----
r = assert(rollout(plan("bake", "nvlink_ring_mid",
	{ scope = { comms = 1 }, steps = { { units = 1, bake = 60 } } })))
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
