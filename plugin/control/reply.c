// SPDX-License-Identifier: MIT
/*
 * Shared parts of command handlers: JSON forms of replies, common options, and
 * the end of commands that change policies: stage, then commit unless
 * commit=no.
 */
#include "plugin/control/reply.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/change/change.h"
#include "plugin/change/stage.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/history.h"
#include "plugin/runtime/nccl.h"

bool nb_cmd_room(const struct nb_json *j)
{
	return j->out->size < NB_CMD_ROOM;
}

void nb_cmd_digest(struct nb_json *j, const char *key, const uint8_t digest[NB_SHA256_SIZE])
{
	nb_json_khex(j, key, digest, NB_SHA256_SIZE);
}

void nb_cmd_short(char text[NB_CMD_SHORT], const uint8_t digest[NB_SHA256_SIZE])
{
	for (unsigned i = 0; i < NB_CMD_SHORT / 2; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

void nb_cmd_gen_names(struct nb_json *j, const struct nb_gen *g)
{
	nb_json_karr(j, "policies");
	for (uint32_t i = 0; g && i < g->order.n; i++)
		nb_json_str(j, g->policy[g->order.at[i]].policy->img->name);
	nb_json_end_arr(j);
}

void nb_cmd_scopes(struct nb_json *j, const struct nb_gen *g)
{
	nb_json_karr(j, "scopes");
	for (uint32_t i = 0; g && i < g->nviews; i++) {
		const struct nb_scope *s = &g->scopes.scope[i];

		nb_json_obj(j);
		nb_json_karr(j, "comms");
		for (uint32_t k = 0; k < s->ncomms; k++)
			nb_json_id(j, s->comm[k]);
		nb_json_end_arr(j);
		nb_cmd_gen_names(j, g->view[i]);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void put_algo_proto(struct nb_json *j, int algo, int proto)
{
	nb_json_kstr(j, "algo", nb_nccl_algo(algo));
	nb_json_kstr(j, "proto", nb_nccl_proto(proto));
}

void nb_cmd_choice(struct nb_json *j, const char *key, int algo, int proto)
{
	nb_json_kobj(j, key);
	put_algo_proto(j, algo, proto);
	nb_json_end_obj(j);
}

void nb_cmd_answer(struct nb_json *j, const char *key, const struct nb_decision *d)
{
	nb_json_kobj(j, key);
	put_algo_proto(j, d->algo, d->proto);
	nb_json_ku64(j, "channels", d->channels);
	if (d->chunk_size)
		nb_json_ku64(j, "chunk_size", d->chunk_size);
	nb_json_end_obj(j);
}

void nb_cmd_cost(struct nb_json *j, const char *key, double us)
{
	nb_json_kf64(j, key, us >= 0 ? us : (double)NAN);
}

void nb_cmd_decision(struct nb_json *j, const struct nb_decision *d)
{
	nb_cmd_choice(j, "nccl", d->nccl_algo, d->nccl_proto);
	nb_cmd_answer(j, "answer", d);
	nb_json_kstr(j, "by", nb_gens_policy_name(d->generation, d->by));
	nb_json_kstr(j, "refused", nb_refused_word(d->refused));
	nb_cmd_cost(j, "cost_us", d->cost_us);
	nb_cmd_cost(j, "nccl_cost_us", d->nccl_cost_us);
	nb_json_ku64(j, "generation", nb_history_number(d->generation));
}

void nb_cmd_platform(struct nb_json *j, const struct nb_comm *c)
{
#define FACT(name) nb_json_ku64(j, #name, __atomic_load_n(&c->base.name, __ATOMIC_RELAXED));
#include "core/defs/platform.h"
	nb_json_ku64(j, "ranks_per_node", c->base.ranks_per_node);
}

void nb_cmd_context(struct nb_json *j, const struct nb_comm *c, const struct nb_decision *d)
{
	float table[NB_COSTS_KNOWN];

	nb_json_kobj(j, "context");
	nb_json_ku64(j, "ranks", c->base.ranks);
	nb_json_ku64(j, "nodes", c->base.nodes);
	nb_json_ku64(j, "pipe_ops", d->pipe_ops);
	nb_json_ku64(j, "reg_buff", d->reg_buff);
	nb_json_ku64(j, "usable", d->usable);
	nb_json_ku64(j, "nvl_domains", c->base.nvl_domains);
	nb_json_ku64(j, "nvl_min_ranks", c->base.nvl_min_ranks);
	nb_json_ku64(j, "nvl_max_ranks", c->base.nvl_max_ranks);
	nb_cmd_platform(j, c);
	nb_json_ku64(j, "tuner_abi", c->init.abi);
	/* RCCL changes the protocol of its own choice after it has asked the tuner */
	nb_json_kbool(j, "rccl", nb_nccl_is_rccl());
	nb_json_end_obj(j);
	nb_json_key(j, "costs_us");
	if (d->coll < 0 || !nb_seen_find(c->seen, d->coll, d->bytes, d->usable, table)) {
		nb_json_null(j);
		return;
	}
	nb_json_arr(j);
	for (uint32_t i = 0; i < NB_COSTS_KNOWN; i++)
		nb_json_f64(j, d->usable >> i & 1 ? (double)table[i] : -1.0);
	nb_json_end_arr(j);
}

static void change_comm(struct nb_json *j, const struct nb_change_comm *c)
{
	nb_json_obj(j);
	nb_json_kid(j, "comm", c->comm_id);
	nb_json_ku64(j, "fence", c->fence);
	nb_json_kstr(j, "state", nb_change_state_word(c->state));
	nb_json_ku64(j, "ranks", c->ranks);
	nb_json_ku64(j, "passed", c->passed);
	nb_json_karr(j, "behind");
	for (unsigned i = 0; c->state == NB_CHANGE_COMMITTED && i < 64; i++)
		if (c->behind >> i & 1)
			nb_json_u64(j, i);
	nb_json_end_arr(j);
	nb_json_ku64(j, "tries", c->tries);
	nb_json_kstr(j, "why", c->why[0] ? c->why : NULL);
	nb_json_end_obj(j);
}

void nb_cmd_change_short(struct nb_json *j, const uint8_t digest[NB_SHA256_SIZE],
			 enum nb_change_state state)
{
	nb_cmd_digest(j, "change", digest);
	nb_json_kstr(j, "state", nb_change_state_word(state));
}

void nb_cmd_change(struct nb_json *j, const struct nb_change *change)
{
	nb_cmd_change_short(j, change->digest, change->state);
	nb_json_ku64(j, "generation", change->shown);
	nb_json_ku64(j, "time_us", change->time_us);
	nb_json_kstr(j, "why", change->why[0] ? change->why : NULL);
	nb_json_karr(j, "comms");
	for (uint32_t i = 0; i < change->ncomms && i < NB_CHANGE_COMMS; i++)
		change_comm(j, &change->comm[i]);
	nb_json_end_arr(j);
}

int nb_cmd_finish_change(struct nb_call *call, const uint8_t digest[NB_SHA256_SIZE])
{
	char text[NB_CMD_SHORT];
	struct nb_change *change;
	uint64_t expected;
	int rc;

	nb_cmd_short(text, digest);
	rc = nb_cmd_expected(call, &expected);
	if (!rc)
		rc = nb_change_expect(expected, call->err);
	if (rc) {
		nb_change_abort(digest, NULL);
		return rc;
	}
	if (!nb_request_yes(call->req, "commit", true)) {
		snprintf(call->note, sizeof(call->note), "staged %s", text);
		nb_cmd_change_short(call->out, digest, NB_CHANGE_STAGED);
		return 0;
	}
	nb_change_by((uint32_t)call->peer->uid, (uint32_t)call->peer->pid, NULL);
	change = calloc(1, sizeof(*change));
	if (!change) {
		nb_change_abort(digest, NULL);
		return nb_fail(call->err, NB_E_NOMEM, 0, "%s: no memory for the change's record",
			       call->req->spec->words);
	}
	rc = nb_change_commit(digest, expected, change, call->err);
	if (!rc) {
		snprintf(call->note, sizeof(call->note), "digest %s generation %llu", text,
			 (unsigned long long)change->shown);
		nb_cmd_change(call->out, change);
	} else {
		/* a refused commit must leave nothing staged */
		nb_change_abort(digest, NULL);
	}
	free(change);
	return rc;
}

int nb_cmd_number(struct nb_call *call, const char *name, uint64_t least, uint64_t most,
		  uint64_t *out)
{
	const char *text = nb_request_opt(call->req, name);
	char what[40];

	snprintf(what, sizeof(what), "option %s=", name);
	return text ? nb_wire_number(out, text, least, most, what, call->err) : 0;
}

int nb_cmd_expected(struct nb_call *call, uint64_t *out)
{
	*out = NB_CHANGE_ANY;
	return nb_cmd_number(call, "if_generation", 0, UINT32_MAX, out);
}

int nb_cmd_comm(struct nb_call *call, struct nb_comm_option *out)
{
	const char *text = nb_request_opt(call->req, "comm");

	*out = (struct nb_comm_option){ .given = text != NULL };
	return text ? nb_wire_id(&out->id, text, "option comm=", call->err) : 0;
}

bool nb_comm_wanted(const struct nb_comm_option *o, uint64_t comm_id)
{
	return !o->given || o->id == comm_id;
}

int nb_page_options(struct nb_call *call, struct nb_page *page)
{
	int rc;

	*page = (struct nb_page){ .limit = UINT32_MAX };
	rc = nb_cmd_number(call, "limit", 1, UINT32_MAX, &page->limit);
	return rc ? rc : nb_cmd_number(call, "after", 0, UINT32_MAX, &page->after);
}

bool nb_page_takes(struct nb_page *page, const struct nb_json *j)
{
	if (page->more || page->at < page->after) {
		page->at += !page->more;
		return false;
	}
	page->more = page->at - page->after == page->limit || !nb_cmd_room(j);
	page->at += !page->more;
	return !page->more;
}

void nb_page_end(struct nb_json *j, const struct nb_page *page)
{
	nb_json_kbool(j, "more", page->more);
	nb_json_ku64_if(j, "next", page->more, page->at);
}
