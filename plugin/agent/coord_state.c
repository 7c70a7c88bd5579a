// SPDX-License-Identifier: MIT
/*
 * The job's generation in the store, for processes and sites that join after a
 * change that is no complete list of policies (policy add, map set). The
 * coordinator takes the generation from a process of its site. It stores the
 * bytes and the policies like images, then names them in the key order/state,
 * as a request that any process can stage.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/agent/coord.h"
#include "plugin/job/segment.h"

enum { PIECE = NB_STORE_VALUE_SIZE };

/* The answer of a process, of which the coordinator has stored a part. */
struct nb_coord_saving {
	struct nb_coord *c;
	struct nb_procs_result r;
	/*
	 * index of the blob that is being stored (0: the generation's bytes),
	 * and the offset of the piece that is being stored
	 */
	size_t blob, at;
	char digest[1 + NB_PROCS_IMAGES][65];
};

void nb_coord_saving_free(struct nb_coord_saving *s)
{
	if (!s)
		return;
	nb_procs_result_free(&s->r);
	free(s);
}

static const struct nb_procs_blob *blob_of(const struct nb_coord_saving *s)
{
	return s->blob ? &s->r.image[s->blob - 1] : &s->r.data;
}

/* Drop the answer. This coordinator tries again in its next round, or another
 * coordinator does.
 */
static void saving_end(struct nb_coord *c)
{
	nb_coord_saving_free(c->saving);
	c->saving = NULL;
}

static void saved(void *arg, const struct nb_store_reply *r)
{
	/* the watch shows the key if it was written */
	(void)r;
	free(arg);
}

/*
 * Write the key order/state if the job still has this generation. @state: takes
 * ownership
 */
static void put_state(struct nb_coord *c, int64_t n, json_t *state)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	struct nb_coord_txn *t = NULL;

	if (k && nb_view_int(k->value, "n") == n && c->key_mod && state)
		t = nb_coord_txn_new(c);
	if (!t) {
		json_decref(state);
		return;
	}
	nb_coord_txn_compare(c, t, k->key, k->mod);
	nb_coord_txn_put(c, t, "order/state", state, 0);
	nb_coord_txn_send(c, t, saved);
}

static json_t *state_value(const struct nb_coord_saving *s)
{
	json_t *images = json_array();

	for (size_t i = 0; i < s->r.nimages; i++)
		json_array_append_new(images,
				      json_pack("{s:s,s:s}", "name",
						s->r.image[i].name, "digest",
						s->digest[1 + i]));
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:o}", "n", (json_int_t)s->r.n,
			 "digest", s->r.digest, "line", NB_COORD_IMPORT, "who",
			 s->c->a->name, "data", s->digest[0], "images", images);
}

static void next_piece(struct nb_coord *c);

static void piece_stored(void *arg, const struct nb_store_reply *r)
{
	struct nb_coord_call *call = arg;
	struct nb_coord *c = call->c;
	bool old = call->round != c->round || !c->saving;

	free(call);
	if (old)
		return;
	if (r->err) {
		if (c->saving->r.kind == NB_PROCS_PROPOSAL)
			nb_coord_proposal_end(c, c->proposal, r->err->text);
		else
			nb_agent_log("the job's generation is not stored: %s",
				     r->err->text);
		saving_end(c);
		return;
	}
	/*
	 * if the transaction did not succeed, the image was in the store
	 * already
	 */
	if (!c->saving->at) {
		c->saving->blob++;
		c->saving->at = SIZE_MAX;
	}
	next_piece(c);
}

/*
 * Store the last piece first, so that an image with a first piece is whole. The
 * key of the first piece is written only if there is none, because the digest
 * is its name.
 */
static void send_piece(struct nb_coord *c, const struct nb_procs_blob *b)
{
	struct nb_coord_saving *s = c->saving;
	struct nb_coord_call *call = malloc(sizeof(*call));
	size_t piece;
	char key[96];
	int rc;

	if (!call) {
		saving_end(c);
		return;
	}
	*call = (struct nb_coord_call){ c, c->round };
	if (s->at == SIZE_MAX)
		s->at = b->size;
	piece = (s->at - 1) / PIECE;
	snprintf(key, sizeof(key), "image/%s", s->digest[s->blob]);
	if (piece)
		snprintf(key, sizeof(key), "image/%s/%zu", s->digest[s->blob],
			 piece + 1);
	{
		const struct nb_store_compare none = { .key = nb_agent_key(
							       c->a, key) };
		const struct nb_store_op put = {
			.kind = NB_STORE_PUT,
			.key = none.key,
			.value = (const char *)b->bytes + piece * PIECE,
			.size = s->at - piece * PIECE
		};
		const struct nb_store_txn txn = { .compare = &none,
						  .ncompare = piece ? 0 : 1,
						  .then = &put,
						  .nthen = 1 };

		s->at = piece * PIECE;
		rc = nb_store_txn(c->a->store, &txn, piece_stored, call, NULL);
	}
	if (!rc)
		return;
	free(call);
	saving_end(c);
}

static void next_piece(struct nb_coord *c)
{
	struct nb_coord_saving *s = c->saving;

	if (s->blob <= s->r.nimages) {
		send_piece(c, blob_of(s));
		return;
	}
	if (s->r.kind == NB_PROCS_PROPOSAL)
		nb_coord_proposal_stored(c, &s->r, s->digest[0]);
	else
		put_state(c, (int64_t)s->r.n, state_value(s));
	saving_end(c);
}

static void set_digest(struct nb_coord_saving *s, size_t i,
		       const struct nb_procs_blob *b)
{
	uint8_t digest[NB_SHA256_SIZE];

	nb_sha256(b->bytes, b->size, digest);
	nb_sha256_text(digest, s->digest[i]);
}

bool nb_coord_store(struct nb_coord *c, struct nb_procs_result *r)
{
	struct nb_coord_saving *s = NULL;

	if (!c->saving && c->key_mod && r->data.size)
		s = calloc(1, sizeof(*s));
	if (!s)
		return false;
	s->c = c;
	s->r = *r;
	s->at = SIZE_MAX;
	set_digest(s, 0, &s->r.data);
	for (size_t i = 0; i < s->r.nimages; i++)
		set_digest(s, 1 + i, &s->r.image[i]);
	c->saving = s;
	next_piece(c);
	return true;
}

void nb_coord_state_came(struct nb_coord *c, struct nb_procs_result *r)
{
	if (r->err.code) {
		nb_agent_log("the generation of change %" PRIu64
			     " is not stored for processes that join later: %s",
			     r->n, r->err.text);
		put_state(c, (int64_t)r->n,
			  json_pack("{s:I,s:s}", "n", (json_int_t)r->n, "text",
				    r->err.text));
	}
	if (r->err.code || !nb_coord_store(c, r))
		nb_procs_result_free(r);
}

/*
 * Returns true if the store lacks the generation of the last change and a try
 * to store it is due.
 */
static bool is_due(const struct nb_coord *c, const struct nb_view_key *commit)
{
	const json_t *have = nb_coord_state_of(&c->a->view);
	uint64_t wait = have ? nb_agent_times.state_refused
			     : nb_agent_times.state_retry;
	int64_t n = nb_view_int(commit->value, "n");

	if (c->saving || *nb_view_str(have, "line") ||
	    (int64_t)c->a->site.seg->mem->agent.change != n)
		return false;
	return c->saving_n != n || nb_agent_ms() >= c->saving_ms + wait;
}

void nb_coord_state(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");
	struct nb_procs_order *o;

	if (!k || !is_due(c, k) || nb_procs_busy(c->a->procs))
		return;
	o = nb_procs_order_new();
	if (!o)
		return;
	c->saving_n = nb_view_int(k->value, "n");
	c->saving_ms = nb_agent_ms();
	o->kind = NB_PROCS_EXPORT;
	o->n = (uint64_t)c->saving_n;
	snprintf(o->digest, sizeof(o->digest), "%s",
		 nb_view_str(k->value, "digest"));
	if (!nb_procs_give(c->a->procs, o))
		nb_procs_order_free(o);
}

const json_t *nb_coord_state_of(const struct nb_view *v)
{
	const struct nb_view_key *k = nb_view_get(v, "order/commit");
	const struct nb_view_key *s = nb_view_get(v, "order/state");

	if (k && *nb_view_str(k->value, "line"))
		return k->value;
	if (!k || !s ||
	    nb_view_int(k->value, "n") != nb_view_int(s->value, "n"))
		return NULL;
	return s->value;
}
