// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_ENV_H
#define NB_VERIFY_STATE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/bpf/image/image.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/verify/state/shape.h"
#include "core/bpf/verify/state/state.h"
#include "core/bpf/verify/state/verdict.h"

/* Facts about an instruction slot, noted on any explored path. */
enum {
	NB_NOTED_ZERO = 1, /* The divisor of this DIV or MOD may be 0. */
	/* This instruction turns a pointer into a number. */
	NB_NOTED_ADDRESS = 2
};

struct nb_marks;
/* The cells and registers that a region of local control may write; defined
 * in control_dep.c. */
struct nb_effects;

/* Stack cells that the instruction at a slot may write. */
struct nb_writes {
	uint64_t cells[NB_MAX_FRAMES][NB_NCELLS / 64];
};

/* A callback (its first slot) of the helper call at one slot. */
struct nb_callee {
	struct nb_callee *next;
	uint32_t start;
};

/* Modes of walking loops whose iterations the run time counts. WIDEN:
 * scalars grow from iteration to iteration. EXACT: few iterations are
 * walked one by one, and may_goto never widens. LATE: many iterations are
 * walked exactly and the rest as in WIDEN, for an index that wraps. */
enum nb_walk_mode { NB_WALK_EXACT, NB_WALK_WIDEN, NB_WALK_LATE, NB_NWALKS };

/* One branch that a path took. */
struct nb_branch_step {
	uint32_t pc;
	bool taken;
	bool open; /* The other outcome of the branch was possible too. */
};

/* The values that the program's exits return. engine/transfer.c writes them. */
struct nb_exits {
	/* @seen: an exit was walked. @mixed: two exits return different
	 * constants. */
	bool seen, mixed;
	uint64_t value; /* The constant that the last walked exit returns. */
	/* @local: slot of an exit whose value rank-local data decides, or
	 * NB_NO_PC. @from: slot where that data was read. */
	uint32_t local, from;
	struct nb_way way; /* To the exit @local. */
};

/* Tables of regions of local control. coherence/control_dep.c writes them. */
struct nb_regions {
	/* Effects of each region, indexed by the slot of its branch. */
	const struct nb_effects **effects;
	uint8_t *seen;	    /* Scratch flags, one for each slot. */
	uint32_t *worklist; /* Scratch list of slots to visit. */
	uint64_t work;	    /* Number of slots that may still be visited. */
};

/* Lengths in instructions; NB_LENGTH_FAR means longer. engine/run_length.c
 * writes them. */
struct nb_lengths {
	uint32_t iteration; /* Length of the longest iteration. */
	uint32_t first;	    /* Largest number of instructions before the first
			       iteration ends. */
	/* Length and slot of the call that adds most instructions. */
	uint32_t call, call_pc;
};

/* The loops of the program. */
struct nb_loop_sites {
	/* Number of the loop that begins at each slot, or 0 for none. */
	uint32_t *site;
	uint32_t n;
};

struct nb_loop_cost; /* Defined in engine/loop_cost.c. */
struct nb_walk_memory;

/* Larger than the number of instructions of any iteration. */
enum { NB_LENGTH_FAR = 1 << 30 };

/* The branches up to the current state. engine/worklist.c writes them. */
struct nb_history {
	struct nb_branch_step *steps;
	uint32_t n, cap;
};

/* A store to the output of answer row @answer. NCCL accepts no value of the
 * range @value that the program stores. */
struct nb_odd_store {
	struct nb_odd_store *next;
	uint32_t pc, answer;
	struct nb_range value;
};

/* What a walk finds out. state/found.c creates it, and adds up what the accepted
 * walks found. */
struct nb_found {
	uint8_t *aux;	 /* NB_AUX_* bits of each slot. */
	uint8_t *noted;	 /* NB_NOTED_* bits of each slot. */
	uint32_t *depth; /* Bytes of stack that each function uses. */
	/* Cells written, indexed by slot; NULL for a slot that wrote none. A
	 * walk with labels records none. */
	struct nb_writes **writes;
	/* Callbacks indexed by slot of the helper call. */
	struct nb_callee **callees;
	/* Costs by number of the loop; NULL if not computed. */
	struct nb_loop_cost *loops;
	bool saw_local; /* Some value came from a rank-local source. */
	/* Some path reads a field of the context whose unit is ns. */
	bool reads_time;
	/* For notes: the outputs that some path sets (bit i for row i of
	 * core/defs/answers.h), and the stores whose values NCCL rejects. */
	uint32_t answered;
	struct nb_odd_store *odd_stores;
	uint32_t nodd_stores; /* At most NB_MAX_NOTES; later ones are not kept. */
	struct nb_exits exits;
	struct nb_lengths length;
	struct nb_budget_needs needs;
};

/* What is known before the first walk. No walk changes it, except that cfg
 * computes post-dominators when a walk asks for them. */
struct nb_program {
	const struct nb_image *img;
	const struct nb_prog *prog;
	const struct nb_hook_spec *hook;
	/* The caller's options with defaults filled in. */
	struct nb_verify_opts opts;
	struct nb_arena *arena; /* The memory of the verification. */

	/* The decoded program; flow/ computes its control-flow graph. */
	struct nb_insn *insns;
	uint32_t n; /* Number of instruction slots. */
	struct nb_cfg cfg;
	struct nb_loop_sites loops;
};

/* How a walk differs from the others of a verification. */
struct nb_walk_how {
	bool labels; /* The walk tracks coherence labels. */
	/* The walk assumes that even the first loop of a run may end early. */
	bool few_iterations;
	enum nb_walk_mode mode;
	/* The walk follows the path to the verdict's finding once more, and
	 * nothing else. It changes no verdict: see witness.h. */
	bool replay;
};

/* One walk, as checks and steps see it; engine/walk.h has the engine's part.
 * Each walk begins with all members but @how zero. */
struct nb_walk_shared {
	struct nb_walk_how how;
	uint32_t ids; /* The identity that was handed out last. */
	bool nomem;
	bool reached; /* A replay has reached the finding. */
	/* Work in units of about one instruction, not counting the instructions
	 * themselves. */
	uint64_t work;
	/* Precision marks of the latest explored state, or NULL. */
	struct nb_marks *marks;
	struct nb_found found;
	struct nb_history history;
};

/*
 * One verification: the program, the current or latest walk, and the verdict.
 * It lives on the stack of nb_verify; its tables are in the verdict's arena.
 */
struct nb_env {
	struct nb_program program;
	struct nb_walk_shared walk;
	struct nb_walk_memory *memory; /* Of engine/walk.h; NULL before the first walk. */

	struct nb_verdict *const v;
	/* The sum of what the accepted walks found so far. What a rejected
	 * walk found holds for no run. */
	struct nb_found facts;
	/* Computed from the facts, for walks with labels. */
	struct nb_regions regions;
};

/* Must the program give the same answer on every rank? */
static inline bool nb_program_is_coherent(const struct nb_program *program)
{
	return program->hook->coherent && !program->opts.coherence_off && !program->opts.plain_mem;
}

#endif
