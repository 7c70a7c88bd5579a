// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_CFG_H
#define NB_VERIFY_CFG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/isa/insn.h"

struct nb_env;

/* A function: slots [start, end). */
struct nb_cfg_func {
	uint32_t start, end;
	const char *name;
	bool joined; /* ipdom is computed for it */
};

enum {
	NB_MARK_REACHED = 1,
	NB_MARK_JOIN = 2 /* several ways lead here: worth a stored state */
};

struct nb_cfg {
	struct nb_cfg_func *funcs;
	uint32_t nfuncs;
	uint16_t *func_of; /* function of each slot */
	uint8_t *mark;	   /* NB_MARK_* of each slot */
	uint16_t *live;	   /* registers read before written from here on */
	uint32_t *ipdom;   /* see nb_cfg_join */
	uint64_t work;	   /* that finding it may still cost */
};

/*
 * nb_cfg_build - check the shape of the program and fill env->cfg
 *
 * Refuses jumps that leave their function or hit the middle of an LDDW, ways
 * that run off the end, code that nothing reaches, calls outside, recursion.
 * Requires env->insns. 0, or NB_E_VERIFY with the finding filled, or
 * NB_E_NOMEM.
 */
int nb_cfg_build(struct nb_env *env);

/* Slots that may follow @pc inside its function; returns how many (0 to 2). */
unsigned nb_cfg_next(const struct nb_env *env, uint32_t pc, uint32_t next[2]);

/* Function whose first slot is @pc, or -1. */
int nb_cfg_func_at(const struct nb_env *env, uint32_t pc);

/*
 * The slot where all ways from @pc meet again inside its function
 * (immediate post-dominator), or NB_NO_PC when only at the function's end or
 * when finding out would cost too much.
 */
uint32_t nb_cfg_join(struct nb_env *env, uint32_t pc);

/*
 * Bytes of the deepest call chain, from env->depth, and the functions on it.
 * Frames count in multiples of 16 bytes.
 */
uint32_t nb_cfg_stack(const struct nb_env *env, uint32_t chain[NB_MAX_FRAMES],
		      uint32_t *nchain);

#endif
