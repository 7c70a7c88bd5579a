-- SPDX-License-Identifier: MIT
-- The rule of NCCLX's tuner: the first entry of ncclx_rules.json that matches.
local rules = {
	function(c, size)
		return c.coll == "allgather" and size <= 65536 and c.nodes >= 2 and c.nodes < 8
			and { algo = "pat", proto = "simple" }
	end,
	function(c, size, on_node)
		return c.coll == "allgather" and size > 4096 and size <= 1048576 and on_node == 8
			and { algo = "ring", proto = "ll128", channels = 8, chunk_size = 131072 }
	end,
	function(c, size)
		return c.coll == "allreduce" and c.nodes > 1 and size < 300000
			and { algo = "tree", proto = "ll", channels = 4, chunk_size = 65536 }
	end,
	function(c, _, on_node)
		return c.coll == "allreduce" and on_node <= 4
			and { algo = "ring", proto = "simple" }
	end,
}

local function rule(c)
	for _, f in ipairs(rules) do
		local answer = f(c, c.bytes // c.ranks, c.ranks // c.nodes)
		if answer then return answer end
	end
	return {}
end

local nodes, bytes = {}, { "0..64G" }
for i = 1, 40 do nodes[i] = i end
for i = 1, 350 do bytes[#bytes + 1] = math.floor(1.07 ^ i) end
return {
	policy = "ncclx_rules.json",
	{ name = "the rule", answer = rule, over = { coll = { "allgather", "allreduce", "reduce" },
		nodes = nodes, ranks_per_node = { 4, 8 }, bytes = bytes } },
}
