// SPDX-License-Identifier: MIT
// The decision path. A question of NCCL's becomes a context, the fence tells
// the generation, its programs run, their answer is checked against what NCCL
// offers, and what became of it is written where readers find it. Whatever
// goes wrong is counted and leaves NCCL's own choice standing.
#include "plugin/tuner.h"

#include <assert.h>
#include <string.h>

#include "plugin/runtime.h"

static_assert((int)NB_COSTS_KNOWN == NCCL_NUM_ALGOS * NCCL_NUM_PROTOS &&
		      (int)NB_COSTS_PROTOS == NCCL_NUM_PROTOS,
	      "usable mask and cost table agree");

static uint64_t lost;

uint64_t nb_tuner_lost(void)
{
	return __atomic_load_n(&lost, __ATOMIC_RELAXED);
}

/* Single writer, read by others. */
static inline void bump(uint64_t *n)
{
	__atomic_store_n(n, __atomic_load_n(n, __ATOMIC_RELAXED) + 1,
			 __ATOMIC_RELAXED);
}

/* ---- which generation ---- */

static struct nb_gen *search(struct nb_comm *c, const uint8_t *digest)
{
	struct nb_runtime *rt = c->rt;

	if (!memcmp(rt->empty->digest, digest, NB_SHA256_SIZE))
		return rt->empty; /* always there, and so not in the list */
	for (uint32_t i = 0; i < NB_MAX_GENS; i++) {
		struct nb_gen *g =
			__atomic_load_n(&rt->gens[i], __ATOMIC_SEQ_CST);

		if (g && !memcmp(g->digest, digest, NB_SHA256_SIZE))
			return g;
	}
	return NULL;
}

/*
 * Take the generation of that number. The flag keeps the runtime from freeing
 * what is found before it is seen to be in use (nb_runtime_sweep).
 */
static void adopt(struct nb_comm *c, uint32_t number)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_gen *g = NULL;

	__atomic_store_n(&c->searching, 1, __ATOMIC_SEQ_CST);
	if (c->seg && nb_segment_digest(c->rt->seg, number, digest))
		g = search(c, digest);
	if (!g) {
		bump(&c->refused[NB_REFUSED_GEN_MISSING]);
		g = c->rt->empty;
	}
	nb_gen_count_add(c->gen, &c->count);
	__atomic_store_n(&c->gen, g, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->searching, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(
		&c->mismatch,
		c->seg && !number &&
			__atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE),
		__ATOMIC_RELAXED);
}

/* The record holds something that has not been dealt with. */
static __attribute__((noinline)) void look(struct nb_comm *c, uint64_t k)
{
	uint32_t before = c->fence.number;
	uint64_t seen = c->fence.seen;
	bool timed_out;
	uint32_t number = nb_fence_look(&c->fence, k, &timed_out);

	if (timed_out)
		bump(&c->refused[NB_REFUSED_FENCE_TIMEOUT]);
	/* number 0 stays number 0 where ranks began with different policies:
	 * the record alone says so */
	if (number != before || (!number && c->fence.seen != seen))
		adopt(c, number);
}

/* ---- checking an answer ---- */

/* The cheapest usable entry with that algorithm or protocol, the other -1. */
static uint32_t partner(const struct ncclbpf_tuner *ctx,
			const struct nb_costs *costs, const float *table)
{
	uint32_t best = NB_COSTS_NONE;

	for (uint32_t i = 0; table && i < NB_COSTS_KNOWN; i++) {
		if (!(costs->usable >> i & 1) ||
		    (ctx->algo >= 0 && (uint32_t)ctx->algo != i / 3) ||
		    (ctx->proto >= 0 && (uint32_t)ctx->proto != i % 3))
			continue;
		if (best == NB_COSTS_NONE || table[i] < table[best])
			best = i;
	}
	return best;
}

static enum nb_refused check_choice(const struct ncclbpf_tuner *ctx,
				    const struct nb_costs *costs,
				    const float *table, uint32_t *index)
{
	uint32_t i;

	if (ctx->algo < -1 || ctx->algo >= NCCL_NUM_ALGOS)
		return NB_REFUSED_ALGO_RANGE;
	if (ctx->proto < -1 || ctx->proto >= NCCL_NUM_PROTOS)
		return NB_REFUSED_PROTO_RANGE;
	if (ctx->algo < 0 && ctx->proto < 0)
		return NB_REFUSED_NONE;
	if (ctx->algo < 0 || ctx->proto < 0) {
		*index = partner(ctx, costs, table);
		return *index == NB_COSTS_NONE ? NB_REFUSED_NO_PARTNER
					       : NB_REFUSED_NONE;
	}
	i = (uint32_t)(ctx->algo * NCCL_NUM_PROTOS + ctx->proto);
	if (!(costs->usable >> i & 1))
		return NB_REFUSED_UNUSABLE;
	*index = i;
	return NB_REFUSED_NONE;
}

/* Does NCCL itself bound the channels of entry @index (ABI ref., 1.8)? */
static bool channels_bounded(uint32_t index, uint32_t nodes)
{
	if (index >= NB_COSTS_KNOWN)
		return false; /* NCCL's choice is not known to us */
	switch ((enum ncclbpf_algo)(index / NCCL_NUM_PROTOS)) {
	case NCCL_ALGO_TREE:
	case NCCL_ALGO_RING:
	case NCCL_ALGO_NVLS_TREE:
	case NCCL_ALGO_PAT:
		return true;
	case NCCL_ALGO_NVLS:
		return nodes == 1;
	case NCCL_ALGO_COLLNET_DIRECT:
	case NCCL_ALGO_COLLNET_CHAIN:
	case NCCL_ALGO_UNDEF:
	case NCCL_NUM_ALGOS:
		break;
	}
	return false;
}

enum nb_refused nb_tuner_check(const struct ncclbpf_tuner *ctx,
			       const struct nb_costs *costs, const float *table,
			       uint32_t max_channels, uint32_t *index,
			       uint32_t *channels)
{
	enum nb_refused why;

	*index = NB_COSTS_NONE;
	*channels = 0;
	why = check_choice(ctx, costs, table, index);
	if (why != NB_REFUSED_NONE) {
		*index = NB_COSTS_NONE;
		return why; /* the channels were meant for that choice */
	}
	if (!ctx->channels)
		return NB_REFUSED_NONE;
	if (ctx->channels > max_channels)
		return NB_REFUSED_CHANNELS_RANGE;
	if (!channels_bounded(*index != NB_COSTS_NONE ? *index : costs->best,
			      ctx->nodes))
		return NB_REFUSED_CHANNELS_ALGO;
	*channels = ctx->channels;
	return NB_REFUSED_NONE;
}

/* ---- questions without a cost table (v2) ---- */

/*
 * What is safe where NCCL tells nothing but two flags and, before 2.22, takes
 * an answer unchecked: Ring for every collective, Tree and one-node NVLS where
 * they exist, LL128 never, since it depends on the hardware.
 */
static void costs_of_flags(const struct nb_comm *c, const struct nb_ask *ask,
			   struct nb_costs *out)
{
#define BIT(algo, proto)                                      \
	(UINT32_C(1) << (NCCL_ALGO_##algo * NCCL_NUM_PROTOS + \
			 NCCL_PROTO_##proto))
	uint32_t usable = 0;

	if (ask->coll >= 0 && ask->coll < NCCL_NUM_COLLS)
		usable = BIT(RING, LL) | BIT(RING, SIMPLE);
	if (ask->coll == NCCL_COLL_ALL_REDUCE)
		usable |= BIT(TREE, LL) | BIT(TREE, SIMPLE);
	if (ask->nvls > 0 && c->base.nodes == 1 &&
	    (ask->coll == NCCL_COLL_ALL_REDUCE ||
	     ask->coll == NCCL_COLL_ALL_GATHER ||
	     ask->coll == NCCL_COLL_REDUCE_SCATTER))
		usable |= BIT(NVLS, SIMPLE);
	/* the user's filter cannot be seen through this ABI */
	out->usable = c->rt->nccl_filter ? 0 : usable;
	out->best = NB_COSTS_NONE;
	out->best_cost = -1.0f;
#undef BIT
}

/* ---- writing down ---- */

struct outcome {
	uint32_t index; /* entry chosen: the policy's or NCCL's */
	uint32_t channels;
	uint32_t by; /* policy, or NB_COSTS_NONE */
	enum nb_refused refused;
	float cost;
};

/*
 * A reader sees the stamp before and after; all words are atomic, and each
 * store is a release so that none can be seen before the odd stamp.
 */
static inline void write_entry(struct nb_ring_entry *e, uint64_t n,
			       const uint64_t word[5])
{
	__atomic_store_n(&e->word[0], 2 * n + 1, __ATOMIC_RELAXED);
#pragma GCC unroll 5
	for (int i = 0; i < 5; i++)
		__atomic_store_n(&e->word[1 + i], word[i], __ATOMIC_RELEASE);
	__atomic_store_n(&e->word[0], 2 * n + 2, __ATOMIC_RELEASE);
}

static inline uint64_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

/* Running over everything that ranks must agree on. */
static inline void extend_hash(struct nb_seg_slot *slot, uint64_t bytes,
			       uint64_t rest)
{
	uint64_t hash = __atomic_load_n(&slot->hash, __ATOMIC_RELAXED);

	hash = ((hash << 23 | hash >> 41) ^ bytes ^ rest) *
	       UINT64_C(0x9e3779b97f4a7c15);
	__atomic_store_n(&slot->hash, hash, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void
write_down(struct nb_comm *c, uint64_t k, const struct nb_ask *ask,
	   const struct nb_costs *costs, const struct outcome *o)
{
	uint64_t pipe = ask->pipe_ops > 0 ? (uint64_t)ask->pipe_ops : 0;
	uint64_t coll = (uint32_t)ask->coll < 255 ? (uint32_t)ask->coll : 255;
	uint64_t agreed = coll << 16 | (uint64_t)o->index << 32 |
			  (uint64_t)o->channels << 56;
	const uint64_t word[5] = {
		ask->bytes,
		(uint64_t)c->fence.number << 32 |
			(ask->reg_buff ? UINT64_C(1) << 31 : 0) | costs->usable,
		agreed | (pipe < 65535 ? pipe : 65535) |
			(uint64_t)costs->best << 24 | (uint64_t)o->by << 40 |
			(uint64_t)o->refused << 48,
		float_bits(costs->best_cost) << 32 | float_bits(o->cost),
		k,
	};

	write_entry(&c->ring[k % NB_RING], k, word);
	if (coll < NCCL_NUM_COLLS) {
		struct nb_ring_entry *e =
			&c->latest[coll * NB_SIZE_BUCKETS +
				   nb_comm_bucket(ask->bytes)];

		write_entry(e, e->word[0] / 2, word);
	}
	extend_hash(c->fence.slot, ask->bytes, agreed);
}

/* ---- the decision ---- */

static void fill(struct nb_comm *c, struct ncclbpf_tuner *ctx, uint64_t k,
		 const struct nb_ask *ask, const struct nb_costs *costs)
{
	*ctx = c->base;
	ctx->bytes = ask->bytes;
	ctx->seq = k;
	ctx->coll = (uint32_t)ask->coll;
	ctx->pipe_ops = ask->pipe_ops > 0 ? (uint32_t)ask->pipe_ops : 0;
	ctx->usable = costs->usable;
	if (costs->best < NB_COSTS_KNOWN) {
		ctx->nccl_algo = (int32_t)(costs->best / NCCL_NUM_PROTOS);
		ctx->nccl_proto = (int32_t)(costs->best % NCCL_NUM_PROTOS);
	}
	ctx->reg_buff = ask->reg_buff != 0;
}

/* Tell NCCL. */
static void answer(const struct nb_ask *ask, const struct nb_costs *costs,
		   uint32_t index, uint32_t channels)
{
	if (channels && ask->channels)
		*ask->channels = (int)channels;
	if (index == NB_COSTS_NONE)
		return;
	if (ask->table) {
		nb_costs_choose(ask->table, index, costs);
	} else if (ask->algo && ask->proto) {
		*ask->algo = (int)(index / NCCL_NUM_PROTOS);
		*ask->proto = (int)(index % NCCL_NUM_PROTOS);
	}
}

static __attribute__((noinline)) void
run_policies(struct nb_comm *c, const struct nb_gen *g, uint64_t k,
	     const struct nb_ask *ask, const struct nb_costs *costs,
	     struct outcome *o)
{
	struct ncclbpf_tuner ctx;
	uint32_t index, channels;
	int by;

	fill(c, &ctx, k, ask, costs);
	by = nb_gen_run_tuner(g, &ctx, &c->count);
	if (by < 0)
		return; /* no opinion */
	o->refused = nb_tuner_check(&ctx, costs, ask->table, c->max_channels,
				    &index, &channels);
	if (o->refused != NB_REFUSED_NONE)
		bump(&c->refused[o->refused]);
	if (index == NB_COSTS_NONE && !channels)
		return;
	o->by = g->prog[by].policy;
	o->channels = channels;
	if (index != NB_COSTS_NONE) {
		o->index = index;
		o->cost = ask->table ? ask->table[index] : -1.0f;
	}
	answer(ask, costs, index, channels);
}

/* Can policies be asked at all? */
static enum nb_refused askable(const struct nb_comm *c,
			       const struct nb_ask *ask, bool shape_known)
{
	if (c->mismatch)
		return NB_REFUSED_MISMATCH;
	if (!shape_known)
		return NB_REFUSED_COST_TABLE;
	if (ask->coll < 0 || ask->coll >= NCCL_NUM_COLLS)
		return NB_REFUSED_COLLECTIVE;
	return NB_REFUSED_NONE;
}

void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask)
{
	struct nb_costs costs;
	struct outcome o;
	bool known = true;
	uint64_t k;

	if (!c) {
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!nb_fence_enter(&c->fence, &k))
		look(c, k);
	if (ask->flags_only)
		costs_of_flags(c, ask, &costs);
	else
		known = nb_costs_read(ask->table, ask->nalgo, ask->nproto,
				      &costs);
	o = (struct outcome){ .index = costs.best,
			      .by = NB_COSTS_NONE,
			      .cost = costs.best_cost };
	o.refused = askable(c, ask, known);
	if (__builtin_expect(o.refused != NB_REFUSED_NONE, 0))
		bump(&c->refused[o.refused]);
	else if (c->gen->nprogs)
		run_policies(c, c->gen, k, ask, &costs, &o);
	write_down(c, k, ask, &costs, &o);
}
