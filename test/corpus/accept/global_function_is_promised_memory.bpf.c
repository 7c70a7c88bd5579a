// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Tags of arguments: one is never NULL, one is the context as it comes.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int add(const struct pair *p __arg_nonnull)
{
	return p->a + p->b;
}

__noinline int decide(void *ctx __arg_ctx, const struct pair *p __arg_nonnull)
{
	const struct ncclbpf_tuner *t = ctx;

	return add(p) > t->ranks;
}

SEC("tuner")
int global_function_is_promised_memory(struct ncclbpf_tuner *ctx)
{
	struct pair p = { ctx->bytes, ctx->seq };

	if (decide(ctx, &p))
		ctx->channels = 2;
	return 0;
}
