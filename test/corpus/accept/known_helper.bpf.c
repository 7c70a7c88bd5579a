// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Twin of unknown_helper: a helper that exists, its result unused.
#include "ncclbpf_policy.h"

SEC("tuner")
int known_helper(struct ncclbpf_tuner *ctx)
{
	bpf_ktime_get_ns();
	return 0;
}
