// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_STACK_H
#define NB_VERIFY_ACCESS_STACK_H

#include "core/verify/state/env.h"

/* Bytes of a frame at a known place. */
struct nb_place {
	uint32_t frame;
	int64_t off; /* lowest byte, relative to the frame pointer */
	uint32_t size;
};

/* The slot at @pc may write cell @cell of frame @frame. */
void nb_stack_note_write(struct nb_env *env, uint32_t pc, uint32_t frame,
			 uint32_t cell);

/* Before a write to part of an 8-byte spill: its halves stand alone. */
void nb_stack_split(struct nb_env *env, struct nb_frame *f, uint32_t c);

/* Store at a known place. */
void nb_stack_store(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    struct nb_place at, const struct nb_reg *v);

/*
 * Bytes [off, off + size) may or may not change: what they held before is
 * possible still. @v NULL: they become unknown data.
 */
void nb_stack_smear(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    struct nb_place at, const struct nb_reg *v);

/* A local address: on other ranks the store may hit what it hit on any path */
void nb_stack_smear_paths(struct nb_env *env, struct nb_state *st, uint32_t pc,
			  uint32_t from);

void nb_stack_label(const struct nb_frame *f, int64_t lo, int64_t hi,
		    struct nb_reg *r);

/* The @size bytes at @off behind @ptr, all of them written. */
struct nb_reg nb_stack_load(struct nb_state *st, const struct nb_reg *ptr,
			    const struct nb_range *off, uint32_t size);

/* Bytes [0, @size) behind register @number may become @v, where they are on
 * the stack; they were written before. */
void nb_stack_smear_argument(struct nb_env *env, struct nb_state *st,
			     uint32_t pc, int number, uint32_t size,
			     const struct nb_reg *v);

#endif
