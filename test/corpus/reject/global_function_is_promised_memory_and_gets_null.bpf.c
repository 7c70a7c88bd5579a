// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: (void *)0 => &(struct pair){ 1, 2 }
// golden
// Who calls has to keep the promise.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int add(const struct pair *p __arg_nonnull)
{
	return p->a + p->b;
}

SEC("tuner")
int global_function_is_promised_memory_and_gets_null(struct ncclbpf_tuner *ctx)
{
	if (add((void *)0) > 8)
		ctx->channels = 2;
	return 0;
}
