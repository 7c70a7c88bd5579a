// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SUBSUME_H
#define NB_VERIFY_STATE_SUBSUME_H

#include "core/verify/state/saved.h"

/* How to compare two states, and what the comparison used. */
struct nb_subsume {
	bool equal; /* states must be equal, apart from how ids are numbered */
	/* compare everything. Otherwise compare only cells that code read, and
	 * scalars that have a nb_reg.deps in @precise or none at all. */
	bool all;
	uint64_t precise;
	uint64_t deps;			      /* out: compared values' deps */
	struct nb_cells cells[NB_MAX_FRAMES]; /* out: cells compared */
	size_t size;			      /* out: bytes compared */
};

/*
 * nb_state_subsumes - is every behaviour of @st one of @old's?
 *
 * Registers outside @live are ignored; they are the same for both. With
 * @in->all, "yes" is set inclusion. Without it, values that never mattered
 * after @old may be outside: precision.c says why that is sound.
 */
bool nb_state_subsumes(const struct nb_saved *old, const struct nb_state *st,
		       const struct nb_live *live, struct nb_subsume *in);

#endif
