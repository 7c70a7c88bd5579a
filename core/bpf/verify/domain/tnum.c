// SPDX-License-Identifier: MIT
/*
 * Known bits. Each operator over-approximates: the concrete operation on
 * any members of the operands gives a member of the result. The proofs by
 * enumeration are in test/unit/test_verify_domains.c.
 */
#include "core/bpf/verify/domain/tnum.h"

static struct nb_tnum make(uint64_t value, uint64_t mask)
{
	uint64_t all = nb_ones(NB_DOM_BITS);

	return (struct nb_tnum){ value & ~mask & all, mask & all };
}

NB_DOM_FN struct nb_tnum nb_tnum_const(uint64_t v)
{
	return make(v, 0);
}

NB_DOM_FN struct nb_tnum nb_tnum_unknown(void)
{
	return make(0, UINT64_MAX);
}

NB_DOM_FN struct nb_tnum nb_tnum_range(uint64_t min, uint64_t max)
{
	uint64_t differ = min ^ max;
	unsigned n = differ ? 64 - (unsigned)__builtin_clzll(differ) : 0;

	/* All members agree above the highest bit in which the bounds
	 * differ. */
	return make(min, nb_ones(n));
}

/* Add or subtract known bits. A carry is unknown exactly where the carries
 * of the least and the greatest result differ. */
NB_DOM_FN struct nb_tnum nb_tnum_add(struct nb_tnum a, struct nb_tnum b)
{
	uint64_t low = a.value + b.value;
	uint64_t high = low + a.mask + b.mask;

	return make(low, (low ^ high) | a.mask | b.mask);
}

NB_DOM_FN struct nb_tnum nb_tnum_sub(struct nb_tnum a, struct nb_tnum b)
{
	uint64_t diff = a.value - b.value;
	uint64_t high = diff + a.mask;
	uint64_t low = diff - b.mask;

	return make(diff, (low ^ high) | a.mask | b.mask);
}

/* Schoolbook multiplication: add b shifted for each bit of a that is 1 or
 * may be 1. */
NB_DOM_FN struct nb_tnum nb_tnum_mul(struct nb_tnum a, struct nb_tnum b)
{
	struct nb_tnum sum = nb_tnum_const(0);

	for (unsigned i = 0; i < NB_DOM_BITS; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (a.value & bit)
			sum = nb_tnum_add(sum, make(b.value << i, b.mask << i));
		else if (a.mask & bit)
			sum = nb_tnum_add(sum, make(0, (b.value | b.mask) << i));
	}
	return sum;
}

NB_DOM_FN struct nb_tnum nb_tnum_and(struct nb_tnum a, struct nb_tnum b)
{
	uint64_t value = a.value & b.value;

	return make(value, (a.value | a.mask) & (b.value | b.mask) & ~value);
}

NB_DOM_FN struct nb_tnum nb_tnum_or(struct nb_tnum a, struct nb_tnum b)
{
	uint64_t value = a.value | b.value;

	return make(value, (a.mask | b.mask) & ~value);
}

NB_DOM_FN struct nb_tnum nb_tnum_xor(struct nb_tnum a, struct nb_tnum b)
{
	return make(a.value ^ b.value, a.mask | b.mask);
}

NB_DOM_FN struct nb_tnum nb_tnum_lsh(struct nb_tnum a, unsigned n, unsigned bits)
{
	return nb_tnum_trunc(make(a.value << n, a.mask << n), bits);
}

NB_DOM_FN struct nb_tnum nb_tnum_rsh(struct nb_tnum a, unsigned n)
{
	return make(a.value >> n, a.mask >> n);
}

NB_DOM_FN struct nb_tnum nb_tnum_arsh(struct nb_tnum a, unsigned n, unsigned bits)
{
	uint64_t value = (uint64_t)(nb_sext(a.value, bits) >> n);
	uint64_t mask = (uint64_t)(nb_sext(a.mask, bits) >> n);

	/* An unknown sign shifts in unknown bits; a known sign shifts in
	 * itself. */
	return nb_tnum_trunc(make(value, mask), bits);
}

NB_DOM_FN struct nb_tnum nb_tnum_trunc(struct nb_tnum a, unsigned bits)
{
	return make(a.value & nb_ones(bits), a.mask & nb_ones(bits));
}

NB_DOM_FN struct nb_tnum nb_tnum_sext(struct nb_tnum a, unsigned bits, unsigned to)
{
	return nb_tnum_trunc(
		make((uint64_t)nb_sext(a.value, bits), (uint64_t)nb_sext(a.mask, bits)), to);
}

static uint64_t swap(uint64_t v, unsigned bits)
{
	return __builtin_bswap64(v) >> (64 - bits);
}

NB_DOM_FN struct nb_tnum nb_tnum_swap(struct nb_tnum a, unsigned bits)
{
	return make(swap(a.value, bits), swap(a.mask, bits));
}

NB_DOM_FN bool nb_tnum_meet(struct nb_tnum *out, struct nb_tnum a, struct nb_tnum b)
{
	if ((a.value ^ b.value) & ~a.mask & ~b.mask)
		return false;
	*out = make(a.value | b.value, a.mask & b.mask);
	return true;
}

NB_DOM_FN struct nb_tnum nb_tnum_join(struct nb_tnum a, struct nb_tnum b)
{
	return make(a.value, a.mask | b.mask | (a.value ^ b.value));
}

NB_DOM_FN bool nb_tnum_within(struct nb_tnum a, struct nb_tnum b)
{
	return !(a.mask & ~b.mask) && (a.value & ~b.mask) == b.value;
}

NB_DOM_FN bool nb_tnum_has(struct nb_tnum a, uint64_t v)
{
	return (v & ~a.mask & nb_ones(NB_DOM_BITS)) == a.value;
}
