// EXPECT: accepted
// SPDX-License-Identifier: MIT
// Each form of bpf_printk; formats lie in .rodata.
#include "ncclbpf_policy.h"

SEC("tuner")
int printk_with_values(struct ncclbpf_tuner *ctx)
{
	bpf_printk("decision");
	bpf_printk("decision %llu", ctx->seq);
	bpf_printk("decision %llu of %d", ctx->seq, ctx->algo);
	bpf_printk("decision %llu of %d, %u ranks", ctx->seq, ctx->algo, ctx->ranks);
	return 0;
}
