// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_CODE_H
#define NB_EXEC_RUN_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/exec/run/run.h"
#include "core/isa/insn.h"
#include "core/map/ops.h"

/*
 * What nb_exec_new makes of a program and nb_exec_run executes: one code for
 * each slot, so that distances stay what they are in struct nb_insn. Private
 * to core/exec.
 */

/* Operations beside those of enum nb_op. */
enum {
	/* bpf_map_lookup_elem without the call, where the type allows it */
	NB_CODE_LOOKUP = NB_NOPS,
	/* LDDW of a constant or of a bound map's address */
	NB_CODE_CONST,
	/* LDDW of a callback: the number of its slot */
	NB_CODE_FUNC,
	/* bpf_loop and bpf_for_each_map_elem: call a local function repeatedly
	 */
	NB_CODE_LOOP,
	NB_CODE_EACH,
	/* bpf_tail_call: continue in another program */
	NB_CODE_TAIL,
	/* where callbacks return to; never in a program */
	NB_CODE_LOOP_NEXT,
	NB_CODE_EACH_NEXT,
	NB_NCODES
};

/*
 * Callback invocations (turns) of bpf_loop and bpf_for_each_map_elem and
 * iterator steps share one budget per run: NB_TURNS_MAX, or less where
 * iterations are long (nb_loop_limit). Nested loops of 2^23 iterations would
 * block the application's thread. When the budget is used up, a loop ends as if
 * its callback had returned 1, and an iterator as if it had no numbers left.
 * The first iterators of at most NB_MAX_COUNTED_RANGE numbers use none of the
 * budget, as long as all their numbers fit what the verifier counted.
 */
enum { NB_NUMBERS_MAX = NB_MAX_COUNTED_ITERS * NB_MAX_COUNTED_RANGE };

/*
 * @off: as in struct nb_insn
 * @imm: as in struct nb_insn, but for NB_CODE_CONST and NB_CODE_FUNC the
 *       value that the register gets, for calls of helpers and
 *       NB_CODE_LOOKUP the address of the helper's body, and for the
 *       engines' own helpers the struct nb_exec that the code belongs to
 */
struct nb_code {
	uint16_t op;
	uint8_t dst, src;
	int32_t off;
	int64_t imm;
};

_Static_assert(sizeof(struct nb_code) == 16, "four codes a cache line");

struct nb_jit;
struct nb_symbols;

/* A program that bpf_tail_call may go to. */
struct nb_link {
	const struct nb_exec *x; /* NULL: none of this number is bound */
	const void *body;	 /* machine code, NULL: interpreted */
};

/* The programs of an image by number; shared by them. */
struct nb_links {
	uint32_t refs, n;
	struct nb_link link[];
};

/* bpf_for_each_map_elem between two calls of its callback. */
struct nb_each {
	struct nb_map *map;
	uint64_t ctx;
	uint64_t done; /* elements visited */
	struct nb_map_cursor cursor;
};

/* The CPU of a run: a policy must see one, though its thread may be moved. */
uint32_t nb_run_ask_cpu(struct nb_run *run);

static inline uint32_t nb_run_cpu(struct nb_run *run)
{
	return __builtin_expect(run->cpu < nb_cpu_limit(), 1)
		       ? run->cpu
		       : nb_run_ask_cpu(run);
}

/* The CPU whose values of @m the run sees. */
static inline uint32_t nb_run_cpu_for(struct nb_run *run,
				      const struct nb_map *m)
{
	return m->percpu ? nb_run_cpu(run) : 0;
}

/* Advance to the next element; false: there is none, or no steps are left. */
bool nb_each_next(struct nb_run *run, struct nb_each *e);

/*
 * Count a tail call of @x and return the link of its target. NULL: the call
 * fails and execution continues after it, because the element is empty, the run
 * has made NB_TAIL_MAX tail calls, or too few frames are left. run->depth:
 * frames below the current one.
 */
const struct nb_link *nb_tail_link(struct nb_run *run, const struct nb_exec *x,
				   const struct nb_map *map, uint32_t index);
/* As nb_tail_link, for machine code: the address to jump to, or NULL. */
const void *nb_tail_body(struct nb_run *run, const struct nb_exec *x,
			 const struct nb_map *map, uint32_t index);

struct nb_exec {
	struct nb_exec_head head;
	struct nb_trace *trace;
	/* of core/exec/jit/compile.c: the machine code, NULL: interpreted; what
	 * debuggers know of it, or NULL; and how to free both */
	struct nb_jit *jit;
	struct nb_symbols *symbols;
	void (*unload)(struct nb_exec *x);
	struct nb_map **maps; /* nmaps of them, each with a reference */
	uint32_t nmaps;
	struct nb_links *links; /* NULL: no tail calls */
	uint32_t number;	/* the program's number in its image */
	uint32_t depth;		/* frames that it needs, its own included */
	bool tails;		/* it makes tail calls */
	/* what a run has: see NB_RUN_BUDGET; a program that is gone on with
	 * has what is left */
	uint32_t lap, turns, passes, numbers;
	uint32_t ncodes;
	struct nb_code code[];
};

#endif
