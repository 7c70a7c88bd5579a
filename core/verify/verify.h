// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_VERIFY_H
#define NB_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/image/image.h"

/*
 * Class of a rejection, one row each in core/tbl/findings.h: a stable word,
 * what was required in general, and the hint.
 */
enum nb_finding_class {
	NB_FIND_NONE,
#define FINDING(name, word, text, hint) NB_FIND_##name,
#include "core/tbl/findings.h"
	NB_NFINDINGS
};

enum { NB_MAX_PATH = 64 };

/* A branch on the way to the finding, and what it meant there. */
struct nb_branch {
	uint32_t pc;
	bool taken;
	bool open;	  /* the other way was possible too */
	const char *text; /* "ctx->ranks > 16"; "" where nothing is known */
};

/* A step that made what the finding is about what it is. */
struct nb_note {
	uint32_t pc;
	const char *text;
};

/*
 * Why a program is refused: one finding, the first on the way explored, with
 * the shortest way that leads to it. Strings live as long as the verdict.
 */
struct nb_finding {
	enum nb_finding_class cls;
	uint32_t pc;	      /* slot */
	int reg;	      /* register concerned, -1 if none */
	const char *insn;     /* disassembly */
	const char *required; /* "offset 0..7 of map limits' value (8 bytes)" */
	const char *known;    /* "r2: scalar 0..255" */
	const char *hint;     /* "add: if (i >= 16) return 0;" or "" */
	const char *func;     /* name of the function */
	const struct nb_line *line;   /* of the image; NULL: no line info */
	const struct nb_branch *path; /* the last ones, at most NB_MAX_PATH */
	uint32_t npath;
	const struct nb_note *notes;
	uint32_t nnotes;
};

struct nb_verify_stats {
	uint32_t insns_walked, states_kept, states_peak;
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
	/* a test harness: r1 points to this many bytes of plain memory and r2
	 * holds the number, as in bpf_conformance; 0: the hook's context */
	uint32_t plain_mem;
	/* a test harness: this context instead of the hook's own, NULL; rows
	 * for helpers that are not ours, NULL; what the kernel allows the
	 * privileged and we allow nobody: to return an address, and to read
	 * unwritten stack bytes as data. Nothing judged so may run. */
	const struct nb_hook_spec *hook;
	const struct nb_helper_spec *(*helper)(int32_t id);
	bool privileged;
	bool allow_wide_shift; /* immediates outside the width, masked */
	/* a walk ends only at states that lie inside a stored one in all they
	 * say, also where it did not matter: the states walked then hold
	 * every state of every run */
	bool exact;
	/* ...and apart from them: text of every state along the way, may be
	 * NULL */
	struct nb_buf *trace;
	/* called with every state walked, before its instruction; may be
	 * NULL. For tests that hold the states against real runs. */
	void (*observe)(void *arg, const struct nb_env *env,
			const struct nb_state *st, uint32_t pc);
	void *observe_arg;
};

struct nb_verdict {
	bool accepted;
	struct nb_finding finding; /* when not */
	struct nb_verify_stats stats;
	const uint8_t *aux; /* NB_AUX_* for each slot */
	/* of an accepted program, what bounds its runs (NB_RUN_BUDGET):
	 * instructions of the longest lap, not 0, and of the first one; numbers
	 * of short iterators, the first of a run, that have to come */
	uint32_t lap, first, numbers;
	struct nb_arena arena; /* private */
};

/*
 * nb_verify - judge program @prog of @img
 * @opts: may be NULL for the defaults
 *
 * 0 when a verdict could be reached, also a bad one: see (*out)->accepted,
 * and free it with nb_verdict_free. NB_E_NOMEM, NB_E_BUG otherwise, *@out
 * NULL. The image must outlive the verdict. Pure, any thread; bounded in
 * time and memory by the options.
 */
int nb_verify(struct nb_verdict **out, const struct nb_image *img,
	      uint32_t prog, const struct nb_verify_opts *opts,
	      struct nb_err *err);
void nb_verdict_free(struct nb_verdict *v);

/*
 * The finding as text: several lines for people (source line with a caret,
 * required, known, path, hint), each ended by a newline, and as one JSON
 * object {"class":…,"pc":…,"required":…,…}. The same offline and in the job.
 */
void nb_verdict_text(const struct nb_verdict *v, const struct nb_image *img,
		     uint32_t prog, struct nb_buf *out);
void nb_verdict_json(const struct nb_verdict *v, const struct nb_image *img,
		     uint32_t prog, struct nb_json *out);
/* The notes along the way, as a compiler prints them: the source line and
 * what happens there; nothing for an accepted program. */
void nb_verdict_notes(const struct nb_verdict *v, const struct nb_image *img,
		      uint32_t prog, struct nb_buf *out);
/* The finding in one line, for struct nb_err; returns NB_E_VERIFY. */
int nb_verdict_err(const struct nb_verdict *v, const struct nb_image *img,
		   uint32_t prog, struct nb_err *err);

#endif
