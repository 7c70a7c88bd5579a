-- SPDX-License-Identifier: MIT
-- The rule as polygons in the order in which they are asked. An edge belongs to its polygon.
local MOST_BYTES, MOST_RANKS = 100 << 30, 1 << 20

-- The line from a through b, at the largest number of ranks.
local function beyond(a, b)
	return { a[1] + (b[1] - a[1]) * (MOST_RANKS - a[2]) / (b[2] - a[2]), MOST_RANKS }
end

local P, Q, R = { 150994944, 128 }, { 251658240, 1024 }, { 14680064, 16 }
local S, T, U, V = { 33554432, 16 }, { 536870912, 32 }, { 6442450944, 256 }, { 17179869184, 768 }
local ll, ll128, nvls = { 262144, MOST_RANKS }, beyond(P, Q), beyond(U, V)
local regions = {
	{ "tree", "ll", { { 0, 16 }, { 262144, 16 }, { 262144, 1024 }, ll } },
	{ "tree", "ll128", { ll, { 262144, 1024 }, { 262144, 16 }, R, P, Q, ll128 } },
	{ "ring", "ll128", { P, R, S, T, { 536870912, 128 } } },
	{ "nvls_tree", "simple", { ll128, Q, P, { 536870912, 128 }, T, U, V, nvls } },
	{ "ring", "simple", { nvls, V, U, T, S, { 1073741824, 16 }, { MOST_BYTES, 16 } } },
}

local function has(corners, x, y)
	local inside = false
	for i, a in ipairs(corners) do
		local b = corners[i % #corners + 1]
		local turn = (b[1] - a[1]) * (y - a[2]) - (b[2] - a[2]) * (x - a[1])
		if turn == 0 and x >= math.min(a[1], b[1]) and x <= math.max(a[1], b[1])
			and y >= math.min(a[2], b[2]) and y <= math.max(a[2], b[2]) then
			return true
		end
		if (a[2] > y) ~= (b[2] > y) and (turn > 0) == (b[2] > a[2]) then
			inside = not inside
		end
	end
	return inside
end

local function rule(c)
	if c.coll ~= "allreduce" or c.ranks ~= 8 * c.nodes or c.bytes > MOST_BYTES then
		return {}
	end
	for _, r in ipairs(regions) do
		if has(r[3], c.bytes, c.ranks) then return { algo = r[1], proto = r[2] } end
	end
	return {}
end

local nodes, bytes = {}, { "0..256G", MOST_BYTES, MOST_BYTES + 1 }
for i = 1, 160 do nodes[i] = i end
for _, n in ipairs { 500, 1000, 4096, 20000, 131072, 131073 } do nodes[#nodes + 1] = n end
for i = 1, 250 do bytes[#bytes + 1] = math.floor(1.09 ^ i * 100) end
for i = 1, 250 do bytes[#bytes + 1] = i << 20 end
return {
	policy = "aws_regions.bpf.c",
	{ name = "the rule", answer = rule,
		over = { coll = "allreduce", nodes = nodes, ranks_per_node = 8, bytes = bytes } },
	{ name = "others", answer = rule,
		over = { coll = { "allreduce", "allgather" }, nodes = { 4, 64 }, ranks_per_node = 4,
			bytes = bytes } },
}
