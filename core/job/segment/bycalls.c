// SPDX-License-Identifier: MIT
/*
 * Compare decisions call by call. NCCL 2.29 and later may ask the tuner on
 * one rank and not on another, but calls of its API are the same on all
 * ranks. So the decisions after one call are compared as a set: a question
 * that both ranks had must have one answer, and extra questions of one rank
 * are counted.
 */
#include "core/job/segment/bycalls.h"

#include <string.h>

enum {
	/* Oldest decisions, which are skipped because a live rank may be
	 * overwriting them. */
	SPARE = 16,
	/* Largest number of decisions of one call that are compared. */
	MOST = 64
};

static uint32_t clock_of(const struct nb_track *r, uint64_t k)
{
	return __atomic_load_n(&r->clock[k % NB_RING], __ATOMIC_RELAXED);
}

uint32_t nb_track_calls(const struct nb_track *t)
{
	return t->decisions ? clock_of(t, t->decisions - 1) : 0;
}

bool nb_track_read(const struct nb_track *t, uint64_t k, struct nb_agreed *out)
{
	const struct nb_packed *p = &t->ring[k % NB_RING];
	uint64_t a = __atomic_load_n(&p->word[0], __ATOMIC_ACQUIRE);
	uint64_t b = __atomic_load_n(&p->word[2], __ATOMIC_ACQUIRE);

	*out = (struct nb_agreed){ a & NB_PACKED_BYTES, b & NB_PACKED_AGREED };
	return !((a ^ nb_packed_tag(k)) >> 48) && !((b ^ nb_packed_tag(k)) >> 48);
}

static bool is_behind(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Return the first decision after the call that follows decision @k's call. */
static uint64_t next_call(const struct nb_track *r, uint64_t k)
{
	uint32_t c = clock_of(r, k);

	while (k < r->decisions && clock_of(r, k) == c)
		k++;
	return k;
}

/* Return the oldest decision in the ring that is the first after its call. */
static uint64_t oldest_first(const struct nb_track *r)
{
	if (r->decisions <= NB_RING - SPARE)
		return 0;
	return next_call(r, r->decisions - (NB_RING - SPARE));
}

/* A rank's decisions after one call: [from, to). @whole: the next call has
 * begun. */
struct part {
	const struct nb_track *r;
	uint64_t from, to;
	bool whole;
};

enum match { SAME, OTHER_ANSWER, NOT_ASKED };

/* Look for decision @x in @p; *@at is a decision with another answer. */
static enum match find_match(const struct nb_agreed *x, const struct part *p, uint64_t *at)
{
	enum match m = NOT_ASKED;

	for (uint64_t k = p->from; k < p->to; k++) {
		struct nb_agreed y;

		if (!nb_track_read(p->r, k, &y) || nb_same_agreed(x, &y))
			/* The decision was overwritten, so no difference is
			 * known. */
			return SAME;
		if (!nb_same_question(x, &y))
			continue;
		m = OTHER_ANSWER;
		*at = k;
	}
	return m;
}

static void note_extra(struct nb_bycalls *out, int side, uint64_t n, uint64_t seq)
{
	if (!out->extra[0] && !out->extra[1])
		out->extra_seq = seq;
	out->extra[side] += (uint32_t)n;
}

/* Compare the decisions after one call; @p[s] has no more decisions than
 * the other rank. */
static void compare_call(const struct part p[2], int s, struct nb_bycalls *out)
{
	const struct part *few = &p[s], *many = &p[!s];
	uint64_t nfew = few->to - few->from, nmany = many->to - many->from;
	bool whole = p[0].whole && p[1].whole;

	for (uint64_t k = few->from; k < few->to && k - few->from < MOST; k++) {
		uint64_t at = many->from + (k - few->from);
		struct nb_agreed x;
		enum match m = nb_track_read(few->r, k, &x) ? find_match(&x, many, &at) : SAME;

		if (m == SAME || (m == NOT_ASKED && !whole))
			continue;
		out->differ = true;
		out->questions = m == NOT_ASKED;
		out->seq[s] = k;
		out->seq[!s] = at;
		return;
	}
	if (whole && nmany > nfew)
		note_extra(out, !s, nmany - nfew, many->from + nfew);
}

static struct part calls_part_of(const struct nb_track *r, uint64_t from)
{
	struct part p = { r, from, next_call(r, from), true };

	p.whole = p.to < r->decisions;
	return p;
}

void nb_bycalls(const struct nb_track *a, const struct nb_track *b, struct nb_bycalls *out)
{
	const struct nb_track *r[2] = { a, b };
	uint64_t at[2] = { oldest_first(a), oldest_first(b) };

	memset(out, 0, sizeof(*out));
	while (at[0] < a->decisions && at[1] < b->decisions && !out->differ) {
		uint32_t c[2] = { clock_of(a, at[0]), clock_of(b, at[1]) };
		struct part p[2];

		if (c[0] != c[1]) {
			int side = is_behind(c[0], c[1]) ? 0 : 1;
			uint64_t from = at[side];

			at[side] = next_call(r[side], from);
			if (out->compared)
				note_extra(out, side, at[side] - from, from);
			continue;
		}
		p[0] = calls_part_of(a, at[0]);
		p[1] = calls_part_of(b, at[1]);
		compare_call(p, p[1].to - p[1].from < p[0].to - p[0].from, out);
		out->compared = true;
		at[0] = next_call(a, at[0]);
		at[1] = next_call(b, at[1]);
	}
}
