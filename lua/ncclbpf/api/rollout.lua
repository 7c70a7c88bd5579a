-- SPDX-License-Identifier: MIT
-- A rollout as an object: a new one, or the rollout of a job. Its fields are those after its last
-- method. The rollout's file holds the state, as for the commands (rollout/run.lua).
local class = require "ncclbpf.base.class"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local plan = require "ncclbpf.rollout.plan"
local rollout = require "ncclbpf.rollout.run"
local rolloutcmd = require "ncclbpf.commands.rollout"

local try = errors.try
local M = {}

local Rollout = {}
M.methods = Rollout

-- The state of a rollout object: group_of() returns the attached group; data: the fields;
-- p: the plan; r: the rollout's record, if there is one; mine: true if this process runs
-- the rollout
local new_rollout = class.record("rollout", Rollout, function(d)
	return ("rollout %s: %s, %d of %d blocks%s"):format(
		tostring(d.name), tostring(d.state), d.blocks, d.of, d.reason and ": " .. d.reason
		or "")
end)

local function of(o) return class.self(o, "rollout", 3) end

local function refresh(s)
	if s.r then
		s.data = rolloutcmd.status_of(s.r)
	else
		s.data = { name = s.p.name, state = "planned", running = false, blocks = 0,
			of = plan.total(s.p), plan = s.p }
	end
end

-- M.planned(group_of, p): a checked plan; the job is not contacted
function M.planned(group_of, p)
	local s = { group_of = group_of, p = p }
	refresh(s)
	return new_rollout(s)
end

-- M.current(group_of) -> the job's rollout; raises errors
function M.current(group_of)
	local r = try(rolloutcmd.load(group_of()))
	local s = { group_of = group_of, r = r, p = r.plan }
	refresh(s)
	return new_rollout(s)
end

-- Read the rollout's file, unless this process runs the rollout. -> group; raises errors
local function fresh(s, what)
	local g = s.group_of()
	if not s.r then
		error(errors.new("refused", ("%s: the rollout has not been started"):format(what),
			{ hint = "rollout:start()" }), 0)
	end
	local r = try(rolloutcmd.load(g))
	if r.id ~= s.r.id then
		s.mine = false
		error(errors.new("refused",
			("another rollout of this job began after %s: %s"):format(s.r.id, r.id),
			{ hint = "target:rollout()" }), 0)
	end
	if not (s.mine and r.runner.token == s.r.runner.token) then s.r, s.mine = r, false end
	return g
end

-- r:plan() -> the plan, complete; r:steps() -> {{what, how}, ...} for people
function Rollout:plan() return of(self).p end
function Rollout:steps() return plan.steps(of(self).p) end

-- r:refresh() -> r | nil, err
function Rollout:refresh()
	local s = of(self)
	if s.r then fresh(s, "refresh") end
	refresh(s)
	return self
end

-- r:start() -> r | nil, err. Create the rollout in the state progressing; it runs no block yet.
function Rollout:start()
	local s = of(self)
	if s.r then
		return errors.fail("refused", "start: the rollout has been started already: %s",
			s.r.state)
	end
	local g = s.group_of()
	try(require("ncclbpf.job.profiler").wanted(g))
	s.r, s.mine = try(rollout.start(g, s.p)), true
	refresh(s)
	return self
end

local function run(self, s, opts)
	if rollout.ended[s.r.state] or s.r.state == "paused" then return self end
	if not s.mine then
		return nil, errors.new("busy", ("process %s runs it"):format(
			tostring(s.r.runner.pid)), { hint = rollout.runs(s.r)
			and "rollout:refresh() shows its state" or "rollout:resume()" })
	end
	local progress = errors.callback(opts.progress)
	local done, err = rollout.run(s.r, progress and function(r)
		s.r = r
		refresh(s)
		progress(self)
	end, opts.blocks)
	refresh(s)
	if not done then return nil, err end
	return self
end

-- r:step() -> r after one more block | nil, err. Does nothing if the rollout has ended or paused.
function Rollout:step()
	local s = of(self)
	fresh(s, "step")
	return run(self, s, { blocks = 1 })
end

-- r:wait([{progress=f, blocks=N}]) -> r when the rollout has ended or paused, or after N blocks;
-- f(r) after each block | nil, err
function Rollout:wait(opts)
	local s = of(self)
	opts = errors.check_options("rollout:wait", opts,
		{ progress = "function", blocks = "integer" })
	fresh(s, "wait")
	return run(self, s, opts)
end

-- r:resume() -> r, progressing and run by this process | nil, err
function Rollout:resume()
	local s = of(self)
	local g = fresh(s, "resume")
	try(rollout.resume(s.r, g))
	s.mine = true
	refresh(s)
	return self
end

-- r:pause(), r:promote(), r:abort() -> r; true if the runner was only asked | nil, err
for _, word in ipairs { "pause", "promote", "abort" } do
	Rollout[word] = function(self)
		local s = of(self)
		local g = fresh(s, word)
		local done, asked = try(rollout.tell(s.r, g, word))
		refresh(s)
		return self, asked == true or nil
	end
end

-- r:undo() -> r, after returning to the baseline | nil, err
function Rollout:undo()
	local s = of(self)
	local g = fresh(s, "undo")
	try(rollout.undo(s.r, g))
	refresh(s)
	return self
end

-- r:status() -> the table of `rollout status -o json` | nil, err
function Rollout:status()
	local s = of(self)
	if s.r then fresh(s, "status") end
	refresh(s)
	return core.decode(core.encode(s.data))
end

-- r:history() -> list of {time, rollout, from, to, actor, reason, evidence}
function Rollout:history()
	local s = of(self)
	if not s.r then return {} end
	fresh(s, "history")
	return core.decode(core.encode(core.array(s.r.events)))
end

-- r:report(path[, {label=}]) -> {file, bytes, csv, samples} | nil, err
function Rollout:report(path, opts)
	local s = of(self)
	class.check(path, "string", "rollout:report: path")
	opts = errors.check_options("rollout:report", opts, { label = "string" })
	fresh(s, "report")
	return rolloutcmd.write_report(s.r, path, opts)
end
class.protect(Rollout)

return M
