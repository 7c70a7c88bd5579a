-- SPDX-License-Identifier: MIT
-- Who makes a change: user, host and process of this shell, and the rollout. The job's history and
-- the store's audit keep it with the generation.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local process = require "ncclbpf.base.process"

local M = {}

-- Return the user, the host and the PID of this shell.
function M.who()
	local uid, pid = core.ids()
	return os.getenv "USER" or "uid " .. tostring(uid), process.host(), pid
end

-- Return who asks for a change, as maker= of change commit says it: user, host, process, rollout.
function M.text(rollout)
	local user, host, pid = M.who()
	local list = { user:sub(1, 32), host:sub(1, 64), process.identity(pid) or "",
		rollout or "" }
	for i, text in ipairs(list) do list[i] = text:gsub("[^%w_.:/@+%- ]", "_") end
	return table.concat(list, ",")
end

-- Return the data of a change, or the error of a change that was aborted. -> data | nil, err
function M.outcome(data)
	if data.state ~= "aborted" then return data end
	return nil, errors.new("aborted", "the change was aborted; nothing has changed",
		{ change = data.change,
		hint = "a rank reached the fence before the commit; try again" })
end

-- If the user pressed Ctrl-C during a change, the command ends after the change without its result.
-- Print which generation the change has made.
function M.decided(data)
	if core.stopped() and data.state == "committed" and data.generation then
		io.stderr:write("ncclbpf-shell: generation ", tostring(data.generation),
			" was committed before Ctrl-C\n")
	end
end

return M
