// EXPECT: stack_uninit
// SPDX-License-Identifier: MIT
// near: format[8]; => format[8] = "";
// golden
// The format was never written: a helper that reads memory wants it so.
#include "ncclbpf_policy.h"

SEC("tuner")
int printk_of_nothing(struct ncclbpf_tuner *ctx)
{
	char format[8];

	asm volatile("" : : "r"(format));
	bpf_trace_printk(format, sizeof(format));
	return 0;
}
