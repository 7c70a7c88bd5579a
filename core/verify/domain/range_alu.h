// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_ALU_H
#define NB_VERIFY_DOMAIN_RANGE_ALU_H

#include "core/verify/domain/range.h"

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

#endif
