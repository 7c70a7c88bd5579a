// EXPECT: lock_held
// SPDX-License-Identifier: MIT
// near: t->calls > 100 => 0
// An early return keeps the lock.
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
int critical_section_left_early(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct total *t = bpf_map_lookup_elem(&totals, &key);

	if (t) {
		bpf_spin_lock(&t->lock);
		t->calls++;
		if (t->calls > 100)
			return 0;
		t->bytes += ctx->bytes;
		bpf_spin_unlock(&t->lock);
	}
	ctx->channels = 4;
	return 0;
}
