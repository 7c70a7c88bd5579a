// EXPECT: accepted
// SPDX-License-Identifier: MIT
// A record of each decision; where the ring is full, none.
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
int record_submitted(struct ncclbpf_tuner *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (e) {
		e->bytes = ctx->bytes;
		e->coll = ctx->coll;
		bpf_ringbuf_submit(e, 0);
	}
	ctx->channels = 4;
	return 0;
}
