// SPDX-License-Identifier: MIT
/*
 * Turn overlapping rows into disjoint intervals of bytes by a sweep over
 * the sizes at which rows begin and end. The rows that match the current
 * size are in heaps, one for each kind of answer, with the earliest row on
 * top. The tops in order of rows are the answers to try. A row that has
 * ended is removed when it reaches the top.
 */
#include "core/csvpolicy/sweep.h"

#include <stdlib.h>

enum { NCLASSES = 32 };

struct heap {
	uint32_t *row;
	uint32_t n;
};

int nb_table_nomem(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "table: out of memory");
}

int nb_table_sweep_init(struct nb_table_sweep *s, const struct nb_table *t,
			uint64_t *won, struct nb_err *err)
{
	size_t n = (size_t)t->n + 1;

	*s = (struct nb_table_sweep){ .t = t, .won = won };
	s->out = calloc(2 * n, sizeof(*s->out));
	s->heap = calloc(n, sizeof(*s->heap));
	s->ends = calloc(n, sizeof(*s->ends));
	s->cap_alts = 64;
	s->alts = calloc(s->cap_alts, sizeof(*s->alts));
	s->nslots = 256;
	s->slots = calloc(s->nslots, sizeof(*s->slots));
	s->nalts = 1; /* Number 0 stands for no answer. */
	if (s->out && s->heap && s->ends && s->alts && s->slots)
		return 0;
	nb_table_sweep_fini(s);
	return nb_table_nomem(err);
}

void nb_table_sweep_fini(struct nb_table_sweep *s)
{
	free(s->out);
	free(s->heap);
	free(s->ends);
	free(s->alts);
	free(s->slots);
	*s = (struct nb_table_sweep){ 0 };
}

static void heap_add(struct heap *h, uint32_t row)
{
	uint32_t i = h->n++;

	for (; i && h->row[(i - 1) / 2] > row; i = (i - 1) / 2)
		h->row[i] = h->row[(i - 1) / 2];
	h->row[i] = row;
}

static void heap_pop(struct heap *h)
{
	uint32_t row = h->row[--h->n], i = 0, child;

	for (; (child = 2 * i + 1) < h->n; i = child) {
		child += child + 1 < h->n && h->row[child + 1] < h->row[child];
		if (h->row[child] >= row)
			break;
		h->row[i] = h->row[child];
	}
	h->row[i] = row;
}

static uint32_t row_class(const struct nb_table_row *r)
{
	return (uint32_t)((r->algo + 1) * 4 + r->proto + 1);
}

uint32_t nb_table_need(int32_t algo, int32_t proto)
{
	/* Bit 3 * algorithm + protocol stands for a pair. An algorithm has
	 * three neighbouring bits, a protocol has every third bit. */
	const uint32_t one_algo = 7, one_proto = 0x49249;

	if (algo < 0 && proto < 0)
		return NB_ANSWER_ALWAYS;
	if (proto < 0)
		return one_algo << algo * 3;
	if (algo < 0)
		return one_proto << proto;
	return 1u << (algo * 3 + proto);
}

static uint64_t row_answer(const struct nb_table_row *r)
{
	return (uint64_t)nb_table_need(r->algo, r->proto) << NB_ANSWER_NEED |
	       (uint64_t)(r->channels < 0 ? 0 : r->channels)
		       << NB_ANSWER_CHANNELS |
	       (uint64_t)(r->algo + 1) << NB_ANSWER_ALGO |
	       (uint64_t)(r->proto + 1) << NB_ANSWER_PROTO;
}

static uint32_t alt_slot(const struct nb_table_sweep *s, uint64_t word)
{
	uint32_t i = (uint32_t)((word * 0x9e3779b97f4a7c15) >> 32);

	for (i &= s->nslots - 1; s->slots[i]; i = (i + 1) & (s->nslots - 1))
		if (s->alts[s->slots[i] - 1] == word)
			break;
	return i;
}

static bool grow_alts(struct nb_table_sweep *s)
{
	uint64_t *alts = reallocarray(s->alts, s->cap_alts * 2, sizeof(*alts));
	uint32_t *slots;

	if (!alts)
		return false;
	s->alts = alts;
	slots = calloc((size_t)s->nslots * 2, sizeof(*slots));
	if (!slots)
		return false;
	free(s->slots);
	s->slots = slots;
	s->nslots *= 2;
	s->cap_alts *= 2;
	for (uint32_t i = 1; i < s->nalts; i++)
		s->slots[alt_slot(s, s->alts[i])] = i + 1;
	return true;
}

/* Return the number of @word in alts, appended if new; 0 if out of memory. */
static uint32_t intern_answer(struct nb_table_sweep *s, uint64_t word)
{
	uint32_t i;

	if (s->nalts == s->cap_alts && !grow_alts(s))
		return 0;
	i = alt_slot(s, word);
	if (!s->slots[i]) {
		s->alts[s->nalts] = word;
		s->slots[i] = ++s->nalts;
	}
	return s->slots[i] - 1;
}

/* Chain the answers of @row[0..n); *@word gets the first one. */
static int chain_answers(struct nb_table_sweep *s, const uint32_t *row,
			 uint32_t n, uint64_t *word, struct nb_err *err)
{
	uint32_t next = 0;

	*word = 0;
	if (n > s->chain)
		s->chain = n;
	while (n--) {
		*word = row_answer(&s->t->rows[row[n]]) | next;
		s->won[row[n] / 64] |= UINT64_C(1) << row[n] % 64;
		next = n ? intern_answer(s, *word) : 0;
		if (n && !next)
			return nb_table_nomem(err);
	}
	return 0;
}

/* Collect the tops of the heaps in order of rows, without rows that cannot
 * win. */
static uint32_t rows_to_try(const struct nb_table_sweep *s, struct heap *heaps,
			    int64_t at, uint32_t row[NCLASSES])
{
	uint32_t n = 0, kept = 0, seen = 0, need;

	for (uint32_t c = 0; c < NCLASSES; c++) {
		struct heap *h = &heaps[c];
		uint32_t i;

		while (h->n && s->t->rows[h->row[0]].max < at)
			heap_pop(h);
		if (!h->n)
			continue;
		for (i = n++; i && row[i - 1] > h->row[0]; i--)
			row[i] = row[i - 1];
		row[i] = h->row[0];
	}
	for (uint32_t i = 0; i < n && !(seen & NB_ANSWER_ALWAYS); i++) {
		const struct nb_table_row *r = &s->t->rows[row[i]];

		need = nb_table_need(r->algo, r->proto);
		if (need & ~seen)
			row[kept++] = row[i];
		seen |= need;
	}
	return kept;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void add_interval(struct nb_table_sweep *s, int64_t last, uint64_t word)
{
	if (s->nout && s->out[s->nout - 1].word == word)
		s->nout--;
	s->out[s->nout++] = (struct nb_table_interval){ last, word };
}

/* A row and the size at which it begins. */
struct place {
	int64_t min;
	uint32_t row;
};

static int by_min(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->min != y->min)
		return x->min < y->min ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Give each class of answers its part of the array of heaps. */
static void make_heaps(struct nb_table_sweep *s, const uint32_t *rows,
		       uint32_t n, struct heap *heaps)
{
	uint32_t count[NCLASSES] = { 0 }, at = 0;

	for (uint32_t i = 0; i < n; i++)
		count[row_class(&s->t->rows[rows[i]])]++;
	for (uint32_t c = 0; c < NCLASSES; c++) {
		heaps[c] = (struct heap){ s->heap + at, 0 };
		at += count[c];
	}
}

static int sweep_sizes(struct nb_table_sweep *s, const struct place *p,
		       uint32_t n, struct heap *heaps, struct nb_err *err)
{
	uint32_t started = 0, ended = 0, row[NCLASSES];
	int64_t at = 0, next;
	uint64_t word;

	for (;;) {
		for (; started < n && p[started].min == at; started++)
			heap_add(&heaps[row_class(&s->t->rows[p[started].row])],
				 p[started].row);
		while (ended < n && s->ends[ended] < (uint64_t)at)
			ended++;
		if (chain_answers(s, row, rows_to_try(s, heaps, at, row), &word,
				  err))
			return NB_E_NOMEM;
		next = started < n ? p[started].min - 1 : NB_TABLE_MAX_BYTES;
		if (ended < n && (int64_t)s->ends[ended] < next)
			next = (int64_t)s->ends[ended];
		add_interval(s, next, word);
		if (next == NB_TABLE_MAX_BYTES)
			return 0;
		at = next + 1;
	}
}

int nb_table_sweep_run(struct nb_table_sweep *s, const uint32_t *rows,
		       uint32_t n, struct nb_err *err)
{
	struct place *p = calloc((size_t)n + 1, sizeof(*p));
	struct heap heaps[NCLASSES];
	int rc;

	if (!p)
		return nb_table_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		p[i] = (struct place){ s->t->rows[rows[i]].min, rows[i] };
		s->ends[i] = (uint64_t)s->t->rows[rows[i]].max;
	}
	qsort(p, n, sizeof(*p), by_min);
	qsort(s->ends, n, sizeof(*s->ends), by_value);
	make_heaps(s, rows, n, heaps);
	s->nout = 0;
	rc = sweep_sizes(s, p, n, heaps, err);
	free(p);
	return rc;
}
