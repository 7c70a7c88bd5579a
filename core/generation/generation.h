// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_GENERATION_H
#define NB_GENERATION_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/generation/gen.h"
#include "core/generation/run.h"

/*
 * nb_gen_new - make a generation of policies @policies[0..n), in this order
 * @parent: the previous generation, or NULL. A policy with the same digest
 *          there hands on its coherent maps with contents and history.
 *
 * @n 0 makes the empty generation. One reference. NULL on failure: NB_E_NOMEM,
 * NB_E_LIMIT (policies, programs), NB_E_EXISTS (a policy twice), NB_E_NOTSUP.
 * Source: design, section 7.
 */
int nb_gen_new(struct nb_gen **out, struct nb_policy *const *policies,
	       uint32_t n, const struct nb_gen *parent, struct nb_err *err);

/*
 * nb_gen_scoped - make a generation whose communicators differ in policies
 * @common: the order for communicators outside all scopes
 * @scopes: NULL: no scopes
 *
 * The errors of nb_gen_new and nb_scopes_check.
 */
int nb_gen_scoped(struct nb_gen **out, struct nb_policy *const *policies,
		  uint32_t n, const struct nb_order *common,
		  const struct nb_scopes *scopes, const struct nb_gen *parent,
		  struct nb_err *err);

/* The part of @g that communicator @comm decides with; @comm is 0 if NCCL gives
 * no identity. @g is not a view. */
static inline struct nb_gen *nb_gen_of(struct nb_gen *g, uint64_t comm)
{
	int i = g->nviews ? nb_scopes_find(&g->scopes, comm) : -1;

	return i < 0 ? g : g->view[i];
}

/* @g, or the generation that owns it if @g is a view. */
static inline const struct nb_gen *nb_gen_whole(const struct nb_gen *g)
{
	return g->whole ? g->whole : g;
}

/* Part @i: 0 is @g itself, then its views; NULL: there are no more. */
static inline const struct nb_gen *nb_gen_part(const struct nb_gen *g,
					       uint32_t i)
{
	return i > g->nviews ? NULL : i ? g->view[i - 1] : g;
}

/* One element of a change of a coherent map. */
struct nb_map_op {
	bool erase;
	uint64_t flags;	   /* NB_ANY, NB_NOEXIST, NB_EXIST */
	const void *key;   /* key_size bytes */
	const void *value; /* nb_map_user_value_size bytes; NULL for erase */
};

/*
 * nb_gen_map_change - make a generation from @parent with one coherent map
 * changed
 * @policy: index into parent->policy
 * @map:    index into its image's maps; must be coherent
 *
 * The map is cloned, the operations are applied in order; one that fails
 * fails all. 0, NB_E_ARG (no such map), NB_E_READONLY (not coherent), errors
 * of nb_map_write and nb_map_erase with err->at the operation's number,
 * NB_E_NOMEM.
 */
int nb_gen_map_change(struct nb_gen **out, const struct nb_gen *parent,
		      uint32_t policy, uint32_t map,
		      const struct nb_map_op *ops, uint32_t nops,
		      struct nb_err *err);

/* The changes of one map. */
struct nb_gen_change {
	uint32_t policy, map;
	const struct nb_map_op *ops;
	uint32_t nops;
};
enum { NB_GEN_MAX_CHANGES = 64 };

/*
 * nb_gen_changes - make a generation from @parent with several coherent maps
 * changed, in order
 *
 * @n at least 1. As nb_gen_map_change; NB_E_LIMIT: more than
 * NB_GEN_MAX_CHANGES.
 */
int nb_gen_changes(struct nb_gen **out, const struct nb_gen *parent,
		   const struct nb_gen_change *changes, uint32_t n,
		   struct nb_err *err);

/*
 * nb_gen_for_controllers - make the generation that controllers of @g run in
 *
 * It has copies of the coherent maps, empty merged maps, and shares @g's other
 * local maps. One reference. Errors of nb_gen_new.
 */
int nb_gen_for_controllers(struct nb_gen **out, const struct nb_gen *g,
			   struct nb_err *err);

/*
 * nb_gen_rehearsal - copy a generation with all its maps
 *
 * For `explain`: runs change no map of @gen and write no trace. 0, NB_E_NOMEM.
 */
int nb_gen_rehearsal(struct nb_gen **out, const struct nb_gen *gen,
		     struct nb_err *err);

/* Program @prog of policy @p as @g runs it; NULL: it does not. Borrowed. */
struct nb_exec *nb_gen_exec(const struct nb_gen *g, const struct nb_policy *p,
			    uint32_t prog);
/* The policy of @g with this image digest, or NULL. @g may be NULL. */
const struct nb_gen_policy *nb_gen_policy_of(const struct nb_gen *g,
					     const uint8_t *digest);

/* One more reference; returns @g. Any thread. */
struct nb_gen *nb_gen_get(struct nb_gen *g);
/* One less; the last one frees. NULL is fine. Never on a decision path. */
void nb_gen_put(struct nb_gen *g);

/*
 * nb_gen_prefetch - ask for memory that the first run of @g touches
 * @step: 0 to NB_GEN_PREFETCHES - 1; step 1 needs the lines of step 0
 *
 * For a thread that will soon run a generation that another CPU has made. The
 * first step waits at most for @g itself, the second for the page of its code.
 */
enum { NB_GEN_PREFETCHES = 2 };
void nb_gen_prefetch(const struct nb_gen *g, unsigned step);

#endif
