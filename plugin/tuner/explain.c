// SPDX-License-Identifier: MIT
/*
 * Explains what a communicator would decide, with the answer after each policy.
 * The generation runs on copies of its maps.
 */
#include "plugin/tuner/explain.h"

#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "plugin/comm/comm.h"
#include "plugin/job/startup.h"
#include "plugin/tuner/decide.h"

static void explain_basis(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out)
{
	struct nb_decision *d = &out->basis;

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

void nb_comm_explain_context(const struct nb_comm *c, const struct nb_explain *e, uint64_t bytes,
			     float table[NB_COSTS_KNOWN], struct ncclbpf_tuner *ctx)
{
	const struct nb_decision *d = &e->basis;

	*ctx = c->base;
	ctx->bytes = bytes;
	ctx->seq = now_of(c);
	ctx->coll = (uint32_t)d->coll;
	ctx->pipe_ops = d->pipe_ops;
	ctx->usable = d->usable;
	ctx->nccl_algo = d->nccl_algo;
	ctx->nccl_proto = d->nccl_proto;
	ctx->reg_buff = d->reg_buff;
	if (e->seen &&
	    nb_seen_copy(nb_seen_slot(c->seen, d->bytes, d->coll), d->coll, d->bytes, table))
		ctx->costs = table;
}

static void explain_step(struct nb_explain *out, const struct nb_gen *g, uint32_t prog,
			 struct ncclbpf_tuner *ctx)
{
	uint32_t p = g->prog[prog].policy;
	struct nb_explain_step *s = &out->step[p];
	struct ncclbpf_tuner before = *ctx;

	nb_exec_run(g->prog[prog].exec, ctx, sizeof(*ctx));
	s->algo = ctx->algo;
	s->proto = ctx->proto;
	s->channels = ctx->channels;
	s->changed = s->changed || before.algo != ctx->algo || before.proto != ctx->proto ||
		     before.channels != ctx->channels;
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
void nb_comm_explain_answer(const struct nb_comm *c, struct nb_explain *out,
			    const struct ncclbpf_tuner *ctx)
{
	struct nb_decision *a = &out->answer;
	struct nb_costs costs = { out->basis.usable, choice_index(a->nccl_algo, a->nccl_proto),
				  1.0f };
	uint32_t last = choice_index(out->basis.algo, out->basis.proto);
	float table[NB_COSTS_KNOWN];
	uint32_t index, channels;

	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++)
		table[i] = ctx->costs ? ctx->costs[i] : i == last ? 1.0f : 2.0f;
	a->refused = nb_tuner_check(ctx, &costs, table, c->max_channels, &index, &channels);
	if (!out->seen && a->refused == NB_REFUSED_CHANNELS_ALGO && index == NB_COSTS_NONE) {
		/*
		 * NCCL's algorithm is unknown; most algorithms accept a number
		 * of channels, so accept it
		 */
		a->refused = NB_REFUSED_NONE;
		channels = ctx->channels;
	}
	a->channels = channels;
	if (index != NB_COSTS_NONE)
		split_index(index, &a->algo, &a->proto);
	else if (!channels)
		a->by = -1;
}

int nb_comm_explain(const struct nb_comm *c, int coll, uint64_t bytes, struct nb_explain *out,
		    struct nb_err *err)
{
	float table[NB_COSTS_KNOWN];
	struct ncclbpf_tuner ctx;
	struct nb_gen *g;
	int rc;

	memset(out, 0, sizeof(*out));
	if (coll < 0 || coll >= NCCL_NUM_COLLS)
		return nb_fail(err, NB_E_ARG, 1, "collective %d (allowed: 0 to %d)", coll,
			       NCCL_NUM_COLLS - 1);
	explain_basis(c, coll, bytes, out);
	nb_comm_explain_context(c, out, bytes, table, &ctx);
	out->answer = out->basis;
	out->answer.bytes = bytes;
	out->answer.algo = out->basis.nccl_algo;
	out->answer.proto = out->basis.nccl_proto;
	out->answer.channels = 0;
	out->answer.by = -1;
	out->answer.refused = NB_REFUSED_NONE;
	rc = nb_gen_rehearsal(&g, nb_comm_gen(c, &out->generation), err);
	if (rc)
		return rc;
	out->order = g->order;
	for (uint32_t i = 0; i < g->npolicies; i++)
		out->step[i] = (struct nb_explain_step){
			/*
			 * use the policy's own name, because the copied
			 * generation is freed first
			 */
			.policy = g->policy[i].policy->img->name,
			.algo = -1,
			.proto = -1,
		};
	for (uint32_t i = 0; i < g->nprogs; i++)
		explain_step(out, g, i, &ctx);
	nb_gen_put(g);
	nb_comm_explain_answer(c, out, &ctx);
	return 0;
}
