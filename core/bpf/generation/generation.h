// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_GENERATION_H
#define NB_GENERATION_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/generation/gen.h"
#include "core/bpf/generation/run.h"

/*
 * nb_gen_new - make a generation of policies @policies[0..n), in this order
 * @parent: the previous generation, or NULL. A policy with the same digest
 *          there hands on its coherent maps with contents and history.
 *
 * @n 0 makes the empty generation. *@out has one reference. On failure *@out
 *         is NULL: NB_E_NOMEM, NB_E_LIMIT (policies, programs), NB_E_EXISTS (a
 *         policy twice) or NB_E_NOTSUP.
 */
int nb_gen_new(struct nb_gen **out, struct nb_policy *const *policies, uint32_t n,
	       const struct nb_gen *parent, struct nb_err *err);

/*
 * The generation that a new one is made from. Policies with the same digest there hand on their
 * coherent maps. So does @of to @heir, a policy of the new generation, if the two differ in the
 * values of parameters alone (param.h); both are NULL if no policy is replaced.
 */
struct nb_gen_parent {
	const struct nb_gen *gen;
	const struct nb_policy *heir, *of;
};

/*
 * nb_gen_scoped - make a generation whose communicators differ in policies
 * @common: the order for communicators outside all scopes
 * @scopes: NULL: no scopes
 * @parent: NULL: none
 *
 * Returns the errors of nb_gen_new and nb_scopes_check.
 */
int nb_gen_scoped(struct nb_gen **out, struct nb_policy *const *policies, uint32_t n,
		  const struct nb_order *common, const struct nb_scopes *scopes,
		  const struct nb_gen_parent *parent, struct nb_err *err);

/* The policies of a generation and their orders. */
struct nb_gen_list {
	struct nb_policy *policy[NB_GEN_MAX_POLICIES];
	uint32_t n;
	struct nb_order common;
	struct nb_scopes scopes;
};

/* Write the history and the coherent maps of policy @policy. */
typedef int nb_gen_fill_fn(void *arg, uint32_t policy, struct nb_gen_policy *gp,
			   struct nb_err *err);

/*
 * nb_gen_filled - make a generation without a parent
 * @fill: called for each policy before its programs are compiled; its maps are
 *        new, with the contents of the image
 *
 * Returns the errors of nb_gen_scoped and of @fill.
 */
int nb_gen_filled(struct nb_gen **out, const struct nb_gen_list *list, nb_gen_fill_fn *fill,
		  void *arg, struct nb_err *err);

/* Returns true if generation @g has policy @p. @g may be NULL. */
bool nb_gen_has(const struct nb_gen *g, const struct nb_policy *p);

/* Return the part of @g that decides for communicator @comm; @comm is 0 if
 * NCCL gives no identity. @g is not a view. */
static inline struct nb_gen *nb_gen_of(struct nb_gen *g, uint64_t comm)
{
	int i = g->nviews ? nb_scopes_find(&g->scopes, comm) : -1;

	return i < 0 ? g : g->view[i];
}

/* Return @g, or the generation that owns @g if @g is a view. */
static inline const struct nb_gen *nb_gen_whole(const struct nb_gen *g)
{
	return g->whole ? g->whole : g;
}

/* Return part @i of @g: 0 is @g itself, then come its views; NULL after the
 * last one. */
static inline const struct nb_gen *nb_gen_part(const struct nb_gen *g, uint32_t i)
{
	return i > g->nviews ? NULL : i ? g->view[i - 1] : g;
}

/* One element of a change of a coherent map. */
struct nb_map_op {
	bool erase;
	uint64_t flags;	 /* One of NB_ANY, NB_NOEXIST, NB_EXIST */
	const void *key; /* The key, key_size bytes. */
	/* The value, nb_map_user_value_size bytes; NULL to erase. */
	const void *value;
};

/* The changes of one map. @policy: index into parent->policy. @map: index into its
 * image's maps; must be coherent. */
struct nb_gen_change {
	uint32_t policy, map;
	const struct nb_map_op *ops;
	uint32_t nops;
};
enum { NB_GEN_MAX_CHANGES = 64 };

/*
 * nb_gen_changes - make a generation from @parent with coherent maps changed
 *
 * The @n changes, at least 1, are made in order. Each map is cloned and its
 * operations are applied in order; if one fails, the whole call fails. Returns 0,
 * NB_E_ARG (no such map), NB_E_READONLY (not coherent), NB_E_NOMEM, an error of
 * nb_map_write and nb_map_erase with the operation's number in err->at, or
 * NB_E_LIMIT for more than NB_GEN_MAX_CHANGES changes.
 */
int nb_gen_changes(struct nb_gen **out, const struct nb_gen *parent,
		   const struct nb_gen_change *changes, uint32_t n, struct nb_err *err);

/*
 * nb_gen_for_controllers - make the generation that controllers of @g run in
 *
 * The new generation has copies of the coherent maps and empty merged maps,
 * and it shares @g's other local maps. *@out has one reference. Returns the
 * errors of nb_gen_new.
 */
int nb_gen_for_controllers(struct nb_gen **out, const struct nb_gen *g, struct nb_err *err);

/*
 * nb_gen_rehearsal - copy a generation with all its maps
 *
 * For `explain`: runs of the copy change no map of @gen and write no trace.
 * Coherent maps are copied whole, because nothing writes them. Of a local map a
 * bucket may be missing (nb_map_clone), as its elements may be at any decision.
 * Returns 0 or NB_E_NOMEM.
 */
int nb_gen_rehearsal(struct nb_gen **out, const struct nb_gen *gen, struct nb_err *err);

/*
 * Returns why the interpreter runs the programs of @g, although their policies
 * ask for machine code; NULL if it does not. The text lives as long as @g.
 */
const char *nb_gen_uncompiled(const struct nb_gen *g);
/* Return program @prog of policy @p as @g runs it, borrowed; NULL if @g
 * does not run it. */
struct nb_exec *nb_gen_exec(const struct nb_gen *g, const struct nb_policy *p, uint32_t prog);
/* Return the policy of @g with this image digest, or NULL. @g may be NULL. */
const struct nb_gen_policy *nb_gen_policy_of(const struct nb_gen *g, const uint8_t *digest);

/* Take a reference; returns @g. Any thread. */
struct nb_gen *nb_gen_get(struct nb_gen *g);
/* Drop a reference; the last one frees @g, which may be NULL. Never on a
 * decision path. */
void nb_gen_put(struct nb_gen *g);

/*
 * nb_gen_prefetch - prefetch the memory that the first run of @g touches
 * @step: 0 to NB_GEN_PREFETCHES - 1; step 1 needs the lines of step 0
 *
 * For a thread that will soon run a generation that another CPU has made. The
 * first step waits at most for @g itself, the second for the page of its code.
 */
enum { NB_GEN_PREFETCHES = 2 };
void nb_gen_prefetch(const struct nb_gen *g, unsigned step);

#endif
