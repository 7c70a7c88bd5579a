// SPDX-License-Identifier: MIT
#ifndef NB_GENERATION_GENERATION_H
#define NB_GENERATION_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/exec/jit/chain.h"
#include "core/exec/run/exec.h"
#include "core/generation/count.h"
#include "core/generation/policy.h"
#include "core/generation/scope.h"
#include "core/map/map.h"
#include "core/spec/spec.h"
#include "core/defs/ctx.h"

/*
 * A generation: the policies, maps and bound programs that a communicator
 * decides with. Immutable, including the contents of coherent maps: a change
 * makes another generation. Reference-counted. At most NB_GEN_MAX_PROGS
 * programs of NB_GEN_MAX_POLICIES policies.
 */

struct nb_gen_policy {
	struct nb_policy *policy; /* a reference */
	/* policy->img->nmaps elements: the policy's own, or, for coherent
	 * maps, this generation's. References; never NULL. */
	struct nb_map **maps;
	/* Programs that only tail calls reach, by number in the image; NULL for
	 * all others. */
	struct nb_exec **targets;
	/* Digest of all changes of the coherent maps: zeroes at first, then
	 * SHA-256 of (history before, the change). */
	uint8_t history[NB_SHA256_SIZE];
};

/* A program in the order of running. */
struct nb_gen_prog {
	struct nb_exec *exec;
	uint16_t policy; /* index into gen->policy */
	uint16_t prog;	 /* index into its image's programs */
	uint16_t hook;	 /* enum nb_hook */
	/* Sums for communicators that moved to another generation
	 * (nb_gen_count_add); atomic. */
	struct nb_gen_sum sum;
};

struct nb_gen {
	/* SHA-256 of the policies' digests and histories in order, and of the
	 * scopes. Equal requests give equal digests in all processes. All
	 * zeroes: no policy. */
	uint8_t digest[NB_SHA256_SIZE];
	uint16_t npolicies, nviews;
	uint32_t nprogs;
	/* All tuner programs in one piece of code, for two or more. */
	struct nb_chain *chain;
	/* Programs of the hook tuner, near nprogs: a decision reads both. */
	struct nb_gen_prog prog[NB_GEN_MAX_PROGS];
	struct nb_gen_policy policy[NB_GEN_MAX_POLICIES];
	uint32_t nevents, hooks; /* bits 1 << enum nb_hook of those below */
	struct nb_gen_prog event[NB_GEN_MAX_PROGS]; /* all other hooks */
	uint32_t refs;				    /* atomic */

	/* The order of the policies, and the scopes of communicators with
	 * another order. Each scope has a view: a generation with the same
	 * policies, maps, numbers and digest, but its own order. @whole owns
	 * its views; it is NULL unless this is a view. Hooks without a
	 * communicator run in the whole only. */
	struct nb_order order;
	struct nb_scopes scopes;
	struct nb_gen *view[NB_GEN_MAX_SCOPES], *whole;

	/* Durations of each program's measured runs, as prog[].sum. */
	struct nb_gen_times times[NB_GEN_MAX_PROGS];
};

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

/* Run program @i. True: it changed the answer. */
static inline bool nb_gen_step(const struct nb_gen *g, uint32_t i,
			       struct ncclbpf_tuner *ctx,
			       struct nb_gen_count *count)
{
	int32_t algo = ctx->algo, proto = ctx->proto;
	uint32_t channels = ctx->channels;

	nb_exec_run(g->prog[i].exec, ctx, sizeof(*ctx));
	if (ctx->algo == algo && ctx->proto == proto &&
	    ctx->channels == channels)
		return false;
	nb_gen_bump(&count->overrides[i]);
	return true;
}

/* Run the first program, which always finds an empty answer. True: it set one.
 */
static inline bool nb_gen_run_first(const struct nb_gen *g,
				    struct ncclbpf_tuner *ctx,
				    struct nb_gen_count *count)
{
	nb_gen_bump(&count->runs);
	nb_exec_run(g->prog[0].exec, ctx, sizeof(*ctx));
	if (ctx->algo == NCCL_ALGO_UNDEF && ctx->proto == NCCL_PROTO_UNDEF &&
	    !ctx->channels)
		return false;
	nb_gen_bump(&count->overrides[0]);
	return true;
}

/*
 * nb_gen_run_tuner - run the programs in order, each sees the answer so far
 * @ctx:   all fields filled; algo, proto and channels hold "no opinion"
 * @count: the caller's counters for this generation
 *
 * Returns the index (gen->prog) of the last program that changed the answer,
 * -1 if none did. No lock, allocation or system call. Any thread; @ctx and
 * @count are the caller's alone.
 */
static inline int nb_gen_run_tuner(const struct nb_gen *g,
				   struct ncclbpf_tuner *ctx,
				   struct nb_gen_count *count)
{
	/* a single program needs no chain */
	if (__builtin_expect(g->nprogs == 1, 1))
		return nb_gen_run_first(g, ctx, count) ? 0 : -1;
	nb_gen_bump(&count->runs);
	return nb_chain_run(g->chain, ctx, count->overrides);
}

/*
 * nb_gen_run_event - run the programs of a profiler's hook in order
 * @ctx: the hook's context, @size bytes that programs may see
 *
 * Any thread, concurrently; the caller keeps @g alive. No lock or allocation.
 */
static inline void nb_gen_run_event(struct nb_gen *g, enum nb_hook hook,
				    void *ctx, uint64_t size)
{
	for (uint32_t i = 0; i < g->nevents; i++) {
		if (g->event[i].hook != hook)
			continue;
		nb_exec_run(g->event[i].exec, ctx, size);
		__atomic_fetch_add(&g->event[i].sum.runs, 1, __ATOMIC_RELAXED);
	}
}

#endif
