// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_LABELS_H
#define NB_VERIFY_ACCESS_LABELS_H

#include "core/bpf/verify/state/env.h"

/* Return the label for data that differs between ranks. A walk without
 * labels only notes that such data exists. */
static inline uint8_t nb_label_source(struct nb_env *env)
{
	env->walk.found.saw_local = true;
	return env->walk.how.labels ? NB_LABEL_LOCAL : NB_LABEL_COHERENT;
}

/* Label @r as rank-local data that the instruction at @pc produced. */
static inline void nb_label_begin(struct nb_env *env, struct nb_reg *r, uint32_t pc)
{
	r->label = nb_label_source(env);
	r->from = pc;
}

static inline void nb_label_taint(struct nb_reg *r, uint32_t from)
{
	if (r->label == NB_LABEL_LOCAL)
		return;
	r->label = NB_LABEL_LOCAL;
	r->from = from;
}

/* Label @r as rank-local if @with is rank-local. */
static inline void nb_label_follow(struct nb_reg *r, const struct nb_reg *with)
{
	if (with->label == NB_LABEL_LOCAL)
		nb_label_taint(r, with->from);
}

#endif
