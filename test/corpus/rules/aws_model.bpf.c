// SPDX-License-Identifier: MIT
/* The rule of AWS's model for AllReduce (aws-ofi-nccl): the time of a combination is its steps
 * times their latency, plus the size by the bandwidth that the protocol leaves; the shortest time
 * wins. The latencies and bandwidths are made up. Times are nanoseconds in units of 2^-16. */
#include "ncclbpf_policy.h"

enum { NET = 18700, NET_SIMPLE = 3100, BITS = 16, RATE = 11 };

static const __u64 hop[2][NCCL_NUM_PROTOS] = { { 600, 1250, 28000 }, { 610, 1900, 3400 } };

/* Return the logarithm of x, from 1 on, in units of 2^-16. */
static __always_inline __u64 log2_of(__u64 x)
{
	__u64 whole = ncclbpf_log2(x), m = x << (63 - whole) >> 32, log = whole;

	for (int i = 0; i < BITS; i++) {
		__u64 bit = m * m >> 63;

		m = m * m >> (31 + bit);
		log = log << 1 | bit;
	}
	return log;
}

static __always_inline __u64 time_of(const struct ncclbpf_tuner *ctx, int algo, int proto)
{
	__u64 net = proto == NCCL_PROTO_SIMPLE ? NET + NET_SIMPLE : NET, ranks = ctx->ranks;
	__u64 near = hop[algo == NCCL_ALGO_RING][proto], levels = log2_of(ctx->nodes);
	__u64 share = proto == NCCL_PROTO_LL ? 8 : proto == NCCL_PROTO_LL128 ? 15 : 16, latency;
	__u64 rate = algo == NCCL_ALGO_RING ? 2 * RATE : RATE; /* of halves of bytes per ns */

	if (algo == NCCL_ALGO_RING)
		latency = (2 * ctx->nodes * net + 2 * (ranks - 1 - ctx->nodes) * near) << BITS;
	else if (algo == NCCL_ALGO_TREE)
		latency = (2 * (ranks / ctx->nodes - 1) * near << BITS) + 2 * levels * net;
	else
		latency = 2 * ((near << BITS) + levels * net);
	return ncclbpf_sat_add(latency * ctx->pipe_ops,
			       bpf_mul_div(ctx->bytes, 2 * 16 << BITS, rate * share));
}

SEC("tuner")
int aws_model(struct ncclbpf_tuner *ctx)
{
	static const int algos[] = { NCCL_ALGO_TREE, NCCL_ALGO_RING, NCCL_ALGO_NVLS_TREE };
	__u64 least = ~0ull;

	if (ctx->coll != NCCL_COLL_ALL_REDUCE || ctx->nodes < 2 || ctx->ranks < 2 * ctx->nodes)
		return 0;
	for (int i = 0; i < 3 * NCCL_NUM_PROTOS; i++) {
		int algo = algos[i / NCCL_NUM_PROTOS], proto = i % NCCL_NUM_PROTOS;
		__u64 time = time_of(ctx, algo, proto);

		if (time < least && ncclbpf_choose(ctx, algo, proto))
			least = time;
	}
	return 0;
}
