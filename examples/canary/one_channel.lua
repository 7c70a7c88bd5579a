-- This plan tries a bad policy on one communicator. A guard ends the rollout in the first
-- block, and the other communicators never run the policy.
return {
	name = "one-channel-canary",
	candidate = { "one_channel" },
	scope = { comms = 1, collectives = { "allreduce" }, sizes = "4M..128M" },
	blocks = 6, samples = 20,
	judge = { confidence = 0.9, looks = 2 },
	guards = { slower_pct = 50 },
	block_timeout = "60s",
}
