-- This plan tries the policy in steps: on one communicator for a while, then on half of them, then
-- on all. Communicators outside of scope.comms would keep the baseline with promote = "scope".
return {
	name = "ring-mid-staged",
	candidate = { "nvlink_ring_mid" },
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	steps = { { units = 1, bake = "2m" }, { fraction = "50%", bake = "30s" },
		{ fraction = 1.0, bake = "30s" } },
	blocks = 12, samples = 20,
	guards = { slower_pct = 50 },
	block_timeout = "60s",
}
