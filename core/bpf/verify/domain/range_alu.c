// SPDX-License-Identifier: MIT
/*
 * Arithmetic on ranges. Each view is computed on its own: known bits,
 * bounds of the whole number, bounds of the low half. Then the views are
 * brought into agreement. The low half takes bounds of the whole number
 * only if they fit. Other verifiers took bounds that did not fit, which
 * caused the published errors in 32-bit bounds.
 */
#include "core/bpf/verify/domain/range_alu.h"

#include "core/bpf/verify/domain/views.h"

/* An integer wide enough for every sum, difference and product below. */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

/* Set unsigned bounds for results from lo to hi, if all of them wrap alike;
 * otherwise the result may be any number. */
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
	wide p[4] = { (wide)a.smin * b.smin, (wide)a.smin * b.smax, (wide)a.smax * b.smin,
		      (wide)a.smax * b.smax };
	wide least_p = p[0], most_p = p[0];

	if (lo >> bits == hi >> bits) {
		v.umin = (uint64_t)lo & nb_ones(bits);
		v.umax = (uint64_t)hi & nb_ones(bits);
	}
	for (int i = 1; i < 4; i++) {
		least_p = p[i] < least_p ? p[i] : least_p;
		most_p = p[i] > most_p ? p[i] : most_p;
	}
	/* 2^126 plus the bias of wrap_s fits in 128 bits. */
	wrap_s(&v, least_p, most_p, bits);
	return v;
}

static struct iv iv_div(struct iv a, struct iv b, unsigned bits)
{
	struct iv v = iv_full(bits);

	/* A divisor of 0 gives 0, and a divisor of 1 gives the dividend. */
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
	/* A divisor of 0 leaves the dividend unchanged. */
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

	/* The remainder has the sign of the dividend; a divisor of 0 leaves
	 * the dividend unchanged. */
	if (b.smin > 0 || b.smax < 0) {
		lo = lo < -(m - 1) ? -(m - 1) : lo;
		hi = hi > m - 1 ? m - 1 : hi;
	}
	v.smin = (int64_t)lo;
	v.smax = (int64_t)hi;
	return v;
}

/* Least and greatest shift count after masking. */
struct counts {
	unsigned min, max;
};

static struct counts shift_counts(const struct iv *b, unsigned bits)
{
	uint64_t m = bits - 1;

	if (b->umax - b->umin > m || (b->umin & m) > (b->umax & m))
		return (struct counts){ 0, bits - 1 };
	return (struct counts){ (unsigned)(b->umin & m), (unsigned)(b->umax & m) };
}

static struct iv iv_lsh(struct iv a, struct counts n, unsigned bits)
{
	struct iv v = iv_full(bits);

	if (n.min == n.max) {
		uint64_t by = (uint64_t)1 << n.min;

		/* A shift by n multiplies by 2^n, if all members wrap alike. */
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

/* Return the known bits of a shift by a varying count. */
static struct nb_tnum shift_any(struct nb_tnum a, unsigned bits)
{
	if (!(a.value | a.mask))
		return nb_tnum_const(0);
	return nb_tnum_trunc(nb_tnum_unknown(), bits);
}

static struct nb_tnum lsh_bits(struct nb_tnum a, struct counts n, unsigned bits)
{
	uint64_t any = a.value | a.mask;
	unsigned zeros = any ? (unsigned)__builtin_ctzll(any) : bits;

	if (n.min == n.max)
		return nb_tnum_lsh(a, n.min, bits);
	/* The zeros at the low end are known. */
	if (zeros + n.min < bits)
		return (struct nb_tnum){ 0, nb_ones(bits) & ~nb_ones(zeros + n.min) };
	return shift_any(a, bits);
}

/*
 * Bounds and known bits of one operation at one width. @low: the low half of
 * the result depends only on the low halves of the operands. @left: the
 * operation is a left shift.
 */
struct both {
	struct iv v;
	struct nb_tnum t;
	bool low, left;
};

static struct both alu_at(enum nb_fn fn, unsigned bits, const struct nb_range *a,
			  const struct nb_range *b)
{
	struct iv x = view(a, bits), y = view(b, bits);
	struct nb_tnum s = nb_tnum_trunc(a->t, bits), t = nb_tnum_trunc(b->t, bits);
	struct nb_tnum any = nb_tnum_trunc(nb_tnum_unknown(), bits);
	struct counts n = shift_counts(&y, bits);
	struct both out = { iv_full(bits), any, false, false };

	switch ((int)fn) {
	case NB_FN_ADD:
		out.v = iv_add(x, y, bits);
		out.t = nb_tnum_trunc(nb_tnum_add(s, t), bits);
		out.low = true;
		return out;
	case NB_FN_SUB:
		out.v = iv_sub(x, y, bits);
		out.t = nb_tnum_trunc(nb_tnum_sub(s, t), bits);
		out.low = true;
		return out;
	case NB_FN_MUL:
		out.v = iv_mul(x, y, bits);
		out.t = nb_tnum_trunc(nb_tnum_mul(s, t), bits);
		out.low = true;
		return out;
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
		out.low = true;
		return out;
	case NB_FN_OR:
		out.t = nb_tnum_or(s, t);
		raise_u(&out.v.umin, x.umin);
		raise_u(&out.v.umin, y.umin);
		out.low = true;
		return out;
	case NB_FN_XOR:
		out.t = nb_tnum_xor(s, t);
		out.low = true;
		return out;
	case NB_FN_LSH:
		out.v = iv_lsh(x, n, bits);
		out.t = lsh_bits(s, n, bits);
		out.left = true;
		return out;
	case NB_FN_RSH:
		out.v = iv_rsh(x, n, bits);
		out.t = n.min == n.max ? nb_tnum_rsh(s, n.min) : shift_any(s, bits);
		return out;
	case NB_FN_ARSH:
		out.v = iv_arsh(x, n, bits);
		out.t = n.min == n.max ? nb_tnum_arsh(s, n.min, bits) : shift_any(s, bits);
		return out;
	default:
		return out;
	}
}

/* Bound the results of a left shift: the low half if the count is less than
 * NB_HALF, otherwise the whole. */
static void lsh_halves(struct nb_range *r, const struct nb_range *a, const struct nb_range *b)
{
	struct iv y = whole(b), h = half(a);
	struct counts n = shift_counts(&y, NB_WHOLE);

	if (n.max < NB_HALF) {
		set_half(r, iv_lsh(h, n, NB_HALF));
	} else if (n.min == n.max) {
		struct iv v = iv_full(NB_WHOLE);
		uint64_t by = (uint64_t)1 << n.min;

		set_half(r, (struct iv){ 0, 0, 0, 0 });
		/* The low bits remain, and their bounds move up. */
		wrap_u(&v, (wide)h.umin << n.min, (wide)h.umax << n.min, NB_WHOLE);
		wrap_s(&v, (wide)h.smin * by, (wide)h.smax * by, NB_WHOLE);
		set_whole(r, iv_meet(whole(r), v));
	}
}

static struct nb_range zext_of(struct both x)
{
	struct iv w = { x.v.umin, x.v.umax, 0, (int64_t)nb_ones(NB_HALF) };

	return nb_range_synced(from_views(x.t, w, x.v));
}

/* Divide constants as RFC 9669 defines: quotient and remainder. */
static bool fold_division(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b, uint64_t *out)
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

/* Compute the result for two constants; returns false if @fn is not covered. */
static bool fold(enum nb_fn fn, unsigned bits, uint64_t a, uint64_t b, uint64_t *out)
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

static struct nb_range binary(enum nb_fn fn, unsigned bits, const struct nb_range *a,
			      const struct nb_range *b)
{
	struct nb_range r;
	struct both x;
	uint64_t v;

	if (nb_range_is_const(a) && nb_range_is_const(b) &&
	    fold(fn, bits, a->t.value, b->t.value, &v))
		return nb_range_const(v);
	x = alu_at(fn, bits, a, b);
	if (bits != NB_WHOLE)
		return zext_of(x);
	r = from_views(x.t, x.v, iv_full(NB_HALF));
	if (x.low)
		set_half(&r, alu_at(fn, NB_HALF, a, b).v);
	else if (x.left)
		lsh_halves(&r, a, b);
	return nb_range_synced(r);
}

NB_DOM_FN struct nb_range nb_range_zext(const struct nb_range *a, unsigned bits)
{
	struct nb_range r;

	if (bits >= NB_WHOLE || a->umax <= nb_ones(bits))
		return *a;
	r = nb_range_t(nb_tnum_trunc(a->t, bits));
	if (bits == NB_HALF) {
		r.umin = a->umin32;
		r.umax = a->umax32;
		set_half(&r, half(a));
	} else if (a->umin >> bits == a->umax >> bits) {
		r.umin = a->umin & nb_ones(bits);
		r.umax = a->umax & nb_ones(bits);
	}
	return nb_range_synced(r);
}

NB_DOM_FN struct nb_range nb_range_sext(const struct nb_range *a, unsigned bits)
{
	struct nb_range r;
	uint64_t sign, lo, hi;

	if (bits >= NB_WHOLE || (a->smin >= least(bits) && a->smax <= most(bits)))
		return *a;
	r = nb_range_t(nb_tnum_sext(a->t, bits, NB_WHOLE));
	raise_s(&r.smin, least(bits));
	lower_s(&r.smax, most(bits));
	if (bits == NB_HALF) {
		r.smin = a->smin32;
		r.smax = a->smax32;
		set_half(&r, half(a));
		return nb_range_synced(r);
	}
	/* Do all members wrap alike, counted from the least signed number? */
	sign = (uint64_t)1 << (bits - 1);
	lo = a->umin + sign;
	hi = a->umax + sign;
	if (hi >= lo && lo >> bits == hi >> bits) {
		raise_s(&r.smin, nb_sext(a->umin, bits));
		lower_s(&r.smax, nb_sext(a->umax, bits));
	}
	return nb_range_synced(r);
}

NB_DOM_FN struct nb_range nb_range_alu(enum nb_fn fn, unsigned bits, const struct nb_range *a,
				       const struct nb_range *b)
{
	struct nb_range zero = nb_range_const(0), r;

	switch ((int)fn) {
	case NB_FN_MOV:
		return bits == NB_WHOLE ? *b : nb_range_zext(b, bits);
	case NB_FN_MOVSX8:
	case NB_FN_MOVSX16:
	case NB_FN_MOVSX32:
		r = nb_range_sext(b, fn == NB_FN_MOVSX8 ? 8 : fn == NB_FN_MOVSX16 ? 16 : 32);
		return bits == NB_WHOLE ? r : nb_range_zext(&r, bits);
	case NB_FN_NEG:
		return binary(NB_FN_SUB, bits, &zero, a);
	case NB_FN_LE:
		return nb_range_zext(a, bits);
	case NB_FN_BE:
	case NB_FN_BSWAP:
		return nb_range_t(nb_tnum_swap(a->t, bits));
	default:
		return binary(fn, bits, a, b);
	}
}

NB_DOM_FN struct nb_range nb_range_plus(const struct nb_range *a, int64_t k)
{
	struct nb_range b = nb_range_const((uint64_t)k & nb_ones(NB_WHOLE));

	return binary(NB_FN_ADD, NB_WHOLE, a, &b);
}

NB_DOM_FN struct nb_range nb_range_bits(const struct nb_range *a, unsigned at, unsigned bits)
{
	struct counts n = { at, at };
	struct nb_range r = nb_range_synced(
		from_views(nb_tnum_rsh(a->t, at), iv_rsh(whole(a), n, NB_WHOLE), iv_full(NB_HALF)));

	return nb_range_zext(&r, bits);
}
