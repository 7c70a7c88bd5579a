// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_H
#define NB_VERIFY_DOMAIN_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"
#include "core/verify/domain/tnum.h"

/*
 * What is known of a 64-bit number: its bits, its bounds as unsigned and as
 * signed number, and the same bounds of its low half. A member satisfies all
 * of them. Every function keeps the views in agreement, so that none is wider
 * than the others force it to be. Pure, by value.
 *
 * NB_DOM_BITS (tnum.h) is the width; the half is NB_DOM_BITS / 2.
 */
struct nb_range {
	struct nb_tnum t;
	uint64_t umin, umax;
	int64_t smin, smax;
	uint32_t umin32, umax32;
	int32_t smin32, smax32;
};

NB_DOM_FN struct nb_range nb_range_const(uint64_t v);
NB_DOM_FN struct nb_range nb_range_unknown(void);
NB_DOM_FN struct nb_range nb_range_u(uint64_t min, uint64_t max);
NB_DOM_FN struct nb_range nb_range_s(int64_t min, int64_t max);
NB_DOM_FN struct nb_range nb_range_t(struct nb_tnum t);

static inline bool nb_range_is_const(const struct nb_range *r)
{
	return r->t.mask == 0;
}

NB_DOM_FN bool nb_range_is_unknown(const struct nb_range *r);
NB_DOM_FN bool nb_range_has(const struct nb_range *r, uint64_t v);
/* Every view of @a inside the same view of @b. */
NB_DOM_FN bool nb_range_within(const struct nb_range *a,
			       const struct nb_range *b);
NB_DOM_FN bool nb_range_equal(const struct nb_range *a,
			      const struct nb_range *b);
/* Members of both; false (and *@out undefined) when there are none. */
NB_DOM_FN bool nb_range_meet(struct nb_range *out, const struct nb_range *a,
			     const struct nb_range *b);
NB_DOM_FN struct nb_range nb_range_join(const struct nb_range *a,
					const struct nb_range *b);

/*
 * The result of ALU function @fn of @bits (whole or half width; byte swaps:
 * 16, 32, 64) on @a and @b. Half-width results are zero-extended. @b is
 * ignored by functions of one operand. Shift counts are masked as RFC 9669
 * says; division by zero gives 0, modulo by zero the dividend.
 */
NB_DOM_FN struct nb_range nb_range_alu(enum nb_fn fn, unsigned bits,
				       const struct nb_range *a,
				       const struct nb_range *b);

/* The low @bits, zero- or sign-extended to the whole width. */
NB_DOM_FN struct nb_range nb_range_zext(const struct nb_range *a,
					unsigned bits);
NB_DOM_FN struct nb_range nb_range_sext(const struct nb_range *a,
					unsigned bits);

/*
 * Take jump @fn of @bits between *@a and *@b as true (@taken) or false and
 * narrow both. false when no members behave so; both are undefined then.
 */
NB_DOM_FN bool nb_range_branch(enum nb_fn fn, unsigned bits, bool taken,
			       struct nb_range *a, struct nb_range *b);

#endif
