// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_DECIDE_H
#define NB_PLUGIN_TUNER_DECIDE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/bpf/exec/run/exec.h"
#include "core/job/segment/packed.h"
#include "plugin/comm/comm.h"
#include "plugin/comm/costs.h"
#include "plugin/runtime/hot.h"

/*
 * A question that NCCL asks the tuner, in one form for all versions of the
 * interface. No field is trusted, and pointers may be NULL.
 */
struct nb_ask {
	uint64_t bytes;
	int coll, pipe_ops, reg_buff;
	/* from v3 on: the cost table of @nalgo * @nproto floats */
	float *table;
	int nalgo, nproto;
	int *channels;
	/* v2: two flags instead of a table, and two numbers for the answer */
	bool flags_only;
	int collnet, nvls;
	int *algo, *proto;
};

/*
 * nb_tuner_decide - make one decision
 * @c: NULL (there was no memory at init): NCCL's own choice stands
 *
 * It fills the context, looks at the fence, runs the policies, checks the
 * answer and records the decision. It never fails, but counts what it could not
 * do. It uses no lock, allocation or system call, except while it waits at an
 * undecided fence. Only one thread at a time may use @c.
 */
void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask);

/*
 * nb_tuner_check - check the policies' answer against NCCL's offer
 * @ctx: the context as the policies left it
 * @costs: costs of the question's table; @table: that table, or NULL
 *
 * Returns why a part of the answer was dropped, or NB_REFUSED_NONE. It has no
 * side effects.
 */
struct nb_limits {
	uint32_t max_channels;
	bool chunks; /* NCCL asks for chunk sizes */
};
struct nb_checked {
	uint32_t index;	     /* entry to choose; NB_COSTS_NONE: NCCL's own choice */
	uint32_t channels;   /* channels to ask for; 0: NCCL's number */
	uint32_t chunk_size; /* bytes of a chunk; 0: NCCL's */
};
enum nb_refused nb_tuner_check(const struct ncclbpf_tuner *ctx, const struct nb_costs *costs,
			       const float *table, const struct nb_limits *limits,
			       struct nb_checked *out);

/*
 * The decision path, which is inlined into each version's entry point. decide.c
 * has the rare cases. Single nanoseconds count here (`make bench`). The path
 * therefore calls nothing except policies, and does not scan the cost table
 * while NCCL repeats a question.
 */

/*
 * Outcome of a decision: the two words of struct nb_packed that depend on it,
 * and the part of the hash's step that depends on its chunk size.
 */
struct nb_outcome {
	uint64_t word2, costs, chunk;
};

/* Run the policies on a context that is already filled. */
int nb_tuner_ask(struct nb_comm *c, const struct nb_seen *seen, float *table, int *channels);

/* Record a decision that no policy made. */
int nb_tuner_none(struct nb_comm *c, const struct nb_seen *seen, uint64_t bytes, uint32_t pipe,
		  bool reg_buff);
/*
 * General forms of nb_decide: nb_tuner_any makes the whole decision, and
 * nb_tuner_rare makes the part after the fence. nb_tuner_odd is nb_decide of a
 * rank that is not usual (nb_fence_usual).
 */
int nb_tuner_any(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table, int nalgo,
		 int nproto, int reg_buff, int *channels);
int nb_tuner_rare(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table,
		  int nalgo, int nproto, int reg_buff, int *channels);
int nb_tuner_odd(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table, int nalgo,
		 int nproto, int reg_buff, int *channels);

/*
 * Record decision @k.
 * @pipe: pipe operations, in packed form
 * @reg_buff: 0 or 1
 * @step: nb_hash_step of @bytes and @o->word2, and @o->chunk
 */
NB_INLINE void nb_decision_record(struct nb_comm *c, const struct nb_seen *seen, uint64_t k,
				  uint64_t bytes, uint64_t pipe, uint64_t reg_buff,
				  const struct nb_outcome *o, uint64_t step)
{
	uint64_t tag = nb_packed_tag(k);
	uint64_t w0 = tag | bytes;
	uint64_t w1 = tag | c->fence.number | seen->usable | reg_buff << NB_PACKED_AT_REG_BUFF;
	uint64_t w2 = tag | o->word2 | pipe, w3 = tag | o->costs;
	struct nb_packed *ring = &c->ring[k % NB_RING];
	struct nb_seg_slot *slot = c->fence.slot;
	struct nb_latest *l = &c->latest[seen->latest];
	uint64_t hash = __atomic_load_n(&slot->hash, __ATOMIC_RELAXED);

	nb_packed_two(&ring->word[0], w0, w1);
	nb_packed_two(&ring->word[2], w2, w3);
	nb_packed_two(&l->decision.word[0], w0, w1);
	nb_packed_two(&l->decision.word[2], w2, w3);
	__atomic_store_n(&l->seq, k, __ATOMIC_RELAXED);
	nb_gen_bump(&l->count);
	__atomic_store_n(&slot->hash, nb_hash_add(hash, k, step), __ATOMIC_RELEASE);
}

/* Four context fields that are copied at once. */
typedef uint32_t nb_four __attribute__((vector_size(16), may_alias));

static_assert(offsetof(struct ncclbpf_tuner, nvl_max_ranks) == 48 &&
		      offsetof(struct ncclbpf_tuner, usable) == 52 &&
		      offsetof(struct ncclbpf_tuner, nccl_algo) == 56 &&
		      offsetof(struct ncclbpf_tuner, nccl_proto) == 60 &&
		      offsetof(struct ncclbpf_tuner, reg_buff) == 64 &&
		      offsetof(struct ncclbpf_tuner, algo) == 68 &&
		      offsetof(struct ncclbpf_tuner, proto) == 72 &&
		      offsetof(struct ncclbpf_tuner, channels) == 76 &&
		      offsetof(struct nb_seen, ranks) == 96 &&
		      offsetof(struct nb_seen, offered) == 100 &&
		      offsetof(struct nb_seen, nccl_algo) == 104 &&
		      offsetof(struct nb_seen, nccl_proto) == 108,
	      "fields that nb_fill sets four at a time");

/*
 * Fill the context of this decision, with "no opinion" as the answer. The
 * constant fields are set already.
 */
NB_INLINE void nb_fill(struct ncclbpf_tuner *ctx, const struct nb_seen *seen, uint64_t k,
		       uint32_t coll, uint64_t bytes, uint32_t pipe, bool reg_buff)
{
	char *to = __builtin_assume_aligned(ctx, 16);

	ctx->bytes = bytes;
	ctx->seq = k;
	ctx->coll = coll;
	ctx->pipe_ops = pipe;
	*(nb_four *)(to + 48) = *(const nb_four *)&seen->ranks;
	/* NCCL_ALGO_UNDEF and NCCL_PROTO_UNDEF; channels 0 */
	*(nb_four *)(to + 64) = (nb_four){ reg_buff, UINT32_MAX, UINT32_MAX };
	ctx->chunk_size = 0;
	ctx->costs = seen->table;
}

/*
 * Returns the entry of the question in the usual case, in which only the
 * policies run: ranks agree, runs are not timed, there is no wrapped tuner, and
 * NCCL repeats a known question. Returns NULL otherwise.
 */
NB_INLINE const struct nb_seen *nb_usual(const struct nb_comm *c, const float *table, int coll,
					 uint64_t bytes)
{
	const struct nb_seen *seen;

	if (c->mismatch || c->timed || c->chained)
		return NULL;
	seen = nb_seen_slot(c->seen, bytes, coll);
	return __builtin_expect(nb_seen_is(seen, table, coll, bytes), 1) ? seen : NULL;
}

/*
 * Run the policies, or record a decision without them. @k: number of the
 * decision (nb_fence_clock)
 */
NB_INLINE int nb_go_on(struct nb_comm *c, const struct nb_seen *seen, uint64_t k, int coll,
		       uint64_t bytes, int pipe_ops, float *table, int reg_buff, int *channels)
{
	if (!c->gen->nprogs)
		return nb_tuner_none(c, seen, bytes, (uint32_t)pipe_ops, reg_buff != 0);
	nb_fill(&c->ctx, seen, k, (uint32_t)coll, bytes, (uint32_t)pipe_ops, reg_buff != 0);
	return nb_tuner_ask(c, seen, table, channels);
}

/*
 * nb_decide - decide a question that has a cost table
 *
 * The arguments come from NCCL and are not trusted. It always returns 0,
 * ncclSuccess. All other work is in tail calls, so this function saves few
 * registers.
 */
NB_INLINE int nb_decide(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table,
			int nalgo, int nproto, int reg_buff, int *channels)
{
	const struct nb_seen *seen = NULL;

	if (__builtin_expect(!c || !table || nalgo != NCCL_NUM_ALGOS || nproto != NCCL_NUM_PROTOS ||
				     (uint32_t)pipe_ops > NB_PACKED_PIPE,
			     0))
		return nb_tuner_any(c, coll, bytes, pipe_ops, table, nalgo, nproto, reg_buff,
				    channels);
	if (!__builtin_expect(nb_fence_usual(&c->fence), 1))
		return nb_tuner_odd(c, coll, bytes, pipe_ops, table, nalgo, nproto, reg_buff,
				    channels);
	if (__builtin_expect(nb_fence_enter_usual(&c->fence), 1))
		seen = nb_usual(c, table, coll, bytes);
	if (!seen)
		return nb_tuner_rare(c, coll, bytes, pipe_ops, table, nalgo, nproto, reg_buff,
				     channels);
	return nb_go_on(c, seen, c->fence.odd ? 0 : c->fence.seq - 1, coll, bytes, pipe_ops, table,
			reg_buff, channels);
}

#endif
