-- The guard slo ends a rollout if an AllReduce of 64 MiB takes longer than a millisecond,
-- whatever the time of the baseline.
return {
	name = "slo",
	candidate = { "one_channel" },
	scope = { comms = { "c0ffee0000000001" }, collectives = { "allreduce" },
		sizes = "64M..128M" },
	blocks = 6, samples = 20,
	judge = { confidence = 0.9, looks = 2 },
	guards = { slo = "1ms", slower_pct = 10000 },
	block_timeout = "60s",
}
