// SPDX-License-Identifier: MIT
// Values for queue pairs, one of them out of range.
#include "ncclbpf_policy.h"

SEC("verbs/qp")
int tune(struct ncclbpf_verbs_qp *ctx)
{
	ctx->traffic_class = 105;
	ctx->timeout = 20;
	ctx->retry_cnt = 9;
	return 0;
}
