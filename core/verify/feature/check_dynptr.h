// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CHECK_DYNPTR_H
#define NB_VERIFY_FEATURE_CHECK_DYNPTR_H

#include "core/verify/state/env.h"

struct at;

/* Each check below returns 0, or NB_E_VERIFY with the finding filled. */

/* Check that register @number points to stack where a dynptr can be created. */
int nb_check_new_dynptr(const struct at *a, const struct nb_helper_spec *h,
			int number);
/* Check that register @number points to a dynptr. @end: the call submits or
 * discards the dynptr, so it must be a ring buffer's. */
int nb_check_dynptr(const struct at *a, const struct nb_helper_spec *h,
		    int number, bool end);

/* Check argument KEEP: @size bytes of a value of a map that programs may
 * write. */
int nb_check_keep(const struct at *a, const struct nb_helper_spec *h,
		  int number, uint64_t size);

/* Check that no object forbids an access through register @number to stack
 * bytes [lo, hi) of frame @f. @store false: a load, possibly by a helper. */
int nb_check_objects(const struct at *a, int number, const struct nb_frame *f,
		     int64_t lo, int64_t hi, bool store);

#endif
