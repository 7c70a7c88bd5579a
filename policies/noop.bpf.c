// SPDX-License-Identifier: MIT
// noop: a policy without an opinion. Outputs start as "no opinion" and are
// left so: NCCL decides. It measures what it costs to have a policy at all,
// and is where a new policy can begin.
#include "ncclbpf_policy.h"

SEC("tuner")
int noop(struct ncclbpf_tuner *ctx)
{
	return 0;
}
