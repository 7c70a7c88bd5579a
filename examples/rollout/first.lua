-- SPDX-License-Identifier: MIT
-- first.lua POLICY...: try policies that the job holds one after the other, and keep the first one
-- that is better. A rollout that is not promoted leaves the baseline. Exit 2: none is better.
local nb = require "ncclbpf"

for _, name in ipairs(arg) do
	local r = assert(nb.target:rollout { name = name, candidate = { name }, blocks = 10,
		samples = 20, scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
		judge = { looks = 2 }, guards = { slower_pct = 50 } })
	assert(r:start())
	-- This is the place for an experiment's own code: it runs between two blocks.
	while r.state == "progressing" do assert(r:step()) end
	print(("%s: %s after %d blocks: %s"):format(name, r.state, r.blocks, r.reason))
	if r.state == "succeeded" then return end
	if r.state == "paused" then assert(r:abort()) end
end
os.exit(2)
