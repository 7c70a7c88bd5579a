// SPDX-License-Identifier: MIT
// Decisions call by call. NCCL 2.29 and later may ask the tuner on one rank
// where it does not on another; calls of its API are the same on all ranks.
// So the decisions that follow one call are compared as a set: what both were
// asked must have the same answers, and more questions on one side are counted.
#include "core/jobseg/bycalls.h"

#include <string.h>

enum {
	SPARE = 16, /* the oldest, which a living rank may be overwriting */
	MOST = 64   /* decisions of a rank's one call that are looked for */
};

struct word {
	uint64_t bytes, rest;
	bool has;
};

static uint32_t clock_of(const struct nb_called *r, uint64_t k)
{
	return __atomic_load_n(&r->clock[k % NB_RING], __ATOMIC_RELAXED);
}

uint32_t nb_called_last(const struct nb_called *r)
{
	return r->decisions ? clock_of(r, r->decisions - 1) : 0;
}

static struct word word_of(const struct nb_called *r, uint64_t k)
{
	const struct nb_packed *p = &r->ring[k % NB_RING];
	uint64_t a = __atomic_load_n(&p->word[0], __ATOMIC_ACQUIRE);
	uint64_t b = __atomic_load_n(&p->word[2], __ATOMIC_ACQUIRE);

	return (struct word){ .bytes = a & NB_PACKED_BYTES,
			      .rest = b & NB_PACKED_AGREED,
			      .has = !((a ^ nb_packed_tag(k)) >> 48) &&
				     !((b ^ nb_packed_tag(k)) >> 48) };
}

static bool same_question(struct word a, struct word b)
{
	const uint64_t coll = UINT64_C(15) << NB_PACKED_AT_COLL;

	return a.bytes == b.bytes && !((a.rest ^ b.rest) & coll);
}

static bool behind(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* The first decision after @k that follows another call. */
static uint64_t next_call(const struct nb_called *r, uint64_t k)
{
	uint32_t c = clock_of(r, k);

	while (k < r->decisions && clock_of(r, k) == c)
		k++;
	return k;
}

/* The first decision kept that is the first of its call. */
static uint64_t oldest(const struct nb_called *r)
{
	if (r->decisions <= NB_RING - SPARE)
		return 0;
	return next_call(r, r->decisions - (NB_RING - SPARE));
}

/* A rank's decisions of one call: [from, to). @whole: there are no more. */
struct part {
	const struct nb_called *r;
	uint64_t from, to;
	bool whole;
};

enum match { SAME, OTHER_ANSWER, NOT_ASKED };

/* What became of @x in @p; *@at: the decision that answered it otherwise. */
static enum match find(struct word x, const struct part *p, uint64_t *at)
{
	enum match m = NOT_ASKED;

	for (uint64_t k = p->from; k < p->to; k++) {
		struct word y = word_of(p->r, k);

		if (!y.has)
			return SAME; /* who knows */
		if (!same_question(x, y))
			continue;
		if (x.rest == y.rest)
			return SAME;
		m = OTHER_ANSWER;
		*at = k;
	}
	return m;
}

static void note_extra(struct nb_bycalls *out, int side, uint64_t n,
		       uint64_t seq)
{
	if (!out->extra[0] && !out->extra[1])
		out->extra_seq = seq;
	out->extra[side] += (uint32_t)n;
}

/* @p[0] and @p[1] follow the same call; @p[s] has no more than the other. */
static void compare(const struct part p[2], int s, struct nb_bycalls *out)
{
	const struct part *few = &p[s], *many = &p[!s];
	uint64_t nfew = few->to - few->from, nmany = many->to - many->from;
	bool whole = p[0].whole && p[1].whole;

	for (uint64_t k = few->from; k < few->to && k - few->from < MOST; k++) {
		struct word x = word_of(few->r, k);
		uint64_t at = many->from + (k - few->from);
		enum match m = x.has ? find(x, many, &at) : SAME;

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

static struct part part_of(const struct nb_called *r, uint64_t from)
{
	struct part p = { r, from, next_call(r, from), true };

	p.whole = p.to < r->decisions;
	return p;
}

void nb_bycalls(const struct nb_called *a, const struct nb_called *b,
		struct nb_bycalls *out)
{
	const struct nb_called *r[2] = { a, b };
	uint64_t at[2] = { oldest(a), oldest(b) };

	memset(out, 0, sizeof(*out));
	while (at[0] < a->decisions && at[1] < b->decisions && !out->differ) {
		uint32_t c[2] = { clock_of(a, at[0]), clock_of(b, at[1]) };
		struct part p[2];

		if (c[0] != c[1]) {
			int side = behind(c[0], c[1]) ? 0 : 1;
			uint64_t from = at[side];

			at[side] = next_call(r[side], from);
			if (out->compared)
				note_extra(out, side, at[side] - from, from);
			continue;
		}
		p[0] = part_of(a, at[0]);
		p[1] = part_of(b, at[1]);
		compare(p, p[1].to - p[1].from < p[0].to - p[0].from, out);
		out->compared = true;
		at[0] = next_call(a, at[0]);
		at[1] = next_call(b, at[1]);
	}
}
