// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WRAP_WRAPPED_H
#define NB_PLUGIN_WRAP_WRAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/wrap/library.h"

/*
 * Wrapped plugins: NCCL plugins that ours replaced and calls in NCCL's place.
 * There is at most one for each row of core/defs/chains.h. Their errors are
 * counted, and the first one is logged. Their errors never become ours.
 */
struct nb_json;

enum nb_wrapped_kind {
#define CHAIN(name, word, noun, late, prefix, stem, oldest, error, refused) NB_WRAPPED_##name,
#include "core/defs/chains.h"
	NB_NWRAPPED
};

enum nb_wrapped_state {
	NB_WRAPPED_NONE,   /* no variable names a plugin */
	NB_WRAPPED_OPEN,   /* opened, but NCCL has not called it yet */
	NB_WRAPPED_IN_USE, /* the plugin is called before our own functions */
	/* the plugin is never called again; @why has the reason */
	NB_WRAPPED_LEFT_OUT
};

struct nb_wrapped {
	struct nb_library file;
	enum nb_wrapped_state state;
	/* version of the plugin's interface; 0 if not yet known */
	uint32_t version;
	char name[64]; /* name that the plugin gives itself */
	struct nb_err why;
	/* number of calls that returned an error; accessed atomically */
	uint64_t errors;
	/* the call that failed first, or NULL; accessed atomically */
	const char *what;
	/* number of answers that we refused; accessed atomically */
	uint64_t refused;
	/* the wrapped tuner has edited RCCL's cost constants; accessed atomically */
	bool edited;
	bool told;
};

/* The wrapped plugins. NB_LOCK_WRAP protects the fields that are not atomic. */
extern struct nb_wrapped nb_wrapped[NB_NWRAPPED];

/*
 * Open the plugins that variables name, while the process starts. Failures are
 * logged.
 */
void nb_wrapped_open_all(void);

/*
 * nb_wrapped_use - get the plugin's table of functions
 * @abi: version of the interface with which NCCL calls us
 * @version: set to the version of the table
 *
 * Returns the newest table that NCCL would use, or NULL if there is none; the
 * reason was logged if a variable names a plugin. Takes NB_LOCK_WRAP.
 */
const void *nb_wrapped_use(enum nb_wrapped_kind kind, uint32_t abi, uint32_t *version);
/*
 * nb_wrapped_open_late - open a plugin whose row says late
 * @otherwise: the plugin to open if the user's variable names none
 *
 * Returns 0, or an error, which was logged and is kept in nb_wrapped[]. The
 * caller must not hold the lock, because the file's constructors run.
 */
int nb_wrapped_open_late(enum nb_wrapped_kind kind, const char *otherwise);
/*
 * Mark the plugin as in use under the name @name and interface version
 * @version. Returns false if it is ncclbpf itself, which is then left out.
 * Takes NB_LOCK_WRAP.
 */
bool nb_wrapped_take(enum nb_wrapped_kind kind, uint32_t version, const char *name);
/*
 * Leave the plugin out: new communicators do not call it. This is logged once.
 * Takes NB_LOCK_WRAP.
 */
void nb_wrapped_leave_out(enum nb_wrapped_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Count an error. Any thread may call it, also on the decision path. */
void nb_wrapped_count_error(enum nb_wrapped_kind kind);
/* Count a failed call @what, a constant string, and log the first failure. */
void nb_wrapped_count_failure(enum nb_wrapped_kind kind, const char *what, int result);
void nb_wrapped_count_refused(enum nb_wrapped_kind kind);

/* Note that the wrapped tuner edits RCCL's constants, and log the first time. */
void nb_wrapped_note_edit(void);

/* Log the counted errors once for each plugin. */
void nb_wrapped_log(void);
/* Write "chains", a list of objects, for `status`. */
void nb_wrapped_json(struct nb_json *j);

const char *nb_wrapped_word(enum nb_wrapped_kind kind);
const char *nb_wrapped_noun(enum nb_wrapped_kind kind);

#endif
