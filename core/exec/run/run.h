// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_H
#define NB_EXEC_RUN_H

#include <stdint.h>

struct nb_exec;
struct nb_trace; /* the ring of bpf_trace_printk; core/exec/run/trace.h */

/* Runs a program: the interpreter, or the program's machine code. */
typedef uint64_t nb_engine_fn(const struct nb_exec *x, void *ctx,
			      uint64_t ctx_size);

/* The first member of struct nb_exec; private to nb_exec_run. */
struct nb_exec_head {
	nb_engine_fn *run;
};

/* What helper bodies know of the run that calls them. */
struct nb_run {
	struct nb_trace *trace;
	uint32_t turns;	  /* callbacks and iterator steps left */
	uint32_t numbers; /* steps left of iterators that always complete */
	uint32_t cpu;	  /* nb_cpu_seen at its start; nb_ncpus() or more: not
			   * known yet, nb_run_cpu asks */
	uint32_t tails;	  /* tail calls made */
	uint32_t
		depth; /* frames below the current one; set before tail calls */
};

typedef uint64_t nb_helper_fn(struct nb_run *run, uint64_t r1, uint64_t r2,
			      uint64_t r3, uint64_t r4, uint64_t r5);

#endif
