// EXPECT: lock_call
// SPDX-License-Identifier: MIT
// near: twice(t->bytes) => 2 * t->bytes
// What a global function does is not known where it is called.
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

__noinline __u64 twice(__u64 n)
{
	return n * 2 + bpf_get_prandom_u32();
}

SEC("tuner")
int global_function_under_a_lock(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct total *t = bpf_map_lookup_elem(&totals, &key);

	if (t) {
		bpf_spin_lock(&t->lock);
		t->bytes = twice(t->bytes);
		bpf_spin_unlock(&t->lock);
	}
	ctx->channels = 4;
	return 0;
}
