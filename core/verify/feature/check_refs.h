// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CHECK_REFS_H
#define NB_VERIFY_FEATURE_CHECK_REFS_H

#include "core/verify/state/env.h"

struct at;

/* All: 0, or NB_E_VERIFY with the finding filled. */

/* Register @number: the constant number of bytes to take. */
int nb_check_alloc(const struct at *a, const struct nb_helper_spec *h,
		   int number);
/* Register @number: what was reserved, to be given back. */
int nb_check_sample(const struct at *a, const struct nb_helper_spec *h,
		    int number);
/* One reference more can be held. */
int nb_check_room(const struct at *a);
/* None is held that frame @frame or one called by it took. */
int nb_check_no_refs(const struct at *a, uint32_t frame);
/* A callback gives back what it took itself, not what its caller did. */
int nb_check_own(const struct at *a, const struct nb_ref *ref, int number);

/* A number where a pointer is wanted: was its memory given back? Says so,
 * or returns 0. */
int nb_check_ended(const struct at *a, int number);

#endif
