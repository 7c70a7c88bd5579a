// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COSTS_H
#define NB_PLUGIN_COSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * NCCL's cost table as the tuner gets it (ABI reference, section 1.7): one
 * block of floats, row = algorithm, column = protocol; predicted
 * microseconds, -1.0 for what NCCL does not offer.
 */
enum {
	NB_COSTS_PROTOS = 3,
	NB_COSTS_KNOWN = 21,	 /* entries of the algorithms that we know */
	NB_COSTS_MAX_ALGOS = 16, /* more rows than that are no cost table */
	NB_COSTS_NONE = 63
};

/* What NCCL would make of a table. */
struct nb_costs {
	uint32_t usable; /* bit algo * 3 + proto, of the known algorithms */
	uint32_t best;	 /* index of NCCL's own choice, or NB_COSTS_NONE */
	float best_cost; /* -1 where there is none */
};

/*
 * nb_costs_read - the usable entries and NCCL's choice
 * @table: @nalgo * @nproto floats; may be NULL
 *
 * An entry counts when it is not negative, no NaN and below 3.6e9, the limit
 * of NCCL up to 2.28.9; the choice is the smallest, the first of equals.
 * False, and nothing usable: no table, or a shape that is not known.
 */
bool nb_costs_read(const float *table, int nalgo, int nproto,
		   struct nb_costs *out);

/*
 * A table of 7 algorithms and 3 protocols as it was met, and what is in it.
 * NCCL asks the same again and again: to compare is cheaper than to search.
 */
struct nb_seen {
	float table[NB_COSTS_KNOWN];
	bool known;  /* costs hold; false: nothing usable was found */
	bool filled; /* table holds */
	int32_t nccl_algo, nccl_proto; /* NCCL's own choice; -1: none */
	struct nb_costs costs;
	/* parts of a packed decision (packed.h): usable entries, and for the
	 * case that NCCL's own choice stands the outcome and both costs */
	uint64_t usable, outcome, both_costs;
	/* For other threads (nb_seen_copy): odd while the table is written;
	 * the question it came with. */
	uint32_t version;
	int32_t coll;
	uint64_t bytes;
} __attribute__((aligned(64)));

enum { NB_SEEN = 128 }; /* tables kept of a communicator */

/* Where the table of that question is kept, if it is. */
static inline struct nb_seen *nb_seen_slot(struct nb_seen seen[NB_SEEN],
					   uint64_t bytes, int coll)
{
	uint64_t h = (bytes ^ (uint64_t)(uint32_t)coll << 58) *
		     UINT64_C(0x9e3779b97f4a7c15);

	return &seen[h >> 57];
}

/* Is it bit by bit the 21 floats at @table? */
static inline bool nb_seen_is(const struct nb_seen *s, const float *table)
{
#ifdef __SSE2__
	__m128i same = _mm_set1_epi32(-1);
	uint32_t last[2];

	/* Entries 0 to 19, and the last by itself: NCCL has just written the
	 * table, and a load across several stores would wait for them. */
#pragma GCC unroll 5
	for (int v = 0; v < 20; v += 4) {
		__m128i a = _mm_load_si128((const void *)&s->table[v]);
		__m128i b = _mm_loadu_si128((const void *)&table[v]);

		same = _mm_and_si128(same, _mm_cmpeq_epi32(a, b));
	}
	memcpy(&last[0], &s->table[20], 4);
	memcpy(&last[1], &table[20], 4);
	return s->filled && last[0] == last[1] &&
	       _mm_movemask_epi8(same) == 0xffff;
#else
	return s->filled && !memcmp(s->table, table, sizeof(s->table));
#endif
}

/*
 * Read @table, of a shape that may not be known, into @s; s->table then has
 * the entries of the known algorithms, -1 where there are none.
 */
void nb_seen_fill(struct nb_seen *s, const float *table, int nalgo, int nproto,
		  int coll, uint64_t bytes);
/*
 * Copy the table that came with a question, if @s still has it. Any thread,
 * while another one fills.
 */
bool nb_seen_copy(const struct nb_seen *s, int coll, uint64_t bytes,
		  float table[NB_COSTS_KNOWN]);
/* Fill in what follows from s->costs. */
void nb_seen_derive(struct nb_seen *s);

/* The same without vector instructions, for tests and other machines. */
void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out);

/*
 * Make NCCL choose entry @index, which must be usable: it becomes 0, and an
 * entry before it that is 0 as well becomes the smallest positive number,
 * since NCCL takes the first of equals.
 */
void nb_costs_choose(float *table, uint32_t index, const struct nb_costs *was);

#endif
