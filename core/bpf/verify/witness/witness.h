// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WITNESS_WITNESS_H
#define NB_VERIFY_WITNESS_WITNESS_H

#include "core/bpf/verify/state/env.h"

/*
 * The path to a finding. The walk that decides the verdict is depth-first, so
 * it rarely meets a finding on the shortest path. A second walk looks for the
 * shortest one, in the order of the number of open branches. A third walk
 * replays only that path and records its steps.
 */

/*
 * nb_path_explain - store the shortest path to the finding, its branches and
 * its notes in env->v->finding
 *
 * Call it after a walk that rejected the program. The text of the finding then
 * describes the shortest path; its class and slot stay the same. The work is
 * bounded by a few times the steps of the walk. If out of memory, the finding
 * stays as it is. The result is deterministic.
 */
void nb_path_explain(struct nb_env *env);

#endif
