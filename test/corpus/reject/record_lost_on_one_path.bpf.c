// EXPECT: reference_leak
// SPDX-License-Identifier: MIT
// near: if (ctx->bytes) => if (1)
// A record is reserved, and lost where nothing is to be said.
#include "ncclbpf_policy.h"

struct event {
	__u64 bytes;
	__u32 coll, channels;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

SEC("tuner")
int record_lost_on_one_path(struct ncclbpf_tuner *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (e) {
		e->bytes = ctx->bytes;
		e->coll = ctx->coll;
		if (ctx->bytes)
			bpf_ringbuf_submit(e, 0);
	}
	ctx->channels = 4;
	return 0;
}
