// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_ENV_H
#define NB_VERIFY_STATE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/image/image.h"
#include "core/isa/insn.h"
#include "core/verify/state/shape.h"
#include "core/verify/state/state.h"
#include "core/verify/state/verdict.h"

/* Events that an explored path has at a slot. */
enum {
	NB_NOTED_ZERO = 1,   /* DIV, MOD: the divisor may be 0 */
	NB_NOTED_ADDRESS = 2 /* a pointer becomes a number */
};

struct nb_marks;
/* What a region of local control may write: control_dep.c. */
struct nb_effects;

/* Cells that the instruction at a slot may write, in any walk so far. */
struct nb_writes {
	uint64_t cells[NB_MAX_FRAMES][NB_NCELLS / 64];
};

/*
 * How to walk loops whose iterations the run time counts. WIDEN: scalars grow
 * from iteration to iteration. EXACT: few iterations are walked one by one,
 * and may_goto never widens. LATE: like WIDEN after many exact iterations,
 * for an index that wraps.
 */
enum nb_walk_mode { NB_WALK_EXACT, NB_WALK_WIDEN, NB_WALK_LATE, NB_NWALKS };

/* A branch on a path. */
struct nb_branch_step {
	uint32_t pc;
	uint32_t before; /* in a search: the branch before + 1; 0: none */
	bool taken;
	bool open; /* the other outcome was possible too */
};

/*
 * A second walk, for the words of a finding: a search for the shortest path
 * to it or, with @replay, the replay of one path. It changes no verdict. See
 * witness.h.
 */
struct nb_seek {
	enum nb_finding_class cls;
	uint32_t pc;
	bool replay;
	const struct nb_branch_step *path; /* to replay */
	uint32_t npath;
	bool found; /* the search reached the finding */
	bool over;  /* out of memory or steps */
};

/* Written by engine/transfer.c: values that the program's exits return. */
struct nb_exits {
	bool seen, mixed; /* an exit; exits with different constants */
	uint64_t value;	  /* the last exit's */
	/* an exit whose value local data decides, or NB_NO_PC; source of the
	 * data */
	uint32_t local, from;
};

/* Written by coherence/control_dep.c. */
struct nb_regions {
	const struct nb_effects **effects; /* by the region's branch */
	uint8_t *seen;			   /* scratch: by slot */
	uint32_t *worklist;		   /* scratch: slots to visit */
	uint64_t work;			   /* slots that may still be visited */
};

/* Written by the engine: work in units of about one instruction. */
struct nb_cost {
	uint64_t work;		   /* in this walk, without instructions */
	uint32_t spent[NB_NWALKS]; /* by all walks of each mode so far */
};

/* Written by engine/run_length.c: lengths in instructions, NB_LENGTH_FAR if
 * longer. */
struct nb_lengths {
	uint32_t iteration;	/* the longest iteration */
	uint32_t first;		/* the most before the first one ends */
	uint32_t call, call_pc; /* the call that adds most */
	bool ends_in_callee;	/* global functions end iterations, too */
};

/* Written by engine/loop_cost.c: the cost of each loop. */
struct nb_loop_cost;
struct nb_loop_costs {
	uint32_t
		*site; /* by slot: number of the loop that begins there, or 0 */
	uint32_t n;
	struct nb_loop_cost **of; /* by function walked; NULL: not yet */
};

/* Instructions, more than any iteration may have. */
enum { NB_LENGTH_FAR = 1 << 30 };

/* Written by engine/worklist.c: branches up to the current state. */
struct nb_history {
	struct nb_branch_step *steps;
	uint32_t n; /* steps of this path; in a search: last step + 1 */
	uint32_t total, cap;
};

/* A store to the output of row @answer; NCCL accepts no value of the range
 * @value. */
struct nb_odd_store {
	struct nb_odd_store *next;
	uint32_t pc, answer;
	struct nb_range value;
};

/*
 * One verification, apart from its states. It lives on the stack of
 * nb_verify; its tables are in the verdict's arena.
 */
struct nb_env {
	/* the input; set by nb_verify alone */
	const struct nb_image *img;
	const struct nb_prog *prog;
	const struct nb_hook_spec *hook;
	struct nb_verify_opts opts; /* defaults filled in */
	struct nb_verdict *v;
	struct nb_arena *arena; /* the verdict's */

	/* the program decoded, and its shape (flow/) */
	struct nb_insn *insns;
	uint32_t n; /* slots */
	struct nb_cfg cfg;

	/* facts by slot, of all walks; @depth by function */
	uint8_t *aux;	 /* NB_AUX_* */
	uint8_t *noted;	 /* NB_NOTED_* */
	uint32_t ids;	 /* last id given out */
	uint32_t *depth; /* bytes of stack used, for each function */

	/* this walk */
	bool labels; /* tracks coherence */
	enum nb_walk_mode mode;
	struct nb_seek *seek;	/* NULL: a walk that judges */
	struct nb_marks *marks; /* the latest explored state's, or NULL */
	struct nb_exits exits;
	struct nb_cost cost;
	struct nb_lengths length;
	struct nb_loop_costs loops; /* shared by all walks */
	struct nb_history history;

	/* all walks so far */
	bool saw_local; /* some value had a local source */
	bool failed;	/* v->finding is filled */
	bool nomem;
	struct nb_writes **writes; /* by slot; NULL: none */
	struct nb_regions regions;
	struct nb_budgets budget;
	/* global functions by number; @root: number of the function that is
	 * walked, 0: the program itself */
	struct nb_global **globals;
	uint32_t root;
	/* for notes: outputs that some path sets, bit i for row i of
	 * core/defs/answers.h, and stores that NCCL cannot take */
	uint32_t answered;
	struct nb_odd_store *odd_stores;
};

/* Must the program answer the same on every rank? */
static inline bool nb_env_is_coherent(const struct nb_env *env)
{
	return env->hook->coherent && !env->opts.coherence_off &&
	       !env->opts.plain_mem;
}

static inline const struct nb_helper_spec *
nb_env_helper(const struct nb_env *env, int64_t id)
{
	const struct nb_helper_spec *h = NULL;

	if (id >= INT32_MIN && id <= INT32_MAX)
		h = nb_spec_helper((int32_t)id);
	return h || !env->opts.helper ? h : env->opts.helper((int32_t)id);
}

#endif
