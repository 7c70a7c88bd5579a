-- SPDX-License-Identifier: MIT
-- `sweep start|status|abort`.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local profiler = require "ncclbpf.job.profiler"
local sweep = require "ncclbpf.sweep.choose"
local run = require "ncclbpf.sweep.run"
local record = require "ncclbpf.rollout.record"
local runner = require "ncclbpf.rollout.runner"
local tables = require "ncclbpf.policy.table"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local columns = {
	{ "coll" }, { "bytes_from", title = "SIZE", num = true, show = units.bytes },
	{ "nodes", num = true, wide = true }, { "ranks", num = true, wide = true },
	{ "verdict", wrap = true }, { "answer", wrap = true }, { "candidate", wide = true },
	{ "effect_pct", title = "SLOWER %", num = true, show = units.signed },
	{ "low_pct", title = "FROM", num = true, show = units.signed },
	{ "high_pct", title = "TO", num = true, show = units.signed },
	{ "p", num = true, wide = true },
	{ "blocks_a", title = "A", num = true, drop = 2 },
	{ "blocks_b", title = "B", num = true, drop = 2 },
	{ "reason" }, { "bytes_to", flat = true }, { "candidates", flat = true },
}

-- Write the table to a file, as CSV or as a policy. -> true | nil, note
local function write(result, to, name)
	if #result.table == 0 then return nil, "no row, nothing written" end
	if to:find "%.csv$" then return try(core.write(to, result.csv)) end
	return try(tables.save(try(tables.compile(result.csv, { name = name })), to))
end

local function head_of(r)
	local t = { ("%s: %s%s"):format(r.name, r.job and ("job %s, %s, %s"):format(
		r.job, units.count(r.blocks, "block"), r.state) or "from files", r.reason
		and ": " .. r.reason or "") }
	if r.label then t[#t + 1] = r.label end
	t[#t + 1] = ("%s with simultaneous confidence intervals; %s"):format(
		units.count(r.comparisons, "comparison"),
		#r.table > 0 and units.count(#r.table, "row") .. " to put in a table"
			or "no row is better, so the baseline stays")
	return table.concat(t, "\n")
end

local function foot_of(r, to, note)
	local t = {}
	for _, w in ipairs(r.warnings or {}) do t[#t + 1] = "warning: " .. w end
	for _, s in ipairs(r.stopped or {}) do
		t[#t + 1] = ("left out: %s %s %s: %s"):format(
			s.coll, units.bytes(s.bytes_from), s.candidate, s.reason)
	end
	if r.left_out and r.left_out > 0 then
		t[#t + 1] = ("note: most= excluded %d combinations from the sweep"):format(
			r.left_out)
	end
	if r.restored then t[#t + 1] = "the job has its baseline again" end
	if note then
		t[#t + 1] = note
	elseif to then
		t[#t + 1] = ("written: %s; next: policy load %s"):format(to, to)
	elseif #r.table > 0 then
		t[#t + 1] = "next: repeat the command with out=FILE.csv to write the table"
	end
	return t
end

local function shown(ctx, r)
	local to, ok, note = ctx.opt.out, nil, nil
	if to then ok, note = write(r, to, r.name) end
	if ok then r.file = to end
	local status
	if r.job and r.state ~= "done" then status = 3 end
	return { schema = "sweep/1", data = r, rows = r.rows, id = "coll", columns = columns,
		head = head_of(r), foot = foot_of(r, r.file, note), empty = "nothing measured",
		status = status }
end

local function dry(ctx, p)
	local g = try(ctx:session())
	local steps, r = try(run.steps(g, p))
	local t = { ("sweep %s of job %s"):format(p.name, tostring(g.job)) }
	for _, s in ipairs(steps) do t[#t + 1] = ("%-18s %s"):format(s[1], s[2]) end
	return { schema = "sweep.plan/1", data = p, text = table.concat(t, "\n") }
end

-- Follow the sweep to its end. -> its result; raises errors
local function follow(ctx, s, pid)
	local done, err = runner.follow(s, runner.teller(ctx, function(r)
		return { name = r.plan.name, state = r.state, round = r.round,
			rounds = r.plan.rounds, blocks = r.blocks }
	end, function(r)
		return ("%s: round %d of %d, %d blocks"):format(r.plan.name, r.round or 1,
			r.plan.rounds, r.blocks)
	end), pid)
	if core.isatty(2) and not ctx.flags.quiet then io.stderr:write "\r\27[K" end
	err = err or runner.failure(done)
		or not done.result and errors.new("aborted", tostring(done.reason))
	if err then error(err, 0) end
	return done.result
end

-- Load the last sweep of the attached job. -> sweep, group; raises errors
local function current(ctx)
	local g = try(ctx:session())
	local s, err = run.load(g)
	return s or error(err or errors.new("not_found", "this job has no sweep",
		{ hint = "sweep start PLAN" }), 0), g
end

local function status(s)
	local gone = record.gone(s)
	local text = ("%s: %s%s"):format(tostring(s.id), gone
		and ("the runner, process %s, %s; sweep abort restores the baseline"):format(
		tostring(s.runner.pid), gone) or s.state,
		s.reason and ": " .. s.reason or "")
	return { schema = "sweep.status/1", data = { id = s.id, state = s.state,
		running = record.runs(s), reason = s.reason, baseline = s.baseline,
		pid = s.runner.pid, file = s.path }, text = text }
end

function M.cmd_status(ctx)
	local goes_on = ctx:yes "follow"
	local s = current(ctx)
	if not goes_on then return status(s) end
	return shown(ctx, follow(ctx, s))
end

function M.cmd_abort(ctx)
	local what = try(run.abort(current(ctx)))
	return { schema = "sweep.abort/1", data = { done = what }, text = what }
end

function M.cmd_start(ctx)
	local goes_on = ctx:yes("follow", true)
	local p = try(sweep.read(ctx.args[1]))
	if ctx.opt.data then p.data = core.array { { file = ctx.opt.data } } end
	if ctx.opt.baseline then p.baseline = ctx.opt.baseline end
	p = try(sweep.check(p))
	if p.data then return shown(ctx, try(sweep.offline(p))) end
	if ctx.flags.dry_run then return dry(ctx, p) end
	local g = try(ctx:session())
	try(profiler.wanted(g))
	local s = try(run.start(g, p))
	local pid = try(runner.detach(s))
	if not goes_on then return status(current(ctx)) end
	return shown(ctx, follow(ctx, s, pid))
end

return M
