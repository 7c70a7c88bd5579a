// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_MARKS_H
#define NB_VERIFY_STATE_MARKS_H

#include "core/verify/state/env.h"

/* Scalars of an explored state that need not be precise, at most. */
enum { NB_MAX_SLOTS = 64 };

/*
 * What is precise in an explored state while paths from it are open: see
 * precision.c.
 */
struct nb_marks {
	struct nb_marks *up; /* of the explored state before, or NULL */
	uint64_t precise;    /* slots from which something was concluded */
	uint32_t nslots, nframes;
	uint64_t *deps;		  /* slots of @up that each slot came from */
	struct nb_cells *read;	  /* of each frame: read from here on */
	struct nb_cells *written; /* of each frame: overwritten since @up */
};

/* Something was concluded from a value with these nb_reg.deps. */
void nb_mark(struct nb_env *env, uint64_t deps);

/* The lowest slot of a set that is not empty. */
static inline uint32_t nb_slot_lowest(uint64_t bits)
{
	return (uint32_t)__builtin_ctzll(bits);
}

#endif
