// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_LABELS_H
#define NB_VERIFY_ACCESS_LABELS_H

#include "core/bpf/verify/state/env.h"

/*
 * The rule: no label is dropped by knowledge of one path. A value is coherent
 * if all ranks with the same coherent inputs have it here, also ranks that took
 * another path where local data decided. Ranges, constants, links and known
 * addresses hold on one path. They refine a value, but a result follows each
 * operand that could change it on another path. The rule is enforced in:
 *
 * - step.c: a difference is coherent in spite of local operands only if both
 *   are the same register, because this holds on every path.
 * - transfer.c (begin_branch) and callback.c (nb_callback_iterate): a local
 *   operand opens a region, even if this path knows the outcome.
 * - control_dep.c: the end of a region labels what its other paths write.
 * - nb_stack_smear_paths: a local address labels the cells that the instruction
 *   writes on any path, even if this path knows the address.
 *
 * One exception: path A may lack a label that path B has if B's values include
 * A's. Then B's walk, with the label, covers A's runs as well. Examples are the
 * bytes that only a longer local size overwrites, which B takes for any bytes,
 * and a loop that may end early on B, because B also walks its other iterations.
 */

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
