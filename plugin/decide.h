// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_DECIDE_H
#define NB_PLUGIN_DECIDE_H

#include "core/exec/exec.h"
#include "core/job/packed.h"
#include "plugin/tuner.h"

/*
 * The decision path, inlined into each version's entry point: what every
 * decision does. What a decision does rarely is in tuner.c. Its cost is
 * counted in single nanoseconds (`make bench`), so there is no call but those
 * into policies, and no pass over the cost table while NCCL repeats itself.
 */

/* Locals are structs of fixed size; a canary on each call costs a nanosecond */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define NB_HOT __attribute__((no_stack_protector))
#endif
#endif
#ifndef NB_HOT
#define NB_HOT
#endif

#define NB_INLINE static inline __attribute__((always_inline))

/* What came of a decision, as parts of its packed form. */
struct nb_outcome {
	uint64_t word2, costs;
};

/* ---- the rare parts, in tuner.c ---- */

void nb_tuner_look(struct nb_comm *c, uint64_t k);
void nb_tuner_answer(struct nb_comm *c, const struct nb_seen *seen,
		     const struct ncclbpf_tuner *ctx, uint32_t by,
		     const struct nb_ask *ask, struct nb_outcome *o);

/* ---- counting and writing down ---- */

/* @coll, @pipe: as packed. */
NB_INLINE void nb_write_down(struct nb_comm *c, uint64_t k, uint32_t coll,
			     uint64_t bytes, uint64_t pipe, bool reg_buff,
			     uint64_t usable, const struct nb_outcome *o)
{
	uint64_t w1 = c->fence.number | usable |
		      (uint64_t)reg_buff << NB_PACKED_AT_REG_BUFF;
	uint64_t w2 = o->word2 | pipe | (uint64_t)coll << NB_PACKED_AT_COLL;
	uint64_t hash;

	nb_packed_store(&c->ring[k % NB_RING], k, bytes, w1, w2, o->costs);
	if (coll < NCCL_NUM_COLLS) {
		struct nb_latest *l = &c->latest[coll * NB_SIZE_BUCKETS +
						 nb_comm_bucket(bytes)];

		nb_packed_store(&l->decision, k, bytes, w1, w2, o->costs);
		__atomic_store_n(&l->seq, k, __ATOMIC_RELAXED);
		nb_gen_bump(&l->count);
	}
	hash = __atomic_load_n(&c->fence.slot->hash, __ATOMIC_RELAXED);
	__atomic_store_n(&c->fence.slot->hash,
			 nb_hash_extend(hash, k, bytes, w2), __ATOMIC_RELEASE);
}

/* ---- the decision ---- */

/* The context of this decision, with "no opinion"; what never changes is in
 * @ctx already. */
NB_INLINE void nb_fill(struct ncclbpf_tuner *ctx, uint64_t k, uint32_t coll,
		       uint64_t bytes, uint32_t pipe, bool reg_buff,
		       const struct nb_seen *seen)
{
	ctx->bytes = bytes;
	ctx->seq = k;
	ctx->coll = coll;
	ctx->pipe_ops = pipe;
	ctx->usable = seen->costs.usable;
	ctx->nccl_algo = seen->nccl_algo;
	ctx->nccl_proto = seen->nccl_proto;
	ctx->reg_buff = reg_buff;
	ctx->algo = NCCL_ALGO_UNDEF;
	ctx->proto = NCCL_PROTO_UNDEF;
	ctx->channels = 0;
	ctx->costs = seen->table;
}

/*
 * The common answer: an entry that NCCL offers, with NCCL's own channels.
 * False: something else.
 */
NB_INLINE bool nb_simple_answer(const struct nb_seen *seen,
				const struct ncclbpf_tuner *ctx, uint32_t by,
				float *table, struct nb_outcome *o)
{
	uint32_t i =
		(uint32_t)ctx->algo * NCCL_NUM_PROTOS + (uint32_t)ctx->proto;

	if ((uint32_t)ctx->algo >= NCCL_NUM_ALGOS ||
	    (uint32_t)ctx->proto >= NCCL_NUM_PROTOS || ctx->channels ||
	    !(seen->costs.usable >> i & 1) || seen->costs.best_cost <= 0.0f)
		return false;
	o->word2 = (uint64_t)seen->costs.best << NB_PACKED_AT_BEST |
		   nb_packed_outcome(i, by, 0, 0);
	o->costs = nb_packed_float(seen->costs.best_cost)
			   << NB_PACKED_AT_BEST_COST |
		   nb_packed_float(seen->table[i]);
	table[i] = 0.0f;
	return true;
}

/*
 * nb_decide - nb_tuner_decide for questions with a cost table
 *
 * The arguments are NCCL's, untrusted.
 */
NB_INLINE void nb_decide(struct nb_comm *c, int coll, uint64_t bytes,
			 int pipe_ops, float *table, int nalgo, int nproto,
			 int reg_buff, int *channels)
{
	const struct nb_gen *g;
	struct nb_outcome o;
	struct nb_seen *seen;
	bool rare;
	uint64_t k;

	if (__builtin_expect(!c || !table || nalgo != NCCL_NUM_ALGOS ||
				     nproto != NCCL_NUM_PROTOS ||
				     (uint32_t)coll >= NCCL_NUM_COLLS ||
				     (uint32_t)pipe_ops > NB_PACKED_PIPE ||
				     bytes > NB_PACKED_BYTES,
			     0)) {
		struct nb_ask ask = { bytes, coll,   pipe_ops, reg_buff, table,
				      nalgo, nproto, channels, false,	 0,
				      0,     NULL,   NULL };

		nb_tuner_decide(c, &ask);
		return;
	}
	if (!nb_fence_enter(&c->fence, &k))
		nb_tuner_look(c, k);
	seen = nb_seen_slot(c->seen, bytes, coll);
	if (__builtin_expect(!nb_seen_is(seen, table), 0))
		nb_seen_fill(seen, table, nalgo, nproto, coll, bytes);
	o = (struct nb_outcome){ seen->outcome, seen->both_costs };
	g = c->gen;
	rare = c->mismatch | c->timed;
	if (__builtin_expect(rare, 0) && c->mismatch) {
		nb_gen_bump(&c->refused[NB_REFUSED_MISMATCH]);
		o.word2 |= (uint64_t)NB_REFUSED_MISMATCH
			   << NB_PACKED_AT_REFUSED;
	} else if (g->nprogs) {
		struct ncclbpf_tuner *ctx = &c->ctx;
		int by;

		nb_fill(ctx, k, (uint32_t)coll, bytes, (uint32_t)pipe_ops,
			reg_buff != 0, seen);
		by = __builtin_expect(rare, 0)
			     ? nb_gen_run_timed(g, ctx, &c->count)
			     : nb_gen_run_tuner(g, ctx, &c->count);
		if (by >= 0 && !nb_simple_answer(seen, ctx, g->prog[by].policy,
						 table, &o)) {
			struct nb_ask ask = { .table = table,
					      .channels = channels };

			nb_tuner_answer(c, seen, ctx, g->prog[by].policy, &ask,
					&o);
		}
	}
	nb_write_down(c, k, (uint32_t)coll, bytes, (uint32_t)pipe_ops,
		      reg_buff != 0, seen->usable, &o);
}

#endif
