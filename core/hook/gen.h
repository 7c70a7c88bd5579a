// SPDX-License-Identifier: MIT
#ifndef NB_HOOK_GEN_H
#define NB_HOOK_GEN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/exec/chain.h"
#include "core/exec/exec.h"
#include "core/hook/policy.h"
#include "core/hook/scope.h"
#include "core/map/map.h"
#include "core/spec/spec.h"
#include "core/tbl/ctx.h"

/*
 * A generation: what a communicator decides with. Policies in order, a map
 * for each map of each, and their programs ready to run. Immutable once made,
 * coherent map contents included: a change makes another generation. Counted.
 */
enum { NB_GEN_MAX_PROGS = 64 }; /* NB_GEN_MAX_POLICIES: scope.h */

struct nb_gen_policy {
	struct nb_policy *policy; /* a reference */
	/* policy->img->nmaps elements: the policy's own, or, for coherent
	 * maps, this generation's. References; never NULL. */
	struct nb_map **maps;
	/* Programs that the hook does not run but tail calls go to: by their
	 * number in the image, NULL for others. */
	struct nb_exec **targets;
	/* What happened to the coherent maps since they were fresh: zeroes, or
	 * SHA-256 of (history before, the change). */
	uint8_t history[NB_SHA256_SIZE];
};

/* What is counted of a program. */
struct nb_gen_sum {
	uint64_t runs;
	uint64_t overrides; /* answers that it changed */
	uint64_t refused;   /* answers whose last word it had, not to be done */
	uint64_t samples;   /* runs whose time was taken... */
	int64_t time_ns;    /* ...all together */
};

/* Runs whose time was taken, by how long they took: up to 50, 100, 200, 500
 * ns, 1, 10, 100 us, and longer. */
enum { NB_GEN_TIMES = 8 };
struct nb_gen_times {
	uint64_t n[NB_GEN_TIMES];
};
/* The longest that counts at @i, in ns; the last has none. */
extern const uint32_t nb_gen_times_ns[NB_GEN_TIMES - 1];

/* A program in the order of running. */
struct nb_gen_prog {
	struct nb_exec *exec;
	uint16_t policy; /* index into gen->policy */
	uint16_t prog;	 /* index into its image's programs */
	uint16_t hook;	 /* enum nb_hook */
	/* Of users that went on to another generation (nb_gen_count_add);
	 * atomic. */
	struct nb_gen_sum sum;
};

struct nb_gen {
	/* Equal in all processes that were asked the same: SHA-256 over the
	 * policies' digests and histories in order, and the scopes; all zeroes:
	 * no policy. */
	uint8_t digest[NB_SHA256_SIZE];
	uint16_t npolicies, nviews;
	uint32_t nprogs;
	/* The programs as one; what runs where there is more than one. */
	struct nb_chain *chain;
	/* Hook tuner; beside nprogs, for a decision touches both. */
	struct nb_gen_prog prog[NB_GEN_MAX_PROGS];
	struct nb_gen_policy policy[NB_GEN_MAX_POLICIES];
	uint32_t nevents, hooks; /* bits 1 << enum nb_hook of those below */
	struct nb_gen_prog event[NB_GEN_MAX_PROGS]; /* all other hooks */
	uint32_t refs;				    /* atomic */

	/* The policies that run, and who has others: those have a generation
	 * of their own each, with the same policies and maps under the same
	 * numbers and the same digest, where another order runs. It is a view:
	 * borrowed, and gone with @whole (NULL: this is no view). Programs of
	 * hooks that know no communicator run in the whole alone, whoever has
	 * their policy. */
	struct nb_order order;
	struct nb_scopes scopes;
	struct nb_gen *view[NB_GEN_MAX_SCOPES], *whole;

	/* Beside prog[].sum, likewise. */
	struct nb_gen_times times[NB_GEN_MAX_PROGS];
};

/*
 * Counters of one user (a communicator), written by its thread alone with
 * relaxed stores, so that counting costs the decision nothing. runs is the
 * same for each program of a generation.
 */
struct nb_gen_count {
	uint64_t runs;
	uint64_t overrides[NB_GEN_MAX_PROGS];
	/* what is rare */
	uint64_t refused[NB_GEN_MAX_PROGS];
	uint64_t samples;
	int64_t time_ns[NB_GEN_MAX_PROGS];
	struct nb_gen_times times[NB_GEN_MAX_PROGS];
};

/*
 * nb_gen_new - policies @policies[0..n) in this order
 * @parent: the generation before, or NULL. A policy of the same digest in it
 *          hands on its coherent maps with their contents and history.
 *
 * @n 0 makes the empty generation. One reference. NULL on failure: NB_E_NOMEM,
 * NB_E_LIMIT (policies, programs), NB_E_EXISTS (a policy twice), NB_E_NOTSUP.
 * Source: design, section 7.
 */
int nb_gen_new(struct nb_gen **out, struct nb_policy *const *policies,
	       uint32_t n, const struct nb_gen *parent, struct nb_err *err);

/*
 * nb_gen_scoped - the same, where not all communicators have all policies
 * @common: those of communicators that stand in no scope
 * @scopes: NULL: there is no scope
 *
 * The errors of nb_gen_new and nb_scopes_check.
 */
int nb_gen_scoped(struct nb_gen **out, struct nb_policy *const *policies,
		  uint32_t n, const struct nb_order *common,
		  const struct nb_scopes *scopes, const struct nb_gen *parent,
		  struct nb_err *err);

/* What communicator @comm decides with; 0: NCCL gives no identity. @g is no
 * view. */
static inline struct nb_gen *nb_gen_of(struct nb_gen *g, uint64_t comm)
{
	int i = g->nviews ? nb_scopes_find(&g->scopes, comm) : -1;

	return i < 0 ? g : g->view[i];
}

/* The generation that @g is, or is a view of. */
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
 * nb_gen_map_change - @parent with one coherent map changed
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

/* Changes of one map each, together. */
struct nb_gen_change {
	uint32_t policy, map;
	const struct nb_map_op *ops;
	uint32_t nops;
};
enum { NB_GEN_MAX_CHANGES = 64 };

/*
 * nb_gen_changes - @parent with several coherent maps changed, in order
 *
 * @n at least 1. As nb_gen_map_change; NB_E_LIMIT: more than
 * NB_GEN_MAX_CHANGES.
 */
int nb_gen_changes(struct nb_gen **out, const struct nb_gen *parent,
		   const struct nb_gen_change *changes, uint32_t n,
		   struct nb_err *err);

/*
 * nb_gen_rehearsal - the same policies on copies of all their maps
 *
 * For `explain`: running it disturbs nobody. Traces go nowhere. 0, NB_E_NOMEM.
 */
int nb_gen_rehearsal(struct nb_gen **out, const struct nb_gen *gen,
		     struct nb_err *err);

/* Program @prog of policy @p as @g runs it; NULL: it does not. Borrowed. */
const struct nb_exec *nb_gen_exec(const struct nb_gen *g,
				  const struct nb_policy *p, uint32_t prog);

/* One more reference; returns @g. Any thread. */
struct nb_gen *nb_gen_get(struct nb_gen *g);
/* One less; the last one frees. NULL is fine. Never on a decision path. */
void nb_gen_put(struct nb_gen *g);

/*
 * nb_gen_prefetch - ask for memory that the first run of @g touches
 * @step: 0 to NB_GEN_PREFETCHES - 1, the second needs what the first asked for
 *
 * For a thread that will soon run what another CPU has written. The first step
 * waits at most for @g itself, the second for the page of its code.
 */
enum { NB_GEN_PREFETCHES = 2 };
void nb_gen_prefetch(const struct nb_gen *g, unsigned step);

/* Single writer, read by others; x86-64 has an instruction for it. */
static inline void nb_gen_bump(uint64_t *n)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	__asm__("addq $1, %0" : "+m"(*n) : : "cc");
#else
	__atomic_store_n(n, __atomic_load_n(n, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
#endif
}

/* Program @i runs; did it change the answer? */
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

/* The first program of at least one: what it finds in the answer is known. */
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
	/* one alone needs nothing around it */
	if (__builtin_expect(g->nprogs == 1, 1))
		return nb_gen_run_first(g, ctx, count) ? 0 : -1;
	nb_gen_bump(&count->runs);
	return nb_chain_run(g->chain, ctx, count->overrides);
}

/*
 * nb_gen_run_timed - the same, and every NB_GEN_SAMPLE-th run takes the time
 * of each program, less that of reading the clock
 */
enum { NB_GEN_SAMPLE = 64 };
int nb_gen_run_timed(const struct nb_gen *g, struct ncclbpf_tuner *ctx,
		     struct nb_gen_count *count);

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

/* What a user counted of program @i, added to @sum. Any thread. */
void nb_gen_count_of(const struct nb_gen_count *count, uint32_t i,
		     struct nb_gen_sum *sum);
void nb_gen_sum_add(struct nb_gen_sum *to, const struct nb_gen_sum *more);
void nb_gen_times_add(struct nb_gen_times *to, const struct nb_gen_times *more);

/* Add a user's counters to the generation's, and zero them. Any thread. */
void nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count);

#endif
