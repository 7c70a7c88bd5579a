// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_ACCESS_ACCESS_H
#define NB_VERIFY_ACCESS_ACCESS_H

#include "core/bpf/verify/state/env.h"
#include "core/bpf/verify/report/refuse.h"
#include "core/bpf/verify/state/operands.h"

/* The instruction to check, and the state before it. */
struct at {
	struct nb_env *env;
	const struct nb_state *st;
	const struct nb_frame *f;
	const struct nb_insn *insn;
	/* The helper that the instruction calls; NULL if it calls none. */
	const struct nb_helper_spec *helper;
	uint32_t pc;
};

/* Largest distance that one instruction may move a pointer; the kernel has
 * the same limit. */
enum { MAX_MOVE = 1 << 29 };

enum access { LOAD, STORE };

static inline const struct nb_reg *reg(const struct at *a, int number)
{
	return &a->f->regs[number];
}

/* Is the access to a map value or other memory? */
static inline bool points_to_memory(const struct nb_mem_access *x)
{
	return x->kind == NB_REG_VALUE || x->kind == NB_REG_MEM || x->kind == NB_REG_RDONLY;
}

/* Call nb_refuse for the instruction of @a. The other arguments initialise
 * members of struct nb_refusal, at least @reg. */
#define refuse(a, rule, ...) nb_refuse((a)->env, rule, FACTS(a, __VA_ARGS__))
#define FACTS(a, ...) \
	(&(struct nb_refusal){ .pc = (a)->pc, .st = (a)->st, .helper = (a)->helper, __VA_ARGS__ })

/* Each check below returns 0, or NB_E_VERIFY with the finding filled. */

/* Check that register @number is initialised. */
int nb_check_init(const struct at *a, int number);
/* Check that the helper may be called on the map behind register @number, which
 * may be replicated. */
int nb_check_replicated(const struct at *a, int number);
/* Check that programs may read or write the map behind register @number. */
int nb_check_map_access(const struct at *a, int number, enum access acc);
/* Check that the bytes lie in the map value or memory, and that programs may
 * load or store them. */
int nb_check_memory(const struct at *a, const struct nb_mem_access *x);
/* Check that the bytes lie in a frame, and record how deep they are for the sum
 * over call chains. */
int nb_check_frame(const struct at *a, const struct nb_mem_access *x);
/* Check that all of these bytes of a frame were written. */
int nb_check_written(const struct at *a, const struct nb_mem_access *x);

/* Record that the slot at @pc may write cell @cell of frame @frame. */
void nb_note_write(struct nb_env *env, uint32_t pc, uint32_t frame, uint32_t cell);

#endif
