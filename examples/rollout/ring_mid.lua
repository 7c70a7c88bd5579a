-- This plan tests whether the ring is faster than NVLS for middle sizes on this job.
return {
	name = "ring-mid",
	reason = "published: at these sizes NVLS, NCCL's choice, is 5 to 27 % slower",
	candidate = { "nvlink_ring_mid" },
	baseline = "none",
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	blocks = 10, samples = 20,
	judge = { confidence = 0.98, min_effect_pct = 1, looks = 2 },
	guards = { slower_pct = 50 },
}
