// SPDX-License-Identifier: MIT
/*
 * One pass over NCCL's cost table finds the entries that NCCL offers and the
 * entry that NCCL would choose. On x86-64 the pass reads four entries at a time
 * without branches, because it is most of the cost of a decision without
 * policies.
 */
#include "plugin/comm/costs.h"

#include "core/defs/ctx.h"
#include "core/job/segment/packed.h"
#include "plugin/runtime/nccl.h"

#define LIMIT 3.6e9f

static void costs_none(struct nb_costs *out)
{
	out->usable = 0;
	out->best = NB_COSTS_NONE;
	out->best_cost = -1.0f;
}

void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out)
{
	const bool last = nb_nccl_last_of_equal();
	float best = LIMIT;

	costs_none(out);
	for (uint32_t i = 0; i < n; i++) {
		if (!(table[i] >= 0.0f && table[i] < LIMIT))
			continue;
		if (i < NB_COSTS_KNOWN)
			out->usable |= UINT32_C(1) << i;
		if (table[i] < best || (last && table[i] <= best)) {
			best = table[i];
			out->best = i;
			out->best_cost = best;
		}
	}
}

#ifdef __SSE2__

/*
 * Combine the masks of the 21 entries of a table of 7 algorithms into one word:
 * bit i is the mask of entry i. Five vectors hold entries 0 to 19, and a sixth
 * holds entries 17 to 20. Entries 17 to 19 are read twice, which changes
 * neither this word nor the minimum cost.
 */
static inline uint32_t bits_of(const __m128 mask[6])
{
	__m128i m[6], low, high;
	uint32_t last;

#pragma GCC unroll 6
	for (int v = 0; v < 6; v++)
		m[v] = _mm_castps_si128(mask[v]);
	low = _mm_packs_epi16(_mm_packs_epi32(m[0], m[1]), _mm_packs_epi32(m[2], m[3]));
	high = _mm_packs_epi16(_mm_packs_epi32(m[4], m[5]), _mm_setzero_si128());
	last = (uint32_t)_mm_movemask_epi8(high);
	return (uint32_t)_mm_movemask_epi8(low) | (last & 0x0f) << 16 | (last & 0x80) << 13;
}

/*
 * Read four entries. -0.0 becomes 0, and negative entries become NaN. NaN is
 * not below the limit, and _mm_min_ps never returns NaN if it is the first
 * operand.
 */
static inline __m128 read_four(const float *table)
{
	__m128 c = _mm_add_ps(_mm_loadu_ps(table), _mm_setzero_ps());
	__m128i sign = _mm_srai_epi32(_mm_castps_si128(c), 31);

	return _mm_or_ps(c, _mm_castsi128_ps(sign));
}

static inline void scan_seven(const float *table, struct nb_costs *out)
{
	static const uint8_t at[6] = { 0, 4, 8, 12, 16, 17 };
	const __m128 limit = _mm_set1_ps(LIMIT);
	__m128 cost[6], mask[6], least = limit;
	uint32_t usable, equal;

#pragma GCC unroll 6
	for (int v = 0; v < 6; v++) {
		cost[v] = read_four(table + at[v]);
		mask[v] = _mm_cmplt_ps(cost[v], limit);
		least = _mm_min_ps(cost[v], least);
	}
	usable = bits_of(mask);
	least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 0x4e));
	least = _mm_min_ps(least, _mm_shuffle_ps(least, least, 0xb1));
#pragma GCC unroll 6
	for (int v = 0; v < 6; v++)
		mask[v] = _mm_cmpeq_ps(cost[v], least);
	equal = bits_of(mask) & usable;
	out->usable = usable;
	out->best = !equal		      ? NB_COSTS_NONE
		    : nb_nccl_last_of_equal() ? 31 - (uint32_t)__builtin_clz(equal)
					      : (uint32_t)__builtin_ctz(equal);
	out->best_cost = equal ? _mm_cvtss_f32(least) : -1.0f;
}

#endif

bool nb_costs_read(const float *table, int nalgo, int nproto, struct nb_costs *out)
{
	if (!table || nproto != NB_COSTS_PROTOS || nalgo < 1 || nalgo > NB_COSTS_MAX_ALGOS) {
		costs_none(out);
		return false;
	}
#ifdef __SSE2__
	if (nalgo == 7) { /* all NCCL releases from 2.23 on have 7 algorithms */
		scan_seven(table, out);
		return true;
	}
#endif
	nb_costs_scan(table, (uint32_t)(nalgo * nproto), out);
	return true;
}

void nb_costs_choose(float *table, uint32_t n, uint32_t index, const struct nb_costs *was)
{
	if (was->best_cost <= 0.0f)
		for (uint32_t i = 0; i < n; i++)
			if (table[i] >= 0.0f && table[i] <= 0.0f)
				table[i] = FLT_MIN;
	table[index] = 0.0f;
}

/* Set the fields that are derived from the costs. */
void nb_seen_derive(struct nb_seen *s)
{
	uint64_t cost = nb_packed_float(s->costs.best_cost);
	uint64_t coll = (uint32_t)s->coll < NCCL_NUM_COLLS ? (uint32_t)s->coll : NB_PACKED_COLL;

	s->nccl_algo = s->nccl_proto = -1;
	if (s->costs.best < NB_COSTS_KNOWN) {
		s->nccl_algo = (int32_t)(s->costs.best / NB_COSTS_PROTOS);
		s->nccl_proto = (int32_t)(s->costs.best % NB_COSTS_PROTOS);
	}
	s->offered = s->costs.usable;
	s->usable = (uint64_t)s->costs.usable << NB_PACKED_AT_USABLE | (uint64_t)nb_nccl_is_rccl()
									       << NB_PACKED_AT_RCCL;
	s->asked = coll << NB_PACKED_AT_COLL | (uint64_t)s->costs.best << NB_PACKED_AT_BEST;
	s->outcome = s->asked | nb_packed_outcome(s->costs.best, NB_PACKED_POLICY, 0, 0);
	s->both_costs = cost << NB_PACKED_AT_BEST_COST | cost;
	s->step = nb_hash_step(s->bytes, s->outcome);
}

/*
 * Store words atomically, because other threads may be copying them. Each word
 * is released after the odd version, and acquired before the version is read
 * again. A reader that copies a word of the new table therefore sees the new
 * version.
 */
static void store_table(struct nb_seen *s, const float *table, uint32_t n)
{
	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++) {
		float word = i < n ? table[i] : -1.0f;

		__atomic_store(&s->table[i], &word, __ATOMIC_RELEASE);
	}
}

void nb_seen_fill(struct nb_seen *s, const float *table, int nalgo, int nproto, int coll,
		  uint64_t bytes)
{
	uint32_t version = s->version;

	s->known = nb_costs_read(table, nalgo, nproto, &s->costs);
	/* policies do not run for a table that offers nothing */
	s->filled = s->costs.usable && nalgo * nproto == NB_COSTS_KNOWN &&
		    (uint32_t)coll < NCCL_NUM_COLLS && bytes <= NB_PACKED_BYTES;
	__atomic_store_n(&s->version, version + 1, __ATOMIC_RELAXED);
	store_table(s, table, s->known ? (uint32_t)(nalgo * nproto) : 0);
	__atomic_store_n(&s->coll, coll, __ATOMIC_RELEASE);
	__atomic_store_n(&s->bytes, bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&s->version, version + 2, __ATOMIC_RELEASE);
	nb_seen_derive(s);
}

static bool seen_copy(const struct nb_seen *s, int coll, uint64_t bytes, uint32_t usable,
		      float table[NB_COSTS_KNOWN])
{
	uint32_t version = __atomic_load_n(&s->version, __ATOMIC_ACQUIRE);
	struct nb_costs costs;
	bool same;

	if (!version || version % 2)
		return false;
	same = __atomic_load_n(&s->coll, __ATOMIC_ACQUIRE) == coll &&
	       __atomic_load_n(&s->bytes, __ATOMIC_ACQUIRE) == bytes;
	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++)
		__atomic_load(&s->table[i], &table[i], __ATOMIC_ACQUIRE);
	if (!same || __atomic_load_n(&s->version, __ATOMIC_RELAXED) != version)
		return false;
	nb_costs_scan(table, NB_COSTS_KNOWN, &costs);
	return costs.usable == usable;
}

bool nb_seen_find(struct nb_seen seen[NB_SEEN], int coll, uint64_t bytes, uint32_t usable,
		  float table[NB_COSTS_KNOWN])
{
	return seen_copy(nb_seen_slot(seen, bytes, coll), coll, bytes, usable, table) ||
	       seen_copy(nb_seen_other(seen, bytes, coll, usable), coll, bytes, usable, table);
}
