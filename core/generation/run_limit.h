// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_RUN_LIMIT_H
#define NB_GENERATION_RUN_LIMIT_H

#include "core/base/err.h"
#include "core/generation/policy.h"

struct nb_gen;

/*
 * The time of one decision. All programs on a hook together may take so many
 * weighted instructions of about a nanosecond; NCCLBPF_MAX_RUN changes it.
 */
enum { NB_RUN_LIMIT = 1 << 20 };

/*
 * nb_run_limit - bound the runs of the programs on each hook of @g together
 *
 * What a program takes for sure comes first: its longest path, the iterators
 * and the loops with a constant number of turns. NB_E_LIMIT if that is too
 * much. All other loops share what is left, and end early when it is used up.
 * Shares follow from the policies and the limit alone, so that ranks agree on
 * them. Controllers are not limited: no decision waits for them.
 *
 * After the programs were bound, before they are compiled.
 */
int nb_run_limit(struct nb_gen *g, struct nb_err *err);

#endif
