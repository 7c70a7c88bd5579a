// EXPECT: nullable
// SPDX-License-Identifier: MIT
// near: *p, uint64_t => *p __arg_nonnull, uint64_t
// Twin of global_function_tests_its_pointer: this one does not ask.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int add(const struct pair *p, uint64_t more)
{
	return p->a + p->b + more;
}

SEC("tuner")
int global_function_trusts_its_pointer(struct ncclbpf_tuner *ctx)
{
	struct pair p = { ctx->bytes, ctx->seq };

	if (add(&p, 3) > 8)
		ctx->channels = 2;
	return 0;
}
