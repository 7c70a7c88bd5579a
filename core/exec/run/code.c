// SPDX-License-Identifier: MIT
/*
 * Functions that both the interpreter and machine code call: they find the
 * CPU of a run, the next element of a loop over a map, and the target of a
 * tail call.
 */
#include "core/exec/run/code.h"

/* Ask the system for the CPU, if the thread's area did not name it at the
 * start of the run. */
__attribute__((noinline)) uint32_t nb_run_ask_cpu(struct nb_run *run)
{
	run->cpu = nb_cpu_ask();
	return run->cpu;
}

bool nb_each_next(struct nb_run *run, struct nb_each *e)
{
	const struct nb_map *m = e->map;

	if (!run->iterations || !m->ops->each ||
	    !m->ops->each(e->map, &e->cursor, nb_run_cpu_for(run, m)))
		return false;
	run->iterations--;
	e->done++;
	return true;
}

const struct nb_link *nb_tail_link(struct nb_run *run, const struct nb_exec *x,
				   const struct nb_map *map, uint32_t index)
{
	const struct nb_links *links = x->links;
	int64_t number = nb_prog_array_at(map, index);
	const struct nb_link *link;

	if (!links || run->tails >= NB_TAIL_MAX || number < 0 ||
	    number >= links->n)
		return NULL;
	link = &links->link[number];
	if (!link->x || run->depth + link->x->depth > NB_MAX_FRAMES)
		return NULL;
	run->tails++;
	/* The target has no reserved iterator steps: see
	 * core/verify/state/budget.c. */
	run->iter_steps = 0;
	return link;
}

const void *nb_tail_body(struct nb_run *run, const struct nb_exec *x,
			 const struct nb_map *map, uint32_t index)
{
	const struct nb_link *link = nb_tail_link(run, x, map, index);

	return link ? link->body : NULL;
}
