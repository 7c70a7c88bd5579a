// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_GLOBAL_H
#define NB_VERIFY_GLOBAL_H

#include "core/verify/env.h"

struct at;

/*
 * Global functions: verified once, by their signature alone, whoever calls
 * them. What their walks found out for their callers:
 */
struct nb_global {
	const struct nb_func *func;
	uint32_t frames; /* used at most, its own included */
	uint32_t lap;	 /* its instructions up to where a lap ends, at most */
	bool counts;	 /* one ends in it */
	bool outputs;	 /* it may write outputs, or jump to what may */
	uint8_t uses;	 /* NB_BUDGET_*: what it uses of the run's */
	/* of a walk with labels and coherent arguments: what it returns or
	 * leaves in memory is local; so is how much it used of these */
	bool local;
	uint8_t local_uses;
	/* that walk assumes that the memory of its arguments became local */
	bool memory_local;
};

/* Tables; false: no memory. After nb_cfg_build. */
bool nb_globals_init(struct nb_env *env);

/* The global function that begins at @pc; NULL: none does. */
struct nb_global *nb_global_at(const struct nb_env *env, int64_t pc);

/*
 * nb_globals_walk - call @walk for each global function, with env->root set,
 * then for the program itself; callees first
 *
 * 0, or the first other result of @walk.
 */
int nb_globals_walk(struct nb_env *env, int (*walk)(struct nb_env *env));

/* The first state of the function env->root, which is not the program. */
void nb_global_begin(struct nb_env *env, struct nb_state *st);

/* A call of one: may it be made; what it does. */
int nb_check_global_call(const struct at *a, struct nb_global *g);
void nb_global_call(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    struct nb_global *g);

/* The exit of env->root: 0, or NB_E_VERIFY; what it tells callers. */
int nb_check_global_return(const struct at *a);
void nb_global_exit(struct nb_env *env, struct nb_state *st);

/* Notes about the function walked now; nothing to do in the program. */
void nb_global_note_frames(struct nb_env *env, uint32_t frames);
void nb_global_note_outputs(struct nb_env *env);
void nb_global_note_use(struct nb_env *env, unsigned budgets);
/* @v, or local data, is stored in memory behind an argument. */
void nb_global_note_store(struct nb_env *env, const struct nb_state *st,
			  const struct nb_reg *ptr, const struct nb_reg *v);
/* Is @r memory of an argument, and what it holds coherent? */
bool nb_global_memory_coherent(const struct nb_env *env,
			       const struct nb_reg *r);

#endif
