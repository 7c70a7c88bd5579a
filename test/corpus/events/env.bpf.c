// SPDX-License-Identifier: MIT
// Variables as NCCL finds them: one replaced, one hidden, one made of its own
// value, one answered with what no variable can have, and all of them counted.
#include "ncclbpf_policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} looks SEC(".maps");

static __always_inline void count(__u32 i)
{
	__u64 *n = bpf_map_lookup_elem(&looks, &i);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* Twice as many digits, if it is a number. */
static __always_inline void grow(struct ncclbpf_env *ctx)
{
	char text[16];
	__s64 v;

	__builtin_memcpy(text, &ctx->value, sizeof(text));
	if (bpf_strtol(text, sizeof(text), 0, &v) > 0 && v == 42)
		ncclbpf_env_set(ctx, "4242");
}

SEC("env")
int on_env(struct ncclbpf_env *ctx)
{
	count(0);
	if (ctx->is_set)
		count(1);
	if (ncclbpf_env_is(ctx, "NCCL_TEST_REPLACED"))
		ncclbpf_env_set(ctx, "by the program");
	else if (ncclbpf_env_is(ctx, "NCCL_TEST_HIDDEN"))
		ncclbpf_env_hide(ctx);
	else if (ncclbpf_env_is(ctx, "NCCL_TEST_NUMBER"))
		grow(ctx);
	else if (ncclbpf_env_is(ctx, "NCCL_TEST_ABSURD"))
		ctx->answer = 77;
	else if (ncclbpf_env_is(ctx, "NCCL_TEST_CONTROL"))
		ncclbpf_env_set(ctx, "a\tb\n");
	return 0;
}
