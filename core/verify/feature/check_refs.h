// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CHECK_REFS_H
#define NB_VERIFY_FEATURE_CHECK_REFS_H

#include "core/verify/state/env.h"

struct at;

/* All: 0, or NB_E_VERIFY with the finding filled. */

/* Register @number holds a constant: the bytes to reserve. */
int nb_check_alloc(const struct at *a, const struct nb_helper_spec *h,
		   int number);
/* Register @number is a reservation that the call may release. */
int nb_check_sample(const struct at *a, const struct nb_helper_spec *h,
		    int number);
/* There is room for one more reference. */
int nb_check_room(const struct at *a);
/* Frame @frame and the frames it called hold no reference. */
int nb_check_no_refs(const struct at *a, uint32_t frame);
/* A callback releases its own references, not those of its caller. */
int nb_check_own(const struct at *a, const struct nb_ref *ref, int number);

/* Register @number is no pointer to memory that was released: 0, or the
 * refusal that names the release. */
int nb_check_ended(const struct at *a, int number);

#endif
