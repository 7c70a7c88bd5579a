-- SPDX-License-Identifier: MIT
-- Run by rollout_left.t: a job called left runs, two ranks, three communicators
-- at once, all without policies. The first argument: tests before these.
local nb = require "ncclbpf"
local errors = require "ncclbpf.base.errors"
local session = require "ncclbpf.job.session"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")
tap.n = math.tointeger(arg[1])
local test = tap.test

local t <close> = assert(nb.attach { job = "left" })
local ids = tap.comms(t)
local function rollout(p) return tap.rollout("left", p) end
local function plan(more)
	local p = { candidate = { "nvlink_ring_mid" }, blocks = 3, samples = 5,
		judge = { confidence = 0.5, looks = 1, min_effect_pct = 50 }, seed = 7 }
	for k, v in pairs(more or {}) do p[k] = v end
	return assert(rollout(p))
end
local function using() return tap.using(t, ids) end
-- Run @f while @before(line) is asked of each change and @after(line) told of
-- each that was made; either may return an error.
local group <close> = assert(session.attach({ job = "left" }, 5))
local Group = getmetatable(group).__index
local change, ask = Group.change, Group.ask
local function watched(before, after, f, ...)
	Group.change = function(g, line, ...)
		local err = before and before(line)
		if err then return nil, err end
		local done, why = change(g, line, ...)
		err = done and after and after(line)
		if err then return nil, err end
		return done, why
	end
	local results = table.pack(pcall(f, ...))
	Group.change, Group.ask = change, ask
	return table.unpack(results, 1, results.n)
end

-- ---- a change that was made, and then nobody answers ----
local r = plan()
r:start()
r:step()
local fine, done, err = watched(nil, function(line)
	if not line:find "nvlink_ring_mid" then return end
	Group.ask = function(g, what, ...)
		local results = ask(g, what, ...)
		if what == "comm list" then
			Group.ask = ask
			results[1].data, results[1].err = nil,
				errors.new("timed_out", "one process did not answer in time")
		end
		return results
	end
end, r.wait, r)
test("nobody answers after the candidate's change", fine and done == nil
	and tostring(err):find "did not answer in time" ~= nil, tostring(done) .. tostring(err))
r:refresh()
test("paused, with the baseline", r.state == "paused" and using() == "- - -",
	tostring(r) .. " " .. using())
test("aborted", r:abort() == r and r.state == "rolled_back" and using() == "- - -", using())

-- ---- a change that was made, but whose answer was lost ----
local function lost(also)
	local once = true
	return function(line)
		if not once or not line:find "nvlink_ring_mid" then return end
		once = false
		if also then also() end
		return errors.new("timed_out", "no answer")
	end
end
r = plan()
r:start()
watched(nil, lost(), r.wait, r)
test("the candidate's change is not answered: the baseline again", r.state == "paused"
	and r.reason == "no answer" and using() == "- - -", tostring(r) .. using())
r:abort()
r = plan()
r:start()
watched(nil, lost(function() assert(rollout():resume()) end), r.wait, r)
test("unless somebody else runs it by then",
	using() == "nvlink_ring_mid nvlink_ring_mid nvlink_ring_mid", using())
test("who takes it back",
	assert(rollout()):abort().state == "rolled_back" and using() == "- - -", using())

-- ---- a scope, beside a communicator with a policy of its own ----
assert(t:policy_load "size_aware.policy")
assert(t:policy_use { "size_aware", comm = ids[3] })
r = plan { scope = { comms = { ids[1], ids[2] } }, promote = "scope" }
r:start()
test("the scope has it", r:wait().state == "succeeded"
	and using() == "nvlink_ring_mid nvlink_ring_mid size_aware", tostring(r) .. using())
test("undo leaves the third alone", r:undo() == r and using() == "- - size_aware", using())
assert(t:policy_use { "none" })

-- ---- somebody else's change ----
local function other() assert(change(group, "policy use size_aware")) end
local once = true
local function before(line)
	if once and line:find "nvlink_ring_mid" then
		once = false
		other()
	end
end
r = plan()
r:start()
watched(before, nil, r.wait, r)
test("just before the candidate's: it is left",
	r.state == "paused" and r.reason:find "by another user" ~= nil
	and using() == "size_aware size_aware size_aware", tostring(r) .. using())
once = true
watched(function(line)
	if once and line:find "none" then
		once = false
		other()
	end
end, nil, r.abort, r)
test("just before the baseline's",
	r.state == "paused" and r.reason:find "another user or shell has made" ~= nil
	and using() == "size_aware size_aware size_aware", tostring(r) .. using())
test("who aborts it then has seen it",
	r:abort() == r and r.state == "rolled_back" and using() == "- - -", tostring(r) .. using())
r = plan()
r:start()
r:step()
r:pause()
other()
test("made while it was paused",
	r:abort() == r and r.state == "rolled_back" and r.reason:find "by another user" ~= nil
	and using() == "size_aware size_aware size_aware", tostring(r) .. using())
assert(t:policy_use { "none" })

-- ---- the next step's baseline could not be put in place ----
local load = require("ncclbpf.rollout.run").load
once = true
r = plan { steps = { { units = 1, bake = 0.01 }, { fraction = 1.0 } }, blocks = 4 }
r:start()
watched(function(line)
	if once and line:find "common" and load { job = "left" }.baking then
		once = false
		return errors.new("over_limit", "no room")
	end
end, nil, r.wait, r)
test("pauses after the step", r.state == "paused" and r:status().step == 1 and using() == "- - -",
	tostring(r) .. using())
test("and goes on with the next", r:resume() == r and r:step().state == "progressing"
	and r.blocks == 9 and r:status().step == 2, r)
r:abort()

-- ---- kind by kind: what is not sure before the last look is no reason to end ----
r = plan { candidate = { "size_aware" }, promote = "better", blocks = 6,
	judge = { confidence = 0.5, looks = 3 },
	guards = { slower_pct = 10000 } }
r:start()
r:wait()
test("all looks are taken", r.blocks == 12, tostring(r))
assert(t:policy_use { "none" })
