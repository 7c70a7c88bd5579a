-- SPDX-License-Identifier: MIT
-- Run by rollout_left.t: a job called left runs, two ranks, three communicators
-- at once, all without policies. The first argument: tests before these.
local nb = require "ncclbpf"
local errors = require "ncclbpf.errors"
local session = require "ncclbpf.session"
local n = math.tointeger(arg[1])
local function test(name, ok, why)
	n = n + 1
	print(("%sok %d - %s"):format(ok and "" or "not ", n, name))
	if not ok and why ~= nil then print("# " .. tostring(why):gsub("\n", "\n# ")) end
	return ok
end

local t <close> = assert(nb.attach { job = "left" })
local ids = {}
for i, c in ipairs(t:comms()) do ids[i] = c.comm end
table.sort(ids)
local function plan(more)
	local p = { candidate = { "nvlink_ring_mid" }, blocks = 4, samples = 5, judge = { confidence = 0.5, looks = 1, min_effect_pct = 50 }, seed = 7, interval = "10ms" }
	for k, v in pairs(more or {}) do p[k] = v end
	return assert(t:rollout(p))
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
		if done and after then after(line) end
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
			results[1].data, results[1].err = nil, errors.new("timed_out", "one process did not answer in time")
		end
		return results
	end
end, r.wait, r)
test("nobody answers after the candidate's change", fine and done == nil and tostring(err):find "did not answer in time" ~= nil, tostring(done) .. tostring(err))
r:refresh()
test("paused, with the baseline", r.state == "paused" and using() == "- - -", tostring(r) .. " " .. using())
test("aborted", r:abort() == r and r.state == "rolled_back" and using() == "- - -", using())
