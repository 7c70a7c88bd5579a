-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test rail_backoff_test.lua
-- The rule once more, over intervals with made-up signals: the share of the rails that are not
-- congested, of those whose signals are at most two seconds old.
local state = 5
local function random(n) -- 0 to n - 1
	state = (state * 1103515245 + 12345) & 0x7fffffff
	return (state >> 8) % n
end

local function channels_of(rails, now)
	local fresh, good = 0, 0
	for _, r in pairs(rails) do
		if r.written_ns > 0 and now - r.written_ns <= 2000000000 then
			fresh = fresh + 1
			good = good + (r.troubles_per_s <= 100 and 1 or 0)
		end
	end
	return fresh > 0 and math.max(12 * good // fresh, 2) or nil
end

local function intervals(count)
	local steps, rails, now = {}, {}, 1000000000
	for _ = 1, count do
		local after, written = 100 + random(1500), {}
		now = now + after * 1000000
		for _ = 1, random(4) do
			local i = 1 + random(8)
			written[i] = { written_ns = math.max(now - random(3000) * 1000000, 1),
				troubles_per_s = random(4) * 50 }
			rails[i] = written[i]
		end
		steps[#steps + 1] = { hook = "controller", after = after .. "ms",
			maps = { host = written } }
		steps[#steps + 1] = { context = { coll = "allreduce", bytes = "64M" },
			answer = { channels = channels_of(rails, now) } }
	end
	return steps
end

return {
	policy = "rail_backoff.bpf.c",
	{ name = "the rule, over 2,000 intervals", steps = intervals(2000) },
	{ name = "no signals at all", steps = { { hook = "controller" },
		{ context = { coll = "allreduce", bytes = "64M" }, answer = {} } } },
}
