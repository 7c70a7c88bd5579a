// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_WITNESS_NOTES_H
#define NB_VERIFY_WITNESS_NOTES_H

#include "core/verify/witness/witness.h"

/*
 * Words for the events on the path.
 *
 * nb_trail_value says where register @number of the frame at step @i comes
 * from, as an expression in the source's names ("ctx->ranks * 4"); "" if there
 * is no short and certain one. nb_trail_branch says what the branch at step @i
 * - 1 means on the path that continues at step @i. nb_trail_notes fills the
 * finding's notes.
 */
const char *nb_trail_value(const struct nb_trail *t, uint32_t i, int number);
const char *nb_trail_branch(const struct nb_trail *t, uint32_t i);
void nb_trail_notes(const struct nb_trail *t, struct nb_finding *f);

#endif
