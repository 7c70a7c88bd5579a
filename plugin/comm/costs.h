// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_COSTS_H
#define NB_PLUGIN_COMM_COSTS_H

#include <stdbool.h>
#include <stddef.h>
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

/* NCCL's reading of a table. */
struct nb_costs {
	uint32_t usable; /* bit algo * 3 + proto, of the known algorithms */
	uint32_t best;	 /* index of NCCL's own choice, or NB_COSTS_NONE */
	float best_cost; /* -1: NCCL has no choice */
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
 * A question that NCCL asked before: its table of 7 algorithms and 3 protocols,
 * and everything derived from it. NCCL repeats questions, and comparing a table
 * is cheaper than scanning it.
 */
struct nb_seen {
	float table[NB_COSTS_KNOWN];
	uint32_t filled; /* 1: the slot is in use. Beside the last entry, so
			    that one comparison covers both */
	int32_t coll;	 /* of the question; atomic, as nb_seen_copy reads it */
	uint32_t latest; /* its place among a communicator's struct nb_latest */
	/* Four fields of struct ncclbpf_tuner, nvl_max_ranks first. */
	uint32_t ranks, offered;
	int32_t nccl_algo, nccl_proto; /* NCCL's own choice; -1: none */
	uint64_t bytes;		       /* the question's; atomic like coll */
	/* Parts of a packed decision (packed.h): usable entries; collective
	 * and NCCL's choice; and where that stands, the outcome with those,
	 * both costs and the step of the running hash. */
	uint64_t usable, asked, outcome, both_costs, step;
	struct nb_costs costs;
	uint32_t version; /* odd while the question is being written; for
			     nb_seen_copy */
	bool known;	  /* costs hold; false: nothing usable was found */
} __attribute__((aligned(64)));

enum { NB_SEEN = 128 }; /* tables kept for a communicator */

/*
 * The slot of a question. The factor was found by search: powers of two from 8
 * bytes to 512 GiB of one collective never share a slot (test_tuner.c).
 */
static inline struct nb_seen *nb_seen_slot(struct nb_seen seen[NB_SEEN],
					   uint64_t bytes, int coll)
{
	uint64_t h = (bytes ^ (uint64_t)(uint32_t)coll << 58) *
		     UINT64_C(0xdc6d267f0478a4a1);

	return &seen[h >> 57];
}

/* Is the slot's question this one, with the same bits in all 21 floats of
 * @table? */
static inline bool nb_seen_is(const struct nb_seen *s, const float *table,
			      int coll, uint64_t bytes)
{
#ifdef __SSE2__
	__m128i same = _mm_set1_epi32(-1);
	uint64_t kept;
	uint32_t last;

	/* Entries 0 to 19, and the last by itself: NCCL has just written the
	 * table, and a load that spans several pending stores stalls. */
#pragma GCC unroll 5
	for (int v = 0; v < 20; v += 4) {
		__m128i a = _mm_load_si128((const void *)&s->table[v]);
		__m128i b = _mm_loadu_si128((const void *)&table[v]);

		same = _mm_and_si128(same, _mm_cmpeq_epi32(a, b));
	}
	memcpy(&kept, (const char *)s + offsetof(struct nb_seen, table[20]),
	       sizeof(kept));
	memcpy(&last, &table[20], sizeof(last));
	return s->bytes == bytes && s->coll == coll &&
	       kept == (last | UINT64_C(1) << 32) &&
	       _mm_movemask_epi8(same) == 0xffff;
#else
	return s->bytes == bytes && s->coll == coll && s->filled &&
	       !memcmp(s->table, table, sizeof(s->table));
#endif
}

/*
 * Read @table, whose shape may be unknown, into @s. s->table gets the entries
 * of the known algorithms, -1 for missing ones. s->filled says whether
 * nb_decide may use it (decide.h).
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

/* Find usable entries and NCCL's choice without vector instructions, for tests
 * and other machines. */
void nb_costs_scan(const float *table, uint32_t n, struct nb_costs *out);

/*
 * Make NCCL choose entry @index, which must be usable: it becomes 0, and an
 * entry before it that is 0 as well becomes the smallest positive number,
 * since NCCL takes the first of equals.
 */
void nb_costs_choose(float *table, uint32_t index, const struct nb_costs *was);

#endif
