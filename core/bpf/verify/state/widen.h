// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_WIDEN_H
#define NB_VERIFY_STATE_WIDEN_H

#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/verify/state/saved.h"

enum { NB_MAX_STEPS = 128 };

/* Ascending bounds at which a growing scalar stops. */
struct nb_steps {
	uint32_t n;
	int64_t at[NB_MAX_STEPS];
};

/* Collect the bounds that a program names: from its @n instructions @insns,
 * the maps of @img, and the limits of the integer types. */
void nb_steps_find(struct nb_steps *s, const struct nb_image *img, const struct nb_insn *insns,
		   uint32_t n);

/*
 * nb_state_widen - let the scalars of @st grow until they include those of
 * @old
 * @steps: bounds to grow to; NULL: grow just enough to include @old
 *
 * A bound that changed since @old moves to the next step, and a link whose
 * distance changed is dropped, so the loop reaches a fixed point after
 * finitely many iterations.
 */
void nb_state_widen(struct nb_state *st, const struct nb_saved *old, const struct nb_live *live,
		    const struct nb_steps *steps);

#endif
