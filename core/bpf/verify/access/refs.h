// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_REFS_H
#define NB_VERIFY_ACCESS_REFS_H

#include "core/bpf/verify/state/env.h"

/*
 * References: what a program acquired and has to release. A state lists
 * them, and pointers name theirs in @ref. When the reference ends, every
 * copy of its pointers becomes a plain number.
 */

/* Return the held reference with id @id, or NULL if it is not held. */
const struct nb_ref *nb_ref_find(const struct nb_state *st, uint32_t id);

/* Acquire a reference at @pc and return its id. Requires room
 * (nb_check_room). */
uint32_t nb_ref_take(struct nb_env *env, struct nb_state *st, uint32_t pc, enum nb_ref_kind kind);

/* Count one step of the iterator that holds reference @id. */
void nb_ref_step(struct nb_state *st, uint32_t id);

/* Hand the references of the function that returned to its caller. */
void nb_ref_keep(struct nb_state *st);

/* Remove reference @id from the list, because its pointer was NULL. */
void nb_ref_drop(struct nb_state *st, uint32_t id);

/* End reference @id at @pc: it leaves the list if it is held, and copies of
 * its pointers in all frames and on their stacks become numbers. */
void nb_ref_end(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t id);

#endif
