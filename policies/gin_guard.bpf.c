// SPDX-License-Identifier: MIT
/* gin_guard reports once for each peer that the peer's ring stays full.
 * Kernels then wait for credits instead of computing. A ring is full while
 * `gin_full` (element 0) operations are outstanding, for 1,000 operations in a
 * row. The default 0 means 240 of NCCL's 256 operations.
 *
 *	ncclbpf-shell trace tail
 *	ncclbpf-shell map dump gin_guard */
#include "ncclbpf_policy.h"

enum { FULL = 240, IN_A_ROW = 1000 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} gin_full SEC(".maps");

struct key {
	__u64 coll;
	__u32 peer, pad;
};

struct value {
	__u32 in_a_row, said;
	__u64 full; /* number of operations that found a full ring */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, struct value);
} gin_guard SEC(".maps");

SEC("gin/put")
int gin_guard_put(struct ncclbpf_gin_put *ctx)
{
	struct key key = { ctx->coll, ctx->peer, 0 };
	struct value *v = bpf_map_lookup_elem(&gin_guard, &key);
	static const struct value none;
	__u32 zero = 0;
	__u32 *full = bpf_map_lookup_elem(&gin_full, &zero);

	if (ctx->outstanding < (full && *full ? *full : FULL)) {
		if (v)
			v->in_a_row = 0;
		return 0;
	}
	if (!v) {
		bpf_map_update_elem(&gin_guard, &key, &none, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&gin_guard, &key);
	}
	if (!v)
		return 0;
	v->full++;
	v->in_a_row++;
	if (v->in_a_row < IN_A_ROW || v->said)
		return 0;
	v->said = 1;
	bpf_printk("GIN ring of rank %u to rank %u stays full: %u outstanding", ctx->rank,
		   ctx->peer, ctx->outstanding);
	return 0;
}
