// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WRAP_WRAPPED_H
#define NB_PLUGIN_WRAP_WRAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/wrap/library.h"

/*
 * Wrapped plugins: those that ours replaced and calls in NCCL's place, at most
 * one for each row of core/defs/chains.h. Their errors are counted, and the
 * first is logged. They never become errors of ours.
 */
struct nb_json;

enum nb_wrapped_kind {
#define CHAIN(name, word, noun, late, prefix, stem, oldest, error, refused) \
	NB_WRAPPED_##name,
#include "core/defs/chains.h"
	NB_NWRAPPED
};

enum nb_wrapped_state {
	NB_WRAPPED_NONE,    /* no variable names one */
	NB_WRAPPED_OPEN,    /* opened; NCCL has not called yet */
	NB_WRAPPED_IN_USE,  /* called before us */
	NB_WRAPPED_LEFT_OUT /* never called again; @why has the reason */
};

struct nb_wrapped {
	struct nb_library file;
	enum nb_wrapped_state state;
	uint32_t version; /* version of its interface; 0: not known yet */
	char name[64];	  /* the name that the plugin gives itself */
	struct nb_err why;
	uint64_t errors;  /* atomic: calls that returned an error */
	const char *what; /* atomic: the call that failed first, or NULL */
	uint64_t refused; /* atomic: answers that we refused */
	bool told;
};

/* NB_LOCK_WRAP protects what is not atomic. */
extern struct nb_wrapped nb_wrapped[NB_NWRAPPED];

/* Open the plugins that variables name; failures are logged. While the process
 * starts. */
void nb_wrapped_open_all(void);

/*
 * nb_wrapped_use - the table of functions to call
 * @abi: version of the interface with which NCCL calls us
 * @version: gets that of the table
 *
 * The newest that NCCL would have taken. NULL: there is none; the reason was
 * logged if a variable names a plugin. Takes NB_LOCK_WRAP.
 */
const void *nb_wrapped_use(enum nb_wrapped_kind kind, uint32_t abi,
			   uint32_t *version);
/*
 * nb_wrapped_open_late - open a plugin whose row says late
 *
 * 0, or an error, which was logged and is kept in nb_wrapped[]. Call it
 * without
 * the lock: the file's constructors run.
 */
int nb_wrapped_open_late(enum nb_wrapped_kind kind);
/* The plugin @name is called from now on, by interface @version. False: it is
 * ncclbpf itself, and left out. Takes NB_LOCK_WRAP. */
bool nb_wrapped_take(enum nb_wrapped_kind kind, uint32_t version,
		     const char *name);
/* Leave the plugin out: new communicators do not call it. Logged once. Takes
 * NB_LOCK_WRAP. */
void nb_wrapped_leave_out(enum nb_wrapped_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Count an error; any thread, also on the decision path. */
void nb_wrapped_count_error(enum nb_wrapped_kind kind);
/* Count a failed call @what (a constant), and log the first. */
void nb_wrapped_count_failure(enum nb_wrapped_kind kind, const char *what,
			      int result);
void nb_wrapped_count_refused(enum nb_wrapped_kind kind);

/* Log the counted errors, once for each plugin. */
void nb_wrapped_log(void);
/* "chains": a list of objects, for `status` */
void nb_wrapped_json(struct nb_json *j);

const char *nb_wrapped_word(enum nb_wrapped_kind kind);
const char *nb_wrapped_noun(enum nb_wrapped_kind kind);
const char *nb_wrapped_state_word(enum nb_wrapped_state state);

#endif
