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

/*
 * notes.c: words for what happens on the way.
 *
 * nb_trail_value says where register @number of the frame at step @i comes
 * from, as an expression of the source's terms ("ctx->ranks * 4"); "" when
 * there is none that is short and certain. nb_trail_branch says what the
 * branch at step @i - 1 means for the way that goes on at step @i.
 * nb_trail_notes fills the finding's notes.
 */
const char *nb_trail_value(const struct nb_trail *t, uint32_t i, int number);
const char *nb_trail_branch(const struct nb_trail *t, uint32_t i);
void nb_trail_notes(const struct nb_trail *t, struct nb_finding *f);

#endif
