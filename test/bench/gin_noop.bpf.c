// SPDX-License-Identifier: MIT
// A program without an opinion on each put, to see what a hook costs.
#include "ncclbpf_policy.h"

SEC("gin/put")
int put(struct ncclbpf_gin_put *ctx)
{
	return 0;
}
