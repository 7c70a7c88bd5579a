// SPDX-License-Identifier: MIT
// Controllers that take longer than a decision may: a million iterations, which all run, and a
// hundred million, which end early.
#include "ncclbpf_policy.h"

static __u64 sum;

static long add(__u64 i, void *ctx)
{
	sum += i;
	return 0;
}

static long add_thousand(__u64 i, void *ctx)
{
	bpf_loop(1000, add, 0, 0);
	return 0;
}

static long add_ten_thousand(__u64 i, void *ctx)
{
	bpf_loop(10000, add, 0, 0);
	return 0;
}

SEC("controller")
int all_run(struct ncclbpf_controller *ctx)
{
	bpf_loop(1000, add_thousand, 0, 0);
	return 0;
}

SEC("controller")
int end_early(struct ncclbpf_controller *ctx)
{
	bpf_loop(10000, add_ten_thousand, 0, 0);
	return 0;
}
