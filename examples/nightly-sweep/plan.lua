-- Find the best algorithm and protocol for AllReduce from 1 MiB to 64 MiB.
return {
	name = "nightly",
	scope = { collectives = { "allreduce" }, sizes = "1M..64M" },
	algos = { "ring", "nvls" },
	protos = { "ll128", "simple" },
	rounds = 8, samples = 10,
	min_effect_pct = 3, hysteresis_pct = 2,
	guards = { slower_pct = 100 },
}
