-- SPDX-License-Identifier: MIT
-- first.lua POLICY...: try policies that the job holds one after the other, and keep the first one
-- that is better. A rollout that is not promoted leaves the baseline. Exit 2: none is better.
local nb = require "ncclbpf"

local function plan(name)
	return { name = name, candidate = { name }, blocks = 10, samples = 20,
		scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
		judge = { looks = 2 }, guards = { slower_pct = 50 } }
end

for _, name in ipairs(arg) do
	-- follow is called after each block.
	local r, err = nb.rollout_start { plan(name), follow = function(now)
		io.stderr:write(("\r%s: %d of %d blocks "):format(name, now.blocks, now.of))
	end }
	if not r and not err.data then error(err) end
	r = r or err.data -- rolled back
	print(("%s: %s after %d blocks: %s"):format(name, r.state, r.blocks, r.reason))
	if r.state == "succeeded" then return end
	if r.state == "paused" then assert(nb.rollout_abort()) end
end
os.exit(2)
