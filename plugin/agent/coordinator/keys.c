// SPDX-License-Identifier: MIT
/*
 * The coordinator's work on keys that no agent watches: it stores the job's
 * generation and the proposals of controllers like images, and deletes old keys.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/agent/coordinator/coordinator.h"
#include "plugin/job/segment.h"
#include "plugin/runtime/params.h"

/*
 * ---- the job's generation ----
 *
 * For processes and sites that join after a change that is no complete list of
 * policies (policy add, map set). The coordinator takes the generation from a
 * process of its site. It stores the bytes and the policies like images, then
 * names them in the key order/state, as a request that any process can stage.
 */

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

/* A piece of an image that is being stored. */
struct piece {
	struct nb_coord *c;
	uint64_t term;
};

static json_t *state_value(const struct nb_coord_saving *s)
{
	json_t *images = json_array();

	for (size_t i = 0; i < s->r.nimages; i++)
		json_array_append_new(images, json_pack("{s:s,s:s}", "name", s->r.image[i].name,
							"digest", s->digest[1 + i]));
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:o}", "n", (json_int_t)s->r.n, "digest",
			 s->r.digest, "line", NB_COORD_IMPORT, "who", s->c->a->name, "data",
			 s->digest[0], "images", images);
}

static void saving_next(struct nb_coord *c);
static void proposal_stored(struct nb_coord *c, const struct nb_procs_result *r, const char *data);

static void piece_stored(void *arg, const struct nb_store_reply *r)
{
	struct piece *piece = arg;
	struct nb_coord *c = piece->c;
	bool old = piece->term != c->term || !c->saving;

	free(piece);
	if (old)
		return;
	if (r->err) {
		if (c->saving->r.kind == NB_PROCS_PROPOSAL)
			nb_coord_proposal_end(c, c->proposal, r->err->text);
		else
			nb_agent_log("the job's generation is not stored: %s", r->err->text);
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
	saving_next(c);
}

/*
 * Store the last piece first, so that an image with a first piece is whole. The
 * key of the first piece is written only if there is none, because the digest
 * is its name.
 */
static void send_piece(struct nb_coord *c, const struct nb_procs_blob *b)
{
	struct nb_coord_saving *s = c->saving;
	struct piece *sent = malloc(sizeof(*sent));
	size_t piece;
	char key[96];
	int rc;

	if (!sent || c->a->term_over) {
		free(sent);
		saving_end(c);
		return;
	}
	*sent = (struct piece){ c, c->term };
	if (s->at == SIZE_MAX)
		s->at = b->size;
	piece = (s->at - 1) / PIECE;
	snprintf(key, sizeof(key), "image/%s", s->digest[s->blob]);
	if (piece)
		snprintf(key, sizeof(key), "image/%s/%zu", s->digest[s->blob], piece + 1);
	{
		const struct nb_store_compare none = { .key = nb_agent_key(c->a, key) };
		const struct nb_store_op put = { .kind = NB_STORE_PUT,
						 .key = none.key,
						 .value = (const char *)b->bytes + piece * PIECE,
						 .size = s->at - piece * PIECE };
		const struct nb_store_txn txn = {
			.compare = &none, .ncompare = piece ? 0 : 1, .then = &put, .nthen = 1
		};

		s->at = piece * PIECE;
		rc = nb_store_txn(c->a->store, &txn, piece_stored, sent, NULL);
	}
	if (!rc)
		return;
	free(sent);
	saving_end(c);
}

static void saving_next(struct nb_coord *c)
{
	struct nb_coord_saving *s = c->saving;

	if (s->blob <= s->r.nimages) {
		send_piece(c, blob_of(s));
		return;
	}
	if (s->r.kind == NB_PROCS_PROPOSAL) {
		proposal_stored(c, &s->r, s->digest[0]);
	} else {
		json_decref(c->saved);
		c->saved = state_value(s);
	}
	saving_end(c);
}

static void set_digest(struct nb_coord_saving *s, size_t i, const struct nb_procs_blob *b)
{
	uint8_t digest[NB_SHA256_SIZE];

	nb_sha256(b->bytes, b->size, digest);
	nb_sha256_text(digest, s->digest[i]);
}

/*
 * Store the bytes and images of @r, of kind NB_PROCS_EXPORT or
 * NB_PROCS_PROPOSAL. Returns true if it has taken ownership of them.
 */
static bool saving_begin(struct nb_coord *c, struct nb_procs_result *r)
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
	saving_next(c);
	return true;
}

void nb_coord_state_came(struct nb_coord *c, struct nb_procs_result *r)
{
	if (r->err.code) {
		nb_agent_log("the generation of change %" PRIu64
			     " is not stored for processes that join later: %s",
			     r->n, r->err.text);
		json_decref(c->saved);
		c->saved = json_pack("{s:I,s:o}", "n", (json_int_t)r->n, "text",
				     nb_view_text(r->err.text));
	}
	if (r->err.code || !saving_begin(c, r))
		nb_procs_result_free(r);
}

/*
 * Returns true if the store lacks the generation of the last change and a try
 * to store it is due.
 */
static bool generation_is_due(const struct nb_coord *c, const struct nb_view_key *commit)
{
	const json_t *have = nb_view_generation(&c->a->view);
	uint64_t wait = have ? nb_agent_times.state_refused : nb_agent_times.state_retry;
	int64_t n = nb_view_int(commit->value, "n");

	if (c->saving || *nb_view_str(have, "line") ||
	    (int64_t)c->a->site.seg->mem->agent.change != n)
		return false;
	return c->saving_n != n || nb_agent_ms() >= c->saving_ms + wait;
}

/* Ask a process of this site for the job's generation. */
static void fetch_generation(struct nb_coord *c, const struct nb_view_key *k)
{
	struct nb_procs_order *o = nb_procs_order_new();

	if (!o)
		return;
	c->saving_n = nb_view_int(k->value, "n");
	c->saving_ms = nb_agent_ms();
	o->kind = NB_PROCS_EXPORT;
	o->n = (uint64_t)c->saving_n;
	snprintf(o->digest, sizeof(o->digest), "%s", nb_view_str(k->value, "digest"));
	if (!nb_procs_give(c->a->procs, o))
		nb_procs_order_free(o);
}

/* Write the key order/state if the job still has this generation. */
static bool state_put(struct nb_coord *c, const struct nb_view_key *commit)
{
	json_t *state = c->saved;
	struct nb_coord_txn *t = NULL;

	c->saved = NULL;
	if (nb_view_int(commit->value, "n") == nb_view_int(state, "n"))
		t = nb_coord_txn_new(c);
	if (!t) {
		json_decref(state);
		return false;
	}
	nb_coord_txn_compare(c, t, commit->key, commit->mod);
	nb_coord_txn_put(c, t, "order/state", state, 0);
	return nb_coord_txn_send(c, t, NULL);
}

static bool saved_due(struct nb_coord *c)
{
	const struct nb_view_key *k = nb_view_get(&c->a->view, "order/commit");

	if (k && c->saved)
		return state_put(c, k);
	if (k && generation_is_due(c, k) && !nb_procs_busy(c->a->procs))
		fetch_generation(c, k);
	return false;
}

const struct nb_coord_part nb_coord_saved = { .due = saved_due };

/*
 * ---- proposals of controllers (plugin/controller/proposal.h) ----
 *
 * The processes of the coordinator's site run the controllers and announce a
 * proposal in the segment. The coordinator fetches its bytes, stores them like
 * an image, and carries the change out as a request.
 */

void nb_coord_proposal_end(struct nb_coord *c, uint64_t number, const char *why)
{
	struct nb_seg_agent *to = &c->a->site.seg->mem->agent;

	if (!number)
		return;
	c->proposal = 0;
	json_decref(c->proposed);
	c->proposed = NULL;
	snprintf(to->refused, sizeof(to->refused), "%s", why);
	__atomic_store_n(&to->finished, number, __ATOMIC_RELEASE);
}

void nb_coord_proposal_came(struct nb_coord *c, struct nb_procs_result *r)
{
	if (!r->err.code && saving_begin(c, r))
		return;
	nb_coord_proposal_end(c, r->n, r->err.code ? r->err.text : "the coordinator is busy");
	nb_procs_result_free(r);
}

/* The store has the bytes of @r as image @data. */
static void proposal_stored(struct nb_coord *c, const struct nb_procs_result *r, const char *data)
{
	char line[96];

	snprintf(line, sizeof(line), "controller import %s", r->digest);
	json_decref(c->proposed);
	c->proposed = json_pack("{s:s,s:s,s:b}", "line", line, "data", data, "controllers", 1);
}

/* Ask the site's processes for the proposal. */
static void fetch_proposal(struct nb_coord *c, uint64_t number)
{
	struct nb_procs_order *o = nb_procs_order_new();

	if (!o)
		return;
	o->kind = NB_PROCS_PROPOSAL;
	o->n = number;
	if (nb_procs_give(c->a->procs, o))
		c->proposal = number;
	else
		nb_procs_order_free(o);
}

static bool controllers_due(struct nb_coord *c)
{
	const struct nb_seg *mem = c->a->site.seg->mem;
	uint64_t number = __atomic_load_n(&mem->proposal, __ATOMIC_ACQUIRE);
	char why[240];

	if (c->proposed && nb_coord_put_members(c))
		return true;
	if (c->proposed) {
		json_t *request = c->proposed;

		c->proposed = NULL;
		number = c->proposal;
		/*
		 * Set the proposal only after nb_coord_order, which ends
		 * the previous change and would end this proposal too.
		 */
		c->proposal = 0;
		nb_coord_order(c, "", request);
		c->proposal = number;
		json_decref(request);
		return true;
	}
	if (!number || number == mem->agent.finished || number == c->proposal || c->saving ||
	    nb_procs_busy(c->a->procs))
		return false;
	if (nb_groups_whole(&c->a->view, why, sizeof(why)))
		fetch_proposal(c, number);
	else
		nb_coord_proposal_end(c, number, why);
	return false;
}

static int controllers_take(struct nb_coord *c, const json_t *request)
{
	/* a request of the store is never one of controllers */
	c->by_controllers = !*c->request && json_is_true(json_object_get(request, "controllers"));
	return 0;
}

static void controllers_commit(struct nb_coord *c, struct nb_coord_txn *t, json_t *commit)
{
	const struct nb_view_key *last = nb_view_get(&c->a->view, "order/commit");
	json_t *rollout = last ? json_object_get(last->value, "rollout") : NULL;

	(void)t;
	if (!c->by_controllers)
		return;
	json_object_set_new(commit, "controllers", json_true());
	/*
	 * if controllers change a rollout's candidate, this does not end the
	 * rollout's guard
	 */
	if (rollout)
		json_object_set(commit, "rollout", rollout);
}

static void controllers_end(struct nb_coord *c, struct nb_coord_txn *t, bool committed)
{
	(void)t;
	(void)committed;
	if (c->by_controllers)
		nb_coord_proposal_end(c, c->proposal, c->err.code ? c->err.text : "");
}

const struct nb_coord_part nb_coord_controllers = { .take = controllers_take,
						    .commit = controllers_commit,
						    .end = controllers_end,
						    .due = controllers_due,
						    .at_once = true };

/*
 * ---- old keys ----
 *
 * The coordinator deletes old keys of the job, because the store would grow
 * without limit. In each family of keys, the newest keys stay, and so do keys
 * that another key names. A shell stores an image before the request that names
 * the image, so the image must be among the newest until then. A key that is
 * written meanwhile stays, because the transaction compares its revision. The
 * coordinator writes no image that is there already, so it sweeps only while it
 * stores none, and has not stored one that no key names yet.
 */

enum {
	SWEEP_CHANGES = 32, /* number of requests between two sweeps */
	KEEP_IMAGES = 128,
	KEEP_REPLIES = 64,
	KEEP_RECORDS = 1024,
	/*
	 * most deletes in a transaction; one operation is the compare of the
	 * coordinator's key
	 */
	DELETES = NB_COORD_OPS - 1
};

enum family { IMAGE, AUDIT, REPLY, REQUEST, RECORD, MEMBERS, ENDED };

static const char *const prefixes[] = { "image/",	 "audit/",   "reply/", "request/",
					"order/record/", "members/", "ended/" };
enum { FAMILIES = sizeof(prefixes) / sizeof(prefixes[0]) };

/* The keys of one family, in the order of the store's reply. */
struct keys {
	const struct nb_store_kv *at;
	size_t n;
	/* length of the job's prefix, and of the family's with it */
	size_t job, skip;
};

/*
 * A group of keys in the store that are deleted together. An image consists of
 * all its keys: image/DIGEST and image/DIGEST/N.
 */
struct thing {
	size_t first, end; /* range of the group's keys in the reply */
	int64_t age;	   /* newest revision of these keys */
	bool kept;
};

static struct keys keys_of(const struct nb_coord *c, const struct nb_store_reply *r, enum family f)
{
	size_t first = 0, end, job;

	job = strlen(nb_agent_key(c->a, prefixes[f])) - strlen(prefixes[f]);
	while (first < r->nkv && r->kv[first].op != (unsigned)f)
		first++;
	for (end = first; end < r->nkv && r->kv[end].op == (unsigned)f;)
		end++;
	return (struct keys){ r->kv + first, end - first, job, job + strlen(prefixes[f]) };
}

static size_t name_size(const struct keys *k, size_t i)
{
	return strcspn(k->at[i].key + k->skip, "/");
}

static bool value_names(const json_t *o, const char *digest)
{
	const json_t *images = json_object_get(o, "images");

	for (size_t i = 0; i < json_array_size(images); i++)
		if (!strcmp(nb_view_str(json_array_get(images, i), "digest"), digest))
			return true;
	return !strcmp(nb_view_str(o, "data"), digest);
}

/* Returns true if the desired state, an order or a request names the image. */
static bool image_is_named(const struct nb_view *v, const char *digest)
{
	static const char *const from[] = { "desired",	   "order/stage", "order/commit",
					    "order/state", "request/",	  "guard/line" };

	for (size_t f = 0; f < sizeof(from) / sizeof(from[0]); f++)
		for (size_t i = nb_view_first(v, from[f]); nb_view_below(v, i, from[f]); i++)
			if (value_names(v->at[i].value, digest))
				return true;
	return false;
}

/* Returns true if a site has ranks of the communicator. */
static bool comm_is_named(const struct nb_view *v, const char *id)
{
	char prefix[40];

	snprintf(prefix, sizeof(prefix), "comm/%.16s/", id);
	return nb_view_below(v, nb_view_first(v, prefix), prefix);
}

static bool key_is_named(const struct nb_coord *c, enum family f, const char *name)
{
	char key[160];

	switch (f) {
	case IMAGE:
		return image_is_named(&c->a->view, name);
	case REQUEST:
		/*
		 * the view lacks a request that is not a JSON object, which is
		 * never answered, like one with a wrong name
		 */
		snprintf(key, sizeof(key), "request/%s", name);
		return nb_coord_request_valid(name) && nb_view_get(&c->a->view, key) != NULL;
	case RECORD:
	case MEMBERS:
		return comm_is_named(&c->a->view, name);
	case AUDIT:
		return nb_coord_audit_fixed(name);
	case REPLY:
	case ENDED:
		return false;
	}
	return true;
}

static size_t keep_of(enum family f)
{
	switch (f) {
	case IMAGE:
		return KEEP_IMAGES;
	case AUDIT:
		return (size_t)nb_params.num[NB_P_FLEET_AUDIT];
	case REPLY:
	case REQUEST:
		return KEEP_REPLIES;
	case RECORD:
	case MEMBERS:
	case ENDED:
		break;
	}
	return KEEP_RECORDS;
}

/*
 * Returns the revision that measures the age of a key. Audit entries and
 * records change later, so their creation counts. For other keys the last
 * change counts: an image that is stored again is new, and so is a site that
 * has ended again.
 */
static int64_t age_of(const struct nb_store_kv *kv, enum family f)
{
	return f == IMAGE || f == ENDED ? kv->mod_revision : kv->create_revision;
}

static size_t find_things(const struct nb_coord *c, enum family f, const struct keys *k,
			  struct thing *t)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; n++) {
		size_t first = i, size = name_size(k, i);
		char name[128];

		t[n] = (struct thing){ .first = first };
		for (; i < k->n && name_size(k, i) == size &&
		       !strncmp(k->at[i].key, k->at[first].key, k->skip + size);
		     i++)
			if (age_of(&k->at[i], f) > t[n].age)
				t[n].age = age_of(&k->at[i], f);
		t[n].end = i;
		snprintf(name, sizeof(name), "%.*s", (int)size, k->at[first].key + k->skip);
		t[n].kept = key_is_named(c, f, name);
	}
	return n;
}

/*
 * Sorts by age, the newest first. All keys of a transaction have the same
 * revision.
 */
static int newer_first(const void *a, const void *b)
{
	const struct thing *x = *(const struct thing *const *)a;
	const struct thing *y = *(const struct thing *const *)b;

	if (x->age != y->age)
		return y->age > x->age ? 1 : -1;
	return y->first > x->first ? 1 : -1;
}

/*
 * Of the groups that no other key names, keep the newest @keep and mark the
 * others for deletion.
 */
static void keep_newest(struct thing *t, size_t n, size_t keep)
{
	struct thing **list = malloc((n + 1) * sizeof(*list));
	size_t left = 0;

	for (size_t i = 0; list && i < n; i++)
		if (!t[i].kept)
			list[left++] = &t[i];
	if (left > 1)
		qsort(list, left, sizeof(*list), newer_first);
	for (size_t i = 0; i < n && !list; i++)
		t[i].kept = true;
	for (size_t i = 0; i < left && i < keep; i++)
		list[i]->kept = true;
	free(list);
}

/*
 * Add the deletion of @t to the transaction. Returns false if the transaction
 * is full.
 */
static bool delete_thing(struct nb_coord *c, struct nb_coord_txn *t, const struct keys *k,
			 const struct thing *x)
{
	for (size_t i = x->first; i < x->end; i++) {
		if (t->nop == DELETES)
			return false;
		nb_coord_txn_delete(c, t, k->at[i].key + k->job, k->at[i].mod_revision);
	}
	return true;
}

static void sweep_family(struct nb_coord *c, const struct nb_store_reply *r, enum family f,
			 struct nb_coord_txn *txn)
{
	struct keys k = keys_of(c, r, f);
	struct thing *t = k.n > keep_of(f) ? calloc(k.n, sizeof(*t)) : NULL;
	size_t n;

	if (!t)
		return;
	n = find_things(c, f, &k, t);
	keep_newest(t, n, keep_of(f));
	for (size_t i = 0; i < n; i++)
		if (!t[i].kept && !delete_thing(c, txn, &k, &t[i]))
			break;
	free(t);
}

static void swept(struct nb_coord *c, const struct nb_store_reply *r)
{
	(void)r;
	/* more keys may be left, so the next sweep is due at once */
	c->sweep_ms = 0;
}

static void listed(struct nb_coord *c, const struct nb_store_reply *r)
{
	struct nb_coord_txn *t = nb_coord_txn_new(c);

	for (int f = 0; t && f < FAMILIES; f++)
		sweep_family(c, r, (enum family)f, t);
	if (!t || !t->nop) {
		if (t)
			nb_coord_txn_free(t);
		return;
	}
	nb_agent_log("%zu old keys of job %s are deleted from the store", t->nop, c->a->dir.job);
	(void)nb_coord_txn_send(c, t, swept);
}

/* The next sweep tries again. */
static void sweep_refused(struct nb_coord *c)
{
	(void)c;
}

static bool sweep_due(struct nb_coord *c)
{
	struct nb_coord_txn *t;

	if (c->sweep_ms && c->unswept < SWEEP_CHANGES &&
	    nb_agent_ms() < c->sweep_ms + nb_agent_times.sweep)
		return false;
	if (c->saving || c->saved || c->proposed || nb_procs_busy(c->a->procs))
		return false;
	t = nb_coord_txn_new(c);
	if (!t)
		return false;
	c->sweep_ms = nb_agent_ms();
	c->unswept = 0;
	for (int f = 0; f < FAMILIES; f++)
		nb_coord_txn_list(c, t, prefixes[f]);
	t->refused = sweep_refused;
	return nb_coord_txn_send(c, t, listed);
}

const struct nb_coord_part nb_coord_sweep = { .due = sweep_due };
