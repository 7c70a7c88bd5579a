-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test hysteresis_test.lua
-- The rule once more, over intervals with made-up times: the mean of the counted measurements of an
-- interval decides, or nothing changes.
local state = 1
local function random(n) -- 0 to n - 1
	state = (state * 1103515245 + 12345) & 0x7fffffff
	return (state >> 8) % n
end

local function measured(coll, bytes, ns, times)
	return { hook = "profiler/coll_done", times = times,
		context = { coll = coll, bytes = bytes, exec_ns = ns } }
end

local function intervals(count)
	local steps, channels = {}, nil
	for _ = 1, count do
		local n, sum = 0, 0
		for _ = 1, random(4) do
			local times, ns = 1 + random(8), 400000 + random(2600) * 1000
			steps[#steps + 1] = measured("allreduce", "8M", ns, times)
			n, sum = n + times, sum + times * ns
		end
		-- what does not count
		steps[#steps + 1] = measured("allreduce", "1M", 90000000, 9)
		steps[#steps + 1] = measured("broadcast", "8M", 90000000, 9)
		steps[#steps + 1] = { hook = "controller" }
		if n >= 8 and sum >= n * 2000001 then channels = 16 end
		if n >= 8 and sum < n * 1200000 then channels = 4 end
		steps[#steps + 1] = { context = { coll = "allreduce", bytes = "8M" },
			answer = { channels = channels } }
	end
	return steps
end

return {
	policy = "hysteresis.bpf.c",
	{ name = "the rule, over 2,000 intervals", steps = intervals(2000) },
	{ name = "between the limits nothing changes", steps = {
		measured("allreduce", "8M", 2100000, 8), { hook = "controller" },
		{ context = { coll = "allreduce", bytes = "8M" }, answer = { channels = 16 } },
		measured("allreduce", "8M", 1300000, 8), { hook = "controller" },
		{ context = { coll = "allreduce", bytes = "8M" }, answer = { channels = 16 } },
		measured("allreduce", "8M", 1100000, 8), { hook = "controller" },
		{ context = { coll = "allreduce", bytes = "8M" }, answer = { channels = 4 } },
		measured("allreduce", "8M", 1900000, 8), { hook = "controller" },
		{ context = { coll = "allreduce", bytes = "8M" }, answer = { channels = 4 } },
	} },
	{ name = "other collectives keep NCCL's channels", steps = {
		measured("allreduce", "8M", 2100000, 8), { hook = "controller" },
		{ context = { coll = "broadcast", bytes = "8M" }, answer = {} },
		{ context = { coll = "allreduce", bytes = "1M" }, answer = {} } } },
}
