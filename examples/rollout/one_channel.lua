-- This plan tries a bad policy, and a guard ends the rollout in its first block.
return {
	name = "one-channel",
	candidate = { "one_channel" },
	scope = { collectives = { "allreduce" }, sizes = "4M..128M" },
	blocks = 10, samples = 20,
	guards = { slower_pct = 50 },
}
