// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: .8byte 0x00000000000000e5 => r1 = 1
// The target passes a may_goto on a rank with registered buffers alone, and
// returns to the caller of the function that made the tail call.
#include "ncclbpf_policy.h"

int spend(struct ncclbpf_tuner *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(key_size, 4);
	__uint(max_entries, 1);
	int (*values[])(struct ncclbpf_tuner *);
} next __coherent SEC(".maps") = {
	.values = { [0] = spend },
};

static __noinline int jump(struct ncclbpf_tuner *ctx)
{
	bpf_tail_call(ctx, &next, 0);
	return 0;
}

SEC("tuner")
int caller(struct ncclbpf_tuner *ctx)
{
	int n = 0;

	jump(ctx);
	asm volatile("1: .8byte 0x00000000000200e5\n" /* may_goto +2 */
		     "%0 += 1\n"
		     "goto 1b\n"
		     : "+r"(n));
	ctx->channels = n & 7;
	return 0;
}

SEC("tuner/spend")
__attribute__((naked)) int spend(struct ncclbpf_tuner *ctx)
{
	asm volatile("r1 = *(u32 *)(r1 + 64)\n"
		     "r0 = 0\n"
		     "if r1 == 0 goto 1f\n"
		     ".8byte 0x00000000000000e5\n" /* may_goto +0 */
		     "1: exit\n");
}
