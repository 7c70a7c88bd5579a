// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_EXPLAIN_PATH_H
#define NB_EXEC_EXPLAIN_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/exec/run/exec.h"
#include "core/spec/spec.h"

/*
 * A run that is watched, for `explain`: where the answers were written, and
 * which comparisons over fields of the context lay on the way.
 */
enum { NB_PATH_BRANCHES = 64, NB_PATH_FIELDS = 32, NB_PATH_STACK = 64 };

/* Where a value comes from. */
struct nb_origin {
	uint32_t fields; /* bits of fields that went into it */
	int8_t exact;	 /* the one field that it is, plus @add; -1: none */
	bool map;	 /* memory that is no field went into it */
	uint64_t add;
};

/* An instruction of an image. */
struct nb_path_site {
	uint32_t prog, pc; /* number of the program in its image; slot */
};

/* A conditional jump that depends on the context. */
struct nb_path_branch {
	struct nb_path_site at;
	uint8_t fn, width; /* NB_FN_J*; 32 or 64 */
	bool taken;
	uint64_t a, b; /* the operands */
	struct nb_origin from_a, from_b;
};

/* The last store to a field. */
struct nb_path_store {
	bool done;
	struct nb_path_site at;
	struct nb_origin from;
};

struct nb_path {
	struct nb_path_store store[NB_PATH_FIELDS]; /* by field */
	uint32_t nbranches, left_out; /* branches kept, and dropped */
	struct nb_path_branch branch[NB_PATH_BRANCHES];
	/* private, of the run */
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
 * nb_exec_path - run @x by the interpreter and write down what is above
 * @hook: whose context @ctx is, @ctx_size bytes; at most NB_PATH_FIELDS fields
 * @w:    zeroes, or what earlier programs left: it goes on from there
 *
 * As nb_exec_run otherwise, with the same effect on @ctx and maps. Slow: not
 * for a decision path. Values that went through bpf_loop's callbacks or local
 * functions, or lay in memory while a helper ran, may lose their origin, never
 * get a wrong one.
 */
uint64_t nb_exec_path(const struct nb_exec *x, void *ctx, uint64_t ctx_size,
		      const struct nb_hook_spec *hook, struct nb_path *w);

#endif
