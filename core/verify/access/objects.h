// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_OBJECTS_H
#define NB_VERIFY_FEATURE_OBJECTS_H

#include "core/verify/state/env.h"

/*
 * Objects on the stack that helpers own: the program passes their address
 * and never touches their bytes.
 */

enum { NB_DYNPTR_SIZE = 16 };

/* The first cell of the object that begins exactly where @r points, or NULL:
 * @r is no pointer to the stack, its offset not known, nothing there. */
const struct nb_cell *nb_object_at(const struct nb_state *st,
				   const struct nb_reg *r);

/* The first cell of an object with a byte in [lo, hi) of @f, or NULL. */
const struct nb_cell *nb_object_in(const struct nb_frame *f, int64_t lo,
				   int64_t hi);

/*
 * Make one of @size bytes, a multiple of 8, where @at points, in place of
 * what was there. The place is known, aligned and in the frame.
 */
struct nb_object {
	enum nb_object_kind kind;
	uint32_t ref;
	uint8_t align;
};
void nb_object_make(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    const struct nb_reg *at, uint32_t size, struct nb_object o);

/*
 * Objects with a byte in [lo, hi) of frame @frame are gone, and with them
 * what they keep; their bytes are as never written.
 */
void nb_object_end(struct nb_env *env, struct nb_state *st, uint32_t pc,
		   uint32_t frame, int64_t lo, int64_t hi);

#endif
