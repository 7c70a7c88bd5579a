// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_CHECK_DYNPTR_H
#define NB_VERIFY_FEATURE_CHECK_DYNPTR_H

#include "core/verify/state/env.h"

struct at;

/* All: 0, or NB_E_VERIFY with the finding filled. */

/* Register @number points to stack where a dynptr can be made. */
int nb_check_new_dynptr(const struct at *a, const struct nb_helper_spec *h,
			int number);
/* It points to a dynptr; @end: of a record, which the call ends. */
int nb_check_dynptr(const struct at *a, const struct nb_helper_spec *h,
		    int number, bool end);

/* Argument KEEP, @size bytes: a value of a map that programs may write. */
int nb_check_keep(const struct at *a, const struct nb_helper_spec *h,
		  int number, uint64_t size);

/* A load (@store false), also by a helper, or store of stack bytes [lo, hi) of
 * frame @f through register @number meets no object that forbids it. */
int nb_check_objects(const struct at *a, int number, const struct nb_frame *f,
		     int64_t lo, int64_t hi, bool store);

#endif
