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

struct nb_marks;
/* What a slot may write, collected in a walk without labels. */
struct nb_effects;
/* Functions that the helper called at a slot may call back. */
struct nb_callee {
	struct nb_callee *next;
	uint32_t start;
};

struct nb_writes {
	uint64_t cells[NB_MAX_FRAMES][NB_NCELLS / 64];
};

/*
 * How loops are walked that only the run time bounds: counted ones (of few
 * iterations) exactly or not, and where scalars grow. EXACT: those of
 * may_goto never; LATE: all exactly at first, for an index that wraps.
 */
enum nb_walk_mode { NB_WALK_EXACT, NB_WALK_WIDEN, NB_WALK_LATE, NB_NWALKS };

/* A branch on a way. */
struct nb_branch_step {
	uint32_t pc;
	uint32_t before; /* in a search: the branch before + 1; 0: none */
	bool taken;
	bool open; /* the other way was possible too */
};

/*
 * A second walk for the words of a finding that there is already: a search
 * for the shortest way to it, or, with @follow, the repetition of one way.
 * Neither changes the verdict. See witness.h.
 */
struct nb_seek {
	enum nb_finding_class cls;
	uint32_t pc;
	bool follow;
	const struct nb_branch_step *turns; /* the way to repeat */
	uint32_t nturns;
	bool found; /* the finding came up again */
	bool over;  /* out of memory or steps */
};

/* A store of @value to the output of row @answer, none of which
 * NCCL can take. */
struct nb_odd_store {
	struct nb_odd_store *next;
	uint32_t pc, answer;
	struct nb_range value;
};

/*
 * Everything one verification knows besides the states; lives on the stack
 * of nb_verify, its tables in the verdict's arena.
 */
struct nb_env {
	const struct nb_image *img;
	const struct nb_prog *prog;
	const struct nb_hook_spec *hook;
	struct nb_verify_opts opts; /* defaults filled in */
	struct nb_verdict *v;
	struct nb_arena *arena; /* the verdict's */
	struct nb_insn *insns;	/* nslots of them */
	uint32_t n;
	struct nb_cfg cfg;
	uint8_t *aux;
	uint8_t *zero_divisor; /* DIV, MOD: the divisor may be 0 */
	uint32_t ids;	       /* last id given out */
	uint32_t *depth;       /* bytes of stack used, for each function */

	/* the walk going on */
	bool labels;	/* it tracks coherence */
	bool saw_local; /* some value had a local source */
	bool failed;	/* v->finding is filled */
	bool nomem;
	enum nb_walk_mode mode;
	struct nb_writes **writes;
	struct nb_callee **callees; /* by slot; NULL: no callbacks yet */
	/* verdicts: the one constant all exits return, and where a local
	 * decision chose between exits */
	bool exit_seen, exit_mixed;
	uint64_t exit_value;
	uint32_t exit_local; /* slot, NB_NO_PC: none */
	uint32_t exit_from;
	/* regions of local control: what each may write, by its branch */
	const struct nb_effects **effects;
	uint8_t *scratch_seen;
	uint32_t *scratch_todo;
	uint64_t region_work; /* slots that may still be looked at */
	/* of this walk, besides instructions: work that grows with what a
	 * state holds, in units of about one instruction's */
	uint64_t work;
	/* instructions that walks of each mode took so far */
	uint32_t spent[NB_NWALKS];
	/* of this walk: instructions of its longest lap, and those before the
	 * first one ends (NB_LAP_FAR: more); the call that adds most to one */
	uint32_t lap, first, call, call_pc;
	uint32_t lap_pc; /* where the longest lap ends */
	bool counts;	 /* laps end in global functions it calls, too */
	/* of calls of loops by slot: turns, where they are a constant; NULL:
	 * there are none */
	uint32_t *constant_turns;
	struct nb_budgets budget;
	/* branches that led to the state walked now */
	struct nb_branch_step *history;
	uint32_t nhistory, nturns, history_cap;
	/* global functions by their number, and the one walked: 0 the program
	 */
	struct nb_global **globals;
	uint32_t root;
	struct nb_marks *marks; /* of the last stored state, or NULL */
	struct nb_seek *seek;	/* NULL: this walk judges */
	/* for notes: outputs that some path sets, bit i for row i of
	 * core/defs/answers.h, and stores that NCCL cannot take */
	uint32_t answered;
	struct nb_odd_store *odd_stores;
};

/* Instructions, more than any lap may have. */
enum { NB_LAP_FAR = 1 << 30 };

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
