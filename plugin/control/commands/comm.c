// SPDX-License-Identifier: MIT
/*
 * Handlers of comm list|show and explain. A process may hold several ranks of
 * one communicator. Each rank has a slot with its own decisions. Ranks normally
 * agree, and these commands must show it if they do not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "plugin/change/no_tuner.h"
#include "plugin/comm/comm.h"
#include "plugin/control/commands/explain.h"
#include "plugin/control/reply.h"
#include "plugin/policies/history.h"
#include "plugin/tuner/explain.h"
#include "plugin/wrap/wrapped.h"

/* Write one rank of a communicator as members of the open JSON object. */
static void comm_put(struct nb_json *j, const struct nb_comm *c)
{
	char why[NB_STARTUP_WHY];
	uint32_t number = 0;
	const struct nb_gen *gen = nb_comm_gen(c, &number);
	bool changeable = nb_comm_changeable(c, why);

	nb_json_kid(j, "comm", c->init.comm_id);
	nb_json_ku64(j, "slot", c->slot_index);
	nb_json_ku64(j, "ranks", c->init.ranks);
	nb_json_ku64(j, "local_ranks", nb_comm_local_ranks(c));
	nb_json_ku64(j, "nodes", c->init.nodes);
	nb_json_ku64(j, "tuner_abi", c->init.abi);
	nb_json_ku64(j, "decisions", nb_comm_decisions(c));
	nb_json_ku64(j, "generation", nb_history_number(number));
	nb_cmd_gen_names(j, gen);
	nb_json_ku64(j, "max_channels", c->max_channels);
	nb_json_kbool(j, "mismatch", __atomic_load_n(&c->mismatch, __ATOMIC_RELAXED));
	nb_json_kbool(j, "changeable", changeable);
	nb_json_kstr(j, "why", changeable ? NULL : why);
}

int nb_cmd_comm_list(struct nb_call *call)
{
	struct nb_json *j = call->out;
	struct nb_page page;
	int rc = nb_page_options(call, &page);

	if (rc)
		return rc;
	nb_json_karr(j, "comms");
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		if (!nb_page_takes(&page, j))
			continue;
		nb_json_obj(j);
		comm_put(j, c);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
	nb_page_end(j, &page);
	return 0;
}

static void no_comm(struct nb_call *call, const char *text)
{
	char why[400];

	if (!nb_comms.first) {
		bool other = nb_no_tuner(why, sizeof(why));

		nb_fail(call->err, NB_E_NOENT, 0, "%s: %s", call->req->spec->words,
			other ? why : "NCCL has made no communicator here");
		return;
	}
	nb_fail(call->err, NB_E_NOENT, 1, "%s: no rank of communicator %.40s is in this process",
		call->req->spec->words, text ? text : "");
	nb_hint(call->err, "comm list shows the %u communicators of this process", nb_comms.n);
}

/*
 * Find the rank that COMM and slot= select. Without slot=, it is the lowest
 * slot.
 */
static int find_rank(struct nb_call *call, const struct nb_comm **out)
{
	const char *text = call->req->arg[0];
	uint64_t id, slot = UINT64_MAX;
	int rc = nb_wire_id(&id, text, "COMM", call->err);

	*out = NULL;
	if (!rc)
		rc = nb_cmd_number(call, "slot", 0, UINT32_MAX, &slot);
	if (rc)
		return rc;
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next)
		if (c->init.comm_id == id && (slot == UINT64_MAX || c->slot_index == slot) &&
		    (!*out || c->slot_index < (*out)->slot_index))
			*out = c;
	if (!*out)
		no_comm(call, text);
	return *out ? 0 : NB_E_NOENT;
}

static void put_latest(struct nb_json *j, const struct nb_decision *d, uint32_t bucket)
{
	nb_json_obj(j);
	nb_json_kstr(j, "coll", nb_nccl_coll(d->coll));
	nb_json_ku64(j, "bytes_from", bucket ? 1ull << bucket : 0);
	nb_json_ku64(j, "bytes_to",
		     bucket == NB_SIZE_BUCKETS - 1 ? UINT64_MAX : (2ull << bucket) - 1);
	nb_json_ku64(j, "bytes_last", d->bytes);
	nb_json_ku64(j, "count", d->count);
	nb_cmd_decision(j, d);
	nb_json_ku64(j, "usable", d->usable);
	nb_json_end_obj(j);
}

int nb_cmd_comm_show(struct nb_call *call)
{
	struct nb_json *j = call->out;
	const struct nb_comm *c;
	struct nb_decision d;
	int rc = find_rank(call, &c);

	if (rc)
		return rc;
	comm_put(j, c);
	nb_cmd_platform(j, c);
	nb_json_karr(j, "table");
	for (int coll = 0; coll < NCCL_NUM_COLLS; coll++)
		for (uint32_t b = 0; b < NB_SIZE_BUCKETS; b++)
			if (nb_comm_latest(c, coll, b, &d))
				put_latest(j, &d, b);
	nb_json_end_arr(j);
	return 0;
}

static int parse_coll(struct nb_call *call, int *coll)
{
	const char *word = call->req->arg[0], *words[NCCL_NUM_COLLS], *near[2];

	*coll = nb_nccl_coll_named(word);
	if (*coll >= 0)
		return 0;
	for (int i = 0; i < NCCL_NUM_COLLS; i++)
		words[i] = nb_nccl_coll(i);
	nb_spec_nearest(word, words, NCCL_NUM_COLLS, near);
	nb_fail(call->err, NB_E_ARG, 1,
		"explain: \"%.40s\" is no collective; allowed: %s, %s, %s, %s, %s", word, words[0],
		words[1], words[2], words[3], words[4]);
	if (near[0])
		nb_hint(call->err, "did you mean %s?", near[0]);
	return call->err->code;
}

/*
 * Choose a communicator if comm= is absent: one that has decided a collective
 * of this kind and size, else the one with the most decisions.
 */
static int pick_comm(struct nb_call *call, int coll, uint64_t bytes, const struct nb_comm **out)
{
	uint32_t bucket = nb_comm_bucket(bytes);
	struct nb_comm_option comm;
	uint64_t best = 0;
	int rc = nb_cmd_comm(call, &comm);

	*out = NULL;
	if (rc)
		return rc;
	for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
		uint64_t score = 1 + nb_comm_decisions(c) / 2;
		struct nb_decision d;

		if (!nb_comm_wanted(&comm, c->init.comm_id))
			continue;
		if (nb_comm_latest(c, coll, bucket, &d))
			score += UINT64_MAX / 2;
		if (score > best) {
			best = score;
			*out = c;
		}
	}
	if (!*out)
		no_comm(call, nb_request_opt(call->req, "comm"));
	return *out ? 0 : NB_E_NOENT;
}

/*
 * Write @name, or @number if NCCL has no such name, or null for -1 (no
 * opinion).
 */
static void comm_put_word(struct nb_json *j, const char *key, const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	nb_json_kstr(j, key, name || number == -1 ? name : text);
}

static void put_steps(struct nb_json *j, const struct nb_explain *e)
{
	nb_json_karr(j, "policies");
	for (uint32_t i = 0; i < e->order.n; i++) {
		const struct nb_explain_step *s = &e->step[e->order.at[i]];

		nb_json_obj(j);
		nb_json_kstr(j, "name", s->policy->name);
		comm_put_word(j, "algo", nb_nccl_algo(s->algo), s->algo);
		comm_put_word(j, "proto", nb_nccl_proto(s->proto), s->proto);
		nb_json_ku64(j, "channels", s->channels);
		if (s->chunk_size)
			nb_json_ku64(j, "chunk_size", s->chunk_size);
		nb_json_kbool(j, "changed", s->changed);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

/*
 * The last policies that set the algorithm, the protocol, the channels and the
 * chunk size; NULL if no policy set them.
 */
struct said {
	const char *algo, *proto, *choice, *channels, *chunk_size;
	struct {
		int algo, proto;
		uint32_t channels, chunk_size;
	} last;
};

static struct said last_words(const struct nb_explain *e)
{
	struct said by = { .last = { .algo = -1, .proto = -1 } };

	for (uint32_t i = 0; i < e->order.n; i++) {
		const struct nb_explain_step *s = &e->step[e->order.at[i]];

		if (!s->changed)
			continue;
		if (s->algo != by.last.algo)
			by.algo = by.choice = s->policy->name;
		if (s->proto != by.last.proto)
			by.proto = by.choice = s->policy->name;
		if (s->channels != by.last.channels)
			by.channels = s->policy->name;
		if (s->chunk_size != by.last.chunk_size)
			by.chunk_size = s->policy->name;
		by.last.algo = s->algo;
		by.last.proto = s->proto;
		by.last.channels = s->channels;
		by.last.chunk_size = s->chunk_size;
	}
	return by;
}

/*
 * Describe why an answer was dropped, which policy gave it, and the allowed
 * values.
 */
static void refusal_text(char *to, size_t size, const struct nb_comm *c, const struct nb_explain *e)
{
	enum nb_refused why = e->answer.refused;
	const char *text = nb_refused_text(why);
	struct said by = last_words(e);

	if (why == NB_REFUSED_ALGO_RANGE && by.algo)
		snprintf(to, size, "%s: %s answered %d, allowed are 0 to %d", text, by.algo,
			 by.last.algo, NCCL_NUM_ALGOS - 1);
	else if (why == NB_REFUSED_PROTO_RANGE && by.proto)
		snprintf(to, size, "%s: %s answered %d, allowed are 0 to %d", text, by.proto,
			 by.last.proto, NCCL_NUM_PROTOS - 1);
	else if (why == NB_REFUSED_CHANNELS_RANGE && by.channels)
		snprintf(to, size, "%s: %s answered %u, allowed are 1 to %u", text, by.channels,
			 by.last.channels, c->max_channels);
	else if (why == NB_REFUSED_CHANNELS_ALGO && by.channels)
		snprintf(to, size, "%s: %s answered %u", text, by.channels, by.last.channels);
	else if (why == NB_REFUSED_CHUNK_RANGE && by.chunk_size)
		snprintf(to, size, "%s: %s answered %u, allowed are %d to %d", text, by.chunk_size,
			 by.last.chunk_size, NCCL_CHUNK_LEAST, NCCL_CHUNK_MOST);
	else if (why == NB_REFUSED_CHUNK_OFFER && by.chunk_size)
		snprintf(to, size, "%s: %s answered %u", text, by.chunk_size, by.last.chunk_size);
	else if (by.choice)
		snprintf(to, size, "%s: %s answered it", text, by.choice);
	else
		snprintf(to, size, "%s", text);
}

static void put_note(struct nb_json *j, const struct nb_comm *c, const struct nb_explain *e)
{
	const char *text = NULL;
	char refused[400];

	if (__atomic_load_n(&c->mismatch, __ATOMIC_RELAXED))
		text = "ranks started with different policies, "
		       "so this communicator uses none of them";
	else if (!e->seen && e->answer.refused == NB_REFUSED_NONE)
		text = "NCCL has not asked about this collective and size yet: "
		       "NCCL's offer and choice are not known, and every combination is assumed";
	else if (e->answer.refused != NB_REFUSED_NONE) {
		refusal_text(refused, sizeof(refused), c, e);
		text = refused;
	}
	nb_json_kstr(j, "note", text);
}

/* Write the name of the policy that made the answer @d, or null. */
static void put_by(struct nb_json *j, const struct nb_explain *e, const struct nb_decision *d)
{
	nb_json_kstr(j, "by",
		     d->by >= 0 && d->by < NB_GEN_MAX_POLICIES ? e->step[d->by].policy->name
							       : NULL);
	nb_json_kstr(j, "refused", nb_refused_word(d->refused));
}

static void put_offers(struct nb_json *j, const struct nb_explain *e)
{
	nb_json_karr(j, "offers");
	for (uint32_t i = 0; i < e->noffers; i++) {
		const struct nb_decision *d = &e->to_offer[i];

		nb_json_obj(j);
		nb_json_ku64(j, "usable", e->offer[i].usable);
		nb_json_ku64(j, "decisions", e->offer[i].decisions);
		nb_cmd_choice(j, "nccl", d->nccl_algo, d->nccl_proto);
		nb_cmd_answer(j, "answer", d);
		put_by(j, e, d);
		nb_json_end_obj(j);
	}
	nb_json_end_arr(j);
}

static void put_explanation(struct nb_json *j, const struct nb_comm *c, int coll, uint64_t bytes,
			    const struct nb_explain *e)
{
	const struct nb_decision *d = &e->answer;

	nb_json_kstr(j, "coll", nb_nccl_coll(coll));
	nb_json_ku64(j, "bytes", bytes);
	nb_json_kid(j, "comm", c->init.comm_id);
	nb_json_ku64(j, "slot", c->slot_index);
	nb_json_kbool(j, "seen", e->seen);
	nb_cmd_choice(j, "nccl", d->nccl_algo, d->nccl_proto);
	nb_json_kstr(j, "wrapped", c->chained ? nb_wrapped[NB_WRAPPED_TUNER].name : NULL);
	nb_cmd_answer(j, "answer", d);
	put_by(j, e, d);
	put_offers(j, e);
	put_steps(j, e);
	nb_json_ku64(j, "generation", nb_history_number(e->generation));
	put_note(j, c, e);
	nb_explain_json(j, c, e);
}

int nb_cmd_explain(struct nb_call *call)
{
	const struct nb_comm *c = NULL;
	struct nb_explain *e;
	uint64_t bytes = 0;
	int coll, rc = parse_coll(call, &coll);

	if (!rc)
		rc = nb_wire_size(&bytes, call->req->arg[1], "explain SIZE", call->err);
	if (!rc)
		rc = pick_comm(call, coll, bytes, &c);
	if (rc)
		return rc;
	e = malloc(sizeof(*e));
	if (!e)
		return nb_fail(call->err, NB_E_NOMEM, 0, "explain: no memory");
	rc = nb_comm_explain(c, coll, bytes, e, call->err);
	if (!rc)
		put_explanation(call->out, c, coll, bytes, e);
	free(e);
	return rc;
}
