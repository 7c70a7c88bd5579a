// EXPECT: lock_call
// SPDX-License-Identifier: MIT
// near: bpf_ktime_get_ns() => ctx->bytes
// The clock is read while the lock is held.
#include "ncclbpf_policy.h"

struct total {
	__u32 calls;
	struct bpf_spin_lock lock;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct total);
} totals SEC(".maps");

SEC("tuner")
int clock_read_under_a_lock(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct total *t = bpf_map_lookup_elem(&totals, &key);

	if (t) {
		bpf_spin_lock(&t->lock);
		t->calls++;
		t->bytes = bpf_ktime_get_ns();
		bpf_spin_unlock(&t->lock);
	}
	ctx->channels = 4;
	return 0;
}
