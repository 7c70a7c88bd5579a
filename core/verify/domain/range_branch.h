// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_DOMAIN_RANGE_BRANCH_H
#define NB_VERIFY_DOMAIN_RANGE_BRANCH_H

#include "core/verify/domain/range.h"

/*
 * Take jump @fn of @bits between *@a and *@b as true (@taken) or false and
 * narrow both. false if no members do; both are undefined then.
 */
NB_DOM_FN bool nb_range_branch(enum nb_fn fn, unsigned bits, bool taken,
			       struct nb_range *a, struct nb_range *b);

#endif
