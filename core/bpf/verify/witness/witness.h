// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WITNESS_WITNESS_H
#define NB_VERIFY_WITNESS_WITNESS_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_path_explain - describe the branches and the steps on the path to the finding
 *
 * Call it after a walk that rejected the program. The same path is walked once
 * more, and nothing else. Fills path and notes of env->v->finding, and adds to its
 * words. If out of memory, the finding stays as it is.
 */
void nb_path_explain(struct nb_env *env);

#endif
