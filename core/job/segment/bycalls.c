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
	uint64_t o = __atomic_load_n(&p->word[1], __ATOMIC_ACQUIRE);
	uint64_t b = __atomic_load_n(&p->word[2], __ATOMIC_ACQUIRE), tag = nb_packed_tag(k);

	*out = (struct nb_agreed){ .bytes = a & NB_PACKED_BYTES,
				   .rest = b & NB_PACKED_AGREED,
				   .offered = (uint32_t)(o >> NB_PACKED_AT_USABLE) &
					      ((UINT32_C(1) << NB_PACKED_ENTRIES) - 1) };
	return !((a ^ tag) >> 48) && !((o ^ tag) >> 48) && !((b ^ tag) >> 48) &&
	       nb_packed_chunk(&t->chunk[k % NB_RING], k, b, &out->chunk_size);
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

/* Count the part's questions with an offer. */
static uint64_t count_asked(const struct part *p)
{
	uint64_t n = 0;

	for (uint64_t k = p->from; k < p->to; k++) {
		struct nb_agreed x;

		n += !nb_track_read(p->r, k, &x) || !nb_offered_nothing(&x);
	}
	return n;
}

enum match { SAME, OTHER_OFFER, OTHER_ANSWER, NOT_ASKED };

/* Look for decision @x in @p; *@at is a decision with another offer or
 * answer. */
static enum match find_match(const struct nb_agreed *x, const struct part *p, uint64_t *at)
{
	enum match m = NOT_ASKED;

	for (uint64_t k = p->from; k < p->to; k++) {
		struct nb_agreed y;

		if (!nb_track_read(p->r, k, &y))
			/* The decision was overwritten, so no difference is
			 * known. */
			return SAME;
		if (nb_same_agreed(x, &y)) {
			if (nb_same_offer(x, &y))
				return SAME;
			m = OTHER_OFFER;
			*at = k;
		} else if (m != OTHER_OFFER && nb_same_question(x, &y) && !nb_offered_nothing(&y)) {
			m = OTHER_ANSWER;
			*at = k;
		}
	}
	return m;
}

static void note_extra(struct nb_bycalls *out, int side, uint64_t n, uint64_t seq)
{
	if (!out->extra[0] && !out->extra[1])
		out->extra_seq = seq;
	out->extra[side] += (uint32_t)n;
}

/* Compare the decisions after one call. */
static void compare_call(const struct part p[2], struct nb_bycalls *out)
{
	const uint64_t n[2] = { count_asked(&p[0]), count_asked(&p[1]) };
	const int s = n[1] < n[0];
	const struct part *few = &p[s], *many = &p[!s];
	bool whole = p[0].whole && p[1].whole;

	for (uint64_t k = few->from; k < few->to && k - few->from < MOST; k++) {
		uint64_t at = many->from + (k - few->from);
		struct nb_agreed x;
		enum match m = SAME;

		if (nb_track_read(few->r, k, &x) && !nb_offered_nothing(&x))
			m = find_match(&x, many, &at);
		if (m == OTHER_OFFER && !out->offers) {
			out->offers = true;
			out->offer_seq[s] = k;
			out->offer_seq[!s] = at;
		}
		if (m == SAME || m == OTHER_OFFER || (m == NOT_ASKED && !whole))
			continue;
		out->differ = true;
		out->questions = m == NOT_ASKED;
		out->seq[s] = k;
		out->seq[!s] = at;
		return;
	}
	if (whole && n[!s] > n[s])
		note_extra(out, !s, n[!s] - n[s], many->from + n[s]);
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

			p[0] = calls_part_of(r[side], from);
			at[side] = p[0].to;
			if (out->compared)
				note_extra(out, side, count_asked(&p[0]), from);
			continue;
		}
		p[0] = calls_part_of(a, at[0]);
		p[1] = calls_part_of(b, at[1]);
		compare_call(p, out);
		out->compared = true;
		at[0] = next_call(a, at[0]);
		at[1] = next_call(b, at[1]);
	}
}
