// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_H
#define NB_EXEC_RUN_H

#include <stdint.h>

struct nb_exec;
struct nb_trace; /* The ring of bpf_trace_printk; see core/bpf/exec/run/trace.h.
		  */

/* A function that runs a program: the interpreter, or the program's machine
 * code. */
typedef uint64_t nb_engine_fn(const struct nb_exec *x, void *ctx, uint64_t ctx_size);

/* The first member of struct nb_exec; private to nb_exec_run. */
struct nb_exec_head {
	nb_engine_fn *run;
};

/* Data of a run that helper functions need. */
struct nb_run {
	struct nb_trace *trace;
	uint32_t iterations; /* Callbacks and iterator steps left. */
	uint32_t iter_steps; /* Steps left for iterators that always complete. */
	/* The CPU from nb_cpu_seen at the start. A value of nb_ncpus() or
	 * more means unknown; then nb_run_cpu asks the system. */
	uint32_t cpu;
	/* Contents of the replicated maps in the run's communicator; NULL:
	 * those of the maps themselves. Set if the program has such maps. */
	unsigned char *state;
};

typedef uint64_t nb_helper_fn(struct nb_run *run, uint64_t r1, uint64_t r2, uint64_t r3,
			      uint64_t r4, uint64_t r5);

#endif
