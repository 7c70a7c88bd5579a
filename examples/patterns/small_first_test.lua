-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test small_first_test.lua
-- The rule once more, over intervals with made-up traffic: large messages are limited until three
-- intervals have passed without 20 small ones in any of them.
local state = 7
local function random(n) -- 0 to n - 1
	state = (state * 1103515245 + 12345) & 0x7fffffff
	return (state >> 8) % n
end

local sizes = { { 1, true }, { "64K", true }, { 65537, false }, { "8M", false } }

local function intervals(count)
	local steps, busy = {}, {}
	for i = 1, count do
		local small = 0
		for _ = 1, random(3) do
			local size, times = sizes[1 + random(4)], 1 + random(28)
			steps[#steps + 1] = { hook = "profiler/coll_done", times = times,
				context = { coll = "allreduce", bytes = size[1], exec_ns = 1000 } }
			small = small + (size[2] and times or 0)
		end
		busy[i] = small >= 20
		steps[#steps + 1] = { hook = "controller" }
		local limited = i < 3 or busy[i] or busy[i - 1] or busy[i - 2]
		steps[#steps + 1] = { context = { coll = "allreduce", bytes = "8M" },
			answer = { channels = limited and 4 or nil } }
	end
	return steps
end

return {
	policy = "small_first.bpf.c",
	{ name = "the rule, over 2,000 intervals", steps = intervals(2000) },
	{ name = "small messages, before any interval",
		over = { bytes = "1..16G", nodes = { 1, 2, 9 } },
		answer = function(c)
			return c.bytes <= 65536 and { algo = "tree", proto = "ll" } or {}
		end },
	{ name = "where NCCL offers no tree",
		context = { coll = "allgather", bytes = "1K",
			usable = { "ring/ll", "ring/simple" } },
		answer = { algo = "ring", proto = "ll" } },
}
