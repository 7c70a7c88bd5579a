// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_AGENT_PROCS_H
#define NB_PLUGIN_AGENT_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "plugin/runtime/jobdir.h"

/*
 * Requests to the job's processes of this site, over their control sockets
 * (docs/protocol.md). A thread makes them, one order at a time, since a
 * process may take seconds to compile a policy.
 */
struct nb_procs;

enum { NB_PROCS_IMAGES = 16 };

/* A descriptor's contents, sent with a request. */
struct nb_procs_blob {
	char name[64]; /* the policy's name */
	void *bytes;   /* owned */
	size_t size;
};

enum nb_procs_kind { NB_PROCS_STAGE, NB_PROCS_COMMIT, NB_PROCS_DROP };

/*
 * @line:   of NB_PROCS_STAGE: what all processes stage
 * @digest: of the others: what they have staged
 */
struct nb_procs_order {
	enum nb_procs_kind kind;
	uint64_t n; /* the change's number */
	char line[4096];
	char digest[65];
	struct nb_procs_blob image[NB_PROCS_IMAGES], data;
	size_t nimages;
};

/* @digest: what all processes have staged. @err: code 0: done. */
struct nb_procs_result {
	enum nb_procs_kind kind;
	uint64_t n;
	char digest[65];
	uint32_t processes;
	struct nb_err err;
};

int nb_procs_new(struct nb_procs **out, const struct nb_jobdir *dir,
		 struct nb_err *err);
void nb_procs_free(struct nb_procs *p);
/* Readable when a result is there. */
int nb_procs_fd(const struct nb_procs *p);
bool nb_procs_busy(const struct nb_procs *p);
/* Give an order; takes it. False, and it stays the caller's: busy. */
bool nb_procs_give(struct nb_procs *p, struct nb_procs_order *order);
/* The result of the last order; false: not there yet. */
bool nb_procs_take(struct nb_procs *p, struct nb_procs_result *result);

/* A zeroed order; free with nb_procs_order_free. */
struct nb_procs_order *nb_procs_order_new(void);
void nb_procs_order_free(struct nb_procs_order *o);

/*
 * What the store says an order is, taken only if each is one request: @line of
 * a command that can be staged (its row has commit=no), without an id and
 * commit=; @name of a policy. NB_E_ARG, NB_E_LIMIT, or what the parser says.
 */
int nb_procs_order_line(struct nb_procs_order *o, const char *line,
			struct nb_err *err);
int nb_procs_blob_name(struct nb_procs_blob *b, const char *name,
		       struct nb_err *err);

#endif
