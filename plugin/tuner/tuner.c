// SPDX-License-Identifier: MIT
// What a decision does rarely (decide.h has the rest): taking another
// generation, reading a cost table that was not seen before, checking an
// answer that is not of the most common kind against what NCCL offers.
// Whatever goes wrong is counted and leaves NCCL's own choice standing.
#include "plugin/tuner/decide.h"

#include <assert.h>
#include <string.h>

#include "plugin/comm/comm.h"
#include "plugin/job/registry.h"
#include "plugin/job/self.h"
#include "plugin/job/startup.h"
#include "plugin/policies/generations.h"
#include "plugin/profiler/events.h"
#include "plugin/runtime/params.h"

static_assert((int)NB_COSTS_KNOWN == NCCL_NUM_ALGOS * NCCL_NUM_PROTOS &&
		      (int)NB_COSTS_PROTOS == NCCL_NUM_PROTOS,
	      "usable mask and cost table agree");

/* ---- which generation ---- */

static struct nb_gen *search(const uint8_t *digest)
{
	if (!memcmp(nb_gens.empty->digest, digest, NB_SHA256_SIZE))
		return nb_gens.empty; /* always there, and so not in the list */
	for (uint32_t i = 0; i < NB_MAX_GENS; i++) {
		struct nb_gen *g =
			__atomic_load_n(&nb_gens.kept[i], __ATOMIC_SEQ_CST);

		if (g && !memcmp(g->digest, digest, NB_SHA256_SIZE))
			return g;
	}
	return NULL;
}

/* Number 0 may be what a rank has anyway: the entry says why. What this rank
 * saw when it began counts for nothing, what was written down binds all. One
 * that has no entry keeps its mark: its peers leave it to NCCL (lose). */
static void note_mismatch(struct nb_comm *c, uint32_t number)
{
	if (!c->seg)
		return;
	__atomic_store_n(
		&c->mismatch,
		!number && __atomic_load_n(&c->seg->mismatch, __ATOMIC_ACQUIRE),
		__ATOMIC_RELAXED);
}

/*
 * The generation of that number, or NULL; *@to gets it as well. The flag keeps
 * a sweep from freeing what is found before *@to, where it looks, is seen
 * to hold it (nb_gens_sweep).
 */
static struct nb_gen *find(struct nb_comm *c, uint32_t number,
			   struct nb_gen **to)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_gen *g = NULL;

	__atomic_store_n(&c->searching, 1, __ATOMIC_SEQ_CST);
	if (c->seg && nb_segment_digest(nb_self.seg, number, digest))
		g = search(digest);
	if (g) {
		g = nb_gen_of(g, c->init.comm_id);
		__atomic_store_n(to, g, __ATOMIC_RELEASE);
	}
	/* whoever sees the search ended sees what it found */
	__atomic_store_n(&c->searching, 0, __ATOMIC_RELEASE);
	return g;
}

/* Go on with @g; until then counters are those of the generation before. Not
 * inlined: who rehearses it has the code at hand. */
static __attribute__((noinline)) void take(struct nb_comm *c, struct nb_gen *g)
{
	nb_gen_count_add(c->gen, &c->count);
	__atomic_store_n(&c->gen, g, __ATOMIC_RELEASE);
}

/*
 * Take the generation of that number: as a rule it has been found on the way
 * to the fence. Who frees it looks there first, so c->gen has it before.
 */
static void adopt(struct nb_comm *c, uint32_t number)
{
	struct nb_gen *g = c->ahead.gen;

	if (c->ahead.number == number && g) {
		take(c, g);
	} else {
		nb_gen_count_add(c->gen, &c->count);
		if (!find(c, number, &c->gen)) {
			nb_gen_bump(&c->refused[NB_REFUSED_GEN_MISSING]);
			take(c, nb_gen_of(nb_gens.empty, c->init.comm_id));
		}
	}
	__atomic_store_n(&c->ahead.gen, NULL, __ATOMIC_RELEASE);
	note_mismatch(c, number);
}

/*
 * What the decision that takes a generation runs of ours, and others hardly
 * ever: in the caches again. Lines behind a function's end do no harm.
 */
static void look(struct nb_comm *c);

static void warm_code(void)
{
	enum { LINE = 64 };
	const struct {
		uintptr_t code;
		uint32_t lines;
	} warm[] = { { (uintptr_t)look, 16 },
		     { (uintptr_t)nb_fence_look, 12 },
		     { (uintptr_t)nb_tuner_rare, 16 },
		     { (uintptr_t)nb_tuner_ask, 12 } };

	for (size_t i = 0; i < sizeof(warm) / sizeof(warm[0]); i++)
		for (uintptr_t n = 0; n < warm[i].lines; n++)
			__builtin_prefetch(
				(const void *)(warm[i].code + n * LINE));
}

/*
 * A fence is ahead, and maybe another generation behind it, which other CPUs
 * have just written. The last decisions before it find it, keep it, and each
 * go one more link of the way to its code, so that nothing need be waited for
 * when it is taken.
 */
enum { AHEAD = 6 };

static void foresee(struct nb_comm *c, uint64_t k)
{
	uint64_t word =
		__atomic_load_n(&c->fence.record->word, __ATOMIC_RELAXED);
	uint32_t number = nb_fence_word_gen(word);

	if (number != c->ahead.number) {
		__atomic_store_n(&c->ahead.gen, NULL, __ATOMIC_RELEASE);
		c->ahead.number = number, c->ahead.step = 0;
	}
	/* what is armed may come to nothing, and nobody would tell */
	if (number == c->fence.number || !c->seg ||
	    nb_fence_word_state(word) != NB_FENCE_COMMIT ||
	    nb_fence_word_seq(word) - k > AHEAD)
		return;
	take(c, c->gen);
	warm_code();
	if (c->ahead.step == 0) {
		nb_segment_prefetch(nb_self.seg, number);
		for (uint32_t i = 0; i < NB_MAX_GENS; i += 8)
			__builtin_prefetch(&nb_gens.kept[i]);
	} else if (c->ahead.gen || find(c, number, &c->ahead.gen)) {
		nb_gen_prefetch(c->ahead.gen, c->ahead.step > 1);
	}
	c->ahead.step++;
}

/*
 * Before the first decision, when all ranks of the communicator have been made:
 * has one of them not registered, or does it run another version? All ranks
 * take what the first of them to come here finds.
 */
static void begin(struct nb_comm *c)
{
	enum nb_differ why;

	c->begun = true;
	if (!c->seg)
		return;
	if (nb_startup_by_calls(c->seg)) {
		nb_fence_by_calls(&c->fence, nb_seg_clocks(c->ring));
		nb_events_tell_decisions(c->fence.slot);
	}
	why = nb_startup_apart(nb_self.seg, c->seg);
	if (why == NB_DIFFER_NOT && nb_startup_missing(c->seg))
		why = NB_DIFFER_MISSING;
	c->fence.begins = true;
	c->fence.first = why == NB_DIFFER_NOT ? c->fence.number : 0;
	if (why != NB_DIFFER_NOT &&
	    !__atomic_load_n(&c->seg->record.word, __ATOMIC_ACQUIRE))
		nb_startup_mark(c->seg, why);
}

/* The record holds something that has not been dealt with. */
static void look(struct nb_comm *c)
{
	uint32_t before = c->fence.number;
	uint64_t seen = c->fence.seen;
	bool first = !c->begun, timed_out;
	uint32_t number;
	uint64_t k;

	if (first)
		begin(c);
	k = nb_fence_clock(&c->fence, c->fence.seq - 1);
	number = nb_fence_look(&c->fence, k, &timed_out);

	if (timed_out)
		nb_gen_bump(&c->refused[NB_REFUSED_FENCE_TIMEOUT]);
	/* number 0 stays number 0 where ranks began with different policies:
	 * the record alone says so */
	if (number != before || (!number && c->fence.seen != seen))
		adopt(c, number);
	else if (first && c->seg)
		note_mismatch(c, number);
	else
		foresee(c, k);
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
	out->usable = nb_params.nccl_filter ? 0 : usable;
	out->best = NB_COSTS_NONE;
	out->best_cost = -1.0f;
#undef BIT
}

/* ---- answers ---- */

/* Tell NCCL. */
static void tell(const struct nb_ask *ask, const struct nb_costs *costs,
		 uint32_t index, uint32_t channels)
{
	/* what another tuner said was meant for its own choice */
	if (ask->channels &&
	    (channels || (index != NB_COSTS_NONE && index != costs->best)))
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

/* The last word was that of a program of policy @by. */
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

/* Policy @by answered, as c->ctx says. */
static void answer(struct nb_comm *c, const struct nb_seen *seen, uint32_t by,
		   const struct nb_ask *ask, struct nb_outcome *o)
{
	uint32_t index, channels;
	enum nb_refused why =
		nb_tuner_check(&c->ctx, &seen->costs, ask->table,
			       c->max_channels, &index, &channels);

	if (why != NB_REFUSED_NONE)
		count_refusal(c, by, why);
	if (index == NB_COSTS_NONE && !channels) {
		o->word2 |= (uint64_t)why << NB_PACKED_AT_REFUSED;
		return;
	}
	if (index != NB_COSTS_NONE) {
		float cost = ask->table ? ask->table[index] : -1.0f;

		o->costs = nb_packed_float(seen->costs.best_cost)
				   << NB_PACKED_AT_BEST_COST |
			   nb_packed_float(cost);
	}
	tell(ask, &seen->costs, index, channels);
	o->word2 = seen->asked |
		   nb_packed_outcome(index != NB_COSTS_NONE ? index
							    : seen->costs.best,
				     by, why, channels);
}

/* Not inlined: it needs registers that the common case leaves alone. */
static __attribute__((noinline)) struct nb_outcome
answer_table(struct nb_comm *c, const struct nb_seen *seen, uint32_t by,
	     float *table, int *channels)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs };
	struct nb_ask ask = { .table = table, .channels = channels };

	answer(c, seen, by, &ask, &o);
	return o;
}

/*
 * The common answer: an entry that NCCL offers, with NCCL's own channels.
 * False: something else.
 */
static inline bool simple_answer(const struct nb_seen *seen,
				 const struct ncclbpf_tuner *ctx, uint32_t by,
				 float *table, struct nb_outcome *o)
{
	uint32_t i =
		(uint32_t)ctx->algo * NCCL_NUM_PROTOS + (uint32_t)ctx->proto;

	if ((uint32_t)ctx->algo >= NCCL_NUM_ALGOS ||
	    (uint32_t)ctx->proto >= NCCL_NUM_PROTOS || ctx->channels ||
	    !(seen->costs.usable >> i & 1) || seen->costs.best_cost <= 0.0f)
		return false;
	o->word2 = seen->asked | nb_packed_outcome(i, by, 0, 0);
	o->costs = nb_packed_float(seen->costs.best_cost)
			   << NB_PACKED_AT_BEST_COST |
		   nb_packed_float(seen->table[i]);
	table[i] = 0.0f;
	return true;
}

/* What was asked is taken from the context, which no policy writes there: it
 * need not be kept in registers while they run. */
NB_HOT int nb_tuner_ask(struct nb_comm *c, const struct nb_seen *seen,
			float *table, int *channels)
{
	const struct ncclbpf_tuner *ctx = &c->ctx;
	struct nb_outcome o;
	uint64_t step;
	int by = nb_gen_run_tuner(c->gen, &c->ctx, &c->count);

	if (by < 0) {
		o = (struct nb_outcome){ seen->outcome, seen->both_costs };
		step = seen->step;
	} else {
		uint32_t policy = c->gen->prog[by].policy;

		if (!simple_answer(seen, ctx, policy, table, &o))
			o = answer_table(c, seen, policy, table, channels);
		step = nb_hash_step(ctx->bytes, o.word2);
	}
	nb_write_down(c, seen, c->fence.seq - 1, ctx->bytes, ctx->pipe_ops,
		      ctx->reg_buff, &o, step);
	return 0;
}

NB_HOT int nb_tuner_none(struct nb_comm *c, const struct nb_seen *seen,
			 uint64_t bytes, uint32_t pipe, bool reg_buff)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs };

	nb_write_down(c, seen, c->fence.seq - 1, bytes, pipe, reg_buff, &o,
		      seen->step);
	return 0;
}

/* ---- the decision, whatever is asked ---- */

/* Can policies be asked at all? */
static enum nb_refused askable(const struct nb_comm *c,
			       const struct nb_ask *ask,
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

static void run_policies(struct nb_comm *c, uint64_t k,
			 const struct nb_ask *ask, const struct nb_seen *seen,
			 struct nb_outcome *o)
{
	const struct nb_gen *g = c->gen;
	int by;

	if (!g->nprogs)
		return;
	nb_fill(&c->ctx, seen, nb_fence_clock(&c->fence, k),
		(uint32_t)ask->coll, ask->bytes,
		at_most(ask->pipe_ops, INT32_MAX), ask->reg_buff != 0);
	by = c->timed ? nb_gen_run_timed(g, &c->ctx, &c->count)
		      : nb_gen_run_tuner(g, &c->ctx, &c->count);
	if (by >= 0)
		answer(c, seen, g->prog[by].policy, ask, o);
}

/* What the table says, and what follows for @c. */
static void see(const struct nb_comm *c, const struct nb_ask *ask,
		struct nb_seen *s)
{
	uint32_t coll = (uint32_t)ask->coll;

	nb_seen_fill(s, ask->table, ask->nalgo, ask->nproto, ask->coll,
		     ask->bytes);
	s->ranks = c->base.nvl_max_ranks;
	s->latest = coll < NCCL_NUM_COLLS ? coll * NB_SIZE_BUCKETS +
						    nb_comm_bucket(ask->bytes)
					  : NB_LATEST_NONE;
}

/* The channels of a tuner that was asked first stand: ranks must agree. */
static uint64_t peer_channels(const struct nb_ask *ask, uint64_t word2)
{
	int n = ask->channels ? *ask->channels : 0;

	return n > 0 && n <= 127 && !(word2 >> NB_PACKED_AT_CHANNELS & 127)
		       ? (uint64_t)n << NB_PACKED_AT_CHANNELS
		       : 0;
}

/* Decision @k, from what was seen on. */
static void decide(struct nb_comm *c, uint64_t k, const struct nb_ask *ask,
		   const struct nb_seen *seen)
{
	struct nb_outcome o = { seen->outcome, seen->both_costs };
	enum nb_refused why = askable(c, ask, seen);
	uint64_t bytes =
		ask->bytes < NB_PACKED_BYTES ? ask->bytes : NB_PACKED_BYTES;

	if (why == NB_REFUSED_NONE) {
		run_policies(c, k, ask, seen, &o);
	} else {
		nb_gen_bump(&c->refused[why]);
		o.word2 |= (uint64_t)why << NB_PACKED_AT_REFUSED;
	}
	if (c->chained)
		o.word2 |= peer_channels(ask, o.word2);
	nb_write_down(c, seen, k, bytes, at_most(ask->pipe_ops, NB_PACKED_PIPE),
		      ask->reg_buff != 0, &o, nb_hash_step(bytes, o.word2));
}

void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask)
{
	struct nb_seen seen = { .version = 0 };
	uint64_t k;

	if (!c) {
		__atomic_fetch_add(&nb_comms.lost, 1, __ATOMIC_RELAXED);
		return;
	}
	if (!nb_fence_enter(&c->fence, &k))
		look(c);
	if (c->chained && !c->mismatch)
		nb_wrapped_tuner_ask(c, ask);
	see(c, ask, &seen);
	if (ask->flags_only) {
		seen.known = true;
		costs_of_flags(c, ask, &seen.costs);
		if (c->chained)
			nb_wrapped_tuner_choice(ask, &seen.costs);
		nb_seen_derive(&seen);
	}
	decide(c, c->fence.seq - 1, ask, &seen);
}

int nb_tuner_any(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops,
		 float *table, int nalgo, int nproto, int reg_buff,
		 int *channels)
{
	struct nb_ask ask = { .bytes = bytes,
			      .coll = coll,
			      .pipe_ops = pipe_ops,
			      .reg_buff = reg_buff,
			      .table = table,
			      .nalgo = nalgo,
			      .nproto = nproto,
			      .channels = channels };

	nb_tuner_decide(c, &ask);
	return 0;
}

int nb_tuner_rare(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops,
		  float *table, int nalgo, int nproto, int reg_buff,
		  int *channels)
{
	struct nb_ask ask = { .bytes = bytes,
			      .coll = coll,
			      .pipe_ops = pipe_ops,
			      .reg_buff = reg_buff,
			      .table = table,
			      .nalgo = nalgo,
			      .nproto = nproto,
			      .channels = channels };
	struct nb_seen *seen = nb_seen_slot(c->seen, bytes, coll);
	uint64_t k = c->fence.seq - 1;

	if (!nb_fence_same(&c->fence))
		look(c);
	/* by the way that the decisions before went: nothing on it is cold */
	if (nb_usual(c, seen, table, coll, bytes))
		return nb_go_on(c, seen, nb_fence_clock(&c->fence, k), coll,
				bytes, pipe_ops, table, reg_buff, channels);
	if (c->chained && !c->mismatch)
		nb_wrapped_tuner_ask(c, &ask);
	if (!nb_seen_is(seen, table, coll, bytes))
		see(c, &ask, seen);
	decide(c, k, &ask, seen);
	return 0;
}
