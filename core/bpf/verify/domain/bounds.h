// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_BOUNDS_H
#define NB_VERIFY_DOMAIN_BOUNDS_H

#include <stdint.h>

#include "core/bpf/verify/domain/tnum.h"

/*
 * A set of 64-bit numbers in several views: known bits, bounds as unsigned and
 * as signed number, and the same bounds for the low half. A member satisfies
 * all views. Every function of range.h refines the views from each other, which
 * is sound and not always the tightest: a bound may be a number without the
 * known bits. All functions are pure and pass ranges by value.
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

#endif
