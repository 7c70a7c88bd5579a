// EXPECT: helper_unknown
// SPDX-License-Identifier: MIT
// near: probe_read(&to, sizeof(to), ctx); => to = ctx->bytes;
// golden
// Number 4 is probe_read of kernels; no hook here has it.
#include "ncclbpf_policy.h"

SEC("tuner")
int unknown_helper(struct ncclbpf_tuner *ctx)
{
	__u64 to = 0;
	long (*const probe_read)(void *, uint32_t, const void *) = (void *)4;

	probe_read(&to, sizeof(to), ctx);
	return 0;
}
