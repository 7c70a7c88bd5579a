-- This plan tries the policy in steps: on one communicator for a while, then on half of them,
-- then on all but one, which keeps the baseline for comparison.
return {
	name = "ring-mid-staged",
	candidate = { "nvlink_ring_mid" },
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	steps = { { units = 1, bake = "2m" }, { fraction = "50%", min_samples = 500 },
		{ fraction = 1.0 } },
	bake = "30s", -- for steps of the plan that give no number of their own
	holdback = 1,
	blocks = 12, samples = 20,
	metrics = { { name = "time", min_effect_pct = 1 },
		{ name = "tail", aggregate = "p95", min_effect_pct = 10, critical = false } },
	guards = { slower_pct = 50 },
	block_timeout = "60s",
}
