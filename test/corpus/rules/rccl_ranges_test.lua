-- SPDX-License-Identifier: MIT
-- The rule step by step: Simple, then LL where its range has the size, then LL128 in its own.
local ranges = { -- more than the first, and at most the second
	reducescatter = { ll = { 0, 16384 }, ll128 = { 8192, 2097152 }, per_rank = true },
	allgather = { ll = { 0, 32768 }, ll128 = { 4096, 1048576 }, per_rank = true },
	allreduce = { ll = { 0, 65536 }, ll128 = { 16384, 3000000 } },
	broadcast = { ll = { 0, 8192 }, ll128 = { 1024, 500000 } },
}

local function rule(c)
	local r = ranges[c.coll]
	if not r or c.nodes < 2 then return {} end
	local size = r.per_rank and c.bytes // c.ranks or c.bytes
	local proto, most = "simple", r.ll128[2]
	if size > r.ll[1] and size <= r.ll[2] then proto = "ll" end
	if c.coll == "allreduce" and c.nodes > 2 then most = math.floor(most * 3.8) end
	if size > r.ll128[1] and size <= most then proto = "ll128" end
	return { proto = proto }
end

local bytes = { "0..64G", 500000, 500001, 3000000, 3000001, 11400000, 11400001 }
for i = 1, 300 do bytes[#bytes + 1] = math.floor(1.08 ^ i) end
local nodes = {}
for i = 1, 40 do nodes[i] = i end
return {
	policy = "rccl_ranges.lua",
	{ name = "the rule", answer = rule, over = { coll = "any", nodes = nodes,
		ranks_per_node = { 4, 8 }, bytes = bytes } },
}
