// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_WIDEN_H
#define NB_VERIFY_STATE_WIDEN_H

#include "core/image/image.h"
#include "core/isa/insn.h"
#include "core/verify/state/saved.h"

enum { NB_MAX_STEPS = 128 };

/* Bounds to stop at when a scalar grows, ascending. */
struct nb_steps {
	uint32_t n;
	int64_t at[NB_MAX_STEPS];
};

/*
 * Collect the bounds that a program names: in @insns (@n of them), the maps
 * of @img, and the ends of the integer types.
 */
void nb_steps_find(struct nb_steps *s, const struct nb_image *img,
		   const struct nb_insn *insns, uint32_t n);

/*
 * nb_state_widen - let the scalars of @st grow until they hold those of @old
 * @steps: NULL: no more than that
 *
 * A bound that moved since @old goes to the next step, and a link whose
 * distance changed is dropped, so finitely many iterations can differ.
 */
void nb_state_widen(struct nb_state *st, const struct nb_saved *old,
		    const struct nb_live *live, const struct nb_steps *steps);

#endif
