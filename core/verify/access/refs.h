// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_REFS_H
#define NB_VERIFY_FEATURE_REFS_H

#include "core/verify/state/env.h"

/*
 * References: what a program took and has to give back. A state lists them;
 * pointers name theirs in @ref. With the last of a reference every copy of
 * its pointers becomes a plain number.
 */

/* The reference @id if it is held, or NULL. */
const struct nb_ref *nb_ref_find(const struct nb_state *st, uint32_t id);

/* Take one at @pc: its id. Requires room (nb_check_room). */
uint32_t nb_ref_take(struct nb_env *env, struct nb_state *st, uint32_t pc,
		     enum nb_ref_kind kind);

/* One of the numbers that iterator @id has is taken. */
void nb_ref_turn(struct nb_state *st, uint32_t id);

/* The function in the frame above returned: its caller holds what is left. */
void nb_ref_keep(struct nb_state *st);

/* It was never there: the pointer was NULL. */
void nb_ref_drop(struct nb_state *st, uint32_t id);

/*
 * What @id keeps is gone at @pc: copies of its pointers, in all frames and on
 * their stacks, are numbers now. A reference held leaves the list.
 */
void nb_ref_end(struct nb_env *env, struct nb_state *st, uint32_t pc,
		uint32_t id);

#endif
