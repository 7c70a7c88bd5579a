// SPDX-License-Identifier: MIT
/*
 * Explains what a communicator would decide, with the answer after each policy.
 * The generation is interpreted on copies of its maps.
 */
#include "plugin/tuner/explain.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/spec/spec.h"
#include "plugin/job/startup.h"
#include "plugin/tuner/decide.h"

static void explain_basis(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out)
{
	struct nb_decision *d = &out->basis;

	out->noffers = nb_comm_offers(c, coll, nb_comm_bucket(bytes), out->offer);
	out->seen = nb_comm_latest(c, coll, nb_comm_bucket(bytes), d);
	if (!out->seen)
		*d = (struct nb_decision){
			.coll = coll,
			.usable = (UINT32_C(1) << NB_COSTS_KNOWN) - 1,
			.pipe_ops = 1,
			.nccl_algo = -1,
			.nccl_proto = -1,
			.algo = -1,
			.proto = -1,
			.by = -1,
			.cost_us = -1,
			.nccl_cost_us = -1,
		};
}

/* Returns the number that a decision would have now (nb_fence_clock). */
static uint64_t now_of(const struct nb_comm *c)
{
	enum nb_clock_kind kind = c->seg ? nb_startup_clock(c->seg) : NB_CLOCK_DECISIONS;
	uint64_t calls;

	if (kind == NB_CLOCK_DECISIONS)
		return nb_comm_decisions(c);
	if (kind == NB_CLOCK_NONE)
		return 0;
	calls = __atomic_load_n(&c->fence.slot->calls, __ATOMIC_ACQUIRE);
	return calls ? calls - 1 : 0;
}

static_assert(offsetof(struct ncclbpf_tuner, ranks_per_node) -
			      offsetof(struct ncclbpf_tuner, gpu_arch) ==
		      NB_NFACTS * sizeof(uint32_t),
	      "the facts are the fields from gpu_arch to ranks_per_node");

/* Copy the communicator's template. Its first decision may store the facts meanwhile. */
static void explain_base(const struct nb_comm *c, struct ncclbpf_tuner *ctx)
{
	size_t rest = offsetof(struct ncclbpf_tuner, ranks_per_node);

	memcpy(ctx, &c->base, offsetof(struct ncclbpf_tuner, gpu_arch));
#define FACT(name) ctx->name = __atomic_load_n(&c->base.name, __ATOMIC_RELAXED);
#include "core/defs/platform.h"
	memcpy((char *)ctx + rest, (const char *)&c->base + rest, sizeof(*ctx) - rest);
}

static void explain_context(const struct nb_comm *c, const struct nb_explain *e, uint64_t bytes,
			    float table[NB_COSTS_KNOWN], struct ncclbpf_tuner *ctx)
{
	const struct nb_decision *d = &e->basis;

	explain_base(c, ctx);
	ctx->bytes = bytes;
	ctx->seq = now_of(c);
	ctx->coll = (uint32_t)d->coll;
	ctx->pipe_ops = d->pipe_ops;
	ctx->usable = d->usable;
	ctx->nccl_algo = d->nccl_algo;
	ctx->nccl_proto = d->nccl_proto;
	ctx->reg_buff = d->reg_buff;
	if (e->seen && nb_seen_find(c->seen, d->coll, d->bytes, d->usable, table))
		ctx->costs = table;
}

static void explain_step(struct nb_explain *out, const struct nb_gen *g, uint32_t prog,
			 struct ncclbpf_tuner *ctx)
{
	uint32_t p = g->prog[prog].policy;
	struct nb_explain_step *s = &out->step[p];
	struct ncclbpf_tuner before = *ctx;

	nb_exec_path(g->prog[prog].exec, ctx, sizeof(*ctx), nb_spec_hook(NB_HOOK_TUNER), &s->path);
	s->algo = ctx->algo;
	s->proto = ctx->proto;
	s->channels = ctx->channels;
	s->chunk_size = ctx->chunk_size;
	s->changed = s->changed || before.algo != ctx->algo || before.proto != ctx->proto ||
		     before.channels != ctx->channels || before.chunk_size != ctx->chunk_size;
	if (s->changed)
		out->answer.by = (int)p;
}

static void split_index(uint32_t index, int *algo, int *proto)
{
	*algo = (int)(index / NCCL_NUM_PROTOS);
	*proto = (int)(index % NCCL_NUM_PROTOS);
}

static uint32_t choice_index(int algo, int proto)
{
	return algo < 0 || proto < 0 ? NB_COSTS_NONE : (uint32_t)(algo * NCCL_NUM_PROTOS + proto);
}

/*
 * Check the answer as a decision would, with the costs of the latest decision.
 * If these costs are no longer kept, use costs that prefer the choice of that
 * decision.
 */
static void explain_answer(const struct nb_comm *c, struct nb_explain *out,
			   const struct ncclbpf_tuner *ctx)
{
	struct nb_decision *a = &out->answer;
	struct nb_costs costs = { out->basis.usable, choice_index(a->nccl_algo, a->nccl_proto),
				  1.0f };
	uint32_t last = choice_index(out->basis.algo, out->basis.proto);
	const struct nb_limits limits = { c->max_channels, c->chunks };
	float table[NB_COSTS_KNOWN];
	struct nb_checked got;

	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++)
		table[i] = ctx->costs ? ctx->costs[i] : i == last ? 1.0f : 2.0f;
	a->refused = nb_tuner_check(ctx, &costs, table, &limits, &got);
	if (!out->seen && a->refused == NB_REFUSED_CHANNELS_ALGO && got.index == NB_COSTS_NONE) {
		/*
		 * NCCL's algorithm is unknown; most algorithms accept a number
		 * of channels, so accept it
		 */
		a->refused = NB_REFUSED_NONE;
		got.channels = ctx->channels;
	}
	a->channels = got.channels;
	a->chunk_size = got.chunk_size;
	if (got.index != NB_COSTS_NONE)
		split_index(got.index, &a->algo, &a->proto);
	else if (!got.channels && !got.chunk_size)
		a->by = -1;
}

/* Run the policies of @from as in decision @out->basis. */
static int explain_run(const struct nb_comm *c, const struct nb_gen *from, uint64_t bytes,
		       struct nb_explain *out, struct nb_err *err)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx;
	struct nb_gen *g;
	int rc;

	explain_context(c, out, bytes, table, &ctx);
	/* other policies would begin with replicated maps of zeroes */
	if (memcmp(from->state_digest, c->gen->state_digest, NB_SHA256_SIZE) != 0)
		ctx.state = NULL;
	out->answer = out->basis;
	out->answer.bytes = bytes;
	out->answer.algo = out->basis.nccl_algo;
	out->answer.proto = out->basis.nccl_proto;
	out->answer.channels = out->answer.chunk_size = 0;
	out->answer.by = -1;
	out->answer.refused = NB_REFUSED_NONE;
	rc = nb_gen_rehearsal(&g, from, err);
	if (rc)
		return rc;
	out->order = g->order;
	memset(out->step, 0, sizeof(out->step));
	for (uint32_t i = 0; i < g->npolicies; i++) {
		/* the policy's own image: the copied generation is freed first */
		out->step[i].policy = g->policy[i].policy->img;
		out->step[i].algo = out->step[i].proto = -1;
	}
	for (uint32_t i = 0; i < g->nprogs; i++)
		explain_step(out, g, i, &ctx);
	nb_gen_put(g);
	explain_answer(c, out, &ctx);
	return 0;
}

int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out,
		    struct nb_err *err)
{
	const struct nb_gen *from;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	if (coll < 0 || coll >= NCCL_NUM_COLLS)
		return nb_fail(err, NB_E_ARG, 1, "collective %d (allowed: 0 to %d)", coll,
			       NCCL_NUM_COLLS - 1);
	explain_basis(c, coll, bytes, out);
	from = nb_comm_gen(c, &out->generation);
	if (out->noffers < 2) {
		rc = explain_run(c, from, bytes, out, err);
		out->to_offer[0] = out->answer;
	}
	/* the largest offer last, so that @out keeps its path */
	for (uint32_t i = out->noffers; !rc && out->noffers > 1 && i-- > 0;) {
		out->basis = out->offer[i].last;
		rc = explain_run(c, from, bytes, out, err);
		out->to_offer[i] = out->answer;
	}
	return rc;
}
