-- SPDX-License-Identifier: MIT
-- AMD's rules for AllReduce on gfx950, as rows of nodes, ranks, the largest size and the answer.
local rows = {
	{ 1, 8, 16383, "tree", "ll", 1 }, { 1, 8, 524287, "ring", "ll" },
	{ 1, 8, 1048575, "ring", "ll", 32 }, { 1, 8, 2097000, "ring", "ll", 56 },
	{ 2, 16, 33554431 }, { 2, 16, 54525951, "ring", "ll128", 64 },
	{ 2, 16, 117440511, "tree", "simple", 64 }, { 2, 16, 234881024, "ring", "simple", 48 },
}

local function rule(c)
	for _, r in ipairs(rows) do
		local shape = c.nodes == r[1] and c.ranks == r[2]
		if c.coll == "allreduce" and shape and c.bytes <= r[3] then
			return { algo = r[4], proto = r[5], channels = r[6] }
		end
	end
	return {}
end

local bytes = { "0..64G" }
for _, r in ipairs(rows) do
	for i = r[3] - 2, r[3] + 2 do bytes[#bytes + 1] = i end
end
for i = 1, 9000 do bytes[#bytes + 1] = i * 32749 end
return {
	policy = "gfx950_allreduce.policy",
	{ name = "the rule", answer = rule, over = { coll = { "allreduce", "broadcast" },
		nodes = { 1, 2, 3 }, ranks_per_node = { 4, 8 }, bytes = bytes } },
}
