-- SPDX-License-Identifier: MIT
-- map attach and map detach: the memory that host maps show. Each process of the job gets a
-- descriptor of it and checks it; the processes are of this host. All of them change, or none: the
-- change is staged in each process, and then committed.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local merge = require "ncclbpf.job.merge"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

-- Return the results of the processes as rows. Each row has the number of host maps, in all held
-- policies, that the command changed.
local function result_of(ctx, results)
	return read.command(ctx, {
		schema = "map.host/1", id = "map",
		rows = function(d) return { { map = d.map, maps = d.maps } } end,
		columns = { { "map" }, { "maps", num = true } },
		opts = { results = results },
	})
end

-- Return the members that succeeded, the members that failed, and one error that sums up the
-- failures.
local function split(results)
	local good, bad, errs = {}, {}, {}
	for _, r in ipairs(results) do
		if r.err then errs[#errs + 1] = r end
		table.insert(r.err and bad or good, r.member)
	end
	return good, bad, session.sum_up(errs, #results)
end

local function explain(err, bad, what, who)
	return errors.because(err, "%s failed%s", merge.who(bad),
		#who > 0 and (", so %s: %s"):format(what, merge.who(who)) or "")
end

-- Undo the change in @members. -> the members where that has failed
local function undo(s, line, members)
	if #members == 0 then return {} end
	local _, failed = split(s:ask(line .. " step=undo", { members = members }))
	return failed
end

local function in_steps(s, line, what, object)
	local staged, bad, err = split(s:ask(line .. " step=stage", {
		object = object, what = what }))
	if err then
		undo(s, line, staged)
		return nil, explain(err, bad, "these ranks have not changed", staged)
	end
	local results = s:ask(line .. " step=commit", { members = staged, what = what })
	local changed
	changed, bad, err = split(results)
	if err then
		-- A process whose answer is missing may still commit, so undo the change there too.
		local failed, has = {}, {}
		for _, m in ipairs(changed) do has[m] = true end
		for _, m in ipairs(undo(s, line, staged)) do
			if has[m] then failed[#failed + 1] = m end
		end
		if #failed > 0 then
			return nil, explain(err, bad,
				"these ranks have changed and could not be rolled back", failed)
		end
		return nil, explain(err, bad, "these ranks were rolled back", changed)
	end
	s:ask(line .. " step=done", { members = changed })
	return results
end

-- Ctrl-C waits until all processes have changed, or none.
local function change(ctx, words, object)
	local s = try(ctx:session())
	core.hold(true)
	local ok, results, err = pcall(in_steps, s, session.line(words),
		words[1] .. " " .. words[2], object)
	core.hold(false)
	if not ok then return nil, errors.caught(results) end
	if not results then return nil, err end
	return result_of(ctx, results)
end

function M.cmd_attach(ctx)
	local name, source = ctx.args[1], ctx.args[2]
	local s = try(ctx:session())
	if s.sites then
		return nil, errors.new("not_supported",
			"map attach: a descriptor reaches the processes of this host, "
			.. "and the job has sites", { hint =
			"run the command on each host, without the fleet's store" })
	end
	return change(ctx, { "map", "attach", name }, try(core.descriptor(source)))
end

function M.cmd_detach(ctx)
	local s = try(ctx:session())
	if s.sites then -- an agent does not keep the connection for the second step
		return result_of(ctx, s:ask(session.line { "map", "detach", ctx.args[1] },
			{ what = "map detach" }))
	end
	return change(ctx, { "map", "detach", ctx.args[1] })
end

return M
