// EXPECT: not_pointer
// SPDX-License-Identifier: MIT
// near: *p = 0 => *p += 1
// near: (uint64_t)ctx => ctx->bytes
// near: (struct ncclbpf_tuner *)kept => ctx
// What the caller kept in the memory may be another value afterwards.
#include "ncclbpf_policy.h"

__noinline void clear(uint64_t *p)
{
	if (p)
		*p = 0;
}

SEC("tuner")
int global_function_writes_callers_memory(struct ncclbpf_tuner *ctx)
{
	uint64_t kept = (uint64_t)ctx;

	clear(&kept);
	((struct ncclbpf_tuner *)kept)->channels = 1;
	return 0;
}
