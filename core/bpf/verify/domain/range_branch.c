// SPDX-License-Identifier: MIT
/* Refine the two ranges that a conditional jump compares. */
#include "core/bpf/verify/domain/range_branch.h"

#include "core/bpf/verify/domain/views.h"

/* Refine *@a and *@b so that a > b (@strict) or a >= b holds, unsigned. */
static bool above_u(struct iv *a, struct iv *b, bool strict)
{
	if (strict && (b->umin == UINT64_MAX || a->umax == 0))
		return false;
	raise_u(&a->umin, b->umin + strict);
	lower_u(&b->umax, a->umax - strict);
	return a->umin <= a->umax && b->umin <= b->umax;
}

static bool above_s(struct iv *a, struct iv *b, bool strict)
{
	if (strict && (b->smin == INT64_MAX || a->smax == INT64_MIN))
		return false;
	raise_s(&a->smin, b->smin + strict);
	lower_s(&b->smax, a->smax - strict);
	return a->smin <= a->smax && b->smin <= b->smax;
}

/* Replace the known bits of the low @bits of @r. */
static bool set_bits(struct nb_range *r, struct nb_tnum t, unsigned bits)
{
	t.value |= r->t.value & ~nb_ones(bits);
	t.mask |= r->t.mask & ~nb_ones(bits);
	return nb_tnum_meet(&r->t, r->t, t);
}

static bool equal(struct nb_range *a, struct nb_range *b, unsigned bits)
{
	struct iv v = iv_meet(view(a, bits), view(b, bits));
	struct nb_tnum t;

	if (!iv_ok(&v) || !nb_tnum_meet(&t, nb_tnum_trunc(a->t, bits), nb_tnum_trunc(b->t, bits)))
		return false;
	set_view(a, bits, v);
	set_view(b, bits, v);
	return set_bits(a, t, bits) && set_bits(b, t, bits);
}

/* Exclude the constant @c from @a: a bound that equals @c moves by one. */
static bool trim(struct nb_range *a, uint64_t c, unsigned bits)
{
	struct iv v = view(a, bits);
	int64_t s = nb_sext(c, bits);

	if (v.umin == v.umax && v.umin == c)
		return false;
	v.umin += v.umin == c;
	v.umax -= v.umax == c;
	if (v.smin == v.smax && v.smin == s)
		return false;
	v.smin += v.smin == s;
	v.smax -= v.smax == s;
	set_view(a, bits, v);
	return iv_ok(&v);
}

static bool differ(struct nb_range *a, struct nb_range *b, unsigned bits)
{
	struct iv x = view(a, bits), y = view(b, bits);

	if (y.umin == y.umax && !trim(a, y.umin, bits))
		return false;
	return x.umin != x.umax || trim(b, x.umin, bits);
}

/* Refine @a so that some bit of the constant @mask is set in it (@set), or
 * none is. */
static bool bits_set(struct nb_range *a, uint64_t mask, bool set, unsigned bits)
{
	struct nb_tnum t = nb_tnum_trunc(a->t, bits);
	uint64_t may = (t.value | t.mask) & mask;

	if (!set) {
		if (t.value & mask)
			return false;
		t.mask &= ~mask;
		return set_bits(a, t, bits);
	}
	if (!may)
		return false;
	/* Only one candidate bit is left, so that bit has to be set. */
	if (!(may & (may - 1))) {
		t.value |= may;
		t.mask &= ~may;
	}
	return set_bits(a, t, bits) && trim(a, 0, bits);
}

static bool test_bits(struct nb_range *a, struct nb_range *b, unsigned bits, bool set)
{
	struct nb_tnum x = nb_tnum_trunc(a->t, bits), y = nb_tnum_trunc(b->t, bits);

	if (!y.mask && !bits_set(a, y.value, set, bits))
		return false;
	if (!x.mask && !bits_set(b, x.value, set, bits))
		return false;
	if (set)
		return (x.value | x.mask) & (y.value | y.mask);
	return !(x.value & y.value);
}

static bool ordered(enum nb_fn fn, struct iv *x, struct iv *y)
{
	switch ((int)fn) {
	case NB_FN_JGT:
		return above_u(x, y, true);
	case NB_FN_JGE:
		return above_u(x, y, false);
	case NB_FN_JLT:
		return above_u(y, x, true);
	case NB_FN_JLE:
		return above_u(y, x, false);
	case NB_FN_JSGT:
		return above_s(x, y, true);
	case NB_FN_JSGE:
		return above_s(x, y, false);
	case NB_FN_JSLT:
		return above_s(y, x, true);
	default:
		return above_s(y, x, false);
	}
}

NB_DOM_FN bool nb_range_branch(enum nb_fn fn, unsigned bits, bool taken, struct nb_range *a,
			       struct nb_range *b)
{
	struct iv x, y;

	if (fn == NB_FN_JSET) {
		if (!test_bits(a, b, bits, taken))
			return false;
		return nb_range_sync(a) && nb_range_sync(b);
	}
	fn = taken ? fn : nb_spec_fn(fn)->inverse;
	if (fn == NB_FN_JEQ)
		return equal(a, b, bits) && nb_range_sync(a) && nb_range_sync(b);
	if (fn == NB_FN_JNE)
		return differ(a, b, bits) && nb_range_sync(a) && nb_range_sync(b);
	x = view(a, bits);
	y = view(b, bits);
	if (!ordered(fn, &x, &y))
		return false;
	set_view(a, bits, x);
	set_view(b, bits, y);
	return nb_range_sync(a) && nb_range_sync(b);
}
