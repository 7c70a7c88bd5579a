// SPDX-License-Identifier: MIT
// Names a protocol and leaves the algorithm open.
#include "ncclbpf_policy.h"

SEC("tuner")
int only_ll128(struct ncclbpf_tuner *ctx)
{
	ctx->proto = NCCL_PROTO_LL128;
	return 0;
}
