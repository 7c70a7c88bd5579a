-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test log_regions_test.lua
-- The rule once more, with real numbers: of a region's border it asks at which size a line of equal
-- ranks enters and leaves it.
local regions = {
	{ "tree", "ll", { { 0, 1.3 }, { 12.4, 1.3 }, { 16.7, 9.6 }, { 0, 9.6 } } },
	{ "tree", "ll128", { { 12.4, 1.3 }, { 18.2, 3.4 }, { 25.3, 9.6 }, { 16.7, 9.6 } } },
	{ "ring", "simple", { { 18.2, 3.4 }, { 36.5, 3.4 }, { 36.5, 9.6 }, { 25.3, 9.6 } } },
}

local function has(corners, bytes, ranks)
	local from, to = math.huge, -math.huge
	for i, a in ipairs(corners) do
		local b = corners[i % #corners + 1]
		if (a[2] <= ranks) ~= (b[2] <= ranks) then
			local at = a[1] + (b[1] - a[1]) * (ranks - a[2]) / (b[2] - a[2])
			from, to = math.min(from, at), math.max(to, at)
		end
	end
	return from <= bytes and bytes <= to
end

local function rule(c)
	if c.coll ~= "allreduce" or c.bytes == 0 then return {} end
	for _, r in ipairs(regions) do
		if has(r[3], math.log(c.bytes, 2), math.log(c.ranks, 2)) then
			return { algo = r[1], proto = r[2] }
		end
	end
	return {}
end

local nodes, bytes = {}, { "0..64G" }
for i = 1, 128 do nodes[i] = i end
for i = 1, 150 do bytes[#bytes + 1] = math.floor(1.17 ^ i * 1000) end
return {
	policy = "log_regions.bpf.c",
	{ name = "the rule, with real numbers", answer = rule,
		over = { coll = { "allreduce", "reduce" }, nodes = nodes, ranks_per_node = { 1, 8 },
			bytes = bytes } },
	{ name = "NCCL does not offer it", answer = {},
		context = { coll = "allreduce", bytes = "1K", usable = { "ring/simple" } } },
}
