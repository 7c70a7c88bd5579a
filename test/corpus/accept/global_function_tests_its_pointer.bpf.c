// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A global function may be called with NULL: it has to ask.
#include "ncclbpf_policy.h"

struct pair {
	uint64_t a, b;
};

__noinline int add(const struct pair *p, uint64_t more)
{
	if (!p)
		return 0;
	return p->a + p->b + more;
}

SEC("tuner")
int global_function_tests_its_pointer(struct ncclbpf_tuner *ctx)
{
	struct pair p = { ctx->bytes, ctx->seq };

	if (add(&p, 3) > 8)
		ctx->channels = 2;
	add(NULL, 1);
	return 0;
}
