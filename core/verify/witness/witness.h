// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_WITNESS_H
#define NB_VERIFY_ENGINE_WITNESS_H

#include "core/verify/state/env.h"

/*
 * The way to a finding. A walk that judges goes deep first, so the way on
 * which it meets a finding is rarely the shortest; a second walk, in the
 * order of the number of open branches, looks for one that is. A third
 * repeats that way alone and notes what happens on it.
 */

/*
 * nb_path_explain - after a walk that refused: the shortest way to the
 * finding, its branches and its notes, into env->v->finding
 *
 * The finding's words are then those of that way; its class and slot stay.
 * Bounded by a few times the steps of the walk; without memory the finding
 * stays as it is. The same every time.
 */
void nb_path_explain(struct nb_env *env);

/* A step of the way: the top frame's registers before slot @pc. */
struct nb_trail_step {
	uint32_t pc, nframes;
	struct nb_region region;
	struct nb_reg regs[NB_NREGS];
};

/* The last steps of the way, [first, n). */
struct nb_trail {
	struct nb_env *env;
	struct nb_trail_step *ring;
	uint32_t first, n;
};

const struct nb_trail_step *nb_trail_at(const struct nb_trail *t, uint32_t i);

#endif
