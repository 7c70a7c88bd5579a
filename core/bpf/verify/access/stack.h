// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_STACK_H
#define NB_VERIFY_ACCESS_STACK_H

#include "core/bpf/verify/state/operands.h"

/* Bytes of a frame at a known offset. */
struct nb_place {
	uint32_t frame;
	int64_t off; /* Offset of the lowest byte from the frame pointer. */
	uint32_t size;
};

/* Store @v at a known offset of the stack. */
void nb_stack_store(struct nb_env *env, struct nb_state *st, uint32_t pc, struct nb_place at,
		    const struct nb_reg *v);

/*
 * Store @v at one of several possible offsets: each of the bytes [off, off
 * + size) may keep its old value. With @v NULL the bytes become unknown
 * data.
 */
void nb_stack_smear(struct nb_env *env, struct nb_state *st, uint32_t pc, struct nb_place at,
		    const struct nb_reg *v);

/*
 * Mark as rank-local what the store at @pc wrote on any path: its address is
 * rank-local, so the store may hit any of these cells on other ranks.
 */
void nb_stack_smear_paths(struct nb_env *env, struct nb_state *st, uint32_t pc, uint32_t from);

void nb_stack_label(const struct nb_frame *f, int64_t lo, int64_t hi, struct nb_reg *r);

/* Load bytes of the stack, all of which were written. */
struct nb_reg nb_stack_load(struct nb_state *st, const struct nb_mem_access *x);

/*
 * nb_stack_put_object - put an object in place of the stack bytes behind @at
 * @size: size of the object in bytes, a multiple of 8
 * @ref: the reference that it holds
 *
 * The caller checked that the offset of @at is known, aligned and inside the
 * frame.
 */
void nb_stack_put_object(struct nb_env *env, struct nb_state *st, uint32_t pc,
			 const struct nb_reg *at, uint32_t size, uint32_t ref);

#endif
