-- SPDX-License-Identifier: MIT
-- map attach and map detach: the memory that host maps show. Each process of the job gets a
-- descriptor of it and checks it; the processes are of this host.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

-- The results of the processes as rows: how many maps of held policies the command has reached.
local function result_of(ctx, results)
	return read.command(ctx, {
		schema = "map.host/1", id = "map",
		rows = function(d) return { { map = d.map, maps = d.maps } } end,
		columns = { { "map" }, { "maps", num = true } },
		opts = { results = results },
	})
end

function M.cmd_attach(ctx)
	local name, source = ctx.args[1], ctx.args[2]
	local s = try(ctx:session())
	if s.sites then
		return nil, errors.new("not_supported",
			"map attach: a descriptor reaches the processes of this host, "
			.. "and the job has sites", { hint =
			"run it on each host, without the fleet's store" })
	end
	local descriptor = try(core.descriptor(source))
	return result_of(ctx, s:ask(session.line { "map", "attach", name },
		{ object = descriptor, what = "map attach" }))
end

function M.cmd_detach(ctx)
	local s = try(ctx:session())
	return result_of(ctx, s:ask(session.line { "map", "detach", ctx.args[1] },
		{ what = "map detach" }))
end

return M
