// SPDX-License-Identifier: MIT
// Programs that do nothing on the hooks of work, for what a hook costs.
#include "ncclbpf_policy.h"

SEC("verbs/post")
int on_post(struct ncclbpf_verbs_post *ctx)
{
	return 0;
}

SEC("verbs/done")
int on_done(struct ncclbpf_verbs_done *ctx)
{
	return 0;
}
