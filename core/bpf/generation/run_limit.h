// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_RUN_LIMIT_H
#define NB_GENERATION_RUN_LIMIT_H

#include "core/base/err.h"
#include "core/bpf/generation/policy.h"

struct nb_gen;

/* The limit of one decision, for all programs on a hook together: weighted
 * instructions, of about a nanosecond each. NCCLBPF_MAX_RUN changes it. It
 * comes on top of the budget of each program, NB_RUN_BUDGET, which it can only
 * lower. */
enum { NB_RUN_LIMIT = 1 << 20 };

/*
 * nb_run_limit - bound the runs of the programs on each hook of @g together
 *
 * First, each program gets enough for its longest path, its iterators and its
 * loops with a constant bound; if the sum is over the limit, the result is
 * NB_E_LIMIT. All other loops share the rest, and end early when their share
 * is used up. Shares depend only on the policies and the limit, so ranks have
 * the same shares. Controllers have no limit, because no decision waits for
 * them.
 *
 * Call it after the programs are bound and before they are compiled.
 */
int nb_run_limit(struct nb_gen *g, struct nb_err *err);

#endif
