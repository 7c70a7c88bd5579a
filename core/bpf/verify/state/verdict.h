// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_STATE_VERDICT_H
#define NB_VERIFY_STATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/bpf/image/image.h"
#include "core/bpf/isa/budgets.h"

/* Class of a rejection: a RULE of core/defs/rules.h, with its variants. */
enum nb_finding_class {
	NB_FIND_NONE,
#define RULE(name, ...) NB_FIND_##name,
#include "core/defs/rules.h"
	NB_NFINDINGS
};

/* The rule that a program broke: any row of core/defs/rules.h. */
enum nb_rule {
#define RULE(name, ...) NB_RULE_##name,
#define VARIANT(name, ...) NB_RULE_##name,
#include "core/defs/rules.h"
	NB_NRULES
};

enum { NB_MAX_PATH = 64, NB_MAX_NOTES = 32 };

/* A branch on the path to the finding, with its condition there. */
struct nb_branch {
	uint32_t pc;
	bool taken;
	bool open; /* The other outcome of the branch was possible too. */
	/* For example "ctx->ranks > 16"; "" if nothing is known. */
	const char *text;
};

/* An instruction that explains the finding. */
struct nb_step_note {
	uint32_t pc;
	const char *text;
};

/* Class of a note. core/defs/notes.h has one row for each. */
enum nb_note_class {
#define NOTE(name, word, text, hint) NB_NOTE_##name,
#include "core/defs/notes.h"
	NB_NNOTES
};

/* A remark for the author of an accepted program. */
struct nb_note {
	enum nb_note_class cls;
	uint32_t pc;	  /* Slot of the instruction. */
	const char *word; /* The stable name of the note's class. */
	const char *text, *hint;
	/* Source line, owned by the image; NULL without line info. */
	const struct nb_line *line;
};

/* Branches from the start of the program to a slot. @steps is NULL if they are
 * too many or out of memory. */
struct nb_way {
	const struct nb_branch_step *steps;
	uint32_t n;
};

/* Why a program is rejected: the first finding of the walk, with the
 * path that leads to it. Strings live as long as the verdict. */
struct nb_finding {
	enum nb_finding_class cls;
	enum nb_rule rule;
	uint32_t pc; /* Slot of the instruction. */
	int reg;     /* The register concerned, or -1 if there is none. */
	/* A leak: the slot where rank-local data was read; NB_NO_PC if it is
	 * not known. */
	uint32_t from;
	const char *insn; /* The disassembled instruction. */
	/* For example "offset 0..7 of map limits' value (8 bytes)". */
	const char *required;
	const char *known; /* For example "r2: scalar 0..255". */
	/* For example "add: if (i >= 16) return 0;"; may be "". */
	const char *hint;
	const char *func;
	/* Source line, owned by the image; NULL without line info. */
	const struct nb_line *line;
	/* The last NB_MAX_PATH branches of the path. */
	const struct nb_branch *path;
	uint32_t npath;
	const struct nb_step_note *notes;
	uint32_t nnotes;
	struct nb_way way; /* All branches of the path; private to the verifier. */
};

/* Types private to the verifier. */
struct nb_env;
struct nb_state;

typedef void nb_observe_fn(void *arg, struct nb_env *env, const struct nb_state *st, uint32_t pc);

/* Options of a verification. The members before @observe change which
 * programs are accepted. */
struct nb_verify_opts {
	bool coherence_off; /* Set by NCCLBPF_COHERENCE=off. */
	/* Limit of walked instructions; 0 means 1,000,000. */
	uint32_t max_insns;
	size_t max_memory; /* Limit of memory in bytes; 0 means 64 MiB. */
	/* The policy's limit for all its programs (0 means none), and the
	 * work that its earlier programs took (nb_verify_stats.work). */
	uint32_t policy_insns, policy_spent;
	/* For tests: r1 points to this many bytes of plain memory and r2
	 * holds the number, like in bpf_conformance; 0 means the hook's
	 * context. */
	uint32_t plain_mem;
	/* A context instead of the hook's own; may be NULL. A program
	 * accepted with it must not run. */
	const struct nb_hook_spec *hook;
	/* Called with every walked state, before its instruction; may be
	 * NULL. See nb_trace_state (report/text.h). */
	nb_observe_fn *observe;
	void *observe_arg;
};

struct nb_verdict {
	bool accepted;
	struct nb_finding finding; /* Set if the program is rejected. */
	/* Set if the program is accepted; sorted by slot. */
	const struct nb_note *notes;
	uint32_t nnotes;
	struct nb_verify_stats stats;
	const uint8_t *aux;	   /* NB_AUX_* bits of each slot. */
	struct nb_run_bounds runs; /* Set if the program is accepted. */
	/* Memory of the verdict; private to the verifier. */
	struct nb_arena arena;
};

#endif
