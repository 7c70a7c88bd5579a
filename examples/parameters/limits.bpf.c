// SPDX-License-Identifier: MIT
/* limits chooses by three parameters, which have other best values in each
 * cluster: up to `small` bytes the low-latency protocol, up to `middle` bytes
 * LL128, and above it the simple protocol on at least `wide` channels. `wide` 0
 * leaves the channels to NCCL.
 *
 *	ncclbpf-shell policy build 'limits.bpf.c?small=64K,wide=16'
 *
 * Parameters are constants, so all ranks answer alike, and a branch that their
 * values exclude is not part of the machine code. */
#include "ncclbpf_policy.h"

NCCLBPF_PARAM(small, KIB(32), 0, GIB(1));
NCCLBPF_PARAM(middle, MIB(4), 0, GIB(64));
NCCLBPF_PARAM(wide, 0, 0, 128);

SEC("tuner")
int limits(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes <= small) {
		ncclbpf_choose(ctx, NCCL_ALGO_TREE, NCCL_PROTO_LL);
	} else if (ctx->bytes <= middle) {
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_LL128);
	} else {
		ncclbpf_choose(ctx, NCCL_ALGO_RING, NCCL_PROTO_SIMPLE);
		if (wide)
			ctx->channels = wide;
	}
	return 0;
}
