// EXPECT: global_function
// SPDX-License-Identifier: MIT
// near: ranks(copy) => ranks(ctx)
// The tag says context: other memory is none, whatever its size.
#include "ncclbpf_policy.h"

__noinline int ranks(void *ctx __arg_ctx)
{
	return ((struct ncclbpf_tuner *)ctx)->ranks;
}

SEC("tuner")
int global_function_gets_another_context(struct ncclbpf_tuner *ctx)
{
	uint64_t copy[16] = { ctx->bytes };

	return ranks(copy) & 1;
}
