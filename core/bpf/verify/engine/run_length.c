// SPDX-License-Identifier: MIT
/*
 * Compute the lengths of loop iterations in instructions. The run time
 * counts iterations and not instructions, so the verdict states how long an
 * iteration may be (NB_RUN_BUDGET): the most instructions between two
 * counted iterations, and from the start to the first one. While paths from
 * an explored state are open, its length is unknown; it is passed to the
 * parent when they have ended.
 */
#include "core/bpf/verify/engine/run_length.h"

#include "core/bpf/verify/feature/helper_cost.h"

static uint32_t add_length(uint32_t a, uint32_t b)
{
	return a < NB_LENGTH_FAR - b ? a + b : NB_LENGTH_FAR;
}

/*
 * Record the end of an iteration. @iterated: the iteration is @length
 * instructions long. Otherwise it began before explored state @from (NULL:
 * the start of the program), and @length counts from @from.
 */
static void note_iteration(struct nb_walk *w, struct nb_explored *from, bool iterated,
			   uint32_t length)
{
	if (iterated)
		nb_raise_length(&w->env->walk.found.length.iteration, length);
	else
		nb_raise_length(from ? &from->length_after : &w->env->walk.found.length.first,
				length);
}

void nb_iteration_end(struct nb_walk *w, uint32_t after)
{
	note_iteration(w, w->latest, w->iterated, add_length(w->length, after));
}

void nb_length_add_insn(struct nb_walk *w)
{
	w->length = add_length(w->length, 1);
	w->loops.since = add_length(w->loops.since, 1);
}

void nb_length_add_call(struct nb_walk *w, uint32_t n)
{
	w->length = add_length(w->length, n);
	w->loops.since = add_length(w->loops.since, n);
	if (w->env->walk.found.length.call < n) {
		w->env->walk.found.length.call = n;
		w->env->walk.found.length.call_pc = w->pc;
	}
}

void nb_length_add_helper(struct nb_walk *w)
{
	nb_length_add_call(w, nb_helper_weight(&w->env->program, w->st, w->pc));
}

void nb_iteration_count(struct nb_walk *w)
{
	nb_iteration_end(w, 0);
	w->length = 0;
	w->iterated = true;
}

void nb_length_pass_up(struct nb_walk *w, const struct nb_explored *n)
{
	/* An iteration that leads back to @n continues as the paths from @n do.
	 * If none leads back, this counts too much, which is safe. */
	if (n->loop)
		note_iteration(w, NULL, true, add_length(n->length_back, n->length_after));
	note_iteration(w, n->parent, n->iterated, add_length(n->length, n->length_after));
}

void nb_length_skip(struct nb_walk *w, const struct nb_explored *n, struct nb_explored *child)
{
	nb_length_pass_up(w, n);
	if (child->iterated)
		return;
	child->length = add_length(child->length, n->length);
	child->iterated = n->iterated;
}
