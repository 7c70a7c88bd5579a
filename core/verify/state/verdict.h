// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_VERDICT_H
#define NB_VERIFY_STATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/image/image.h"

/*
 * Class of a rejection, one row each in core/defs/findings.h: a stable word,
 * what was required in general, and the hint.
 */
enum nb_finding_class {
	NB_FIND_NONE,
#define FINDING(name, word, text, hint) NB_FIND_##name,
#include "core/defs/findings.h"
	NB_NFINDINGS
};

/* The rule that was broken, one row each in core/defs/rules.h. */
enum nb_rule {
#define RULE(name, cls, required, known, hint) NB_RULE_##name,
#include "core/defs/rules.h"
	NB_NRULES
};

enum { NB_MAX_PATH = 64 };

/* A branch on the path to the finding, and its condition there. */
struct nb_branch {
	uint32_t pc;
	bool taken;
	bool open;	  /* the other outcome was possible too */
	const char *text; /* "ctx->ranks > 16"; "" where nothing is known */
};

/* An instruction that explains the finding. */
struct nb_step_note {
	uint32_t pc;
	const char *text;
};

/* Class of a note, one row each in core/defs/notes.h. */
enum nb_note_class {
#define NOTE(name, word, text, hint) NB_NOTE_##name,
#include "core/defs/notes.h"
	NB_NNOTES
};

/* A remark to the author of an accepted program. */
struct nb_note {
	enum nb_note_class cls;
	uint32_t pc;	  /* slot */
	const char *word; /* the class's stable name */
	const char *text, *hint;
	const struct nb_line *line; /* in the image; NULL: no line info */
};

/*
 * Why a program is refused: the first finding of the walk, with the shortest
 * path that leads to it. Strings live as long as the verdict.
 */
struct nb_finding {
	enum nb_finding_class cls;
	enum nb_rule rule;
	uint32_t pc;	      /* slot */
	int reg;	      /* register concerned, -1 if none */
	const char *insn;     /* disassembly */
	const char *required; /* "offset 0..7 of map limits' value (8 bytes)" */
	const char *known;    /* "r2: scalar 0..255" */
	const char *hint;     /* "add: if (i >= 16) return 0;" or "" */
	const char *func;     /* name of the function */
	const struct nb_line *line;   /* in the image; NULL: no line info */
	const struct nb_branch *path; /* the last NB_MAX_PATH branches */
	uint32_t npath;
	const struct nb_step_note *notes;
	uint32_t nnotes;
};

struct nb_verify_stats {
	uint32_t insns_walked, states_kept, states_peak;
	/* work of all walks: instructions, and other work in their unit */
	uint32_t work;
	uint32_t stack_depth; /* bytes, deepest call chain */
	uint64_t time_ns;
	size_t memory; /* bytes of the arena */
};

/* Private to the verifier. */
struct nb_env;
struct nb_state;

/* Options that change what is accepted... */
struct nb_verify_opts {
	bool coherence_off; /* NCCLBPF_COHERENCE=off */
	uint32_t max_insns; /* walked; 0: 1,000,000 */
	size_t max_memory;  /* bytes; 0: 64 MiB */
	/* the policy's limit for all its programs, 0: none; and the work that
	 * its earlier programs took (nb_verify_stats.work) */
	uint32_t policy_insns, policy_spent;
	/* for tests: r1 points to this many bytes of plain memory and r2 holds
	 * the number, like in bpf_conformance; 0: the hook's context */
	uint32_t plain_mem;
	/* for tests. @hook: a context instead of the hook's own, may be NULL.
	 * @helper: rows of foreign helpers, may be NULL. @privileged: allow a
	 * program to return an address and to read unwritten stack bytes as
	 * data, like the kernel does for privileged users. Programs accepted
	 * with these must not run. */
	const struct nb_hook_spec *hook;
	const struct nb_helper_spec *(*helper)(int32_t id);
	bool privileged;
	bool allow_wide_shift; /* immediates outside the width, masked */
	/* prune a path only if an explored state subsumes the whole state,
	 * imprecise scalars included. The walked states then contain every
	 * state of every run. */
	bool exact;
	/* ...and options that do not: the text of every state goes here, may
	 * be NULL */
	struct nb_buf *trace;
	/* called with every state walked, before its instruction; may be
	 * NULL. For tests that hold the states against real runs. */
	void (*observe)(void *arg, const struct nb_env *env,
			const struct nb_state *st, uint32_t pc);
	void *observe_arg;
};

enum { NB_NO_LOOP = UINT32_MAX >> 1 };

/* The loop that costs most in a run. */
struct nb_loop_report {
	uint32_t pc;	     /* where it begins, NB_NO_LOOP: none */
	uint32_t iterations; /* in the whole run; 0: not constant */
	uint32_t length;     /* instructions an iteration, less inner loops */
	uint32_t share;	     /* of the program's loops and first path, in % */
};

struct nb_verdict {
	bool accepted;
	struct nb_finding finding;   /* when not */
	const struct nb_note *notes; /* when it is, by slot */
	uint32_t nnotes;
	struct nb_verify_stats stats;
	const uint8_t *aux; /* NB_AUX_* for each slot */
	/* Bounds on the runs of an accepted program (NB_RUN_BUDGET).
	 * @lap: instructions of the longest iteration, not 0.
	 * @first: instructions before the first iteration ends.
	 * @numbers: steps that counted iterators must be able to take. */
	uint32_t lap, first, numbers;
	/* @turns: the verdict requires that loops can make this many
	 * iterations. @constant_turns: iterations of loops whose number is
	 * constant; nested loops multiply. */
	uint32_t turns, constant_turns;
	/* the program or a target of its tail calls has may_goto loops, or
	 * loops of helpers */
	bool passes, loops;
	struct nb_loop_report loop; /* the costliest one */
	struct nb_arena arena;	    /* private */
};

#endif
