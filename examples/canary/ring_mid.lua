-- This plan tries the ring for middle sizes on one communicator, and then promotes it to all.
return {
	name = "ring-mid-canary",
	reason = "published: at these sizes NVLS, NCCL's choice, is 5 to 27 % slower",
	candidate = { "nvlink_ring_mid" },
	scope = { comms = { "c0ffee0000000001" }, collectives = { "allreduce" },
		sizes = "4M..128M" },
	promote = "all",
	blocks = 6, samples = 8,
	judge = { confidence = 0.9, min_effect_pct = 2, looks = 2 },
	guards = { slower_pct = 50 },
	block_timeout = "60s",
}
