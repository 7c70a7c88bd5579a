// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_ACCESS_H
#define NB_VERIFY_ACCESS_ACCESS_H

#include "core/verify/state/env.h"
#include "core/verify/report/refusal.h"

/* The instruction that is checked and the state before it. */
struct at {
	struct nb_env *env;
	const struct nb_state *st;
	const struct nb_frame *f;
	const struct nb_insn *insn;
	uint32_t pc;
};

/* Largest distance that a pointer may be moved; the kernel's limit. */
enum { MAX_MOVE = 1 << 29 };

enum access { LOAD, STORE };

static inline const struct nb_reg *reg(const struct at *a, int number)
{
	return &a->f->regs[number];
}

/* Does it point into a value or memory? */
static inline bool points_to_memory(const struct nb_reg *r)
{
	return r->kind == NB_REG_VALUE || r->kind == NB_REG_MEM ||
	       r->kind == NB_REG_RDONLY;
}

/* nb_refuse where @a stands; the rest are members of struct nb_refusal, @reg
 * at least. */
#define refuse(a, rule, ...) nb_refuse((a)->env, rule, FACTS(a, __VA_ARGS__))
#define FACTS(a, ...) \
	(&(struct nb_refusal){ .pc = (a)->pc, .st = (a)->st, __VA_ARGS__ })

/* All of these: 0, or NB_E_VERIFY with the finding filled. */

/* Register @number holds something. */
int nb_check_init(const struct at *a, int number);
/* @size bytes at @off of the map value or memory behind @number. */
int nb_check_span(const struct at *a, int number, const struct nb_range *off,
		  uint64_t size);
/* Programs may read or write the map behind @number. */
int nb_check_map_access(const struct at *a, int number, enum access acc);
/* The same @size bytes may be read or written. */
int nb_check_memory(const struct at *a, int number, const struct nb_range *off,
		    uint64_t size, enum access acc);
/* @size bytes at @off lie in a frame; they all were written. */
int nb_check_frame(const struct at *a, int number, const struct nb_range *off,
		   uint64_t size);
int nb_check_written(const struct at *a, int number, const struct nb_range *off,
		     uint64_t size);

/* Deepest byte used, for the sum over call chains. */
void nb_note_depth(const struct at *a, const struct nb_reg *r,
		   const struct nb_range *off);

enum { NB_LOCK_SIZE = 4 };

/* Bytes [off, off + size) of the value behind @number do not touch its lock.
 */
int nb_check_lock_bytes(const struct at *a, int number,
			const struct nb_range *off, uint64_t size);

#endif
