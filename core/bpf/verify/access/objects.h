// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_OBJECTS_H
#define NB_VERIFY_ACCESS_OBJECTS_H

#include "core/bpf/verify/state/env.h"

/* Objects on the stack that helpers own, which are iterators: the program
 * passes their address and never touches their bytes. */

/*
 * Return the first cell of the object that begins exactly where @r points.
 * Returns NULL if @r is no pointer to the stack, its offset is unknown, or
 * no object begins there.
 */
const struct nb_cell *nb_object_at(const struct nb_state *st, const struct nb_reg *r);

/* Return the first cell of an object that has a byte in [lo, hi) of @f, or
 * NULL. */
const struct nb_cell *nb_object_in(const struct nb_frame *f, int64_t lo, int64_t hi);

/* End all objects with a byte in [lo, hi) of frame @frame, and the
 * references that they hold. Their bytes become unwritten. */
void nb_object_end(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t frame, int64_t lo,
		   int64_t hi);

#endif
