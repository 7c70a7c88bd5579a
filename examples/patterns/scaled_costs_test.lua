-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test scaled_costs_test.lua
-- The rule once more, over made-up costs: the listed combinations in order of their scaled costs.
local listed = { { "ring", "ll128", 90 }, { "ring", "simple", 100 }, { "tree", "ll", 130 },
	{ "nvls", "simple", 75 } }
local protos = { ll = 1, ll128 = 2, simple = 3 }

-- Costs that depend on the context alone: latency and bandwidth of each combination, and some that
-- are not offered.
local function costs(c)
	local rows = {}
	for a, algo in ipairs { "tree", "ring", "nvls", "nvls_tree" } do
		rows[algo] = {}
		for p = 1, 3 do
			local latency = (a * 7 + p * 5 + c.nodes * 11) % 23 * 4
			local us = latency + c.bytes // (600 * (a + p + c.nodes % 5))
			rows[algo][p] = (a + p + c.nodes) % 9 == 0 and -1 or us
		end
	end
	return rows
end

local function cheapest(rows)
	local offered = {}
	for i, x in ipairs(listed) do
		local us = rows[x[1]] and rows[x[1]][protos[x[2]]] or -1
		if us >= 0 then
			offered[#offered + 1] = { i = i, scaled = us * x[3], algo = x[1],
				proto = x[2] }
		end
	end
	table.sort(offered, function(a, b)
		if a.scaled ~= b.scaled then return a.scaled < b.scaled end
		return a.i < b.i
	end)
	return offered[1] and { algo = offered[1].algo, proto = offered[1].proto } or {}
end

local nodes, bytes = {}, { "0..1G" }
for i = 1, 500 do nodes[i] = i end
for i = 1, 150 do bytes[#bytes + 1] = math.floor(1.1 ^ i * 1000) end
return {
	policy = "scaled_costs.bpf.c",
	{ name = "the rule, over NCCL's costs on 8 and 16 H100", over = {},
		costs = "../../policies/costs/h100.ndjson",
		answer = function(c) return cheapest(c.costs) end },
	{ name = "the rule, over made-up costs", costs = costs,
		answer = function(c) return cheapest(costs(c)) end,
		over = { coll = "allreduce", nodes = nodes, ranks_per_node = 8, bytes = bytes } },
	{ name = "no costs", context = { coll = "allreduce", bytes = "1M" }, answer = {} },
	{ name = "none of them is offered", context = { coll = "allreduce", bytes = "1M" },
		costs = { pat = { 1, 2, 3 } }, answer = {} },
	{ name = "a correction changes", context = { coll = "allreduce", bytes = "1M" },
		costs = { ring = { 10, 10, 10 }, nvls = { -1, -1, 12 } },
		answer = { algo = "ring", proto = "simple" },
		maps = { [".data.coherent"] = { [0] = { scaled = {
			{ algo = 1, proto = 1, percent = 120 },
			{ algo = 1, proto = 2, percent = 100 },
			{ algo = 0, proto = 0, percent = 100 },
			{ algo = 4, proto = 2, percent = 95 },
		} } } } },
}
