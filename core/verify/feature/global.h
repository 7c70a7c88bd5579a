// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_FEATURE_GLOBAL_H
#define NB_VERIFY_FEATURE_GLOBAL_H

#include "core/verify/flow/cfg.h"
#include "core/verify/state/env.h"

struct at;

/* Allocate the tables, after nb_cfg_build. Returns false if out of memory. */
bool nb_globals_init(struct nb_env *env);

/*
 * nb_globals_walk - call @walk for each global function, with env->root set,
 * then for the program itself; callees come before their callers
 *
 * Returns 0, or the first other result of @walk.
 */
int nb_globals_walk(struct nb_env *env, int (*walk)(struct nb_env *env));

/* Set the first state of the function env->root, which is not the program. */
void nb_global_begin(struct nb_env *env, struct nb_state *st);

/* nb_check_global_call checks whether the global function @g may be called;
 * nb_global_call changes the state as the call does. */
int nb_check_global_call(const struct at *a, struct nb_global *g);
void nb_global_call(struct nb_env *env, struct nb_state *st, uint32_t pc,
		    struct nb_global *g);

/* nb_check_global_return checks the exit of env->root: 0, or NB_E_VERIFY.
 * nb_global_exit records the effects that callers need to know. */
int nb_check_global_return(const struct at *a);
void nb_global_exit(struct nb_env *env, struct nb_state *st);

/* Record facts about the function being walked; they reach the callers of a
 * global function. */
void nb_global_note_frames(struct nb_env *env, uint32_t frames);
void nb_global_note_outputs(struct nb_env *env);
/* Record that @v is stored in memory behind an argument. */
void nb_global_note_store(struct nb_env *env, const struct nb_state *st,
			  const struct nb_reg *ptr, const struct nb_reg *v);
/* Is @r memory of an argument, and are its contents coherent? */
bool nb_global_memory_coherent(const struct nb_env *env,
			       const struct nb_reg *r);

#endif
