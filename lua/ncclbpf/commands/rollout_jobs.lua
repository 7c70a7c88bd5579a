-- SPDX-License-Identifier: MIT
-- The commands of rollouts over several jobs: `rollout start` of a plan with jobs, `rollout jobs`.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local jobs = require "ncclbpf.rollout.jobs"
local plan = require "ncclbpf.rollout.plan"
local record = require "ncclbpf.rollout.record"
local sites = require "ncclbpf.job.sites"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local columns = {
	{ "job" }, { "step", num = true }, { "state" }, { "blocks", num = true },
	{ "reason", wrap = true }, { "rollout", wide = true },
}

local function result(r)
	local gone = record.gone(r)
	local failure
	if r.state == "rolled_back" or r.state == "failed" then
		failure = errors.new("aborted", ("%s: %s"):format(r.state, tostring(r.why)))
	end
	return {
		schema = "rollout.jobs/1", rows = jobs.rows(r), id = "job", columns = columns,
		data = { id = r.id, name = r.plan.name, state = r.state, reason = r.why,
			step = r.step, reach = r.reach, jobs = jobs.rows(r), plan = r.plan,
			file = r.path, events = core.array(r.events) },
		head = ("%s: %s\nstep %d of %d\n%s"):format(r.plan.name, gone
			and ("%s, but the runner, process %s, %s"):format(r.state,
				tostring(r.runner.pid), gone)
			or r.state, r.step, #r.reach, tostring(r.why)),
		failure = failure,
	}
end

local function progress(ctx)
	if not core.isatty(2) or ctx.flags.quiet then return nil end
	return function(r)
		io.stderr:write(("\r\27[K%s: %s, step %d of %d"):format(r.plan.name, r.state,
			r.step, #r.reach))
		if record.ended[r.state] then io.stderr:write "\n" end
	end
end

-- Start a rollout over the jobs that plan @p names.
function M.start(ctx, p)
	if ctx.opt.data then
		return errors.fail("usage", "data=FILE: not with a plan for several jobs")
	elseif ctx.flags.job or ctx.flags.pid or ctx.flags.socket then
		return errors.fail("usage", "the plan names its jobs: no -J, -p or -S allowed")
	end
	local url = sites.named(ctx.flags)
	local names = try(jobs.find(url, p.jobs))
	local reach = try(jobs.steps(p, #names))
	try(jobs.check(p, #names))
	if ctx.flags.dry_run then
		local text = lists.map(reach, function(n, i)
			return ("step %d: %s: %s"):format(i, units.count(n, "job"),
				table.concat(names, ", ", 1, n))
		end)
		for _, s in ipairs(plan.steps(p)) do
			text[#text + 1] = ("%-14s %s"):format(s[1], s[2])
		end
		return { schema = "rollout.plan/1", data = p, text = table.concat(text, "\n") }
	end
	local r = try(jobs.start(url, p, names))
	local pid = try(jobs.detach(r))
	if not ctx:yes("follow", true) then return result(r) end
	return result(try(jobs.follow(r, progress(ctx), pid)))
end

function M.cmd_jobs(ctx)
	local name = ctx.args[1] or "rollout"
	local url = sites.named(ctx.flags)
	local r, err = jobs.load(url, name)
	if err then return nil, err end
	if not r then
		return nil, errors.new("not_found", (
			"no rollout over several jobs %s is named %s"):format(
			url and "in the store" or "of this host", name),
			{ hint = "rollout start PLAN, with the field jobs in the plan" })
	end
	local shown = result(ctx:yes "follow" and try(jobs.follow(r, progress(ctx))) or r)
	shown.failure = nil
	return shown
end

local list_columns = {
	{ "job" }, { "rollout" }, { "state" }, { "blocks", num = true }, { "of", num = true },
	{ "runner" }, { "reason", wrap = true },
}

-- List the rollouts of all jobs of the store, or of the jobs that run on this host.
function M.cmd_list(ctx)
	local rows = core.array {}
	for _, r in ipairs(try(jobs.all(sites.named(ctx.flags)))) do
		local over = r.job:sub(1, #record.OVER_JOBS) == record.OVER_JOBS
		local gone, live = record.gone(r), nil
		if not record.ended[r.state] and r.state ~= "paused" then
			live = gone or r.holder and r.holder.from or tostring(r.runner.pid)
		end
		rows[#rows + 1] = { job = over and table.concat(r.plan.jobs, ", ") or r.job,
			rollout = r.plan.name, state = r.state, runner = live, reason = r.why,
			blocks = not over and #r.blocks or nil,
			of = not over and plan.total(r.plan) or nil }
	end
	return { schema = "rollout.list/1", data = { rollouts = rows }, rows = rows,
		id = "job", columns = list_columns, empty = "no rollouts" }
end

return M
