// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_SUBSUME_H
#define NB_VERIFY_STATE_SUBSUME_H

#include "core/bpf/verify/state/saved.h"

/* Input: how to compare two states. Output: what the comparison used. */
struct nb_subsume {
	/* In: the states must be equal, except that ids may be numbered
	 * differently. */
	bool equal;
	/* In: compare all values. Otherwise compare only cells that code
	 * read, and scalars whose nb_reg.deps intersect @precise or are
	 * empty. */
	bool all;
	uint64_t precise;
	uint64_t deps; /* Out: the union of the deps of compared values. */
	/* Out: the cells that were compared, for each frame. */
	struct nb_cells cells[NB_MAX_FRAMES];
	size_t size; /* Out: number of bytes compared. */
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
