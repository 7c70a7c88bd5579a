// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_MARKS_H
#define NB_VERIFY_STATE_MARKS_H

#include "core/verify/state/env.h"

/* Most scalars of an explored state that can be left imprecise. */
enum { NB_MAX_SLOTS = 64 };

/*
 * Precision of an explored state while paths from it are open: see
 * precision.c.
 */
struct nb_marks {
	struct nb_marks *up; /* the previous explored state's, or NULL */
	uint64_t precise;    /* slots whose value decided something */
	uint32_t nslots, nframes;
	uint64_t *deps;		  /* slots of @up that each slot came from */
	struct nb_cells *read;	  /* by frame: read since this state */
	struct nb_cells *written; /* by frame: overwritten since @up */
};

/* A value with these nb_reg.deps decided something: mark its slots. */
void nb_mark(struct nb_env *env, uint64_t deps);

/* The lowest slot of a set that is not empty. */
static inline uint32_t nb_slot_lowest(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits);
}

#endif
