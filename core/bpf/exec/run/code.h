// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_CODE_H
#define NB_EXEC_RUN_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/exec/run/run.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/map/map.h"
#include "core/bpf/map/ops.h"

/*
 * The form of a program that nb_exec_new produces and nb_exec_run executes:
 * one code for each slot, so that jump distances equal those of struct
 * nb_insn. Private to core/bpf/exec.
 */

/* Operations in addition to those of enum nb_op. */
enum {
	/* Run bpf_map_lookup_elem without the call, if the map type allows
	 * it. */
	NB_CODE_LOOKUP = NB_NOPS,
	/* LDDW of a constant or of a bound map's address. */
	NB_CODE_CONST,
	/* LDDW of a callback: the number of its slot. */
	NB_CODE_FUNC,
	/* bpf_loop and bpf_for_each_map_elem: call a local function
	 * repeatedly. */
	NB_CODE_LOOP,
	NB_CODE_EACH,
	/* The code that callbacks return to; it occurs in no program. */
	NB_CODE_LOOP_NEXT,
	NB_CODE_EACH_NEXT,
	NB_NCODES
};

/*
 * Callback invocations of bpf_loop and bpf_for_each_map_elem and
 * iterator steps share one budget per run: NB_MAX_ITERATIONS, or less if
 * iterations are long (nb_loop_limit). Nested loops of 2^23 iterations
 * would block the application's thread. When the budget is used up, a loop
 * ends as if its callback had returned 1, and an iterator as if it had no
 * numbers left. The first iterators of at most NB_MAX_COUNTED_RANGE numbers
 * use none of the budget, as long as all their numbers fit the count of the
 * verifier.
 */
enum { NB_MAX_ITER_STEPS = NB_MAX_COUNTED_ITERS * NB_MAX_COUNTED_RANGE };

/*
 * @off: as in struct nb_insn
 * @imm: as in struct nb_insn, with exceptions. NB_CODE_CONST and NB_CODE_FUNC:
 *         the value for the register. Helper calls and NB_CODE_LOOKUP: the
 *         address of the helper's function. Helpers that the engines execute
 *         themselves: the struct nb_exec of the code.
 */
struct nb_code {
	uint16_t op;
	uint8_t dst, src;
	int32_t off;
	int64_t imm;
};

_Static_assert(sizeof(struct nb_code) == 16, "four codes a cache line");

struct nb_jit;

/* State of bpf_for_each_map_elem between two calls of its callback. */
struct nb_each {
	struct nb_map *map;
	uint64_t ctx;
	uint64_t done; /* Number of elements visited so far. */
	struct nb_map_cursor cursor;
};

/* Return the CPU of a run. A policy must see a single CPU, although its
 * thread may move. */
uint32_t nb_run_ask_cpu(struct nb_run *run);

static inline uint32_t nb_run_cpu(struct nb_run *run)
{
	return __builtin_expect(run->cpu < nb_cpu_limit(), 1) ? run->cpu : nb_run_ask_cpu(run);
}

/* Return the CPU whose values of @m the run sees. */
static inline uint32_t nb_run_cpu_for(struct nb_run *run, const struct nb_map *m)
{
	return m->percpu ? nb_run_cpu(run) : 0;
}

/* Advance to the next element; returns false if there is none, or if no
 * steps are left. */
bool nb_each_next(struct nb_run *run, struct nb_each *e);

struct nb_exec {
	struct nb_exec_head head;
	struct nb_trace *trace;
	/* Set by core/bpf/exec/jit/jit.c. @jit: the machine code, NULL if
	 * interpreted; @unload frees it. */
	struct nb_jit *jit;
	void (*unload)(struct nb_exec *x);
	struct nb_map **maps; /* The nmaps maps, with one reference to each. */
	uint32_t nmaps;
	uint32_t number; /* The program's number in its image. */
	/* Offset of the context's member with nb_run.state; 0: none. */
	uint32_t state_at;
	/* Limits of a run, see NB_RUN_BUDGET. */
	uint32_t iteration, iterations, passes, iter_steps;
	uint32_t ncodes;
	struct nb_code code[];
};

#endif
