-- SPDX-License-Identifier: MIT
-- ncclbpf-shell policy test fsdp_test.lua
local gather = { coll = "allgather", bytes = "64M" }

return {
	policy = "fsdp.bpf.c",
	{ name = "the first gather of a step takes many channels",
		maps = { step = { [0] = { gathers = 1, backward = 0 } } },
		context = gather, answer = { channels = 32 } },
	{ name = "the forward pass",
		maps = { step = { [0] = { gathers = 7, backward = 0 } } },
		context = gather, answer = { channels = 16 } },
	{ name = "the backward pass leaves the GPU to its kernels",
		maps = { step = { [0] = { gathers = 40, backward = 1 } } },
		context = gather, answer = { channels = 8 } },
	{ name = "other collectives are NCCL's",
		context = { coll = "allreduce", bytes = "64M" }, answer = {} },
}
