// SPDX-License-Identifier: MIT
/* log_regions chooses by regions in the plane of sizes and ranks. Both axes are logarithms, so a
 * straight edge lets the size grow as a power of the ranks. The first region of a point wins. */
#include "ncclbpf_policy.h"

enum { REGIONS = 3, NUMBERS = 8, BITS = 16 };

struct region {
	int algo, proto;
	/* Corners of a convex polygon, as tenths of the logarithms of bytes and ranks to base 2:
	 * counterclockwise where bytes grow to the right and ranks upwards. */
	__s64 corner[NUMBERS];
};

static const struct region regions[REGIONS] = {
	{ NCCL_ALGO_TREE, NCCL_PROTO_LL, { 0, 13, 124, 13, 167, 96, 0, 96 } },
	{ NCCL_ALGO_TREE, NCCL_PROTO_LL128, { 124, 13, 182, 34, 253, 96, 167, 96 } },
	{ NCCL_ALGO_RING, NCCL_PROTO_SIMPLE, { 182, 34, 365, 34, 365, 96, 253, 96 } },
};

/* Return ten logarithms of x, from 1 on, in units of 2^-BITS: a bit each time m is squared. */
static __always_inline __s64 log2_tenths(__u64 x)
{
	__u64 whole = ncclbpf_log2(x), m = x << (63 - whole) >> 32, log = whole;

	for (int i = 0; i < BITS; i++) {
		__u64 bit = m * m >> 63;

		m = m * m >> (31 + bit);
		log = log << 1 | bit;
	}
	return (__s64)log * 10;
}

/* Is the point to the right of no edge? */
static __always_inline int has(const struct region *r, __s64 bytes, __s64 ranks)
{
	__s64 right = 0;

	for (int i = 0; i < NUMBERS; i += 2) {
		const __s64 *a = &r->corner[i], *b = &r->corner[(i + 2) % NUMBERS];

		right |= (b[0] - a[0]) * (ranks - (a[1] << BITS)) -
			 (b[1] - a[1]) * (bytes - (a[0] << BITS));
	}
	return right >= 0;
}

SEC("tuner")
int log_regions(struct ncclbpf_tuner *ctx)
{
	__s64 bytes = log2_tenths(ctx->bytes), ranks = log2_tenths(ctx->ranks);

	if (ctx->coll != NCCL_COLL_ALL_REDUCE || !ctx->bytes)
		return 0;
	for (int i = 0; i < REGIONS; i++)
		if (has(&regions[i], bytes, ranks))
			return !ncclbpf_choose(ctx, regions[i].algo, regions[i].proto);
	return 0;
}
