-- This plan finds the sizes at which the ring is faster than NCCL's choice, and promotes the
-- ring for these sizes only.
return {
	name = "ring-mid",
	reason = "published: NCCL's choice of NVLS costs 5 to 27 % in the middle sizes",
	candidate = { "nvlink_ring_mid" },
	baseline = "none",
	scope = { collectives = { "allreduce" } },
	promote = "better",
	blocks = 10, samples = 20,
	judge = { confidence = 0.98, min_effect_pct = 2, looks = 2 },
	guards = { slower_pct = 50 },
}
