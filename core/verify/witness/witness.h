// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WITNESS_WITNESS_H
#define NB_VERIFY_WITNESS_WITNESS_H

#include "core/verify/state/env.h"

/*
 * The path to a finding. The walk that decides the verdict is depth-first,
 * so it rarely meets a finding on the shortest path. A second walk looks
 * for the shortest one, in the order of the number of open branches. A
 * third walk replays that path alone and notes what happens on it.
 */

/*
 * nb_path_explain - store the shortest path to the finding, its branches and
 * its notes in env->v->finding
 *
 * Call it after a walk that rejected the program. The words of the finding are
 * then those of the shortest path; its class and slot stay. The work is
 * bounded by a few times the steps of the walk. If out of memory, the finding
 * stays as it is. The result is deterministic.
 */
void nb_path_explain(struct nb_env *env);

#endif
