// EXPECT: memory_bounds
// SPDX-License-Identifier: MIT
// near: p->a + 2 => p->a + 1
// The signature says 16 bytes, whatever the caller has.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int third(const struct pair *p)
{
	return p ? *(&p->a + 2) : 0;
}

SEC("tuner")
int global_function_past_its_memory(struct ncclbpf_tuner *ctx)
{
	struct pair p[2] = { { 1, 2 }, { ctx->bytes, 4 } };

	asm volatile("" ::"r"(third(p)));
	return 0;
}
