-- A bad policy, on one communicator of the job: the guard ends it in the first
-- block, and the others never see it.
return {
	name = "one-channel-canary",
	candidate = { "one_channel" },
	scope = { comms = 1, collectives = { "allreduce" }, sizes = "4M..128M" },
	blocks = 6, samples = 20,
	judge = { confidence = 0.9, looks = 2 },
	guards = { slower_pct = 50 },
	block_timeout = "60s",
}
