// EXPECT: stack_uninit
// SPDX-License-Identifier: MIT
// near: struct peer p; => struct peer p = {};
// golden
// The padding of a key counts as much as its members.
#include "ncclbpf_policy.h"

struct peer {
	__u64 comm;
	__u32 coll;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, struct peer);
	__type(value, __u64);
} seen SEC(".maps");

SEC("tuner")
int key_with_padding(struct ncclbpf_tuner *ctx)
{
	struct peer p;

	p.comm = ctx->comm_id;
	p.coll = ctx->coll;
	bpf_map_lookup_elem(&seen, &p);
	return 0;
}
