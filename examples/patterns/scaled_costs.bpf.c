// SPDX-License-Identifier: MIT
/* scaled_costs takes the cheapest of some combinations by NCCL's own costs, after it has corrected
 * them: `percent` scales NCCL's prediction of a combination as measurements on this cluster have
 * shown. If NCCL offers none of these combinations, or its costs are not known, its own choice
 * stands. */
#include "ncclbpf_policy.h"

enum { LISTED = 4 };

struct scaled {
	__s32 algo, proto;
	__u64 percent;
};

__coherent_data struct scaled scaled[LISTED] = {
	{ NCCL_ALGO_RING, NCCL_PROTO_LL128, 90 },
	{ NCCL_ALGO_RING, NCCL_PROTO_SIMPLE, 100 },
	{ NCCL_ALGO_TREE, NCCL_PROTO_LL, 130 },
	{ NCCL_ALGO_NVLS, NCCL_PROTO_SIMPLE, 75 },
};

SEC("tuner")
int scaled_costs(struct ncclbpf_tuner *ctx)
{
	__u64 least = ~0ull;

	for (int i = 0; i < LISTED; i++) {
		int algo = scaled[i].algo, proto = scaled[i].proto;
		__u64 cost = ncclbpf_sat_mul(ncclbpf_cost(ctx, algo, proto), scaled[i].percent);

		if (cost < least) {
			least = cost;
			ctx->algo = algo;
			ctx->proto = proto;
		}
	}
	return 0;
}
