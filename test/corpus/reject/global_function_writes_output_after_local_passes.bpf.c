// EXPECT: local_output
// SPDX-License-Identifier: MIT
// near: r1 + 64 => r1 + 28
// How many passes are left for its loop is local where it is called.
#include "ncclbpf_policy.h"

__noinline void count(struct ncclbpf_tuner *ctx)
{
	int n = 0;

	asm volatile("1: .8byte 0x00000000000200e5\n" /* may_goto +2 */
		     "%0 += 1\n"
		     "goto 1b\n"
		     : "+r"(n));
	ctx->channels = n & 7;
}

/* One pass of the budget of may_goto, or none: that is local. */
static __attribute__((naked)) __noinline int pass(struct ncclbpf_tuner *ctx)
{
	asm volatile("r1 = *(u32 *)(r1 + 64)\n"
		     ""
		     "r0 = 0\n"
		     "if r1 == 0 goto 1f\n"
		     ".8byte 0x00000000000000e5\n" /* may_goto +0 */
		     "exit\n"
		     "1: exit\n");
}

SEC("tuner")
int global_function_writes_output_after_local_passes(struct ncclbpf_tuner *ctx)
{
	pass(ctx);
	count(ctx);
	return 0;
}
