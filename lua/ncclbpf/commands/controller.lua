-- SPDX-License-Identifier: MIT
-- Controllers of a job: the process that runs them, and their changes.
local read = require "ncclbpf.job.read"

local try = require("ncclbpf.base.errors").try
local M = {}

-- One process runs the controllers for all processes of all sites. Without a shared
-- segment, each process runs its own. The result shows a process that runs controllers, or
-- the first process if none does.
local function speakers(results)
	local here, first = {}, nil
	for _, r in ipairs(results) do
		if type(r.data) == "table" then
			first = first or r.member
			if r.data.here == true then here[r.member] = true end
		end
	end
	if not next(here) and first then here[first] = true end
	return here
end

local function word(d)
	if d.controllers ~= true then return "none" end
	if d.paused == true then return "paused" end
	return read.number(d.elected) > 0 and "running" or "waiting"
end

local function ask(ctx, what)
	local s = try(ctx:session())
	local line = "controller " .. what
	local results = s:ask(line)
	local here = speakers(results)
	return read.command(ctx, {
		schema = "controller/1", line = line, id = "elected",
		rows = function(d, member)
			if not here[member] then return {} end
			return { { state = word(d), elected = read.number(d.elected) > 0
				and d.elected or nil,
				runs = read.number(d.runs), changes = read.number(d.changes),
				failures = read.number(d.failures),
				missing = read.number(d.missing),
				incomplete = read.number(d.incomplete), lost = read.number(d.lost),
				interval_s = read.number(d.interval_us) / 1e6,
				run_us = read.number(d.run_ns) / 1000,
				error = read.text(d.error) } }
		end,
		opts = { results = results },
		columns = {
			{ "state" }, { "elected", title = "RUN BY", num = true },
			{ "runs", num = true, merge = "max" },
			{ "changes", num = true, merge = "max" },
			{ "failures", num = true, merge = "max" },
			{ "missing", num = true, wide = true, merge = "max" },
			{ "incomplete", num = true, wide = true, merge = "max" },
			{ "lost", num = true, wide = true, merge = "max" },
			{ "interval_s", title = "EVERY", num = true, drop = 1, merge = "first",
				show = function(v)
				return ("%g s"):format(v)
			end },
			{ "run_us", title = "RUN us", num = true, merge = "first",
				show = function(v)
				return ("%.1f"):format(v)
			end },
			{ "error", title = "LAST ERROR", merge = "first", wrap = true },
		},
		empty = "no policy in use has controllers",
	})
end

function M.cmd_status(ctx) return ask(ctx, "status") end
function M.cmd_pause(ctx) return ask(ctx, "pause") end
function M.cmd_resume(ctx) return ask(ctx, "resume") end

return M
