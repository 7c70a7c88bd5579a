// EXPECT: lock_access
// SPDX-License-Identifier: MIT
// near: = *t; => = { .calls = t->calls };
// The whole value is copied, its lock too.
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
int lock_copied(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	struct total *t = bpf_map_lookup_elem(&totals, &key);

	if (t) {
		struct total copy = *t;

		bpf_map_update_elem(&totals, &key, &copy, BPF_ANY);
	}
	ctx->channels = 4;
	return 0;
}
