// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_SITE_PROCS_H
#define NB_PLUGIN_AGENT_SITE_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/runtime/jobdir.h"

/*
 * Sends requests to the job's processes on this site, over their control
 * sockets (docs/protocol.md). A thread of its own carries out one order at a
 * time, because a process may compile a policy for seconds.
 */
struct nb_procs;

enum { NB_PROCS_IMAGES = 16, NB_PROCS_MAKER = 200 };

/* Contents of the file descriptor that is sent with a request. */
struct nb_procs_blob {
	char name[64]; /* name of the policy */
	void *bytes;   /* contents, which this structure owns */
	size_t size;
};

/*
 * NB_PROCS_LATE: give processes that started after change @n its generation.
 * They adopt it when they have staged it, because the segment says that the
 * site has it.
 *
 * NB_PROCS_EXPORT: get the generation of change @n as bytes, with the images of
 * its policies.
 *
 * NB_PROCS_PROPOSAL: get proposal @n of the site's controllers as bytes; the
 * result's digest is that of the generation which they saw.
 */
enum nb_procs_kind {
	NB_PROCS_STAGE,
	NB_PROCS_COMMIT,
	NB_PROCS_DROP,
	NB_PROCS_LATE,
	NB_PROCS_EXPORT,
	NB_PROCS_PROPOSAL
};

/*
 * @line: the request to stage (NB_PROCS_STAGE and NB_PROCS_LATE only)
 * @digest: the staged generation; of NB_PROCS_LATE and NB_PROCS_EXPORT: the one
 *   that the site has
 */
struct nb_procs_order {
	enum nb_procs_kind kind;
	uint64_t n; /* number of the fleet's change */
	char line[4096];
	char digest[65];
	/* who asked for the change (NB_PROCS_COMMIT only) */
	char maker[NB_PROCS_MAKER];
	struct nb_procs_blob image[NB_PROCS_IMAGES], data;
	size_t nimages;
};

/*
 * Result of an order. @digest: the generation that all processes have staged.
 * @err: has code 0 on success
 * @data, @image: the bytes of NB_PROCS_EXPORT and NB_PROCS_PROPOSAL, which
 * nb_procs_result_free frees
 */
struct nb_procs_result {
	enum nb_procs_kind kind;
	uint64_t n;
	char digest[65];
	uint32_t processes;
	struct nb_err err;
	struct nb_procs_blob image[NB_PROCS_IMAGES], data;
	size_t nimages;
};

int nb_procs_new(struct nb_procs **out, const struct nb_jobdir *dir, struct nb_err *err);
void nb_procs_free(struct nb_procs *p);
/* Returns a descriptor that is readable when a result is ready. */
int nb_procs_fd(const struct nb_procs *p);
bool nb_procs_busy(const struct nb_procs *p);
/*
 * Start an order, and take ownership of it. Returns false if another order is
 * being carried out; the caller then keeps @order.
 */
bool nb_procs_give(struct nb_procs *p, struct nb_procs_order *order);
/* Get the result of the last order. Returns false if it is not ready. */
bool nb_procs_take(struct nb_procs *p, struct nb_procs_result *result);

void nb_procs_result_free(struct nb_procs_result *r);

/* Returns a zeroed order, or NULL. Free it with nb_procs_order_free. */
struct nb_procs_order *nb_procs_order_new(void);
void nb_procs_order_free(struct nb_procs_order *o);

/*
 * Check text from the store before it is used. @line must be one request,
 * without id and commit=, whose command can be staged (its row has commit=no).
 * @name must be a policy name. Return 0, NB_E_ARG, NB_E_LIMIT, or the parser's
 * error.
 */
int nb_procs_order_line(struct nb_procs_order *o, const char *line, struct nb_err *err);
int nb_procs_blob_name(struct nb_procs_blob *b, const char *name, struct nb_err *err);
/*
 * Set the value of the option maker= of a commit. Other characters than
 * letters, digits and "_.:/@+,-" become "_", so the text is one word.
 */
void nb_procs_order_maker(struct nb_procs_order *o, const char *text);

#endif
