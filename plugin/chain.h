// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHAIN_H
#define NB_PLUGIN_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/chain_load.h"

/*
 * Plugins that ours has displaced and calls in NCCL's place: one of each row of
 * core/tbl/chains.h. Whatever one of them does wrong is counted here and told
 * once; it never becomes an error of ours.
 */
struct nb_crash;
struct nb_json;
struct nb_runtime;

enum nb_chain_kind {
#define CHAIN(name, word, noun, late, prefix, stem, oldest, error, refused) \
	NB_CHAIN_##name,
#include "core/tbl/chains.h"
	NB_NCHAINS
};

enum nb_chain_state {
	NB_CHAIN_NONE,	  /* no variable names one */
	NB_CHAIN_OPEN,	  /* opened; NCCL has not called yet */
	NB_CHAIN_IN_USE,  /* called before us */
	NB_CHAIN_LEFT_OUT /* for good: why says it */
};

struct nb_chain {
	struct nb_chain_file file;
	enum nb_chain_state state;
	uint32_t version; /* of its interface; 0: not known yet */
	char name[64];	  /* as it calls itself */
	struct nb_err why;
	uint64_t errors;  /* atomic: calls that returned an error */
	const char *what; /* atomic: the call that failed first, or NULL */
	uint64_t refused; /* atomic: answers that were not taken */
	bool told;
	bool crashed; /* atomic: what it holds it holds for ever */
};

/* Open what the variables name; failures are logged. While the runtime is
 * made, before others know it. */
void nb_chain_begin(struct nb_runtime *rt);

/*
 * nb_chain_use - the table of functions to call
 * @abi: version of the interface with which NCCL calls us
 * @version: gets that of the table
 *
 * The newest that NCCL would have taken. NULL: there is none; where it was
 * named, that has been said. Takes the runtime's lock.
 */
const void *nb_chain_use(struct nb_runtime *rt, enum nb_chain_kind kind,
			 uint32_t abi, uint32_t *version);
/*
 * nb_chain_open_late - open one whose row says late
 *
 * 0, or an error that has been said and stands in rt->chain[]. Without the
 * lock: the file's constructors run.
 */
int nb_chain_open_late(struct nb_runtime *rt, enum nb_chain_kind kind);
/* Interface @version of what that has opened, which calls itself @name, is
 * called from now on. False: it is ourselves, and left out. Takes the lock. */
bool nb_chain_taken(struct nb_runtime *rt, enum nb_chain_kind kind,
		    uint32_t version, const char *name);
/* It failed before it was of use: never called again by communicators that
 * are made from now on. Logged once. Takes the lock. */
void nb_chain_leave_out(struct nb_runtime *rt, enum nb_chain_kind kind,
			const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* It crashed in its init, and is left out: counted and said. Takes the lock. */
void nb_chain_crashed(struct nb_runtime *rt, enum nb_chain_kind kind,
		      const struct nb_crash *crash);
bool nb_chain_has_crashed(const struct nb_runtime *rt, enum nb_chain_kind kind);

/* Count what one did; any thread, on a decision path too. */
void nb_chain_count_error(struct nb_runtime *rt, enum nb_chain_kind kind);
/* The same of a named call (@what is a constant), the first said at once. */
void nb_chain_count_failure(struct nb_runtime *rt, enum nb_chain_kind kind,
			    const char *what, int result);
void nb_chain_count_refused(struct nb_runtime *rt, enum nb_chain_kind kind);

/* ---- with the lock ---- */

/* Log, once, what was counted. */
void nb_chain_tell(struct nb_runtime *rt);
/* "chains": a list of objects, for `status` */
void nb_chain_json(struct nb_json *j, const struct nb_runtime *rt);

const char *nb_chain_word(enum nb_chain_kind kind);
const char *nb_chain_noun(enum nb_chain_kind kind);
const char *nb_chain_state_word(enum nb_chain_state state);

#endif
