// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_ACCEPTED_H
#define NB_VERIFY_REPORT_ACCEPTED_H

#include "core/verify/state/env.h"

/*
 * nb_notes_fill - the notes of a program that is accepted, into env->v
 *
 * From what the walks recorded: it costs one look at each instruction.
 * Without memory there are fewer notes.
 */
void nb_notes_fill(struct nb_env *env);

#endif
