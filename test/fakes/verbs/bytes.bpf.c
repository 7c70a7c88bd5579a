// SPDX-License-Identifier: MIT
// Counts what each queue pair sends and receives.
#include "ncclbpf_policy.h"

struct key {
	__u32 qp, device;
};

struct moved {
	__u64 sends, sent_bytes;	/* posts, and bytes of their requests */
	__u64 receives, received_bytes; /* completions, and what they say */
	__u64 errors;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct key);
	__type(value, struct moved);
} moved SEC(".maps");

static __always_inline struct moved *moved_of(__u32 device, __u32 qp)
{
	struct key key = { qp, device };
	struct moved *m = bpf_map_lookup_elem(&moved, &key);
	static const struct moved zero;

	if (m)
		return m;
	bpf_map_update_elem(&moved, &key, &zero, BPF_NOEXIST);
	return bpf_map_lookup_elem(&moved, &key);
}

SEC("verbs/post")
int on_post(struct ncclbpf_verbs_post *ctx)
{
	struct moved *m = moved_of(ctx->device, ctx->qp);

	if (!m || !ctx->send)
		return 0;
	m->sends++;
	m->sent_bytes += ctx->bytes;
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	struct moved *m = moved_of(ctx->device, ctx->qp);

	if (!m)
		return 0;
	if (ctx->status) {
		m->errors++;
	} else if (!ctx->send) {
		m->receives++;
		m->received_bytes += ctx->bytes;
	}
	return 0;
}
