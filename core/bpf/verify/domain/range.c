// SPDX-License-Identifier: MIT
/*
 * Bounds and known bits of numbers: functions that compare, intersect and
 * join ranges, and that make the views of a range agree. A conclusion has
 * to hold for every member.
 */
#include "core/bpf/verify/domain/range.h"

#include "core/bpf/verify/domain/views.h"

/* Rounds in which the views refine each other. Views only shrink, so fewer
 * rounds are sound as well. */
enum { ROUNDS = 4 };

/*
 * Refine signed and unsigned bounds from each other. The non-negative
 * members form one interval in both orders, and so do the negative ones; an
 * empty interval drops out.
 */
static bool iv_signs(struct iv *v, unsigned bits)
{
	uint64_t top = (uint64_t)most(bits), all = nb_ones(bits);
	uint64_t plo = v->umin, phi = top, nlo = top + 1, nhi = all;
	bool p, n;

	lower_u(&phi, v->umax);
	raise_u(&nlo, v->umin);
	lower_u(&nhi, v->umax);
	p = v->smax >= 0;
	n = v->smin < 0;
	if (p) {
		lower_u(&phi, (uint64_t)v->smax);
		raise_u(&plo, v->smin > 0 ? (uint64_t)v->smin : 0);
		p = plo <= phi;
	}
	if (n) {
		raise_u(&nlo, (uint64_t)v->smin & all);
		lower_u(&nhi, v->smax < 0 ? (uint64_t)v->smax & all : all);
		n = nlo <= nhi;
	}
	if (!p && !n)
		return false;
	v->umin = p ? plo : nlo;
	v->umax = n ? nhi : phi;
	v->smin = n ? nb_sext(nlo, bits) : (int64_t)plo;
	v->smax = p ? (int64_t)phi : nb_sext(nhi, bits);
	return true;
}

/* Refine bounds and known bits, both of width @bits, from each other. */
static bool iv_bits(struct iv *v, struct nb_tnum *t, unsigned bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1);
	uint64_t hi = t->value | t->mask;
	struct nb_tnum agreed;

	raise_u(&v->umin, t->value);
	lower_u(&v->umax, hi);
	raise_s(&v->smin, nb_sext(hi & sign ? t->value | sign : t->value, bits));
	lower_s(&v->smax, nb_sext(t->value & sign ? hi : hi & ~sign, bits));
	if (!iv_ok(v))
		return false;
	agreed = nb_tnum_range(v->umin, v->umax);
	return nb_tnum_meet(t, *t, agreed);
}

/* Raise *@v to the least number whose low half lies in [lo, hi]. */
static bool next_in(uint64_t *v, uint64_t lo, uint64_t hi)
{
	uint64_t low = *v & nb_ones(NB_HALF), high = *v & ~nb_ones(NB_HALF);

	if (low < lo) {
		*v = high | lo;
	} else if (low > hi) {
		*v = (high + nb_ones(NB_HALF) + 1) | lo;
		return high != (nb_ones(NB_WHOLE) & ~nb_ones(NB_HALF));
	}
	return true;
}

/* Lower *@v to the greatest number whose low half lies in [lo, hi]. */
static bool prev_in(uint64_t *v, uint64_t lo, uint64_t hi)
{
	uint64_t low = *v & nb_ones(NB_HALF), high = *v & ~nb_ones(NB_HALF);

	if (low > hi) {
		*v = high | hi;
	} else if (low < lo) {
		*v = (high - nb_ones(NB_HALF) - 1) | hi;
		return high != 0;
	}
	return true;
}

/* Refine the bounds of the whole number from those of its low half. */
static bool half_to_whole(struct iv *w, const struct iv *h)
{
	/* Signed order is unsigned order with the top bit inverted. */
	uint64_t sign = (uint64_t)1 << (NB_WHOLE - 1);
	uint64_t slo = ((uint64_t)w->smin & nb_ones(NB_WHOLE)) ^ sign;
	uint64_t shi = ((uint64_t)w->smax & nb_ones(NB_WHOLE)) ^ sign;

	if (!next_in(&w->umin, h->umin, h->umax) || !prev_in(&w->umax, h->umin, h->umax) ||
	    !next_in(&slo, h->umin, h->umax) || !prev_in(&shi, h->umin, h->umax))
		return false;
	w->smin = nb_sext(slo ^ sign, NB_WHOLE);
	w->smax = nb_sext(shi ^ sign, NB_WHOLE);
	/* The number equals its own sign-extended low half. */
	if (w->smin >= least(NB_HALF) && w->smax <= most(NB_HALF)) {
		raise_s(&w->smin, h->smin);
		lower_s(&w->smax, h->smax);
	}
	return iv_ok(w);
}

/* Refine the bounds of the low half from those of the whole number, if the
 * whole fits in the half. */
static bool whole_to_half(const struct iv *w, struct iv *h)
{
	uint64_t low = nb_ones(NB_HALF);

	if (w->umin >> NB_HALF == w->umax >> NB_HALF) {
		raise_u(&h->umin, w->umin & low);
		lower_u(&h->umax, w->umax & low);
	}
	if (w->smin >> NB_HALF == w->smax >> NB_HALF) {
		raise_u(&h->umin, (uint64_t)w->smin & low);
		lower_u(&h->umax, (uint64_t)w->smax & low);
	}
	if (w->smin >= least(NB_HALF) && w->smax <= most(NB_HALF)) {
		raise_s(&h->smin, w->smin);
		lower_s(&h->smax, w->smax);
	}
	return iv_ok(h);
}

static bool sync_once(struct nb_range *r)
{
	struct iv w = whole(r), h = half(r);
	struct nb_tnum low = nb_tnum_trunc(r->t, NB_HALF);

	if (!iv_ok(&w) || !iv_ok(&h) || !iv_bits(&w, &r->t, NB_WHOLE) || !iv_signs(&w, NB_WHOLE) ||
	    !whole_to_half(&w, &h) || !iv_bits(&h, &low, NB_HALF) || !iv_signs(&h, NB_HALF) ||
	    !half_to_whole(&w, &h) || !iv_signs(&w, NB_WHOLE))
		return false;
	low.value |= r->t.value & ~nb_ones(NB_HALF);
	low.mask |= r->t.mask & ~nb_ones(NB_HALF);
	if (!nb_tnum_meet(&r->t, r->t, low))
		return false;
	set_whole(r, w);
	set_half(r, h);
	return true;
}

NB_DOM_FN bool nb_range_sync(struct nb_range *r)
{
	struct nb_range was;

	if (nb_range_is_const(r)) {
		if (!nb_range_has(r, r->t.value))
			return false;
		*r = nb_range_const(r->t.value);
		return true;
	}
	for (int i = 0; i < ROUNDS; i++) {
		was = *r;
		if (!sync_once(r))
			return false;
		if (nb_range_equal(&was, r))
			break;
	}
	return true;
}

NB_DOM_FN struct nb_range nb_range_const(uint64_t v)
{
	uint64_t u = v & nb_ones(NB_WHOLE), l = v & nb_ones(NB_HALF);
	int64_t s = nb_sext(v, NB_WHOLE), sl = nb_sext(v, NB_HALF);

	return from_views(nb_tnum_const(v), (struct iv){ u, u, s, s }, (struct iv){ l, l, sl, sl });
}

NB_DOM_FN struct nb_range nb_range_unknown(void)
{
	return from_views(nb_tnum_unknown(), iv_full(NB_WHOLE), iv_full(NB_HALF));
}

NB_DOM_FN struct nb_range nb_range_u(uint64_t min, uint64_t max)
{
	struct nb_range r = nb_range_unknown();

	r.umin = min;
	r.umax = max;
	return nb_range_synced(r);
}

NB_DOM_FN struct nb_range nb_range_s(int64_t min, int64_t max)
{
	struct nb_range r = nb_range_unknown();

	r.smin = min;
	r.smax = max;
	return nb_range_synced(r);
}

NB_DOM_FN struct nb_range nb_range_t(struct nb_tnum t)
{
	struct nb_range r = nb_range_unknown();

	r.t = t;
	return nb_range_synced(r);
}

NB_DOM_FN bool nb_range_equal(const struct nb_range *a, const struct nb_range *b)
{
	return a->t.value == b->t.value && a->t.mask == b->t.mask && a->umin == b->umin &&
	       a->umax == b->umax && a->smin == b->smin && a->smax == b->smax &&
	       a->umin32 == b->umin32 && a->umax32 == b->umax32 && a->smin32 == b->smin32 &&
	       a->smax32 == b->smax32;
}

NB_DOM_FN bool nb_range_is_unknown(const struct nb_range *r)
{
	struct nb_range top = nb_range_unknown();

	return nb_range_equal(r, &top);
}

NB_DOM_FN bool nb_range_has(const struct nb_range *r, uint64_t v)
{
	uint64_t u = v & nb_ones(NB_WHOLE), l = v & nb_ones(NB_HALF);
	int64_t s = nb_sext(v, NB_WHOLE), sl = nb_sext(v, NB_HALF);

	return nb_tnum_has(r->t, v) && u >= r->umin && u <= r->umax && s >= r->smin &&
	       s <= r->smax && l >= r->umin32 && l <= r->umax32 && sl >= r->smin32 &&
	       sl <= r->smax32;
}

NB_DOM_FN bool nb_range_within(const struct nb_range *a, const struct nb_range *b)
{
	return nb_tnum_within(a->t, b->t) && a->umin >= b->umin && a->umax <= b->umax &&
	       a->smin >= b->smin && a->smax <= b->smax && a->umin32 >= b->umin32 &&
	       a->umax32 <= b->umax32 && a->smin32 >= b->smin32 && a->smax32 <= b->smax32;
}

NB_DOM_FN bool nb_range_meet(struct nb_range *out, const struct nb_range *a,
			     const struct nb_range *b)
{
	struct nb_range r =
		from_views(a->t, iv_meet(whole(a), whole(b)), iv_meet(half(a), half(b)));

	if (!nb_tnum_meet(&r.t, a->t, b->t) || !nb_range_sync(&r))
		return false;
	*out = r;
	return true;
}

NB_DOM_FN struct nb_range nb_range_join(const struct nb_range *a, const struct nb_range *b)
{
	return from_views(nb_tnum_join(a->t, b->t), iv_join(whole(a), whole(b)),
			  iv_join(half(a), half(b)));
}
