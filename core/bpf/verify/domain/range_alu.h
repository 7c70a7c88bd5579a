// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_ALU_H
#define NB_VERIFY_DOMAIN_RANGE_ALU_H

#include "core/bpf/verify/domain/range.h"

/*
 * Return the result of ALU function @fn on @a and @b. @bits is the whole or
 * half width, or 16, 32 or 64 for byte swaps. Half-width results are
 * zero-extended. Functions of one operand ignore @b. Shift counts are
 * masked as RFC 9669 defines; division by zero gives 0, modulo by zero
 * gives the dividend.
 */
NB_DOM_FN struct nb_range nb_range_alu(enum nb_fn fn, unsigned bits, const struct nb_range *a,
				       const struct nb_range *b);

/* Return @a plus @k, which wraps. */
NB_DOM_FN struct nb_range nb_range_plus(const struct nb_range *a, int64_t k);
/* Return @bits bits of @a from bit @at on, zero-extended: a logical shift by
 * @at, which is below the width, then nb_range_zext. */
NB_DOM_FN struct nb_range nb_range_bits(const struct nb_range *a, unsigned at, unsigned bits);

/* Return the low @bits of @a, zero- or sign-extended to the whole width. */
NB_DOM_FN struct nb_range nb_range_zext(const struct nb_range *a, unsigned bits);
NB_DOM_FN struct nb_range nb_range_sext(const struct nb_range *a, unsigned bits);

#endif
