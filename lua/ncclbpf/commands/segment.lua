-- SPDX-License-Identifier: MIT
-- Segments in the job directories, of running jobs and of jobs that have ended: segment list,
-- segment remove. They need no job.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local target = require "ncclbpf.job.target"
local units = require "ncclbpf.base.units"

local M = {}

-- Return the job directories that this user may use.
local function directories()
	return lists.select(target.directories(), function(dir)
		return (target.check_directory(dir))
	end)
end

local function state(path) return core.segment_used(path) and "in use" or "ended" end

function M.cmd_list()
	local rows = {}
	for _, dir in ipairs(directories()) do
		for _, name in ipairs(core.list(dir) or {}) do
			local job = name:match "^([%w_%-]+)%.seg$"
			local st = job and core.stat(dir .. "/" .. name)
			local file = dir .. "/" .. name
			if st and st.kind == "file" and core.is_segment(file) then
				local at = math.floor(st.mtime) * 1000000000
				rows[#rows + 1] = { job = job, state = state(file), bytes = st.size,
					written = core.time(at), file = file }
			end
		end
	end
	table.sort(rows, lists.by("job", "file"))
	return {
		schema = "segment.list/1", rows = rows, id = "file",
		data = { segments = core.array(rows) },
		empty = "no segments in " .. table.concat(target.directories(), ", "),
		columns = { { "job" }, { "state" }, { "bytes", num = true },
			{ "written", drop = 1 }, { "file" } },
	}
end

function M.cmd_remove(ctx)
	local job = ctx.args[1]
	local removed, bytes = 0, 0
	for _, dir in ipairs(directories()) do
		local l = core.leftovers(dir, 0, -1, job ~= "all" and job or nil)
		removed, bytes = removed + l.removed, bytes + l.removed_bytes
	end
	if removed == 0 and job ~= "all" then
		return errors.fail("not_found", "no segment of an ended job %s in %s", job,
			table.concat(target.directories(), ", "))
	end
	return { schema = "segment.remove/1", data = { removed = removed, bytes = bytes },
		text = ("%s of ended jobs removed, %d KiB"):format(
			units.count(removed, "segment"), bytes // 1024) }
end

return M
