-- SPDX-License-Identifier: MIT
-- Of all combinations, and of two that NCCL may offer: bit 5 is the ring with the simple protocol.
local some = {}
for i = 0, 20 do some[i + 1] = 1 << i | 1 << (i * 8 + 5) % 21 end
local bytes = {}
for i = 0, 29 do bytes[i + 1] = (1 << i * 4 // 3) - 1 + i % 3 end
return {
	policy = "nvidia_basic.bpf.c",
	{ name = "the rule", over = { usable = some, bytes = bytes },
		answer = function(c)
			local offered = c.usable // 32 % 2 == 1
			return { algo = offered and "ring" or nil,
				proto = offered and "simple" or nil, channels = 1 }
		end },
}
