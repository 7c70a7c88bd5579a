-- SPDX-License-Identifier: MIT
-- The commands of rollouts: `rollout plan|start|status|...`.
local core = require "ncclbpf.core"
local collectives = require "ncclbpf.job.collectives"
local errors = require "ncclbpf.base.errors"
local hooks = require "ncclbpf.rollout.hooks"
local lists = require "ncclbpf.base.lists"
local plan = require "ncclbpf.rollout.plan"
local profiler = require "ncclbpf.job.profiler"
local promote = require "ncclbpf.rollout.promote"
local read = require "ncclbpf.job.read"
local rollout = require "ncclbpf.rollout.run"
local record = require "ncclbpf.rollout.record"
local runner = require "ncclbpf.rollout.runner"
local sites = require "ncclbpf.job.sites"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local PAUSED = 3 -- exit status

-- One row for each kind of collective, from the last check.
local function verdict_rows(v, promoted)
	local rows = {}
	local strata = type(v) == "table" and v.strata or {}
	for i, kind in ipairs(rollout.kinds(strata)) do
		local s = strata[kind]
		rows[i] = {
			kind = kind, verdict = s.outcome or s.verdict,
			effect_pct = s.effect_pct, low_pct = s.low_pct,
			high_pct = s.high_pct, p = s.p, blocks_a = s.blocks_a,
			blocks_b = s.blocks_b, reason = s.reason,
		}
		if promoted then rows[i].promoted = s.outcome == "better" end
	end
	return rows
end

local columns = {
	{ "kind", wrap = true }, { "verdict", wrap = true },
	{ "effect_pct", title = "SLOWER %", num = true, show = units.signed },
	{ "low_pct", title = "FROM", num = true, show = units.signed },
	{ "high_pct", title = "TO", num = true, show = units.signed },
	{ "promoted", drop = 1, show = function(v) return v == true and "promoted" or v == false
		and "held back" or nil end }, { "p", num = true, wide = true },
	{ "blocks_a", title = "A", num = true, drop = 2 },
	{ "blocks_b", title = "B", num = true, drop = 2 }, { "reason", wide = true },
}

local function state_of(r)
	if r.elsewhere then return r.state .. ", of an earlier job of this name" end
	local gone = rollout.gone(r)
	if gone then
		return ("%s, but the runner, process %s, %s"):format(
			r.state, tostring(r.runner.pid), gone)
	end
	return r.state
end

-- Return the JSON data of a rollout.
function M.status_of(r)
	return { id = r.id, name = r.plan.name, job = r.job, state = r.state,
		running = rollout.runs(r), reason = r.why, blocks = #r.blocks,
		of = plan.total(r.plan),
		step = r.step, steps = r.steps, baseline = r.baseline,
		candidate = r.candidate, pid = read.record(r.runner).pid,
		promoted = r.promoted, verdict = r.verdict or core.null,
		no_gpu_times = r.no_gpu_times,
		plan = r.plan, file = r.path }
end

local function result(r, extra)
	local head = ("%s: %s\n%d of %d blocks, baseline %s, candidate %s\n%s"):format(
		tostring(r.plan.name), state_of(r), #r.blocks, plan.total(r.plan),
		#r.baseline == 0 and "none" or table.concat(r.baseline, ", "), #r.candidate == 0
			and "none" or table.concat(r.candidate, ", "),
		tostring(r.why or ""))
	local times = rollout.times(r)
	if times then head = head .. "\ntimes: " .. times end
	if read.text(r.no_gpu_times) then head = head .. "\nnote: " .. r.no_gpu_times end
	if (#r.baseline == 0 or #r.candidate == 0) and rollout.of_rccl(r) then
		head = head .. "\nnote: " .. collectives.RCCL
			.. "without policies, the times are those of what RCCL ran"
	end
	local foot = { extra }
	if r.elsewhere then
		foot[#foot + 1] = "next: rollout start PLAN begins one for this job"
	elseif r.state == "paused" then
		foot[#foot + 1] = rollout.more(r)
			and "next: rollout resume, rollout promote or rollout abort"
			or "next: rollout promote or rollout abort"
	elseif rollout.gone(r) then
		foot[#foot + 1] = "next: rollout resume or rollout abort"
	elseif rollout.runs(r) then
		foot[#foot + 1] = ("process %s runs it"):format(tostring(r.runner.pid))
	end
	local rows = verdict_rows(r.verdict, r.promoted and r.state == "succeeded")
	local failure
	if r.state == "rolled_back" or r.state == "failed" then
		failure = errors.new("aborted", ("%s: %s"):format(r.state, tostring(r.why)))
	end
	return {
		schema = "rollout/1",
		data = M.status_of(r),
		rows = #rows > 0 and rows or { { kind = "-", verdict = r.state, reason = r.why } },
		merged = rows, id = "kind", columns = columns, head = head, foot = foot,
		empty = "no check yet", failure = failure,
	}
end

-- Return the rollout of a group's job. -> r | nil, err
function M.load(g)
	local r, err = rollout.load(g)
	if not r then
		return nil, err or errors.new("not_found", "this job has no rollout",
			{ hint = "rollout start PLAN" })
	end
	r.elsewhere = not rollout.is_of(r, g) or nil
	return r
end

-- Load the rollout of the attached job. -> r, group; raises errors
local function current(ctx)
	local g = try(ctx:session())
	local r = try(M.load(g))
	return r, g
end

-- Return the path of a file from the root folder, so that another shell finds it too.
local function absolute(path)
	if path:find "^/" then return path end
	return (core.readlink "/proc/self/cwd" or ".") .. "/" .. path
end

local function steps(p)
	local t = {}
	for _, s in ipairs(plan.steps(p)) do t[#t + 1] = ("%-14s %s"):format(s[1], s[2]) end
	return table.concat(t, "\n")
end

function M.cmd_plan(ctx)
	local p = try(plan.read(ctx.args[1]))
	for _, k in ipairs { "baseline", "candidate" } do
		local bytes, why = true, nil
		if type(p[k]) == "string" then bytes, why = core.read(p[k], 64 << 20) end
		if not bytes then
			local err = errors.from_reply(why)
			err.message = ("%s: %s"):format(k, err.message)
			return nil, err
		end
	end
	try(promote.check(p))
	return { schema = "rollout.plan/1", data = p, text = ("rollout %s\n%s"):format(
		p.name, steps(p)) }
end

-- Read the file of any rollout and check its blocks. Raises errors.
local function kept(path)
	local bytes = try(core.read(path, 16 << 20))
	local d = core.decode(bytes)
	if not d or type(d.blocks) ~= "table" then
		errors.raise("bad_argument", "%s must be the file of a rollout, but has no blocks",
			path)
	end
	for i, b in ipairs(d.blocks) do
		local fine = type(b) == "table" and (b.arm == "a" or b.arm == "b")
			and type(b.medians) == "table"
		for _, v in pairs(fine and b.medians or {}) do
			fine = fine and type(v) == "number" and v > 0 and v < math.huge
		end
		if not fine then
			errors.raise("bad_argument",
				"%s: block %d must have an arm, a or b, and medians above 0",
				path, i)
		end
	end
	return d
end

-- Judge the blocks of another rollout @d, of the file @path, by plan @p. @hooks: of the plan's
-- file, or nil
local function replay(p, path, d, hooks)
	local v = { verdict = "inconclusive", reason = "no check: too few blocks" }
	for k = 1, hooks and 0 or p.judge.looks do
		if #d.blocks < plan.look_at(p, k) * 2 then break end
		v = rollout.look({ plan = p, blocks = d.blocks }, k)
		if v.verdict ~= "inconclusive" then break end
	end
	if hooks then v = hooks:replay(p, d.blocks) end
	local rows, action = verdict_rows(v), plan.action(p, v.verdict)
	-- The exit status is that of a rollout that ends so.
	return {
		schema = "rollout.replay/1", data = { verdict = v, action = action,
			replayed = path }, rows = rows, id = "kind", columns = columns,
		head = ("replayed from %s: %s: %s; then: %s"):format(
			path, v.verdict, v.reason, action), empty = "no check",
		status = action == "pause" and PAUSED or nil,
		failure = action == "rollback" and errors.new("aborted",
			("it would be rolled back: %s: %s"):format(v.verdict, v.reason)) or nil,
	}
end

local function progress(ctx)
	return runner.teller(ctx, M.status_of, function(r)
		return ("%s: %s, %d of %d blocks%s"):format(r.plan.name, r.state, #r.blocks,
			plan.total(r.plan), r.state ~= "progressing" and "\n" or "")
	end)
end

-- Follow the rollout to its end. @pid: the runner that this command has started.
local function follow(ctx, r, pid)
	local done = try(runner.follow(r, progress(ctx), pid))
	local shown = result(done)
	if done.state == "paused" then shown.status = PAUSED end -- the verdict is not final
	return shown
end

-- Start the runner, which calls @after(r) at the end.
local function run(ctx, r, after)
	local pid = try(runner.detach(r, after))
	if not ctx:yes("follow", true) then
		local text = "process %d runs the rollout; rollout status follow=yes follows it"
		return result(r, text:format(pid))
	end
	return follow(ctx, r, pid)
end

-- Open the hooks of the plan @path. @group: nil in a dry run over the rollout @d. -> hooks, or nil:
-- it has none
local function hooks_of(path, functions, digest, group, d)
	if not functions then return nil end
	return try(hooks.open(path, functions, { digest = digest, group = group, recorded = d,
		say = function(line)
			io.stderr:write(("%s: %s\n"):format(path:match "[^/]*$", line))
		end }))
end

-- Run @r with the hooks @h, or nil. The hook done is called also after a failure, because it may
-- have to undo work of the other hooks.
local function run_with(ctx, r, h)
	return run(ctx, r, h and function(now)
		local told, why = h:finish { state = now.state, reason = now.why,
			blocks = #now.blocks, verdict = now.verdict and now.verdict.verdict }
		if not told and now.state ~= "paused" then h.say(tostring(why)) end
		if h.stopped then rollout.fail(now, h.stopped) end
	end)
end

function M.cmd_start(ctx)
	ctx:yes "follow" -- report a wrong word before anything starts
	local p, functions, digest = try(plan.read(ctx.args[1]))
	-- A script's plan is a table; messages call it "plan".
	local path = type(ctx.args[1]) == "table" and "plan" or absolute(ctx.args[1])
	if ctx.opt.data then
		try(promote.check(p))
		local d = kept(ctx.opt.data)
		return replay(p, ctx.opt.data, d, hooks_of(path, functions, digest, nil, d))
	end
	local g = try(ctx:session())
	try(promote.check(p, g))
	if ctx.flags.dry_run then
		return { schema = "rollout.plan/1", data = p,
			text = ("rollout %s of job %s\n%s"):format(
			p.name, tostring(g.job), steps(p)) }
	end
	try(profiler.wanted(g))
	local h = hooks_of(path, functions, digest, g)
	if h then try(h:call("setup", h.ctx)) end
	return run_with(ctx, try(rollout.start(g, p, h and h:of_run())), h)
end

-- Read a rollout's file and return make(rollout), which raises if a part has a wrong type.
local function shown_of(path, make)
	local d = kept(path)
	if type(read.record(d.verdict).strata) ~= "table" then d.verdict = nil end
	d.path, d.kind = path, record.kinds.rollout
	-- The file of times is in the directory of the rollout's file, also if both were moved.
	local name = type(d.samples) == "string" and d.samples:match "[^/]+$"
	d.samples = name and (path:match "^(.*/)" or "") .. name or nil
	local fine, made = pcall(make, d)
	if fine then return made end
	if errors.is(made) then error(made, 0) end
	errors.raise("bad_argument",
		"%s must have the plan, state, arms, events and verdict of a rollout", path)
end

function M.cmd_status(ctx)
	local goes_on = ctx:yes "follow"
	if goes_on and ctx.opt.data then
		return errors.fail("usage",
			"follow=yes cannot follow the rollout of data=, which has ended")
	end
	if goes_on then return follow(ctx, (current(ctx))) end
	local shown = ctx.opt.data and shown_of(ctx.opt.data, result) or result((current(ctx)))
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
	for i, r in ipairs(try(rollout.all(sites.named(ctx.flags)))) do
		local live
		if not rollout.over(r) then
			live = rollout.gone(r) or r.holder and r.holder.from
				or tostring(r.runner.pid)
		end
		rows[i] = { job = r.job, rollout = r.plan.name, state = r.state, runner = live,
			reason = r.why, blocks = #r.blocks, of = plan.total(r.plan) }
	end
	return { schema = "rollout.list/1", data = { rollouts = rows }, rows = rows,
		id = "job", columns = list_columns, empty = "no rollouts" }
end

function M.cmd_resume(ctx)
	ctx:yes "follow"
	local r, g = current(ctx)
	local h
	if type(r.hooked) == "table" then
		local path = tostring(r.hooked.file)
		if not r.hooked.digest then
			return nil, errors.new("refused",
				"the hooks of this rollout are functions of "
					.. "a script that has ended",
				{ hint = "rollout promote or rollout abort; "
					.. "hooks in a plan's file can continue" })
		end
		local _, functions, digest = try(plan.read(path))
		if digest ~= r.hooked.digest then
			local text = "the plan %s has changed since the rollout started, "
				.. "so its hooks may judge differently"
			return nil, errors.new("refused", text:format(path),
				{ hint = "restore the file and run rollout resume, or end "
					.. "the rollout with rollout promote or rollout abort" })
		end
		h = hooks_of(path, functions, digest, g)
		try(h:call("setup", h.ctx))
		r.hooks = h:of_run()
	end
	try(rollout.resume(r, g))
	return run_with(ctx, r, h)
end

local function tell(word)
	return function(ctx)
		local r, g = current(ctx)
		local done, asked = try(rollout.tell(r, g, word))
		local shown = result(done, asked == true
			and ("process %d was asked to %s the rollout"):format(done.runner.pid, word)
			or nil)
		if word == "abort" then shown.failure = nil end
		return shown
	end
end

M.cmd_pause, M.cmd_abort, M.cmd_promote = tell "pause", tell "abort", tell "promote"

function M.cmd_undo(ctx)
	local r, g = current(ctx)
	local done = try(rollout.undo(r, g))
	local shown = result(done)
	shown.failure = nil
	return shown
end

-- opts: label. -> {file, bytes, csv, samples}; raises errors
function M.write_report(r, path, opts)
	local report = require "ncclbpf.report.html"
	local beside = r.samples and core.stat(r.samples) and (path:gsub("%.html?$", "")) .. ".csv"
	local text, seen = report.html(r, { label = opts.label, csv = beside
		and beside:match "[^/]+$" })
	local folder = path:match "^.*/"
	if folder and not core.stat(folder) then
		errors.raise("cannot_create", "%s: the folder %s does not exist", path, folder)
	end
	-- Write the CSV first: if that fails, the report is not written.
	if beside then try(report.csv(r, beside)) end
	try(core.write(path, text))
	return { file = path, bytes = #text, csv = beside or core.null, samples = seen.samples }
end

function M.cmd_report(ctx)
	local function write(r)
		return M.write_report(r, ctx.opt.out
			or tostring(r.plan.name):gsub("[^%w_.-]", "_") .. ".html", ctx.opt)
	end
	local d = ctx.opt.data and shown_of(ctx.opt.data, write) or write((current(ctx)))
	return {
		schema = "rollout.report/1", data = d,
		text = ("%s: %d bytes%s"):format(d.file, d.bytes, d.csv ~= core.null
			and (", every time in %s"):format(d.csv) or ""),
	}
end

function M.cmd_history(ctx)
	local r = current(ctx)
	local rows = lists.map(r.events, function(e)
		return { time = e.time, from = e.from, to = e.to, actor = e.actor,
			reason = e.reason }
	end)
	return {
		schema = "rollout.history/1", data = { id = r.id, events = core.array(r.events) },
		rows = rows, id = "time",
		columns = { { "time" }, { "from" }, { "to" }, { "actor", wide = true },
			{ "reason" } }, head = tostring(r.plan.name),
		foot = rollout.times(r) and { "times: " .. rollout.times(r) } or nil,
	}
end

return M
