// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CHECK_REFS_H
#define NB_VERIFY_FEATURE_CHECK_REFS_H

#include "core/verify/state/env.h"

struct at;

/* Each check below returns 0, or NB_E_VERIFY with the finding filled. */

/* Check that register @number holds a constant: the number of bytes to
 * reserve. */
int nb_check_alloc(const struct at *a, const struct nb_helper_spec *h,
		   int number);
/* Check that register @number is a reservation that the call may release. */
int nb_check_sample(const struct at *a, const struct nb_helper_spec *h,
		    int number);
/* Check that there is room for one more reference. */
int nb_check_room(const struct at *a);
/* Check that frame @frame and the frames it called hold no reference. */
int nb_check_no_refs(const struct at *a, uint32_t frame);
/* Check that a callback releases its own references, and not those of its
 * caller. */
int nb_check_own(const struct at *a, const struct nb_ref *ref, int number);

/* Check that register @number does not point to released memory: 0, or the
 * finding that names the release. */
int nb_check_ended(const struct at *a, int number);

#endif
