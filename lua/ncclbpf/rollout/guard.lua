-- SPDX-License-Identifier: MIT
-- The supervisor of a rollout or sweep: a process of its own (core.guardian) that puts
-- the baseline back when the process that runs it dies.
local core = require "ncclbpf.core"

local M = {}

local TRIES, PAUSE_S = 20, 0.5

-- rescue() -> true when nothing is left to do; @after(whether that came). Both run in
-- the supervisor, after the end of this process. -> it, with done and close | nil, err
function M.start(rescue, after)
	return core.guardian(function()
		local done = false
		for _ = 1, TRIES do
			local fine, ok = pcall(rescue)
			done = fine and ok and true or false
			if done then break end
			core.sleep(PAUSE_S)
		end
		if after then after(done) end
	end)
end

return M
