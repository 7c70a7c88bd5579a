-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test nearest_shape_test.lua
-- The rule once more: the nearest number of nodes by ratio, then the nearest number of ranks per
-- node among what was measured there; of two that are equally near, the smaller one.
local measured = {
	[2] = { [4] = { { "64K", "tree", "ll" }, { nil, "ring", "simple" } },
		[8] = { { "256K", "tree", "ll" }, { nil, "ring", "ll128" } } },
	[8] = { [8] = { { "1M", "tree", "ll128" }, { nil, "ring", "simple" } } },
	[32] = { [4] = { { "4M", "tree", "ll128" }, { nil, "tree", "simple" } },
		[8] = { { "16M", "tree", "ll128" }, { nil, "ring", "simple" } } },
}

local function nearest(t, n)
	local best
	for v in pairs(t) do
		-- nearer: a smaller max(v, n) / min(v, n), compared without division
		local x, y = math.max(v, n), math.min(v, n)
		local nearer = best and x * best.y - best.x * y
		if not best or nearer < 0 or nearer == 0 and v < best.v then
			best = { v = v, x = x, y = y }
		end
	end
	return t[best.v]
end

local function rule(c)
	if c.coll ~= "allreduce" then return {} end
	for _, row in ipairs(nearest(nearest(measured, c.nodes), c.ranks // c.nodes)) do
		if not row[1] or c.bytes <= nb.size(row[1]) then
			return { algo = row[2], proto = row[3] }
		end
	end
end

local nodes = {}
for i = 1, 100 do nodes[i] = i end
return {
	policy = "nearest_shape.csv",
	{ name = "the rule", answer = rule,
		over = { coll = { "allreduce", "broadcast" }, nodes = nodes,
			ranks_per_node = { 1, 2, 4, 5, 6, 8, 16 }, bytes = "1..1G" } },
}
