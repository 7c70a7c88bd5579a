// SPDX-License-Identifier: MIT
/*
 * Functions that both the interpreter and machine code call: they find the
 * CPU of a run and the next element of a loop over a map.
 */
#include "core/bpf/exec/run/code.h"

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
