// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_CHAIN_H
#define NB_EXEC_RUN_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/exec/run/exec.h"

/*
 * A chain: programs that run one after another on one context, each seeing
 * the answer so far, as one piece of machine code. One entry calls them
 * directly, keeps the answer in registers between them, and counts whose
 * turn changed it.
 */
struct nb_chain;

/* Of the context: its size, and where the answer begins. */
struct nb_chain_shape {
	uint32_t ctx_size, answer;
};

/* Bytes of an answer; it is aligned to four of them. */
enum { NB_CHAIN_ANSWER = 12 };

/* A program that may run, or be called by one. */
struct nb_chain_prog {
	struct nb_exec *x;
	const uint8_t *aux; /* as for nb_exec_compile */
	bool interpret;
	bool runs; /* else it is there for tail calls alone */
};

/*
 * Run the chain once. @overrides: one for each program that runs; counted by
 * the caller's thread alone, so without a lock, but whole for those who read.
 * Returns the number, among those that run, of the last program that changed
 * the answer; -1 if none did.
 */
typedef int nb_chain_fn(const struct nb_chain *c, void *ctx,
			uint64_t *overrides);

/* What struct nb_chain begins with; private but to nb_chain_run. */
struct nb_chain_head {
	nb_chain_fn *run;
	void (*touch)(void); /* NULL: interpreted */
};

/*
 * nb_chain_new - compile programs and run them in this order
 * @prog: @n of them, bound, linked and not compiled; borrowed, they must
 *        outlive the chain and be freed by the thread that frees it
 *
 * Where there is no compiler, executable memory is refused or memory is too
 * short for code, all are interpreted. 0, NB_E_NOMEM.
 */
int nb_chain_new(struct nb_chain **out, const struct nb_chain_prog *prog,
		 uint32_t n, const struct nb_chain_shape *shape,
		 struct nb_err *err);
void nb_chain_free(struct nb_chain *c); /* NULL is fine */

/* nb_exec_publish for the code between the programs: "ncclbpf/chain". */
int nb_chain_publish(struct nb_chain *c, unsigned how, struct nb_err *err);

/* Bytes of machine code beside the programs'; 0: interpreted. */
size_t nb_chain_compiled(const struct nb_chain *c);

/*
 * Call something that does nothing in the pages of the programs' code: this
 * CPU learns where they are before it needs them. Any thread.
 */
static inline void nb_chain_touch(const struct nb_chain *c)
{
	const struct nb_chain_head *h = (const struct nb_chain_head *)c;

	if (h->touch)
		h->touch();
}

/* Once, as nb_chain_fn says; for threads, as nb_exec_run. */
static inline int nb_chain_run(const struct nb_chain *c, void *ctx,
			       uint64_t *overrides)
{
	return ((const struct nb_chain_head *)c)->run(c, ctx, overrides);
}

#endif
