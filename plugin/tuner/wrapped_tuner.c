// SPDX-License-Identifier: MIT
/*
 * Asks the wrapped tuner before the policies, which then see its answer as
 * NCCL's own choice. It is trusted no more than a policy: NCCL does not check
 * the returned table, so entries that NCCL did not offer are restored.
 */
#include "plugin/wrap/wrapped_tuner.h"

#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/tuner/chunk.h"
#include "plugin/tuner/decide.h"
#include "plugin/wrap/wrapped.h"

enum { MOST = NB_COSTS_MAX_ALGOS * NB_COSTS_PROTOS };

static bool is_offered(float cost)
{
	return cost >= 0.0f; /* the comparison is false for NaN */
}

/*
 * Restore the entries that NCCL did not offer, and close those that the tuner
 * has withdrawn. Returns true if the tuner had offered a new one.
 */
static bool keep_closed(float *table, const float *was, size_t n)
{
	bool tried = false;

	for (size_t i = 0; i < n; i++) {
		if (is_offered(table[i]) && !is_offered(was[i])) {
			table[i] = was[i];
			tried = true;
		} else if (is_offered(was[i]) && !is_offered(table[i])) {
			nb_costs_close(&table[i]);
		}
	}
	return tried;
}

/* Returns true if the tuner marked all of NCCL's choices as not offered. */
static bool is_mute(const struct nb_ask *ask, const float *was)
{
	struct nb_costs before, now;

	nb_costs_read(was, ask->nalgo, ask->nproto, &before);
	nb_costs_read(ask->table, ask->nalgo, ask->nproto, &now);
	return before.best != NB_COSTS_NONE && now.best == NB_COSTS_NONE;
}

/* Returns true if the choice (v2) is empty, or NCCL and the flags offer it. */
static bool choice_fits(const struct nb_ask *ask)
{
	int algo = *ask->algo, proto = *ask->proto;

	if (algo == -1 && proto == -1)
		return true;
	if (algo < 0 || algo > NCCL_ALGO_NVLS_TREE || proto < 0 || proto >= NCCL_NUM_PROTOS)
		return false;
	if (algo == NCCL_ALGO_TREE || algo == NCCL_ALGO_RING)
		return true;
	if (proto != NCCL_PROTO_SIMPLE)
		return false;
	return algo == NCCL_ALGO_NVLS || algo == NCCL_ALGO_NVLS_TREE ? ask->nvls > 0
								     : ask->collnet > 0;
}

/* Undo invalid parts of the answer. Returns true if there were none. */
static bool check_wrapped(const struct nb_comm *c, const struct nb_ask *ask, const float *was,
			  size_t n)
{
	bool fine = true;

	if (ask->flags_only && !choice_fits(ask)) {
		*ask->algo = *ask->proto = -1;
		*ask->channels = 0;
		fine = false;
	}
	if (n && keep_closed(ask->table, was, n))
		fine = false;
	if (n && is_mute(ask, was)) {
		memcpy(ask->table, was, n * sizeof(*was));
		fine = false;
	}
	if (*ask->channels < 0 || (uint32_t)*ask->channels > c->max_channels) {
		*ask->channels = 0;
		fine = false;
	}
	return fine;
}

/*
 * Returns the number of table entries, or 0 if there is no table or its shape
 * is unknown.
 */
static size_t count_entries(const struct nb_ask *ask)
{
	if (!ask->table || ask->nproto != NB_COSTS_PROTOS || ask->nalgo < 1 ||
	    ask->nalgo > NB_COSTS_MAX_ALGOS)
		return 0;
	return (size_t)ask->nalgo * NB_COSTS_PROTOS;
}

void nb_wrapped_tuner_ask(struct nb_comm *c, const struct nb_ask *ask)
{
	int channels = 0, algo = -1, proto = -1, rc;
	struct nb_ask mine = *ask;
	size_t n = count_entries(ask);
	float was[MOST];

	if (!ask->flags_only && !n)
		return;
	if (n)
		memcpy(was, ask->table, n * sizeof(*was));
	mine.channels = &channels;
	mine.algo = &algo;
	mine.proto = &proto;
	rc = c->peer.ask(&c->peer, &mine);
	if (rc) {
		if (n)
			memcpy(ask->table, was, n * sizeof(*was));
		nb_wrapped_count_error(NB_WRAPPED_TUNER);
		return;
	}
	if (!check_wrapped(c, &mine, was, n))
		nb_wrapped_count_refused(NB_WRAPPED_TUNER);
	if (ask->channels)
		*ask->channels = channels;
	if (ask->flags_only && ask->algo && ask->proto) {
		*ask->algo = algo;
		*ask->proto = proto;
	}
}

void nb_wrapped_tuner_chunk(struct nb_comm *c, int coll, size_t bytes, int algo, int proto,
			    int channels, size_t *chunk)
{
	size_t was = *chunk;

	if (c->peer.chunk(&c->peer, coll, bytes, algo, proto, channels, chunk)) {
		*chunk = was;
		nb_wrapped_count_error(NB_WRAPPED_TUNER);
	} else if (!nb_chunk_fits(algo, was, *chunk)) {
		*chunk = was;
		nb_wrapped_count_refused(NB_WRAPPED_TUNER);
	}
}

void nb_wrapped_tuner_choice(const struct nb_ask *ask, struct nb_costs *costs)
{
	if (!ask->algo || !ask->proto || *ask->algo < 0 || *ask->proto < 0)
		return;
	costs->best = (uint32_t)(*ask->algo * NCCL_NUM_PROTOS + *ask->proto);
	costs->usable |= UINT32_C(1) << costs->best;
}
