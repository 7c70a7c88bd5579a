// SPDX-License-Identifier: MIT
/*
 * Helpers that read NCCL's cost table of the current decision. The context
 * holds a pointer to the table, behind the fields that programs may access;
 * the verifier has proved that r1 is the context. All ranks of a
 * communicator have the same table, because NCCL itself decides with it.
 */
#include <stdint.h>

#include "core/bpf/exec/run/bodies.h"
#include "core/defs/ctx.h"

/* Return a cost in microseconds; negative: not offered, or not known. */
static float cost_at(const struct ncclbpf_tuner *ctx, uint32_t algo, uint32_t proto)
{
	uint32_t i = algo * NCCL_NUM_PROTOS + proto;

	if (algo >= NCCL_NUM_ALGOS || proto >= NCCL_NUM_PROTOS || !ctx->costs ||
	    !(ctx->usable >> i & 1))
		return -1.0f;
	return ctx->costs[i];
}

uint64_t helper_nccl_cost(NB_HELPER_ARGS)
{
	float us = cost_at(nb_body_ptr(r1), (uint32_t)r2, (uint32_t)r3);

	/* Costs that NCCL offers are below 3.6e9. */
	return us >= 0.0f ? (uint64_t)((double)us * 1000.0 + 0.5) : UINT64_MAX;
}

/* Return the number of the cheapest entry with this algorithm and protocol
 * (-1 for any); the first one if several are equal; -1 if there is none. */
static int64_t cheapest(const struct ncclbpf_tuner *ctx, int32_t algo, int32_t proto)
{
	float best = -1.0f;
	int64_t at = -1;

	for (int32_t i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++) {
		int32_t a = i / NCCL_NUM_PROTOS, p = i % NCCL_NUM_PROTOS;
		float us;

		if ((algo >= 0 && a != algo) || (proto >= 0 && p != proto))
			continue;
		us = cost_at(ctx, (uint32_t)a, (uint32_t)p);
		if (us < 0.0f || (at >= 0 && us >= best))
			continue;
		best = us;
		at = i;
	}
	return at;
}

uint64_t helper_nccl_cheapest_proto(NB_HELPER_ARGS)
{
	int32_t algo = (int32_t)r2;
	int64_t at = algo < 0 ? -1 : cheapest(nb_body_ptr(r1), algo, -1);

	return nb_body_errno(at < 0 ? -1 : at % NCCL_NUM_PROTOS);
}

uint64_t helper_nccl_cheapest_algo(NB_HELPER_ARGS)
{
	int32_t proto = (int32_t)r2;
	int64_t at = proto < -1 ? -1 : cheapest(nb_body_ptr(r1), -1, proto);

	return nb_body_errno(at < 0 ? -1 : at / NCCL_NUM_PROTOS);
}
