// SPDX-License-Identifier: MIT
// Bounds and known bits of numbers. An operation is computed on each view by
// itself (known bits; whole width; low half), then the views are brought into
// agreement. Only what holds for every member is ever concluded: a half-width
// result never borrows bounds of the whole width that do not fit it, which is
// where the published 32-bit-bounds bugs were.
#include "core/verify/domain/range.h"

#include <stddef.h>

enum { ROUNDS = 4 };

#define W NB_DOM_BITS
#define H (NB_DOM_BITS / 2)

/* Wide enough that no sum, difference or product below overflows. */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

/* Bounds at one width, which every function gets beside them. */
struct iv {
	uint64_t umin, umax;
	int64_t smin, smax;
};

static int64_t least(unsigned bits)
{
	return nb_sext((uint64_t)1 << (bits - 1), bits);
}

static int64_t most(unsigned bits)
{
	return (int64_t)(nb_ones(bits) >> 1);
}

static struct iv iv_full(unsigned bits)
{
	return (struct iv){ 0, nb_ones(bits), least(bits), most(bits) };
}

static struct iv whole(const struct nb_range *r)
{
	return (struct iv){ r->umin, r->umax, r->smin, r->smax };
}

static struct iv half(const struct nb_range *r)
{
	return (struct iv){ r->umin32, r->umax32, r->smin32, r->smax32 };
}

static struct iv view(const struct nb_range *r, unsigned bits)
{
	return bits == W ? whole(r) : half(r);
}

static void set_whole(struct nb_range *r, struct iv v)
{
	r->umin = v.umin;
	r->umax = v.umax;
	r->smin = v.smin;
	r->smax = v.smax;
}

static void set_half(struct nb_range *r, struct iv v)
{
	r->umin32 = (uint32_t)v.umin;
	r->umax32 = (uint32_t)v.umax;
	r->smin32 = (int32_t)v.smin;
	r->smax32 = (int32_t)v.smax;
}

static void set_view(struct nb_range *r, unsigned bits, struct iv v)
{
	if (bits == W)
		set_whole(r, v);
	else
		set_half(r, v);
}

static struct nb_range make(struct nb_tnum t, struct iv w, struct iv h)
{
	struct nb_range r;

	r.t = t;
	set_whole(&r, w);
	set_half(&r, h);
	return r;
}

static bool raise_u(uint64_t *min, uint64_t v)
{
	bool more = v > *min;

	*min = more ? v : *min;
	return more;
}

static bool lower_u(uint64_t *max, uint64_t v)
{
	bool more = v < *max;

	*max = more ? v : *max;
	return more;
}

static bool raise_s(int64_t *min, int64_t v)
{
	bool more = v > *min;

	*min = more ? v : *min;
	return more;
}

static bool lower_s(int64_t *max, int64_t v)
{
	bool more = v < *max;

	*max = more ? v : *max;
	return more;
}

/* ---- agreement of the views ---- */

static bool iv_ok(const struct iv *v)
{
	return v->umin <= v->umax && v->smin <= v->smax;
}

/*
 * Signed against unsigned bounds: the members that are non-negative as
 * signed numbers, and those that are negative, lie in one interval each in
 * both orders; an empty one of the two drops out.
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

/* Bounds against known bits, both of @bits. */
static bool iv_bits(struct iv *v, struct nb_tnum *t, unsigned bits)
{
	uint64_t sign = (uint64_t)1 << (bits - 1);
	uint64_t hi = t->value | t->mask;
	struct nb_tnum agreed;

	raise_u(&v->umin, t->value);
	lower_u(&v->umax, hi);
	raise_s(&v->smin,
		nb_sext(hi & sign ? t->value | sign : t->value, bits));
	lower_s(&v->smax, nb_sext(t->value & sign ? hi : hi & ~sign, bits));
	if (!iv_ok(v))
		return false;
	agreed = nb_tnum_range(v->umin, v->umax);
	return nb_tnum_meet(t, *t, agreed);
}

/* The least number from @v on whose low half lies in [lo, hi]. */
static bool next_in(uint64_t *v, uint64_t lo, uint64_t hi)
{
	uint64_t low = *v & nb_ones(H), high = *v & ~nb_ones(H);

	if (low < lo) {
		*v = high | lo;
	} else if (low > hi) {
		*v = (high + nb_ones(H) + 1) | lo;
		return high != (nb_ones(W) & ~nb_ones(H));
	}
	return true;
}

/* The greatest number up to @v whose low half lies in [lo, hi]. */
static bool prev_in(uint64_t *v, uint64_t lo, uint64_t hi)
{
	uint64_t low = *v & nb_ones(H), high = *v & ~nb_ones(H);

	if (low > hi) {
		*v = high | hi;
	} else if (low < lo) {
		*v = (high - nb_ones(H) - 1) | hi;
		return high != 0;
	}
	return true;
}

/* Bounds of the low half tell on the whole. */
static bool half_to_whole(struct iv *w, const struct iv *h)
{
	/* Signed order is unsigned order with the top bit turned over. */
	uint64_t turn = (uint64_t)1 << (W - 1);
	uint64_t slo = ((uint64_t)w->smin & nb_ones(W)) ^ turn;
	uint64_t shi = ((uint64_t)w->smax & nb_ones(W)) ^ turn;

	if (!next_in(&w->umin, h->umin, h->umax) ||
	    !prev_in(&w->umax, h->umin, h->umax) ||
	    !next_in(&slo, h->umin, h->umax) ||
	    !prev_in(&shi, h->umin, h->umax))
		return false;
	w->smin = nb_sext(slo ^ turn, W);
	w->smax = nb_sext(shi ^ turn, W);
	/* A number that is its own sign-extended low half. */
	if (w->smin >= least(H) && w->smax <= most(H)) {
		raise_s(&w->smin, h->smin);
		lower_s(&w->smax, h->smax);
	}
	return iv_ok(w);
}

/* Bounds of the whole tell on the low half, where they fit it. */
static bool whole_to_half(const struct iv *w, struct iv *h)
{
	uint64_t low = nb_ones(H);

	if (w->umin >> H == w->umax >> H) {
		raise_u(&h->umin, w->umin & low);
		lower_u(&h->umax, w->umax & low);
	}
	if (w->smin >> H == w->smax >> H) {
		raise_u(&h->umin, (uint64_t)w->smin & low);
		lower_u(&h->umax, (uint64_t)w->smax & low);
	}
	if (w->smin >= least(H) && w->smax <= most(H)) {
		raise_s(&h->smin, w->smin);
		lower_s(&h->smax, w->smax);
	}
	return iv_ok(h);
}

static bool sync_once(struct nb_range *r)
{
	struct iv w = whole(r), h = half(r);
	struct nb_tnum low = nb_tnum_trunc(r->t, H);

	if (!iv_ok(&w) || !iv_ok(&h) || !iv_bits(&w, &r->t, W) ||
	    !iv_signs(&w, W) || !whole_to_half(&w, &h) ||
	    !iv_bits(&h, &low, H) || !iv_signs(&h, H) ||
	    !half_to_whole(&w, &h) || !iv_signs(&w, W))
		return false;
	low.value |= r->t.value & ~nb_ones(H);
	low.mask |= r->t.mask & ~nb_ones(H);
	if (!nb_tnum_meet(&r->t, r->t, low))
		return false;
	set_whole(r, w);
	set_half(r, h);
	return true;
}

static bool sync(struct nb_range *r)
{
	struct nb_range was;

	if (nb_range_is_const(r)) {
		if (!nb_range_has(r, r->t.value))
			return false;
		*r = nb_range_const(r->t.value);
		return true;
	}
	/* Views only ever shrink, so stopping early is sound. */
	for (int i = 0; i < ROUNDS; i++) {
		was = *r;
		if (!sync_once(r))
			return false;
		if (nb_range_equal(&was, r))
			break;
	}
	return true;
}

/* Of results that have members by construction. */
static struct nb_range synced(struct nb_range r)
{
	struct nb_range copy = r;

	return sync(&r) ? r : copy;
}

/* ---- making and comparing ---- */

NB_DOM_FN struct nb_range nb_range_const(uint64_t v)
{
	uint64_t u = v & nb_ones(W), l = v & nb_ones(H);
	int64_t s = nb_sext(v, W), sl = nb_sext(v, H);

	return make(nb_tnum_const(v), (struct iv){ u, u, s, s },
		    (struct iv){ l, l, sl, sl });
}

NB_DOM_FN struct nb_range nb_range_unknown(void)
{
	return make(nb_tnum_unknown(), iv_full(W), iv_full(H));
}

NB_DOM_FN struct nb_range nb_range_u(uint64_t min, uint64_t max)
{
	struct nb_range r = nb_range_unknown();

	r.umin = min;
	r.umax = max;
	return synced(r);
}

NB_DOM_FN struct nb_range nb_range_s(int64_t min, int64_t max)
{
	struct nb_range r = nb_range_unknown();

	r.smin = min;
	r.smax = max;
	return synced(r);
}

NB_DOM_FN struct nb_range nb_range_t(struct nb_tnum t)
{
	struct nb_range r = nb_range_unknown();

	r.t = t;
	return synced(r);
}

NB_DOM_FN bool nb_range_equal(const struct nb_range *a,
			      const struct nb_range *b)
{
	return a->t.value == b->t.value && a->t.mask == b->t.mask &&
	       a->umin == b->umin && a->umax == b->umax && a->smin == b->smin &&
	       a->smax == b->smax && a->umin32 == b->umin32 &&
	       a->umax32 == b->umax32 && a->smin32 == b->smin32 &&
	       a->smax32 == b->smax32;
}

NB_DOM_FN bool nb_range_is_unknown(const struct nb_range *r)
{
	struct nb_range top = nb_range_unknown();

	return nb_range_equal(r, &top);
}

NB_DOM_FN bool nb_range_has(const struct nb_range *r, uint64_t v)
{
	uint64_t u = v & nb_ones(W), l = v & nb_ones(H);
	int64_t s = nb_sext(v, W), sl = nb_sext(v, H);

	return nb_tnum_has(r->t, v) && u >= r->umin && u <= r->umax &&
	       s >= r->smin && s <= r->smax && l >= r->umin32 &&
	       l <= r->umax32 && sl >= r->smin32 && sl <= r->smax32;
}

NB_DOM_FN bool nb_range_within(const struct nb_range *a,
			       const struct nb_range *b)
{
	return nb_tnum_within(a->t, b->t) && a->umin >= b->umin &&
	       a->umax <= b->umax && a->smin >= b->smin && a->smax <= b->smax &&
	       a->umin32 >= b->umin32 && a->umax32 <= b->umax32 &&
	       a->smin32 >= b->smin32 && a->smax32 <= b->smax32;
}

static struct iv iv_meet(struct iv a, struct iv b)
{
	raise_u(&a.umin, b.umin);
	lower_u(&a.umax, b.umax);
	raise_s(&a.smin, b.smin);
	lower_s(&a.smax, b.smax);
	return a;
}

static struct iv iv_join(struct iv a, struct iv b)
{
	lower_u(&a.umin, b.umin);
	raise_u(&a.umax, b.umax);
	lower_s(&a.smin, b.smin);
	raise_s(&a.smax, b.smax);
	return a;
}

NB_DOM_FN bool nb_range_meet(struct nb_range *out, const struct nb_range *a,
			     const struct nb_range *b)
{
	struct nb_range r = make(a->t, iv_meet(whole(a), whole(b)),
				 iv_meet(half(a), half(b)));

	if (!nb_tnum_meet(&r.t, a->t, b->t) || !sync(&r))
		return false;
	*out = r;
	return true;
}

NB_DOM_FN struct nb_range nb_range_join(const struct nb_range *a,
					const struct nb_range *b)
{
	return make(nb_tnum_join(a->t, b->t), iv_join(whole(a), whole(b)),
		    iv_join(half(a), half(b)));
}

/* ---- arithmetic at one width ---- */

/* Unsigned results from lo to hi before wrapping: one lap, or anything. */
static void wrap_u(struct iv *v, wide lo, wide hi, unsigned bits)
{
	if (lo >> bits != hi >> bits)
		return;
	v->umin = (uint64_t)lo & nb_ones(bits);
	v->umax = (uint64_t)hi & nb_ones(bits);
}

static void wrap_s(struct iv *v, wide lo, wide hi, unsigned bits)
{
	wide bias = (wide)1 << (bits - 1);

	if ((lo + bias) >> bits != (hi + bias) >> bits)
		return;
	v->smin = nb_sext((uint64_t)lo, bits);
	v->smax = nb_sext((uint64_t)hi, bits);
}

static struct iv iv_add(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);

	wrap_u(&v, (wide)a.umin + b.umin, (wide)a.umax + b.umax, bits);
	wrap_s(&v, (wide)a.smin + b.smin, (wide)a.smax + b.smax, bits);
	return v;
}

static struct iv iv_sub(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);

	wrap_u(&v, (wide)a.umin - b.umax, (wide)a.umax - b.umin, bits);
	wrap_s(&v, (wide)a.smin - b.smax, (wide)a.smax - b.smin, bits);
	return v;
}

static struct iv iv_mul(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);
	uwide lo = (uwide)a.umin * b.umin, hi = (uwide)a.umax * b.umax;
	wide p[4] = { (wide)a.smin * b.smin, (wide)a.smin * b.smax,
		      (wide)a.smax * b.smin, (wide)a.smax * b.smax };
	wide least_p = p[0], most_p = p[0];

	if (lo >> bits == hi >> bits) {
		v.umin = (uint64_t)lo & nb_ones(bits);
		v.umax = (uint64_t)hi & nb_ones(bits);
	}
	for (int i = 1; i < 4; i++) {
		least_p = p[i] < least_p ? p[i] : least_p;
		most_p = p[i] > most_p ? p[i] : most_p;
	}
	/* 2^126 plus the bias of wrap_s stays inside 128 bits. */
	wrap_s(&v, least_p, most_p, bits);
	return v;
}

static struct iv iv_div(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);

	/* A divisor of 0 gives 0, a divisor of 1 the dividend. */
	v.umin = b.umin && b.umax ? a.umin / b.umax : 0;
	v.umax = b.umin ? a.umax / b.umin : b.umax ? a.umax : 0;
	return v;
}

static struct iv iv_mod(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);

	if (!b.umax || a.umax < b.umin)
		return a;
	v.umin = 0;
	v.umax = a.umax;
	/* A divisor of 0 leaves the dividend. */
	if (b.umin)
		lower_u(&v.umax, b.umax - 1);
	return v;
}

static wide magnitude(int64_t v)
{
	return v < 0 ? -(wide)v : (wide)v;
}

static wide max_magnitude(struct iv a)
{
	wide x = magnitude(a.smin), y = magnitude(a.smax);

	return x > y ? x : y;
}

static struct iv iv_sdiv(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);
	wide m = max_magnitude(a);

	/* The least number divided by -1 wraps to itself. */
	if (a.smin == least(bits) && b.smin <= -1 && b.smax >= -1)
		return v;
	if (b.smin == b.smax && b.smin != 0) {
		wide x = (wide)a.smin / b.smin, y = (wide)a.smax / b.smin;

		v.smin = (int64_t)(x < y ? x : y);
		v.smax = (int64_t)(x < y ? y : x);
	} else if (a.smin >= 0 && b.smin > 0) {
		v.smin = a.smin / b.smax;
		v.smax = a.smax / b.smin;
	} else {
		raise_s(&v.smin, (int64_t)-m);
		if (m <= most(bits))
			lower_s(&v.smax, (int64_t)m);
	}
	return v;
}

static struct iv iv_smod(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);
	wide lo = a.smin < 0 ? (wide)a.smin : 0;
	wide hi = a.smax > 0 ? (wide)a.smax : 0;
	wide m = max_magnitude(b);

	/* The sign is the dividend's; a divisor of 0 leaves the dividend. */
	if (b.smin > 0 || b.smax < 0) {
		lo = lo < -(m - 1) ? -(m - 1) : lo;
		hi = hi > m - 1 ? m - 1 : hi;
	}
	v.smin = (int64_t)lo;
	v.smax = (int64_t)hi;
	return v;
}

/* Shift counts after masking. */
struct counts {
	unsigned min, max;
};

static struct counts shift_counts(const struct iv *b, unsigned bits)
{
	uint64_t m = bits - 1;

	if (b->umax - b->umin > m || (b->umin & m) > (b->umax & m))
		return (struct counts){ 0, bits - 1 };
	return (struct counts){ (unsigned)(b->umin & m),
				(unsigned)(b->umax & m) };
}

static struct iv iv_lsh(struct iv a, struct counts n, unsigned bits)
{
	struct iv v = iv_full(bits);

	if (n.min == n.max) {
		uint64_t by = (uint64_t)1 << n.min;

		/* Shifting by n is multiplying by 2^n, wrapping alike. */
		wrap_u(&v, (wide)a.umin << n.min, (wide)a.umax << n.min, bits);
		wrap_s(&v, (wide)a.smin * by, (wide)a.smax * by, bits);
	} else if ((uwide)a.umax << n.max <= nb_ones(bits)) {
		v.umin = a.umin << n.min;
		v.umax = a.umax << n.max;
	}
	return v;
}

static struct iv iv_rsh(struct iv a, struct counts n, unsigned bits)
{
	struct iv v = iv_full(bits);

	v.umin = a.umin >> n.max;
	v.umax = a.umax >> n.min;
	return v;
}

static struct iv iv_arsh(struct iv a, struct counts n, unsigned bits)
{
	struct iv v = iv_full(bits);

	v.smin = a.smin >> (a.smin < 0 ? n.min : n.max);
	v.smax = a.smax >> (a.smax < 0 ? n.max : n.min);
	return v;
}

/* ---- whole operations ---- */

static struct nb_tnum low(struct nb_tnum t, unsigned bits)
{
	return nb_tnum_trunc(t, bits);
}

static struct nb_tnum shift_bits(enum nb_fn fn, struct nb_tnum a,
				 struct counts n, unsigned bits)
{
	uint64_t any = a.value | a.mask;
	unsigned zeros = any ? (unsigned)__builtin_ctzll(any) : bits;

	if (n.min == n.max) {
		if (fn == NB_FN_LSH)
			return nb_tnum_lsh(a, n.min, bits);
		return fn == NB_FN_RSH ? nb_tnum_rsh(a, n.min)
				       : nb_tnum_arsh(a, n.min, bits);
	}
	/* Of a varying left shift the zeros at the low end are known. */
	if (fn == NB_FN_LSH && zeros + n.min < bits)
		return (struct nb_tnum){ 0, nb_ones(bits) &
						    ~nb_ones(zeros + n.min) };
	if (!any)
		return nb_tnum_const(0);
	return nb_tnum_trunc(nb_tnum_unknown(), bits);
}

/* Bounds and bits of one operation at one width. */
struct both {
	struct iv v;
	struct nb_tnum t;
};

static struct both alu_at(enum nb_fn fn, unsigned bits,
			  const struct nb_range *a, const struct nb_range *b)
{
	struct iv x = view(a, bits), y = view(b, bits);
	struct nb_tnum s = low(a->t, bits), t = low(b->t, bits);
	struct nb_tnum any = low(nb_tnum_unknown(), bits);
	struct counts n = shift_counts(&y, bits);
	struct both out = { iv_full(bits), any };

	switch ((int)fn) {
	case NB_FN_ADD:
		return (struct both){ iv_add(x, y, bits),
				      low(nb_tnum_add(s, t), bits) };
	case NB_FN_SUB:
		return (struct both){ iv_sub(x, y, bits),
				      low(nb_tnum_sub(s, t), bits) };
	case NB_FN_MUL:
		return (struct both){ iv_mul(x, y, bits),
				      low(nb_tnum_mul(s, t), bits) };
	case NB_FN_DIV:
		out.v = iv_div(x, y, bits);
		return out;
	case NB_FN_MOD:
		out.v = iv_mod(x, y, bits);
		if (!y.umax || x.umax < y.umin)
			out.t = s;
		return out;
	case NB_FN_SDIV:
		out.v = iv_sdiv(x, y, bits);
		return out;
	case NB_FN_SMOD:
		out.v = iv_smod(x, y, bits);
		return out;
	case NB_FN_AND:
		out.t = nb_tnum_and(s, t);
		lower_u(&out.v.umax, x.umax);
		lower_u(&out.v.umax, y.umax);
		return out;
	case NB_FN_OR:
		out.t = nb_tnum_or(s, t);
		raise_u(&out.v.umin, x.umin);
		raise_u(&out.v.umin, y.umin);
		return out;
	case NB_FN_XOR:
		out.t = nb_tnum_xor(s, t);
		return out;
	case NB_FN_LSH:
		return (struct both){ iv_lsh(x, n, bits),
				      shift_bits(fn, s, n, bits) };
	case NB_FN_RSH:
		return (struct both){ iv_rsh(x, n, bits),
				      shift_bits(fn, s, n, bits) };
	case NB_FN_ARSH:
		return (struct both){ iv_arsh(x, n, bits),
				      shift_bits(fn, s, n, bits) };
	default:
		return out;
	}
}

/* Does the low half of the result depend on the low halves alone? */
static bool half_alone(enum nb_fn fn)
{
	return fn == NB_FN_ADD || fn == NB_FN_SUB || fn == NB_FN_MUL ||
	       fn == NB_FN_AND || fn == NB_FN_OR || fn == NB_FN_XOR;
}

/* Shifts left tell of the low half, and of the whole from H bits on. */
static void lsh_halves(struct nb_range *r, const struct nb_range *a,
		       const struct nb_range *b)
{
	struct iv y = whole(b), h = half(a);
	struct counts n = shift_counts(&y, W);

	if (n.max < H) {
		set_half(r, iv_lsh(h, n, H));
	} else if (n.min == n.max) {
		struct iv v = iv_full(W);
		uint64_t by = (uint64_t)1 << n.min;

		set_half(r, (struct iv){ 0, 0, 0, 0 });
		/* What remains are the low bits; their bounds move up. */
		wrap_u(&v, (wide)h.umin << n.min, (wide)h.umax << n.min, W);
		wrap_s(&v, (wide)h.smin * by, (wide)h.smax * by, W);
		set_whole(r, iv_meet(whole(r), v));
	}
}

static struct nb_range zext_of(struct both x)
{
	struct iv w = { x.v.umin, x.v.umax, 0, (int64_t)nb_ones(H) };

	return synced(make(x.t, w, x.v));
}

static struct nb_range swapped(const struct nb_range *a, unsigned bits)
{
	return nb_range_t(nb_tnum_swap(a->t, bits));
}

/* Division and remainder of constants as RFC 9669 has them. */
static bool fold_division(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b,
			  uint64_t *out)
{
	int64_t sa = nb_sext(a, bits), sb = nb_sext(b, bits);

	b &= nb_ones(bits);
	switch ((int)fn) {
	case NB_FN_DIV:
		*out = b ? a / b : 0;
		break;
	case NB_FN_MOD:
		*out = b ? a % b : a;
		break;
	case NB_FN_SDIV:
		/* The least number divided by -1 wraps to itself. */
		*out = sb == -1 ? 0 - a : b ? (uint64_t)(sa / sb) : 0;
		break;
	case NB_FN_SMOD:
		*out = sb == -1 ? 0 : b ? (uint64_t)(sa % sb) : a;
		break;
	default:
		return false;
	}
	*out &= nb_ones(bits);
	return true;
}

/* Of two constants the machine's own answer; false: it has no case. */
static bool fold(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b,
		 uint64_t *out)
{
	unsigned n = (unsigned)(b & (bits - 1));

	a &= nb_ones(bits);
	switch ((int)fn) {
	case NB_FN_ADD:
		*out = a + b;
		break;
	case NB_FN_SUB:
		*out = a - b;
		break;
	case NB_FN_MUL:
		*out = a * b;
		break;
	case NB_FN_AND:
		*out = a & b;
		break;
	case NB_FN_OR:
		*out = a | b;
		break;
	case NB_FN_XOR:
		*out = a ^ b;
		break;
	case NB_FN_LSH:
		*out = a << n;
		break;
	case NB_FN_RSH:
		*out = a >> n;
		break;
	case NB_FN_ARSH:
		*out = (uint64_t)(nb_sext(a, bits) >> n);
		break;
	default:
		return fold_division(fn, bits, a, b, out);
	}
	*out &= nb_ones(bits);
	return true;
}

static struct nb_range binary(enum nb_fn fn, unsigned bits,
			      const struct nb_range *a,
			      const struct nb_range *b)
{
	struct nb_range r;
	struct both x;
	uint64_t v;

	if (nb_range_is_const(a) && nb_range_is_const(b) &&
	    fold(fn, bits, a->t.value, b->t.value, &v))
		return nb_range_const(v);
	x = alu_at(fn, bits, a, b);
	if (bits != W)
		return zext_of(x);
	r = make(x.t, x.v, iv_full(H));
	if (half_alone(fn))
		set_half(&r, alu_at(fn, H, a, b).v);
	else if (fn == NB_FN_LSH)
		lsh_halves(&r, a, b);
	return synced(r);
}

NB_DOM_FN struct nb_range nb_range_alu(enum nb_fn fn, unsigned bits,
				       const struct nb_range *a,
				       const struct nb_range *b)
{
	struct nb_range zero = nb_range_const(0), r;

	switch ((int)fn) {
	case NB_FN_MOV:
		return bits == W ? *b : nb_range_zext(b, bits);
	case NB_FN_MOVSX8:
	case NB_FN_MOVSX16:
	case NB_FN_MOVSX32:
		r = nb_range_sext(b, fn == NB_FN_MOVSX8	   ? 8
				     : fn == NB_FN_MOVSX16 ? 16
							   : 32);
		return bits == W ? r : nb_range_zext(&r, bits);
	case NB_FN_NEG:
		return binary(NB_FN_SUB, bits, &zero, a);
	case NB_FN_LE:
		return nb_range_zext(a, bits);
	case NB_FN_BE:
	case NB_FN_BSWAP:
		return swapped(a, bits);
	default:
		return binary(fn, bits, a, b);
	}
}

NB_DOM_FN struct nb_range nb_range_zext(const struct nb_range *a, unsigned bits)
{
	struct nb_range r;

	if (bits >= W || a->umax <= nb_ones(bits))
		return *a;
	r = nb_range_t(nb_tnum_trunc(a->t, bits));
	if (bits == H) {
		r.umin = a->umin32;
		r.umax = a->umax32;
		set_half(&r, half(a));
	} else if (a->umin >> bits == a->umax >> bits) {
		r.umin = a->umin & nb_ones(bits);
		r.umax = a->umax & nb_ones(bits);
	}
	return synced(r);
}

NB_DOM_FN struct nb_range nb_range_sext(const struct nb_range *a, unsigned bits)
{
	struct nb_range r;
	uint64_t turn, lo, hi;

	if (bits >= W || (a->smin >= least(bits) && a->smax <= most(bits)))
		return *a;
	r = nb_range_t(nb_tnum_sext(a->t, bits, W));
	raise_s(&r.smin, least(bits));
	lower_s(&r.smax, most(bits));
	if (bits == H) {
		r.smin = a->smin32;
		r.smax = a->smax32;
		set_half(&r, half(a));
		return synced(r);
	}
	/* One lap of the low bits, counted from their least signed number. */
	turn = (uint64_t)1 << (bits - 1);
	lo = a->umin + turn;
	hi = a->umax + turn;
	if (hi >= lo && lo >> bits == hi >> bits) {
		raise_s(&r.smin, nb_sext(a->umin, bits));
		lower_s(&r.smax, nb_sext(a->umax, bits));
	}
	return synced(r);
}

/* ---- branches ---- */

/* a > b when @strict, else a >= b, unsigned. */
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

/* Known bits of the low @bits replaced. */
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

	if (!iv_ok(&v) || !nb_tnum_meet(&t, low(a->t, bits), low(b->t, bits)))
		return false;
	set_view(a, bits, v);
	set_view(b, bits, v);
	return set_bits(a, t, bits) && set_bits(b, t, bits);
}

/* @a is not @c: an end that is @c moves by one. */
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

/* Some bit of the known number @mask is set in @a, or none is. */
static bool bits_set(struct nb_range *a, uint64_t mask, bool set, unsigned bits)
{
	struct nb_tnum t = low(a->t, bits);
	uint64_t may = (t.value | t.mask) & mask;

	if (!set) {
		if (t.value & mask)
			return false;
		t.mask &= ~mask;
		return set_bits(a, t, bits);
	}
	if (!may)
		return false;
	/* Only one candidate is left: it must be that one. */
	if (!(may & (may - 1))) {
		t.value |= may;
		t.mask &= ~may;
	}
	return set_bits(a, t, bits) && trim(a, 0, bits);
}

static bool test_bits(struct nb_range *a, struct nb_range *b, unsigned bits,
		      bool set)
{
	struct nb_tnum x = low(a->t, bits), y = low(b->t, bits);

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

NB_DOM_FN bool nb_range_branch(enum nb_fn fn, unsigned bits, bool taken,
			       struct nb_range *a, struct nb_range *b)
{
	struct iv x, y;

	if (fn == NB_FN_JSET) {
		if (!test_bits(a, b, bits, taken))
			return false;
		return sync(a) && sync(b);
	}
	fn = taken ? fn : nb_spec_fn(fn)->inverse;
	if (fn == NB_FN_JEQ)
		return equal(a, b, bits) && sync(a) && sync(b);
	if (fn == NB_FN_JNE)
		return differ(a, b, bits) && sync(a) && sync(b);
	x = view(a, bits);
	y = view(b, bits);
	if (!ordered(fn, &x, &y))
		return false;
	set_view(a, bits, x);
	set_view(b, bits, y);
	return sync(a) && sync(b);
}

#undef W
#undef H
