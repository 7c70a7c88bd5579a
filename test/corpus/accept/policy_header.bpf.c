// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Each inline function and macro that ncclbpf_policy.h offers. test_policy_header.c
// compares the results, and finds those of the header that are not here.
#include "ncclbpf_policy.h"
#include "test/unit/policy_header.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NOPERANDS);
	__type(key, __u32);
	__type(value, __u64);
} operands SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NRESULTS);
	__type(key, __u32);
	__type(value, __u64);
} results SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE | BPF_F_RDONLY_PROG);
	__type(key, __u32);
	__type(value, __u64);
} host SEC(".maps") __host;

static __always_inline __u64 operand(__u32 i)
{
	const __u64 *v = bpf_map_lookup_elem(&operands, &i);

	return v ? *v : 0;
}

static __always_inline void put(__u32 i, __u64 v)
{
	bpf_map_update_elem(&results, &i, &v, BPF_ANY);
}

SEC("profiler/coll_done")
int arithmetic(struct ncclbpf_coll_done *ctx)
{
	__u64 a = operand(OPERAND_A), b = operand(OPERAND_B), c = operand(OPERAND_C);

	put(RESULT_SAT_ADD, ncclbpf_sat_add(a, b));
	put(RESULT_SAT_SUB, ncclbpf_sat_sub(a, b));
	put(RESULT_SAT_MUL, ncclbpf_sat_mul(a, b));
	put(RESULT_EWMA, ncclbpf_ewma(a, b, c));
	put(RESULT_FIXED_DIV, ncclbpf_fixed_div(a, b, c));
	put(RESULT_FIXED_MUL, ncclbpf_fixed_mul(a, b, c));
	put(RESULT_LOG2, ncclbpf_log2(a));
	put(RESULT_LOG2_FINE, ncclbpf_log2_fine(a));
	put(RESULT_KIB, KIB(a));
	put(RESULT_MIB, MIB(a));
	put(RESULT_GIB, GIB(a));
	return 0;
}

SEC("profiler/coll_done")
int loops(struct ncclbpf_coll_done *ctx)
{
	__u64 c = operand(OPERAND_C) & 63, sum = 0, n = 0, steps = 0;
	struct bpf_iter_num it;
	int i;

	ncclbpf_for(i, 1, c) sum += i;
	ncclbpf_repeat(c) n++;
	bpf_iter_num_new(&it, 0, c);
	while (ncclbpf_iter_step(&it, &i))
		steps++;
	ncclbpf_iter_end(&it);
	put(RESULT_FOR, sum);
	put(RESULT_REPEAT, n);
	put(RESULT_STEPS, steps);
	return 0;
}

SEC("profiler/coll_done")
int text(struct ncclbpf_coll_done *ctx)
{
	union ncclbpf_words out = {};
	__u64 c = operand(OPERAND_C);
	__u32 zero = 0;
	const __u64 *written = bpf_map_lookup_elem(&host, &zero);

	put(RESULT_LENGTH, ncclbpf_snprintf(out.text, sizeof(out.text), "%llu of %d", c, 9));
	put(RESULT_TEXT, out.word[0]);
	put(RESULT_PRINTK, bpf_printk("%llu", c));
	if (written)
		put(RESULT_HOST_AGE, ncclbpf_host_age(written));
	return 0;
}

SEC("tuner")
int choices(struct ncclbpf_tuner *ctx)
{
	put(RESULT_USABLE, ncclbpf_usable(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL));
	put(RESULT_COST, ncclbpf_cost(ctx, NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE));
	put(RESULT_CHEAPEST_PROTO, ncclbpf_cheapest_proto(ctx, NCCL_ALGO_RING));
	put(RESULT_CHEAPEST_ALGO, ncclbpf_cheapest_algo(ctx, NCCL_PROTO_UNDEF));
	put(RESULT_BYTES_PER_RANK, ncclbpf_bytes_per_rank(ctx));
	put(RESULT_ALL_BYTES, ncclbpf_sat_mul(ctx->bytes, ctx->ranks));
	put(RESULT_CHOSEN, ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_SIMPLE));
	return 0;
}

SEC("env")
int variables(struct ncclbpf_env *ctx)
{
	if (ncclbpf_env_is(ctx, "NCCL_ALGO"))
		ncclbpf_env_set(ctx, "Ring");
	else if (ncclbpf_env_is(ctx, "NCCL_PROTO"))
		ncclbpf_env_hide(ctx);
	return 0;
}
