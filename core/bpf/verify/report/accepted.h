// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_ACCEPTED_H
#define NB_VERIFY_REPORT_ACCEPTED_H

#include "core/bpf/verify/state/env.h"

/*
 * nb_notes_fill - store the notes of an accepted program in env->v
 *
 * The notes come from facts that the walks recorded, so this makes one pass
 * over the instructions. If out of memory, there are fewer notes.
 */
void nb_notes_fill(struct nb_env *env);

#endif
