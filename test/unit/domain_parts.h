// SPDX-License-Identifier: MIT
#ifndef NB_TEST_DOMAIN_PARTS_H
#define NB_TEST_DOMAIN_PARTS_H

/*
 * The parts that operations are made of, on everything they can be given:
 * before the views of a result are brought into agreement each comes from one
 * view of each operand, so all pairs of intervals, all of signed ones and all
 * of known bits stand for every combination of them. The steps of agreement
 * are tried in the same way. Together with what stands above them in range.c,
 * a few lines each, this is every pair of values there is at a width.
 */
#include "test/unit/domain_pairs.h"

/* Unsigned, signed, known bits, the low half: what is known, and no more. */
enum kind { KIND_U, KIND_S, KIND_T };

/* Every value of a kind, and its members. */
static struct raw {
	struct value *v;
	unsigned n;
	unsigned (*at)[SIZE]; /* arcs of KIND_U and KIND_S; known bits */
} raws[3];

static void build_raw(enum kind k)
{
	struct raw *w = &raws[k];

	w->v = calloc(SIZE * SIZE, sizeof(*w->v));
	w->at = calloc(SIZE, sizeof(*w->at));
	if (!w->v || !w->at)
		ck_abort_msg("no memory");
	for (unsigned i = 0; i < SIZE * SIZE; i++) {
		unsigned a = i / SIZE, b = i % SIZE;
		range r = nth(k, i);

		if (!meant(k, i) || !ordered_views(&r))
			continue;
		w->v[w->n++] = (struct value){ r, members(&r) };
		w->at[a][k == KIND_T ? b : (b - a) & LAST] = w->n;
	}
}

static struct bits of_bounds(struct iv v)
{
	return common(common(above[v.umin & LAST], below[v.umax & LAST]),
		      common(above_signed[(uint64_t)v.smin & LAST],
			     below_signed[(uint64_t)v.smax & LAST]));
}

static bool bounds_fit(struct iv v, unsigned bits)
{
	return v.umin <= nb_ones(bits) && v.umax <= nb_ones(bits) && v.smin >= least(bits) &&
	       v.smin <= most(bits) && v.smax >= least(bits) && v.smax <= most(bits);
}

static _Noreturn void part_lost(const char *what, const range *a, const range *b, struct iv v,
				struct nb_tnum t, struct bits must)
{
	range r = from_views(t, v, iv_full(HALF));

	lost(what, BITS, a, b, &r, must);
}

/* ---- ALU ---- */

static void alu_part(const struct value *a, struct bits must)
{
	struct both o = alu_at(op.fn, BITS, &a->r, &op.b->r);

	if (!bounds_fit(o.v, BITS) || (o.t.value | o.t.mask) > LAST ||
	    beyond(must, common(of_bounds(o.v), of_bits(o.t))))
		part_lost(op.name, &a->r, &op.b->r, o.v, o.t, must);
	tally.pairs++;
}

static void part_arcs(const struct raw *w)
{
	for (unsigned a = 0; a < SIZE; a++) {
		struct bits must = { 0 };

		for (unsigned n = 0; n < SIZE; n++) {
			must = either(must, row[(a + n) & LAST]);
			if (w->at[a][n])
				alu_part(&w->v[w->at[a][n] - 1], must);
		}
	}
}

static void part_known(const struct raw *w)
{
	for (unsigned m = 0; m < SIZE; m++) {
		unsigned one = m & -m;

		for (unsigned v = 0; v < SIZE; v++) {
			if (v & m)
				continue;
			lattice[v][m] =
				m ? either(lattice[v][m ^ one], lattice[v | one][m ^ one]) : row[v];
			alu_part(&w->v[w->at[v][m] - 1], lattice[v][m]);
		}
	}
}

/* All of kind @x with those of kind @y. */
static void alu_kinds(unsigned f, enum kind x, enum kind y, struct apart step)
{
	struct taken t = take(f, step);
	const struct raw *of = &raws[y];

	op.fn = alu_fns[f];
	op.name = alu_names[f];
	op.bits = BITS;
	for (unsigned long j = t.at; j < of->n; j += t.step) {
		op.b = &of->v[j];
		rows();
		if (x == KIND_T)
			part_known(&raws[x]);
		else
			part_arcs(&raws[x]);
	}
}

/* Also bounds as signed number and bits, with the unsigned bounds of a count
 * or a divisor: shifts, and what is smaller than its divisor. */
static bool by_unsigned(enum nb_fn fn)
{
	return fn == NB_FN_LSH || fn == NB_FN_RSH || fn == NB_FN_ARSH || fn == NB_FN_MOD;
}

static void alu_parts(struct apart step)
{
	for (unsigned f = 0; f < COUNT(alu_fns); f++) {
		if (alu_fns[f] == NB_FN_NEG || alu_fns[f] == NB_FN_MOV || !counts_fit(alu_fns[f]))
			continue;
		for (unsigned k = KIND_U; k <= KIND_T; k++)
			alu_kinds(f, k, k, step);
		if (by_unsigned(alu_fns[f])) {
			alu_kinds(f, KIND_S, KIND_U, step);
			alu_kinds(f, KIND_T, KIND_U, step);
		}
		told(alu_names[f], BITS, true);
	}
}

/* ---- branches ---- */

static struct bits right_of_raw[SIZE * SIZE];

/* What nb_range_branch does before agreement. */
static bool branch_part(enum nb_fn fn, bool taken, range *a, range *b)
{
	struct iv x = whole(a), y = whole(b);
	bool can;

	if (fn == NB_FN_JSET)
		return test_bits(a, b, BITS, taken);
	fn = taken ? fn : nb_spec_fn(fn)->inverse;
	if (fn == NB_FN_JEQ)
		return equal(a, b, BITS);
	if (fn == NB_FN_JNE)
		return differ(a, b, BITS);
	can = ordered(fn, &x, &y);
	set_whole(a, x);
	set_whole(b, y);
	return can;
}

static void branch_pair(const char *name, enum nb_fn fn, bool taken, const struct value *a,
			const struct value *b, struct bits x, struct bits y)
{
	range p = a->r, q = b->r;

	tally.pairs++;
	if (!branch_part(fn, taken, &p, &q)) {
		if (!empty(x))
			lost(name, BITS, &a->r, &b->r, &p, x);
		return;
	}
	if (!fits(&p) || beyond(x, members(&p)))
		lost(name, BITS, &a->r, &b->r, &p, x);
	if (!fits(&q) || beyond(y, members(&q)))
		lost(name, BITS, &a->r, &b->r, &q, y);
}

static void branch_kinds(unsigned f, bool taken, enum kind k, enum kind l, struct apart step)
{
	const struct raw *s = &raws[k], *of = &raws[l];
	struct taken t = take(2 * f + taken, step);

	partners(jump_fns[f], BITS, taken);
	for (unsigned i = 0; i < s->n; i++)
		right_of_raw[i] = partners_of(with_left, s->v[i].has);
	for (unsigned long j = t.at; j < of->n; j += t.step) {
		const struct value *b = &of->v[j];
		struct bits left = partners_of(with_right, b->has);

		for (unsigned i = 0; i < s->n; i++)
			branch_pair(jump_names[f], jump_fns[f], taken, &s->v[i], b,
				    common(s->v[i].has, left), common(b->has, right_of_raw[i]));
	}
}

static void branch_parts(struct apart step)
{
	for (unsigned f = 0; f < COUNT(jump_fns); f++) {
		for (unsigned taken = 0; taken < 2; taken++) {
			for (unsigned k = KIND_U; k <= KIND_T; k++)
				branch_kinds(f, taken, k, k, step);
			if (jump_fns[f] == NB_FN_JSET) {
				branch_kinds(f, taken, KIND_U, KIND_T, step);
				branch_kinds(f, taken, KIND_S, KIND_T, step);
			}
		}
		told(jump_names[f], BITS, true);
	}
}

/* ---- agreement ---- */

static void signs_part(struct apart step)
{
	struct taken t = take(0, step);

	for (unsigned long j = t.at; j < raws[KIND_S].n; j += t.step)
		for (unsigned i = 0; i < raws[KIND_U].n; i++) {
			const struct value *a = &raws[KIND_U].v[i];
			const struct value *b = &raws[KIND_S].v[j];
			struct bits must = common(a->has, b->has);
			struct iv v = { a->r.umin, a->r.umax, b->r.smin, b->r.smax };

			if (iv_signs(&v, BITS) ? !bounds_fit(v, BITS) || beyond(must, of_bounds(v))
					       : !empty(must))
				part_lost("signs", &a->r, &b->r, v, a->r.t, must);
			tally.pairs++;
		}
	told("agreement of signed and unsigned bounds", BITS, true);
}

static void bits_part(struct apart step)
{
	struct taken t = take(0, step);

	for (unsigned long j = t.at; j < raws[KIND_T].n; j += t.step)
		for (unsigned i = 0; i < 2 * raws[KIND_U].n; i++) {
			const struct raw *w = &raws[i & 1];
			const struct value *a = &w->v[i / 2];
			const struct value *b = &raws[KIND_T].v[j];
			struct bits must = common(a->has, b->has);
			struct nb_tnum known = b->r.t;
			struct iv v = whole(&a->r);

			if (iv_bits(&v, &known, BITS)
				    ? !bounds_fit(v, BITS) || (known.value | known.mask) > LAST ||
					      beyond(must, common(of_bounds(v), of_bits(known)))
				    : !empty(must))
				part_lost("bits", &a->r, &b->r, v, known, must);
			tally.pairs++;
		}
	told("agreement of bounds and bits", BITS, true);
}

static void half_pair(const struct value *a, const struct value *b)
{
	struct bits must = common(a->has, b->has);
	struct iv w = whole(&a->r), h = half(&b->r);

	tally.pairs++;
	if (!half_to_whole(&w, &h)) {
		if (!empty(must))
			part_lost("half to whole", &a->r, &b->r, w, a->r.t, must);
	} else if (!bounds_fit(w, BITS) || beyond(must, of_bounds(w))) {
		part_lost("half to whole", &a->r, &b->r, w, a->r.t, must);
	}
	w = whole(&a->r);
	if (!whole_to_half(&w, &h)) {
		if (!empty(must))
			part_lost("whole to half", &a->r, &b->r, w, a->r.t, must);
	} else {
		range r = from_views(nb_tnum_unknown(), iv_full(BITS), h);

		if (!fits(&r) || beyond(must, members(&r)))
			lost("whole to half", BITS, &a->r, &b->r, &r, must);
	}
}

static void halves_part(void)
{
	for (unsigned i = 0; i < 2 * SIZE * SIZE; i++) {
		range h = nth(3 + i % 2, i / 2);
		struct value b = { h, members(&h) };

		if (!meant(3, i / 2) || !ordered_views(&h))
			continue;
		for (unsigned k = KIND_U; k <= KIND_S; k++)
			for (unsigned j = 0; j < raws[k].n; j++)
				half_pair(&raws[k].v[j], &b);
	}
	told("agreement of the whole and its half", BITS, true);
}

#endif
