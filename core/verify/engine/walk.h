// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ENGINE_WALK_H
#define NB_VERIFY_ENGINE_WALK_H

#include "core/verify/state/env.h"
#include "core/verify/state/marks.h"
#include "core/verify/state/saved.h"
#include "core/verify/state/widen.h"

/*
 * One walk over the behaviours of a program or a global function; nb_explore
 * makes it and drops it. The files of this folder share it.
 */

enum {
	NB_MAX_OPEN_PATHS = 8192, /* the kernel's limit */
	NB_BLOCK_CLASSES = 2048	  /* sizes up to 128 KiB, more than any state */
};

/*
 * An explored state. @open counts the paths out of it that have not ended;
 * while there are any, it is an ancestor of the current path.
 */
struct nb_explored {
	struct nb_explored *parent, *next;
	struct nb_explored *child; /* the latest one, while @open */
	struct nb_saved *saved;	   /* NULL: dropped */
	uint32_t size, open, hits, misses, key_misses;
	struct nb_key key;
	/* iterations that the run counts, used up to here (see explored.c) */
	uint32_t counted;
	uint32_t loop;	/* before an iteration of this helper call, or 0 */
	uint32_t round; /* number of the iteration of that loop */
	struct nb_marks marks;
	void *mem; /* memory of @marks, while @open */
	uint32_t mem_size;
	/* instructions from @parent to here or, if @iterated, from the last
	 * end of an iteration between the two; and the most instructions from
	 * here to the next end of an iteration */
	uint32_t length, length_after;
	bool iterated;
};

/* A path of the worklist: where to continue, and with which state. */
struct nb_open_path {
	struct nb_saved *saved;
	struct nb_explored *parent;
	uint32_t size, pc, nhistory, may_gotos, length;
	uint32_t nloops, since; /* see nb_walk_loops */
	bool iterated;
	bool taken; /* its first branch is taken, not fallen through */
};

struct nb_free_block {
	struct nb_free_block *next;
};

/* See loop_cost.c. */
struct nb_walk_loops {
	struct nb_loop_cost *at;     /* by number; NULL: not computed */
	struct nb_loop_begun *begun; /* on this path, the latest last */
	uint32_t n, size;
	uint32_t *latest; /* of each loop, its place there + 1 */
	uint32_t since;	  /* instructions since an iteration ended */
};

struct nb_walk {
	struct nb_env *env;
	struct nb_state *st;
	uint32_t pc;
	struct nb_explored *latest; /* explored state of this path */
	/* explored states by slot: at joins; and those right after a may_goto
	 * passed or right before an iteration that the run counts */
	struct nb_explored **joins, **counted;
	uint32_t *visits;   /* visits of each join */
	uint32_t may_gotos; /* passed on this path */
	/* instructions since @latest or, if @iterated, since the last end of
	 * an iteration after it */
	uint32_t length;
	bool iterated;
	/* open paths [oldest, nopen); oldest is above 0 in a search alone */
	struct nb_open_path *worklist;
	uint32_t nopen, oldest;
	uint32_t walked;
	uint32_t allowance; /* limit of instructions plus other work */
	size_t kept;	    /* bytes of explored states */
	struct nb_free_block *blocks[NB_BLOCK_CLASSES];
	struct nb_steps steps;
	struct nb_walk_loops loops;
};

/* Does this walk search for the shortest path to a finding? See nb_seek. */
static inline bool nb_walk_searches(const struct nb_walk *w)
{
	return w->env->seek && !w->env->seek->replay;
}

/* Does it replay that path? */
static inline bool nb_walk_replays(const struct nb_walk *w)
{
	return w->env->seek && w->env->seek->replay;
}

#endif
