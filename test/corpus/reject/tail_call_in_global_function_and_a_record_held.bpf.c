// EXPECT: tail_call
// SPDX-License-Identifier: MIT
// near: go_on(ctx); => bpf_ringbuf_submit(r, 0);
// near: bpf_ringbuf_discard(r, 0) => go_on(ctx)
// A tail call is refused while something is held, whichever function makes it.
#include "ncclbpf_policy.h"

int target(struct ncclbpf_coll_done *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_coll_done *);
} next __coherent SEC(".maps") = {
	.values = { [0] = target },
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

__noinline int go_on(struct ncclbpf_coll_done *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("profiler/coll_done")
int and_a_record_held(struct ncclbpf_coll_done *ctx)
{
	void *r = bpf_ringbuf_reserve(&ring, 8, 0);

	if (!r)
		return 0;
	go_on(ctx);
	bpf_ringbuf_discard(r, 0);
	return 0;
}

SEC("profiler/coll_done")
int target(struct ncclbpf_coll_done *ctx)
{
	return ctx->bytes & 1;
}
