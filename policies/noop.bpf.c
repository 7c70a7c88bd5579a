// SPDX-License-Identifier: MIT
/* noop has no opinion, so NCCL decides. It measures the cost of having a
 * policy, and new policies can start as copies of it. */

#include "ncclbpf_policy.h"

SEC("tuner")
int noop(struct ncclbpf_tuner *ctx)
{
	return 0;
}
