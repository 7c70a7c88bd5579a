// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_COSTS_H
#define NB_PLUGIN_COMM_COSTS_H

#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * NCCL's cost table as the tuner gets it: one block of floats with a row for
 * each algorithm and a column for each protocol. An entry is a predicted time
 * in microseconds, or -1.0 if NCCL does not offer it.
 */
enum {
	NB_COSTS_PROTOS = 3,
	NB_COSTS_KNOWN = 21,	 /* number of entries of known algorithms */
	NB_COSTS_MAX_ALGOS = 16, /* a table with more rows is not valid */
	NB_COSTS_NONE = 63
};

/* NCCL's offer and choice, as read from a cost table. */
struct nb_costs {
	/*
	 * bit algo * 3 + proto is set for each usable entry of a known
	 * algorithm
	 */
	uint32_t usable;
	uint32_t best;	 /* index of NCCL's own choice, or NB_COSTS_NONE */
	float best_cost; /* cost of NCCL's choice, or -1 if it has none */
};

/*
 * nb_costs_read - find the usable entries and NCCL's choice
 * @table: @nalgo * @nproto floats; may be NULL
 *
 * An entry is usable if it is not negative, not NaN and below 3.6e9, the limit
 * of NCCL up to 2.28.9. NCCL chooses the smallest entry, and of equal ones the
 * first, or from 2.31 on the last (nb_nccl_last_of_equal). Returns false, with
 * no usable entry, if there is no table or its shape is unknown.
 */
bool nb_costs_read(const float *table, int nalgo, int nproto, struct nb_costs *out);

/*
 * A question that NCCL asked before: its table of 7 algorithms and 3 protocols,
 * and all values derived from the table. NCCL repeats questions, and comparing
 * a table is cheaper than scanning it.
 */
struct nb_seen {
	float table[NB_COSTS_KNOWN];
	/*
	 * 1 if the entry is in use. The field follows the last cost, so that
	 * one comparison checks both.
	 */
	uint32_t filled;
	/*
	 * collective of the question; accessed atomically, because nb_seen_find
	 * reads it
	 */
	int32_t coll;
	/*
	 * index of the question's entry among the communicator's latest
	 * decisions (struct nb_latest)
	 */
	uint32_t latest;
	/*
	 * Four fields of struct ncclbpf_tuner, of which nvl_max_ranks is the
	 * first.
	 */
	uint32_t ranks, offered;
	/* NCCL's own choice; -1 if it has none */
	int32_t nccl_algo, nccl_proto;
	uint64_t bytes; /* message size in the question; accessed atomically */
	/*
	 * Parts of a packed decision (packed.h): usable entries and RCCL;
	 * collective and NCCL's choice. For decisions that keep NCCL's choice: the outcome,
	 * both costs, and the step of the running hash.
	 */
	uint64_t usable, asked, outcome, both_costs, step;
	struct nb_costs costs;
	/* odd while the question is being written; nb_seen_find checks it */
	uint32_t version;
	bool known; /* costs are valid; false: no usable entry was found */
} __attribute__((aligned(64)));

/* number of cost tables that are kept for each communicator */
enum { NB_SEEN = 128 };

/*
 * Returns the entry for a question. The factor was found by search: powers of
 * two from 8 bytes to 512 GiB of one collective never share an entry
 * (test_tuner.c).
 */
static inline struct nb_seen *nb_seen_slot(struct nb_seen seen[NB_SEEN], uint64_t bytes, int coll)
{
	uint64_t h = (bytes ^ (uint64_t)(uint32_t)coll << 58) * UINT64_C(0xdc6d267f0478a4a1);

	return &seen[h >> 57];
}

/*
 * Returns the entry for a question whose own entry keeps another offer. From
 * 2.31 on a call may have a configuration of its own, so NCCL offers different
 * combinations for the same question from call to call.
 */
static inline struct nb_seen *nb_seen_other(struct nb_seen seen[NB_SEEN], uint64_t bytes, int coll,
					    uint32_t usable)
{
	return nb_seen_slot(seen, bytes ^ (uint64_t)usable << 32, coll);
}

/*
 * Returns true if the entry has this question, with the same bits in all 21
 * floats of @table.
 */
static inline bool nb_seen_is(const struct nb_seen *s, const float *table, int coll, uint64_t bytes)
{
#ifdef __SSE2__
	__m128i same = _mm_set1_epi32(-1);
	uint64_t kept;
	uint32_t last;

	/*
	 * Compare entries 0 to 19, and the last one separately. NCCL has just
	 * written the table, and a load that spans several pending stores
	 * stalls.
	 */
#pragma GCC unroll 5
	for (int v = 0; v < 20; v += 4) {
		__m128i a = _mm_load_si128((const void *)&s->table[v]);
		__m128i b = _mm_loadu_si128((const void *)&table[v]);

		same = _mm_and_si128(same, _mm_cmpeq_epi32(a, b));
	}
	memcpy(&kept, (const char *)s + offsetof(struct nb_seen, table[20]), sizeof(kept));
	memcpy(&last, &table[20], sizeof(last));
	return s->bytes == bytes && s->coll == coll && kept == (last | UINT64_C(1) << 32) &&
	       _mm_movemask_epi8(same) == 0xffff;
#else
	return s->bytes == bytes && s->coll == coll && s->filled &&
	       !memcmp(s->table, table, sizeof(s->table));
#endif
}

/*
 * Read @table, whose shape may be unknown, into @s. s->table gets the entries
 * of the known algorithms, or -1 for missing ones. s->filled says whether
 * nb_decide may use the entry (decide.h).
 */
void nb_seen_fill(struct nb_seen *s, const float *table, int nalgo, int nproto, int coll,
		  uint64_t bytes);
/*
 * Copy the table in which NCCL offered @usable for a question, if it is still
 * kept. Any thread may call it while another thread fills the entries.
 */
bool nb_seen_find(struct nb_seen seen[NB_SEEN], int coll, uint64_t bytes, uint32_t usable,
		  float table[NB_COSTS_KNOWN]);
/* Set the fields that are derived from s->costs. */
void nb_seen_derive(struct nb_seen *s);

/*
 * Find the usable entries and NCCL's choice without vector instructions, for
 * tests and for other processors.
 */
void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out);

/*
 * Make every version of NCCL choose entry @index of @n, which must be usable:
 * set it to 0. All other entries of 0 become the smallest positive number,
 * because NCCL's versions choose different ones of equal entries.
 */
void nb_costs_choose(float *table, uint32_t n, uint32_t index, const struct nb_costs *was);

/*
 * nb_costs_close - withdraw NCCL's offer of an entry
 *
 * A wrapped tuner withdraws an offer by -1. Up to 2.30 NCCL ignores such an
 * entry, but later versions choose it, because it is the smallest. No version
 * chooses the value that is stored instead.
 */
static inline void nb_costs_close(float *entry)
{
	*entry = FLT_MAX;
}

#endif
