// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_BRANCH_H
#define NB_VERIFY_DOMAIN_RANGE_BRANCH_H

#include "core/bpf/verify/domain/range.h"

/*
 * Assume that jump @fn of @bits between *@a and *@b is true (@taken) or
 * false, and narrow both. Returns false if no members satisfy that; both
 * are undefined then.
 */
NB_DOM_FN bool nb_range_branch(enum nb_fn fn, unsigned bits, bool taken, struct nb_range *a,
			       struct nb_range *b);

#endif
