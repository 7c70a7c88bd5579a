// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_EXPLAIN_PATH_H
#define NB_EXEC_EXPLAIN_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/exec/run/exec.h"
#include "core/spec/spec.h"

/* A watched run, for `explain`: which instructions wrote the answers, and
 * which comparisons of context fields the run passed. */
enum { NB_PATH_BRANCHES = 64, NB_PATH_FIELDS = 32, NB_PATH_STACK = 64 };

/* The origin of a value. */
struct nb_origin {
	uint32_t fields; /* Bit i: the value was computed from field i. */
	/* The field that equals the value minus @add; -1 if there is none. */
	int8_t exact;
	bool map; /* The value was computed from memory other than a field. */
	uint64_t add;
};

/* An instruction of an image. */
struct nb_path_site {
	/* Number of the program in its image, and the slot. */
	uint32_t prog, pc;
};

/* A conditional jump that depends on the context. */
struct nb_path_branch {
	struct nb_path_site at;
	uint8_t fn, width; /* Function NB_FN_J* of the jump; width 32 or 64. */
	bool taken;
	uint64_t a, b; /* Values of the two operands. */
	struct nb_origin from_a, from_b;
};

/* The last store to a field of the context. */
struct nb_path_store {
	bool done;
	struct nb_path_site at;
	struct nb_origin from;
};

struct nb_path {
	/* The last store to each field. */
	struct nb_path_store store[NB_PATH_FIELDS];
	/* Number of branches kept, and of branches dropped. */
	uint32_t nbranches, left_out;
	struct nb_path_branch branch[NB_PATH_BRANCHES];
	/* The members below are private to the run. */
	const struct nb_exec *x;
	const struct nb_hook_spec *hook;
	const unsigned char *ctx;
	uint64_t ctx_size;
	struct nb_origin reg[11];
	uint32_t nstack;
	struct {
		uint64_t addr;
		uint32_t width;
		struct nb_origin from;
	} stack[NB_PATH_STACK];
};

/*
 * nb_exec_path - interpret @x and record the facts of struct nb_path
 * @hook: whose context @ctx is, @ctx_size bytes; at most NB_PATH_FIELDS fields
 * @w:    zeroes, or the record of earlier programs, which is continued
 *
 * Has the same result and the same effect on @ctx and maps as nb_exec_run. It
 * is slow: not for a decision path. A value may lose its origin in a callback
 * of bpf_loop, in a local function, or in memory while a helper runs; it never
 * gets a wrong origin.
 */
uint64_t nb_exec_path(const struct nb_exec *x, void *ctx, uint64_t ctx_size,
		      const struct nb_hook_spec *hook, struct nb_path *w);

#endif
