-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test limits_test.lua
return {
	policy = "limits.bpf.c?small=64K,wide=16",
	{ name = "64 KiB is small",
		context = { coll = "allreduce", bytes = "64K" },
		answer = { algo = "tree", proto = "ll" } },
	{ name = "one byte more is not",
		context = { coll = "allreduce", bytes = 65537 },
		answer = { algo = "ring", proto = "ll128" } },
	{ name = "the default of middle",
		context = { coll = "allreduce", bytes = "4M" },
		answer = { algo = "ring", proto = "ll128" } },
	{ name = "large messages take 16 channels",
		context = { coll = "allreduce", bytes = "5M" },
		answer = { algo = "ring", proto = "simple", channels = 16 } },
}
