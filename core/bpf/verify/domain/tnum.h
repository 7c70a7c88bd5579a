// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_TNUM_H
#define NB_VERIFY_DOMAIN_TNUM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Known bits of a number: each bit is 0, 1 or unknown. Values and masks are
 * disjoint; bits from NB_DOM_BITS on are 0. All functions are pure and pass
 * arguments by value.
 *
 * The width is a macro so that the exhaustive tests can compile this very code
 * for 4- to 8-bit numbers; they also make the functions static.
 */
#ifndef NB_DOM_BITS
#define NB_DOM_BITS 64
#define NB_DOM_FN
#endif

struct nb_tnum {
	uint64_t value; /* Bits that are known to be 1. */
	uint64_t mask;	/* Bits whose value is unknown. */
};

/* Return a number with @bits ones at the low end, 0 to 64. */
static inline uint64_t nb_ones(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* Return the low @bits (1 to 64) of @v as a signed number. */
static inline int64_t nb_sext(uint64_t v, unsigned bits)
{
	return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

NB_DOM_FN struct nb_tnum nb_tnum_const(uint64_t v);
NB_DOM_FN struct nb_tnum nb_tnum_unknown(void);
/* Return the tightest tnum that holds every number from @min to @max. */
NB_DOM_FN struct nb_tnum nb_tnum_range(uint64_t min, uint64_t max);
NB_DOM_FN struct nb_tnum nb_tnum_add(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN struct nb_tnum nb_tnum_sub(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN struct nb_tnum nb_tnum_mul(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN struct nb_tnum nb_tnum_and(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN struct nb_tnum nb_tnum_or(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN struct nb_tnum nb_tnum_xor(struct nb_tnum a, struct nb_tnum b);
/* Shift by a known count below @bits; @bits is the width of the shifted
 * number. */
NB_DOM_FN struct nb_tnum nb_tnum_lsh(struct nb_tnum a, unsigned n, unsigned bits);
NB_DOM_FN struct nb_tnum nb_tnum_rsh(struct nb_tnum a, unsigned n);
NB_DOM_FN struct nb_tnum nb_tnum_arsh(struct nb_tnum a, unsigned n, unsigned bits);
/* Return the low @bits of @a, zero-extended, or sign-extended to @to bits. */
NB_DOM_FN struct nb_tnum nb_tnum_trunc(struct nb_tnum a, unsigned bits);
NB_DOM_FN struct nb_tnum nb_tnum_sext(struct nb_tnum a, unsigned bits, unsigned to);
/* Reverse the bytes of the low @bits (16, 32, 64). */
NB_DOM_FN struct nb_tnum nb_tnum_swap(struct nb_tnum a, unsigned bits);
/* Intersect @a and @b; returns false if they certainly share no number. */
NB_DOM_FN bool nb_tnum_meet(struct nb_tnum *out, struct nb_tnum a, struct nb_tnum b);
/* Return the tightest tnum that holds every number of both. */
NB_DOM_FN struct nb_tnum nb_tnum_join(struct nb_tnum a, struct nb_tnum b);
/* Is every number of @a in @b? */
NB_DOM_FN bool nb_tnum_within(struct nb_tnum a, struct nb_tnum b);
NB_DOM_FN bool nb_tnum_has(struct nb_tnum a, uint64_t v);

#endif
