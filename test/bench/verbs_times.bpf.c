// SPDX-License-Identifier: MIT
// Programs that read times on the hooks of work, for what the clock costs.
#include "ncclbpf_policy.h"

static __u64 spent;

SEC("verbs/post")
int on_post(struct ncclbpf_verbs_post *ctx)
{
	spent += ctx->ns;
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	spent += ctx->ns;
	return 0;
}
