// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_WALK_H
#define NB_VERIFY_ENGINE_WALK_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/state/marks.h"
#include "core/bpf/verify/state/operands.h"
#include "core/bpf/verify/state/saved.h"
#include "core/bpf/verify/state/widen.h"

/* One walk over the behaviours of a program.
 * nb_explore creates it and frees it. The files of this folder share it. */

enum {
	/* The kernel has the same limit of open paths. */
	NB_MAX_OPEN_PATHS = 8192,
	/* Sizes up to 128 KiB, more than any state needs. */
	NB_BLOCK_CLASSES = 2048
};

/* An explored state. @open counts the paths from it that have not ended;
 * while @open is not 0, the state is an ancestor of the current path. */
struct nb_explored {
	struct nb_explored *parent, *next;
	struct nb_explored *child; /* The latest child, while @open is not 0. */
	/* The saved state; NULL after it was dropped. */
	struct nb_saved *saved;
	uint32_t size, open, hits, misses, key_misses;
	struct nb_key key;
	/* Counted iterations used before this state (see explored.c). */
	uint32_t counted;
	uint32_t loop;	/* The helper call whose iteration follows, or 0. */
	uint32_t round; /* Number of the iteration of that loop. */
	struct nb_marks marks;
	void *mem; /* The memory of @marks, while @open is not 0. */
	uint32_t mem_size;
	/* @length: instructions from @parent to here or, if @iterated, from
	 * the last end of an iteration between the two. @length_after: most
	 * instructions from here to the next end of an iteration. */
	uint32_t length, length_after;
	/* Most instructions from the end of an iteration to here, on paths that
	 * this state pruned while it was their ancestor. */
	uint32_t length_back;
	bool iterated;
};

/* A path of the worklist: the slot where it continues, and its state. */
struct nb_open_path {
	struct nb_saved *saved;
	struct nb_explored *parent;
	uint32_t size, pc, nhistory, may_gotos, length;
	uint32_t nloops, since; /* As in struct nb_walk_loops. */
	bool iterated;
};

struct nb_free_block {
	struct nb_free_block *next;
};

/* The loops of a walk and those begun on its path; see loop_cost.c. */
struct nb_walk_loops {
	/* Loops begun on this path, the latest last. */
	struct nb_loop_begun *begun;
	uint32_t n, size;
	/* For each loop: index of its last entry in @begun plus 1. */
	uint32_t *latest;
	uint32_t since; /* Instructions since an iteration ended. */
};

/* Memory that the walks of a verification share, one after the other. */
struct nb_walk_memory {
	/* Explored states by slot. @joins: those at joins. @counted: those
	 * right after a may_goto passed, or right before an iteration that
	 * the run time counts. */
	struct nb_explored **joins, **counted;
	uint32_t *visits; /* Number of visits of each join. */
	/* Instructions walked on the paths that took the second outcome of
	 * the branch at each slot, up to their next such branch. */
	uint32_t *branched;
	struct nb_free_block *blocks[NB_BLOCK_CLASSES];
};

struct nb_walk {
	struct nb_env *env;
	struct nb_walk_memory *mem;
	struct nb_state *st;
	uint32_t pc;
	/* The access of a load, store or atomic at @pc. */
	struct nb_mem_access access;
	/* The latest explored state of this path. */
	struct nb_explored *latest;
	uint32_t may_gotos; /* Number of may_gotos passed on this path. */
	/* Instructions since @latest or, if @iterated, since the last end
	 * of an iteration after @latest. */
	uint32_t length;
	bool iterated;
	struct nb_open_path *worklist; /* The open paths. */
	uint32_t nopen;
	uint32_t walked;
	/* The slot where the current path left an earlier one, or NB_NO_PC,
	 * and @walked there. */
	uint32_t branch, branch_walked;
	uint32_t allowance;	   /* Limit of instructions plus other work. */
	size_t kept;		   /* Bytes of all explored states. */
	uint32_t nkept, most_kept; /* Their number, and its maximum. */
	struct nb_steps steps;
	struct nb_walk_loops loops;
};

#endif
