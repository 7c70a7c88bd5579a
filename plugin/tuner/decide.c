// SPDX-License-Identifier: MIT
/*
 * The rare cases of a decision (decide.h has the others): reading a new cost
 * table, and checking an unusual answer against NCCL's offer. Failures are
 * counted, and NCCL's own choice is kept.
 */
#include "plugin/tuner/decide.h"

#include <assert.h>
#include <string.h>

#include "plugin/runtime/nccl_doubt.h"
#include "plugin/runtime/params.h"
#include "plugin/tuner/adopt.h"
#include "plugin/tuner/chunk.h"

static_assert((int)NB_COSTS_KNOWN == NCCL_NUM_ALGOS * NCCL_NUM_PROTOS &&
		      (int)NB_COSTS_PROTOS == NCCL_NUM_PROTOS,
	      "usable mask and cost table agree");

/*
 * Returns the cheapest usable entry that has the given algorithm or protocol.
 */
static uint32_t cheapest_partner(const struct ncclbpf_tuner *ctx, const struct nb_costs *costs,
				 const float *table)
{
	uint32_t best = NB_COSTS_NONE;

	for (uint32_t i = 0; table && i < NB_COSTS_KNOWN; i++) {
		if (!(costs->usable >> i & 1) || (ctx->algo >= 0 && (uint32_t)ctx->algo != i / 3) ||
		    (ctx->proto >= 0 && (uint32_t)ctx->proto != i % 3))
			continue;
		if (best == NB_COSTS_NONE || table[i] < table[best])
			best = i;
	}
	return best;
}

static enum nb_refused check_choice(const struct ncclbpf_tuner *ctx, const struct nb_costs *costs,
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
		*index = cheapest_partner(ctx, costs, table);
		return *index == NB_COSTS_NONE ? NB_REFUSED_NO_PARTNER : NB_REFUSED_NONE;
	}
	i = (uint32_t)(ctx->algo * NCCL_NUM_PROTOS + ctx->proto);
	if (!(costs->usable >> i & 1))
		return NB_REFUSED_UNUSABLE;
	*index = i;
	return NB_REFUSED_NONE;
}

/*
 * Returns true if NCCL itself limits the channels of entry @index.
 */
static bool channels_bounded(uint32_t index, uint32_t nodes)
{
	if (index >= NB_COSTS_KNOWN)
		return false; /* NCCL's own choice is not known in this case */
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

static enum nb_refused check_channels(const struct ncclbpf_tuner *ctx, uint32_t index,
				      uint32_t max_channels)
{
	if (ctx->channels > max_channels)
		return NB_REFUSED_CHANNELS_RANGE;
	return !ctx->channels || channels_bounded(index, ctx->nodes) ? NB_REFUSED_NONE
								     : NB_REFUSED_CHANNELS_ALGO;
}

static enum nb_refused check_chunk(uint32_t size, bool offered)
{
	if (size && !offered)
		return NB_REFUSED_CHUNK_OFFER;
	return !size || (size >= NCCL_CHUNK_LEAST && size <= NCCL_CHUNK_MOST)
		       ? NB_REFUSED_NONE
		       : NB_REFUSED_CHUNK_RANGE;
}

enum nb_refused nb_tuner_check(const struct ncclbpf_tuner *ctx, const struct nb_costs *costs,
			       const float *table, const struct nb_limits *limits,
			       struct nb_checked *out)
{
	enum nb_refused why, chunk;

	*out = (struct nb_checked){ .index = NB_COSTS_NONE };
	why = check_choice(ctx, costs, table, &out->index);
	if (why != NB_REFUSED_NONE) {
		out->index = NB_COSTS_NONE;
		/* channels and chunks belong to the dropped choice, so ignore them */
		return why;
	}
	why = check_channels(ctx, out->index != NB_COSTS_NONE ? out->index : costs->best,
			     limits->max_channels);
	if (why == NB_REFUSED_NONE)
		out->channels = ctx->channels;
	chunk = check_chunk(ctx->chunk_size, limits->chunks);
	if (chunk == NB_REFUSED_NONE)
		out->chunk_size = ctx->chunk_size;
	return why != NB_REFUSED_NONE ? why : chunk;
}

/*
 * Find combinations that are safe if NCCL passes only two flags and, before
 * 2.22, does not check the answer. These are Ring for every collective, and
 * Tree and one-node NVLS if NCCL has them. LL128 is never safe, because it
 * depends on the hardware.
 */
static void costs_of_flags(const struct nb_comm *c, const struct nb_ask *ask, struct nb_costs *out)
{
#define BIT(algo, proto) (UINT32_C(1) << (NCCL_ALGO_##algo * NCCL_NUM_PROTOS + NCCL_PROTO_##proto))
	uint32_t usable = 0;

	if (ask->coll >= 0 && ask->coll < NCCL_NUM_COLLS)
		usable = BIT(RING, LL) | BIT(RING, SIMPLE);
	if (ask->coll == NCCL_COLL_ALL_REDUCE)
		usable |= BIT(TREE, LL) | BIT(TREE, SIMPLE);
	if (ask->nvls > 0 && c->base.nodes == 1 &&
	    (ask->coll == NCCL_COLL_ALL_REDUCE || ask->coll == NCCL_COLL_ALL_GATHER ||
	     ask->coll == NCCL_COLL_REDUCE_SCATTER))
		usable |= BIT(NVLS, SIMPLE);
	/*
	 * this version does not show the user's filter (NCCL_ALGO, NCCL_PROTO)
	 */
	out->usable = nb_params.nccl_filter ? 0 : usable;
	out->best = NB_COSTS_NONE;
	out->best_cost = -1.0f;
#undef BIT
}

/* Write the answer into NCCL's table and variables. */
static void put_answer(const struct nb_ask *ask, const struct nb_costs *costs, uint32_t index,
		       uint32_t channels)
{
	/* the channels of a wrapped tuner belong to its own choice only */
	if (ask->channels && (channels || (index != NB_COSTS_NONE && index != costs->best)))
		*ask->channels = (int)channels;
	if (index == NB_COSTS_NONE)
		return;
	if (ask->table) {
		nb_costs_choose(ask->table, (uint32_t)(ask->nalgo * ask->nproto), index, costs);
	} else if (ask->algo && ask->proto) {
		*ask->algo = (int)(index / NCCL_NUM_PROTOS);
		*ask->proto = (int)(index % NCCL_NUM_PROTOS);
	}
}

/* Count a refused answer for the last program of policy @by. */
static void count_refusal(struct nb_comm *c, uint32_t by, enum nb_refused why)
{
	uint32_t i = c->gen->nprogs;

	nb_gen_bump(&c->refused[why]);
	while (i-- > 0)
		if (c->gen->prog[i].policy == by) {
			nb_gen_bump(&c->count.refused[i]);
			return;
		}
}

/* Record the chunk size of the current decision. */
static void record_chunk(struct nb_comm *c, const struct nb_seen *seen, uint32_t size,
			 struct nb_outcome *o)
{
	uint64_t k = c->fence.seq - 1, word = nb_packed_tag(k) | size;

	__atomic_store_n(&nb_seg_chunks(c->ring)[k % NB_RING], word, __ATOMIC_RELEASE);
	__atomic_store_n(&c->latest[seen->latest].chunk, word, __ATOMIC_RELEASE);
	o->word2 |= UINT64_C(1) << NB_PACKED_AT_CHUNK;
	o->chunk = nb_hash_chunk(size);
}

/* Check the answer of policy @by in c->ctx, and apply it. */
static void check_answer(struct nb_comm *c, const struct nb_seen *seen, uint32_t by,
			 const struct nb_ask *ask, struct nb_outcome *o)
{
	const struct nb_limits limits = { c->max_channels, c->chunks };
	struct nb_checked a;
	enum nb_refused why = nb_tuner_check(&c->ctx, &seen->costs, ask->table, &limits, &a);
	uint32_t entry = a.index != NB_COSTS_NONE ? a.index : seen->costs.best;

	nb_chunk_keep(c, c->ctx.coll, entry, a.chunk_size);
	if (why != NB_REFUSED_NONE)
		count_refusal(c, by, why);
	if (a.index == NB_COSTS_NONE && !a.channels && !a.chunk_size) {
		o->word2 |= (uint64_t)why << NB_PACKED_AT_REFUSED;
		return;
	}
	if (a.index != NB_COSTS_NONE) {
		float cost = ask->table ? ask->table[a.index] : -1.0f;

		o->costs = nb_packed_float(seen->costs.best_cost) << NB_PACKED_AT_BEST_COST |
			   nb_packed_float(cost);
	}
	put_answer(ask, &seen->costs, a.index, a.channels);
	o->word2 = seen->asked | nb_packed_outcome(entry, by, why, a.channels);
	if (a.chunk_size)
		record_chunk(c, seen, a.chunk_size, o);
}

/* No policy has answered: NCCL's own choice has NCCL's own chunk size. */
static inline void no_answer(struct nb_comm *c, const struct nb_seen *seen)
{
	if (__builtin_expect(c->chunked, 0))
		nb_chunk_keep(c, c->ctx.coll, seen->costs.best, 0);
}

/*
 * Not inlined, because it needs registers that the common case does not need.
 */
static __attribute__((noinline)) struct nb_outcome answer_table(struct nb_comm *c,
								const struct nb_seen *seen,
								uint32_t by, float *table,
								int *channels)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs, 0 };
	struct nb_ask ask = { .table = table,
			      .nalgo = NCCL_NUM_ALGOS,
			      .nproto = NCCL_NUM_PROTOS,
			      .channels = channels };

	check_answer(c, seen, by, &ask, &o);
	return o;
}

/*
 * Apply the common form of answer: an entry that NCCL offers, with NCCL's own
 * channels and chunk size. Returns false if the answer has another form.
 */
static inline bool simple_answer(const struct nb_comm *c, const struct nb_seen *seen, uint32_t by,
				 float *table, struct nb_outcome *o)
{
	const struct ncclbpf_tuner *ctx = &c->ctx;
	uint32_t i = (uint32_t)ctx->algo * NCCL_NUM_PROTOS + (uint32_t)ctx->proto;

	if ((uint32_t)ctx->algo >= NCCL_NUM_ALGOS || (uint32_t)ctx->proto >= NCCL_NUM_PROTOS ||
	    (ctx->channels | ctx->chunk_size | c->chunked) || !(seen->costs.usable >> i & 1) ||
	    seen->costs.best_cost <= 0.0f)
		return false;
	o->word2 = seen->asked | nb_packed_outcome(i, by, 0, 0);
	o->chunk = 0;
	o->costs = nb_packed_float(seen->costs.best_cost) << NB_PACKED_AT_BEST_COST |
		   nb_packed_float(seen->table[i]);
	table[i] = 0.0f;
	return true;
}

/*
 * Run the policies and apply their answer. The question is read again from the
 * context, whose inputs no policy writes, so no register has to keep it while
 * policies run.
 */
NB_HOT int nb_tuner_ask(struct nb_comm *c, const struct nb_seen *seen, float *table, int *channels)
{
	const struct ncclbpf_tuner *ctx = &c->ctx;
	struct nb_outcome o;
	uint64_t step;
	int by = nb_gen_run_tuner(c->gen, &c->ctx, &c->count);

	if (by < 0) {
		no_answer(c, seen);
		o = (struct nb_outcome){ seen->outcome, seen->both_costs, 0 };
		step = seen->step;
	} else {
		uint32_t policy = c->gen->prog[by].policy;

		if (!simple_answer(c, seen, policy, table, &o))
			o = answer_table(c, seen, policy, table, channels);
		step = nb_hash_step(ctx->bytes, o.word2) ^ o.chunk;
	}
	nb_decision_record(c, seen, c->fence.seq - 1, ctx->bytes, ctx->pipe_ops, ctx->reg_buff, &o,
			   step);
	return 0;
}

NB_HOT int nb_tuner_none(struct nb_comm *c, const struct nb_seen *seen, uint64_t bytes,
			 uint32_t pipe, bool reg_buff)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs, 0 };

	nb_decision_record(c, seen, c->fence.seq - 1, bytes, pipe, reg_buff, &o, seen->step);
	return 0;
}

/* Returns why policies may not answer this question, or NB_REFUSED_NONE. */
static enum nb_refused check_question(const struct nb_comm *c, const struct nb_ask *ask,
				      const struct nb_seen *seen)
{
	if (c->mismatch)
		return NB_REFUSED_MISMATCH;
	if (!seen->known)
		return NB_REFUSED_COST_TABLE;
	if ((uint32_t)ask->coll >= NCCL_NUM_COLLS)
		return NB_REFUSED_COLLECTIVE;
	return NB_REFUSED_NONE;
}

static uint32_t at_most(int n, uint32_t most)
{
	uint32_t u = n > 0 ? (uint32_t)n : 0;

	return u < most ? u : most;
}

static void run_policies(struct nb_comm *c, uint64_t k, const struct nb_ask *ask,
			 const struct nb_seen *seen, struct nb_outcome *o)
{
	const struct nb_gen *g = c->gen;
	int by;

	/*
	 * NCCL 2.31 and later also ask with a table that offers nothing, when
	 * they look for a symmetric kernel
	 */
	if (!g->nprogs || (ask->table && !seen->costs.usable))
		return;
	nb_fill(&c->ctx, seen, nb_fence_clock(&c->fence, k), (uint32_t)ask->coll, ask->bytes,
		at_most(ask->pipe_ops, INT32_MAX), ask->reg_buff != 0);
	by = c->timed ? nb_gen_run_timed(g, &c->ctx, &c->count)
		      : nb_gen_run_tuner(g, &c->ctx, &c->count);
	if (by >= 0)
		check_answer(c, seen, g->prog[by].policy, ask, o);
	else
		no_answer(c, seen);
}

/* Read the question and its cost table into @s. */
static void read_question(const struct nb_comm *c, const struct nb_ask *ask, struct nb_seen *s)
{
	uint32_t coll = (uint32_t)ask->coll;

	nb_seen_fill(s, ask->table, ask->nalgo, ask->nproto, ask->coll, ask->bytes);
	if (s->known && ask->nalgo > NCCL_NUM_ALGOS)
		nb_nccl_odd_table((uint32_t)ask->nalgo);
	s->ranks = c->base.nvl_max_ranks;
	s->latest = coll < NCCL_NUM_COLLS ? coll * NB_SIZE_BUCKETS + nb_comm_bucket(ask->bytes)
					  : NB_LATEST_NONE;
	/* no collective follows from a table that offers nothing */
	if (s->known && s->costs.best == NB_COSTS_NONE)
		s->latest = NB_LATEST_NONE;
}

/*
 * Returns the entry in which the question's table is kept. A table that offers
 * nothing is not kept: @nothing.
 */
static struct nb_seen *question_entry(struct nb_comm *c, const struct nb_ask *ask,
				      struct nb_seen *nothing)
{
	struct nb_seen *s = nb_seen_slot(c->seen, ask->bytes, ask->coll);
	struct nb_costs costs;

	if (!nb_costs_read(ask->table, ask->nalgo, ask->nproto, &costs) ||
	    costs.best == NB_COSTS_NONE)
		return nothing;
	return s->known && s->bytes == ask->bytes && s->coll == ask->coll &&
			       s->costs.usable != costs.usable
		       ? nb_seen_other(c->seen, ask->bytes, ask->coll, costs.usable)
		       : s;
}

/*
 * Record the channels of a wrapped tuner, so that they can be compared between
 * ranks.
 */
static uint64_t peer_channels(const struct nb_ask *ask, uint64_t word2)
{
	int n = ask->channels ? *ask->channels : 0;

	return n > 0 && n <= NB_PACKED_CHANNELS &&
			       !(word2 >> NB_PACKED_AT_CHANNELS & NB_PACKED_CHANNELS)
		       ? (uint64_t)n << NB_PACKED_AT_CHANNELS
		       : 0;
}

/* Make decision @k after its question was read. */
static void decide_question(struct nb_comm *c, uint64_t k, const struct nb_ask *ask,
			    const struct nb_seen *seen)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs, 0 };
	enum nb_refused why = check_question(c, ask, seen);
	uint64_t bytes = ask->bytes < NB_PACKED_BYTES ? ask->bytes : NB_PACKED_BYTES;

	if (why == NB_REFUSED_NONE) {
		run_policies(c, k, ask, seen, &o);
	} else {
		nb_gen_bump(&c->refused[why]);
		o.word2 |= (uint64_t)why << NB_PACKED_AT_REFUSED;
	}
	if (c->chained)
		o.word2 |= peer_channels(ask, o.word2);
	nb_decision_record(c, seen, k, bytes, at_most(ask->pipe_ops, NB_PACKED_PIPE),
			   ask->reg_buff != 0, &o, nb_hash_step(bytes, o.word2) ^ o.chunk);
}

/* Make decision @k, whose table is not in the question's own entry. */
static __attribute__((noinline)) void decide_anew(struct nb_comm *c, uint64_t k,
						  const struct nb_ask *ask)
{
	struct nb_seen nothing = { .version = 0 };
	struct nb_seen *seen = question_entry(c, ask, &nothing);

	if (!nb_seen_is(seen, ask->table, ask->coll, ask->bytes))
		read_question(c, ask, seen);
	decide_question(c, k, ask, seen);
}

void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask)
{
	struct nb_seen own = { .version = 0 }, *seen = &own;
	uint64_t k;

	if (!c) {
		__atomic_fetch_add(&nb_comms.lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!nb_fence_enter(&c->fence, &k))
		nb_adopt_look(c);
	if (c->chained && !c->mismatch)
		nb_wrapped_tuner_ask(c, ask);
	if (ask->table) /* keep the costs for `explain`, whatever their shape */
		seen = question_entry(c, ask, &own);
	read_question(c, ask, seen);
	if (ask->flags_only) {
		seen->known = true;
		costs_of_flags(c, ask, &seen->costs);
		if (c->chained)
			nb_wrapped_tuner_choice(ask, &seen->costs);
		nb_seen_derive(seen);
	}
	decide_question(c, c->fence.seq - 1, ask, seen);
}

/* The arguments of the two functions below as a question. */
#define ASK                                                                               \
	{                                                                                 \
		.bytes = bytes, .coll = coll, .pipe_ops = pipe_ops, .reg_buff = reg_buff, \
		.table = table, .nalgo = nalgo, .nproto = nproto, .channels = channels    \
	}

int nb_tuner_any(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table, int nalgo,
		 int nproto, int reg_buff, int *channels)
{
	struct nb_ask ask = ASK;

	nb_tuner_decide(c, &ask);
	return 0;
}

int nb_tuner_rare(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table,
		  int nalgo, int nproto, int reg_buff, int *channels)
{
	struct nb_ask ask = ASK;
	struct nb_seen *seen = nb_seen_slot(c->seen, bytes, coll);
	uint64_t k = c->fence.seq - 1;

	if (!nb_fence_same(&c->fence))
		nb_adopt_look(c);
	/* use the code of earlier decisions, because it is cached */
	if (nb_usual(c, table, coll, bytes))
		return nb_go_on(c, seen, nb_fence_clock(&c->fence, k), coll, bytes, pipe_ops, table,
				reg_buff, channels);
	if (c->chained && !c->mismatch)
		nb_wrapped_tuner_ask(c, &ask);
	if (nb_seen_is(seen, table, coll, bytes))
		decide_question(c, k, &ask, seen);
	else
		decide_anew(c, k, &ask);
	return 0;
}

NB_HOT int nb_tuner_odd(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table,
			int nalgo, int nproto, int reg_buff, int *channels)
{
	const struct nb_seen *seen = NULL;
	uint64_t k;

	if (nb_fence_enter(&c->fence, &k))
		seen = nb_usual(c, table, coll, bytes);
	if (!seen)
		return nb_tuner_rare(c, coll, bytes, pipe_ops, table, nalgo, nproto, reg_buff,
				     channels);
	return nb_go_on(c, seen, k, coll, bytes, pipe_ops, table, reg_buff, channels);
}

const struct nb_adopt_code nb_adopt_warm = { nb_tuner_rare, nb_tuner_ask };
