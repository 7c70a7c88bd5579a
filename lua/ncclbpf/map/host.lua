-- SPDX-License-Identifier: MIT
-- map attach and map detach: the memory that host maps show. Each process of this host gets a
-- descriptor of it, and accepts or refuses it by itself.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

-- Show the results of the processes as rows. Each row has the number of host maps, in all held
-- policies, that the command changed.
local function change(ctx, words, object)
	return read.command(ctx, {
		schema = "map.host/1", id = "map", line = session.line(words),
		rows = function(d) return { { map = d.map, maps = d.maps } } end,
		columns = { { "map" }, { "maps", num = true } },
		opts = { object = object, what = words[1] .. " " .. words[2] },
	})
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
	return change(ctx, { "map", "detach", ctx.args[1] })
end

return M
