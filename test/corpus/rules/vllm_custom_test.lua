-- SPDX-License-Identifier: MIT
local most = { [2] = 64 << 20, [4] = 32 << 20, [6] = 1 << 19, [8] = 1 << 18 }
local bytes = { "0..1G" }
for i = 1, 1380 do bytes[#bytes + 1] = i * 8 end
for i = 1, 1380 do bytes[#bytes + 1] = (i * 7919 % 8192) << 13 | i % 32 end
return {
	policy = "vllm_custom.bpf.c",
	{ name = "the rule", over = { coll = { "allreduce", "reduce" }, nodes = { 1, 2 },
		ranks_per_node = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, bytes = bytes },
		answer = function(c)
			local limit = c.coll == "allreduce" and c.nodes == 1 and most[c.ranks]
			local own = limit and c.bytes % 16 == 0 and c.bytes < limit
			return own and { algo = "tree", proto = "ll" } or {}
		end },
}
