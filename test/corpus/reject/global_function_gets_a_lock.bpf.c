// EXPECT: lock_access
// SPDX-License-Identifier: MIT
// near: struct bpf_spin_lock lock => __u32 lock
// A global function may write all of the memory that it gets.
#include "ncclbpf_policy.h"

struct total {
	__u64 bytes;
	struct bpf_spin_lock lock;
	__u32 calls;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct total);
} totals SEC(".maps");

__noinline __u64 add(struct total *t, __u64 n)
{
	if (!t)
		return 0;
	t->bytes += n;
	return t->bytes;
}

SEC("tuner")
int global_function_gets_a_lock(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;

	add(bpf_map_lookup_elem(&totals, &key), ctx->bytes);
	ctx->channels = 4;
	return 0;
}
