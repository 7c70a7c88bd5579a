// SPDX-License-Identifier: MIT
// One pass over NCCL's cost table: which entries are offered, and which one
// NCCL would take. On x86-64 it goes four entries at a time without branches,
// since this is the largest part of a decision that does nothing.
#include "plugin/costs.h"

#include <float.h>
#include <math.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LIMIT 3.6e9f

static void none(struct nb_costs *out)
{
	out->usable = 0;
	out->best = NB_COSTS_NONE;
	out->best_cost = -1.0f;
}

void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out)
{
	float best = LIMIT;

	none(out);
	for (uint32_t i = 0; i < n; i++) {
		if (!(table[i] >= 0.0f && table[i] < LIMIT))
			continue;
		if (i < NB_COSTS_KNOWN)
			out->usable |= UINT32_C(1) << i;
		if (table[i] < best) {
			best = table[i];
			out->best = i;
			out->best_cost = best;
		}
	}
}

#ifdef __SSE2__

enum { LANES = 4, VECTORS = 6 };

/*
 * @n from 4 to 24, a constant where this is inlined. The last vector overlaps
 * the one before: an entry seen twice changes neither the set nor the minimum.
 */
static inline __attribute__((always_inline)) void
scan_vectors(const float *table, const uint32_t n, struct nb_costs *out)
{
	const uint32_t nvec = (n + LANES - 1) / LANES;
	const __m128 limit = _mm_set1_ps(LIMIT);
	__m128 cost[VECTORS], least = limit;
	uint32_t usable = 0, equal = 0;

#pragma GCC unroll 6
	for (uint32_t v = 0; v < nvec; v++) {
		uint32_t at = v + 1 < nvec ? v * LANES : n - LANES;
		/* -0.0 is 0; what is negative then becomes NaN, and NaN is
		 * neither below the limit nor ever taken as the minimum */
		__m128 c =
			_mm_add_ps(_mm_loadu_ps(table + at), _mm_setzero_ps());
		__m128i sign = _mm_srai_epi32(_mm_castps_si128(c), 31);

		c = _mm_or_ps(c, _mm_castsi128_ps(sign));
		usable |= (uint32_t)_mm_movemask_ps(_mm_cmplt_ps(c, limit))
			  << at;
		least = _mm_min_ps(c, least);
		cost[v] = c;
	}
	least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 0x4e));
	least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 0xb1));
#pragma GCC unroll 6
	for (uint32_t v = 0; v < nvec; v++) {
		uint32_t at = v + 1 < nvec ? v * LANES : n - LANES;

		equal |= (uint32_t)_mm_movemask_ps(_mm_cmpeq_ps(cost[v], least))
			 << at;
	}
	equal &= usable;
	out->usable = usable;
	out->best = equal ? (uint32_t)__builtin_ctz(equal) : NB_COSTS_NONE;
	out->best_cost = equal ? _mm_cvtss_f32(least) : -1.0f;
}

#endif

bool nb_costs_read(const float *table, int nalgo, int nproto,
		   struct nb_costs *out)
{
	if (!table || nproto != NB_COSTS_PROTOS || nalgo < 1 ||
	    nalgo > NB_COSTS_MAX_ALGOS) {
		none(out);
		return false;
	}
#ifdef __SSE2__
	if (nalgo == 7) { /* from NCCL 2.23 on */
		scan_vectors(table, 21, out);
		return true;
	}
#endif
	nb_costs_scan(table, (uint32_t)(nalgo * nproto), out);
	return true;
}

void nb_costs_choose(float *table, uint32_t index, const struct nb_costs *was)
{
	if (was->best_cost <= 0.0f)
		for (uint32_t i = 0; i < index; i++)
			if (table[i] >= 0.0f && table[i] <= 0.0f)
				table[i] = FLT_MIN;
	table[index] = 0.0f;
}
