// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_MARKS_H
#define NB_VERIFY_STATE_MARKS_H

#include "core/bpf/verify/state/env.h"

/* Number of scalars of an explored state that can stay imprecise. */
enum { NB_MAX_SLOTS = 64 };

/* The precision of an explored state, kept while paths from it are open;
 * see precision.c. A slot here is the number of a scalar in that state. */
struct nb_marks {
	/* Marks of the previous explored state, or NULL. */
	struct nb_marks *up;
	uint64_t precise; /* Slots of scalars whose value decided something. */
	uint32_t nslots, nframes;
	/* For each slot, the slots of @up that its value came from. */
	uint64_t *deps;
	/* For each frame, the stack cells that paths from this state read. */
	struct nb_cells *read;
	/* For each frame, the cells overwritten since @up. */
	struct nb_cells *written;
};

/* Mark the scalars in @deps (see nb_reg.deps), because a value computed
 * from them decided something. */
void nb_mark(struct nb_env *env, uint64_t deps);

/* Return the lowest slot of a set that is not empty. */
static inline uint32_t nb_slot_lowest(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits);
}

#endif
