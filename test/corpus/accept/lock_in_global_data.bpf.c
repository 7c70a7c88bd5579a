// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A lock among the policy's own variables.
#include "ncclbpf_policy.h"

static struct bpf_spin_lock lock SEC(".data.guarded");
static __u64 calls SEC(".data.guarded");

SEC("tuner")
int lock_in_global_data(struct ncclbpf_tuner *ctx)
{
	bpf_spin_lock(&lock);
	calls++;
	bpf_spin_unlock(&lock);
	ctx->channels = 4;
	return 0;
}
