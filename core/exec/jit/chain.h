// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_CHAIN_H
#define NB_EXEC_RUN_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/exec/run/exec.h"

/*
 * A chain: programs that run one after another on one context, compiled
 * into one piece of machine code. Each program sees the answer so far. The
 * entry calls the programs directly, keeps the answer in registers between
 * them, and counts the changes that each program made.
 */
struct nb_chain;

/* Size of the context, and offset of the answer in it. */
struct nb_chain_shape {
	uint32_t ctx_size, answer;
};

/* Bytes of an answer, which is aligned to 4. */
enum { NB_CHAIN_ANSWER = 12 };

/* A program of the chain, or a target of its tail calls. */
struct nb_chain_prog {
	struct nb_exec *x;
	/* NB_AUX_* bits by slot; NULL if nothing is known. */
	const uint8_t *aux;
	bool interpret;
	bool runs; /* If false, only tail calls reach the program. */
};

/*
 * Run the chain once. @overrides: one counter for each program that runs.
 * Only the caller's thread writes them, so they need no lock; readers never
 * see half a value. Returns the index, among the programs that run, of the
 * last one that changed the answer; -1 if none did.
 */
typedef int nb_chain_fn(const struct nb_chain *c, void *ctx,
			uint64_t *overrides);

/* The first members of struct nb_chain; only nb_chain_run uses them. */
struct nb_chain_head {
	nb_chain_fn *run;
	/* An empty function; NULL if the chain is interpreted. */
	void (*touch)(void);
};

/*
 * nb_chain_new - compile programs and run them in this order
 * @prog: @n of them, bound, linked and not compiled; borrowed, they must
 *        outlive the chain and be freed by the thread that frees it
 *
 * All programs are interpreted if there is no compiler, the system refuses
 * executable memory, or memory is too short for code. Returns 0 or NB_E_NOMEM.
 */
int nb_chain_new(struct nb_chain **out, const struct nb_chain_prog *prog,
		 uint32_t n, const struct nb_chain_shape *shape,
		 struct nb_err *err);
void nb_chain_free(struct nb_chain *c); /* Free the chain; @c may be NULL. */

/* Publish the code between the programs as "ncclbpf/chain", like
 * nb_exec_publish. */
int nb_chain_publish(const struct nb_chain *c, struct nb_err *err);

/* Return the bytes of machine code besides those of the programs; 0 if
 * interpreted. */
size_t nb_chain_compiled(const struct nb_chain *c);

/* Return why the programs could not be compiled, or NULL. It lives as long as
 * @c. */
const char *nb_chain_uncompiled(const struct nb_chain *c);

/*
 * Call an empty function in the pages of the programs' code, which loads the
 * pages into this CPU's TLB before they are needed. Any thread.
 */
static inline void nb_chain_touch(const struct nb_chain *c)
{
	const struct nb_chain_head *h = (const struct nb_chain_head *)c;

	if (h->touch)
		h->touch();
}

/* Run the chain once; see nb_chain_fn. Threads: see nb_exec_run. */
static inline int nb_chain_run(const struct nb_chain *c, void *ctx,
			       uint64_t *overrides)
{
	return ((const struct nb_chain_head *)c)->run(c, ctx, overrides);
}

#endif
