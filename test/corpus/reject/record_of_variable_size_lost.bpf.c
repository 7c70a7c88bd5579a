// EXPECT: dynptr_leak
// SPDX-License-Identifier: MIT
// near: goto out; => (void)0;
// A dynptr has to be ended where the reservation failed, too.
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
int record_of_variable_size_lost(struct ncclbpf_tuner *ctx)
{
	struct bpf_dynptr d;
	__u64 bytes = ctx->bytes;
	__u32 room = 8 + (ctx->coll & 7) * 8;

	if (bpf_ringbuf_reserve_dynptr(&events, room, 0, &d))
		goto out;
	bpf_dynptr_write(&d, 0, &bytes, sizeof(bytes), 0);
	bpf_ringbuf_submit_dynptr(&d, 0);
out:
	ctx->channels = 4;
	return 0;
}
