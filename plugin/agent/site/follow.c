// SPDX-License-Identifier: MIT
/*
 * What the agent reads from the store: its copy of the job's keys, which is one
 * reading at one revision and the watch that follows it, and images.
 */
#include "plugin/agent/site/follow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/job/segment.h"

/* ---- the copy of the job's keys ---- */

/*
 * Another writer has damaged a key. Treat a damaged order as an empty one,
 * because the coordinator needs its revision to write it again. The agents
 * write the keys of their sites again (plugin/agent/keys/keys.h).
 */
static void enter_damaged(struct nb_agent *a, const char *key, const struct nb_store_kv *kv)
{
	nb_agent_log("%s is not a JSON object and is ignored", kv->key);
	if (!strncmp(key, "order/", 6) || !strncmp(key, "members/", 8))
		(void)nb_view_put(&a->view, key, "{}", 2, kv->create_revision, kv->mod_revision);
}

enum { SITES = 9000 }; /* a larger number of sites is an error */

/* Adapt time limits to the number of sites that the last order names. */
static void note_sites(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/stage");
	int64_t n = k ? nb_view_int(k->value, "sites") : 0;

	a->sites = n > 0 && n < SITES ? (unsigned)n : 0;
	nb_store_set_timeout(a->store, (unsigned)(nb_agent_times.store + nb_agent_crowd(a)));
}

/* A key of order/ has changed. */
static void note_order(struct nb_agent *a, const char *key)
{
	a->orders_due = true;
	if (!strncmp(key, "order/record/", 13))
		a->copies_due = true;
	if (!strcmp(key, "order/stage"))
		note_sites(a);
}

static void enter_key(struct nb_agent *a, const struct nb_store_kv *kv)
{
	const char *key = kv->key + strlen(a->own.prefix);

	/* rows of communicators are ours (view.h) */
	if (strncmp(kv->key, a->own.prefix, strlen(a->own.prefix)) || !strncmp(key, "comm/", 5))
		return;
	nb_agent_revision(a, kv->mod_revision);
	if (kv->mod_revision > a->view.revision)
		a->view.revision = kv->mod_revision;
	if (kv->deleted)
		nb_view_remove(&a->view, key);
	else if (!nb_view_put(&a->view, key, kv->value, kv->size, kv->create_revision,
			      kv->mod_revision))
		enter_damaged(a, key, kv);
	if (!strncmp(key, "order/", 6))
		note_order(a, key);
}

static void follow_end(struct nb_agent *a)
{
	nb_store_unwatch(a->watch);
	a->watch = NULL;
	a->round++;
	a->follow = NB_AGENT_LOST;
}

/*
 * The events of one report are complete revisions, so the view is that of one
 * moment of the store after each report.
 */
static void watch_report(void *arg, const struct nb_store_watch_report *r)
{
	struct nb_agent *a = arg;

	for (size_t i = 0; i < r->nkv; i++)
		enter_key(a, &r->kv[i]);
	if (!r->err)
		return;
	/*
	 * read the keys on the next round, and not from within the watch's
	 * callback
	 */
	nb_agent_failed(a, r->err);
	a->follow = NB_AGENT_LOST;
}

/*
 * The store's revision is below an earlier one: the store was restored from a
 * backup, or has lost its data.
 */
static void gone_back(struct nb_agent *a, uint64_t to)
{
	struct nb_seg_agent *self = &a->site.seg->mem->agent;

	nb_agent_log(
		"the store has gone back from revision %llu to %llu: was it restored from a "
		"backup? Repeat what it has lost: changes, saved policies. Audit entries are gone",
		(unsigned long long)self->revision, (unsigned long long)to);
	self->back_to = to;
	__atomic_store_n(&self->back_from, self->revision, __ATOMIC_RELEASE);
	self->revision = to;
	nb_site_forget(&a->site, (int64_t)to);
	nb_site_suspect(&a->site);
	/* the answers must no longer name records that the store may have lost */
	a->barrier_due = true;
	nb_own_suspect(&a->own);
	/* it waits for revisions that the store may never reach */
	a->term_over = true;
}

/*
 * Returns the prefix of the keys that the agent reads and watches. One watch
 * reports them all, so the view never shows a key that is newer than another.
 */
static const char *followed(const struct nb_agent *a)
{
	return nb_agent_key(a, a->whole ? "" : "order/");
}

struct reading {
	struct nb_agent *a;
	uint64_t round;
	/*
	 * The store's revision that was known when the reading was sent. A later
	 * request, such as a keepalive, may be answered first and show a later
	 * revision, although the store has not gone back.
	 */
	uint64_t known;
};

static void follow_read(void *arg, const struct nb_store_reply *r)
{
	struct reading *reading = arg;
	struct nb_agent *a = reading->a;
	bool old = reading->round != a->round;
	bool back = !r->err && (uint64_t)r->revision < reading->known;

	free(reading);
	if (old)
		return;
	if (r->err) {
		nb_agent_failed(a, r->err);
		a->follow = NB_AGENT_LOST;
		return;
	}
	if (back)
		gone_back(a, (uint64_t)r->revision);
	nb_agent_revision(a, r->revision);
	nb_view_clear(&a->view);
	for (size_t i = 0; i < r->nkv; i++)
		enter_key(a, &r->kv[i]);
	a->view.revision = r->revision;
	a->copies_due = a->orders_due = true;
	a->follow = NB_AGENT_FOLLOWING;
	nb_agent_state(a, true, "");
	a->watch = nb_store_watch(a->store, followed(a), r->revision + 1, watch_report, a, NULL);
	if (!a->watch)
		a->follow = NB_AGENT_LOST;
}

void nb_agent_follow(struct nb_agent *a, bool whole)
{
	struct nb_store_op op = { .kind = NB_STORE_GET_PREFIX };
	struct reading *reading = malloc(sizeof(*reading));

	follow_end(a);
	a->whole = whole;
	a->follow_ms = nb_agent_ms();
	if (!reading)
		return;
	*reading = (struct reading){ a, a->round, a->site.seg->mem->agent.revision };
	op.key = followed(a);
	a->follow = NB_AGENT_READING;
	if (!nb_store_do(a->store, &op, follow_read, reading, NULL))
		return;
	free(reading);
	a->follow = NB_AGENT_LOST;
}

/* ---- images ---- */

enum { MOST = 64 << 20, PIECES = 4096 };

struct image {
	struct nb_agent *a;
	char digest[65];
	unsigned pieces; /* number of the image's pieces read so far */
	char *bytes;
	size_t size;
	struct nb_sha256 hash; /* hash of the bytes read so far */
	nb_image_done_fn *done;
	void *arg;
};

static void image_end(struct image *i, const struct nb_err *err)
{
	if (err) {
		free(i->bytes);
		i->bytes = NULL;
		i->size = 0;
	}
	i->done(i->arg, i->bytes, i->size, err);
	free(i);
}

static bool image_append(struct image *i, const struct nb_store_kv *kv, struct nb_err *err)
{
	char *p;

	if (i->size + kv->size > MOST || i->pieces == PIECES) {
		nb_fail(err, NB_E_LIMIT, 0,
			"image %.8s in the store has more than %d MiB or %d pieces", i->digest,
			MOST >> 20, PIECES);
		return false;
	}
	p = realloc(i->bytes, i->size + kv->size);
	if (!p) {
		nb_fail(err, NB_E_NOMEM, 0, "no memory for image %.8s", i->digest);
		return false;
	}
	memcpy(p + i->size, kv->value, kv->size);
	nb_sha256_add(&i->hash, kv->value, kv->size);
	i->bytes = p;
	i->size += kv->size;
	i->pieces++;
	return true;
}

/*
 * Returns true if the bytes so far have the image's digest. Each byte is hashed
 * only once, even if a damaged image has many pieces.
 */
static bool is_whole(const struct image *i)
{
	struct nb_sha256 hash = i->hash;
	uint8_t digest[NB_SHA256_SIZE];
	char text[65];

	nb_sha256_end(&hash, digest);
	nb_sha256_text(digest, text);
	return !strcmp(text, i->digest);
}

static int image_next(struct image *i, struct nb_err *err);

static void piece_came(void *arg, const struct nb_store_reply *r)
{
	struct image *i = arg;
	struct nb_err err = { .code = 0 };

	if (r->err) {
		image_end(i, r->err);
		return;
	}
	if (!r->nkv || !r->kv[0].size) {
		nb_fail(&err, NB_E_NOENT, 0,
			!i->pieces ? "the store has no image %.8s"
				   : "image %.8s in the store is damaged: "
				     "the %u pieces have another digest",
			i->digest, i->pieces);
		image_end(i, &err);
		return;
	}
	if (image_append(i, &r->kv[0], &err) && is_whole(i))
		image_end(i, NULL);
	else if (err.code || image_next(i, &err))
		image_end(i, &err);
}

static int image_next(struct image *i, struct nb_err *err)
{
	char key[96];

	snprintf(key, sizeof(key), "image/%s", i->digest);
	if (i->pieces)
		snprintf(key, sizeof(key), "image/%s/%u", i->digest, i->pieces + 1);
	return nb_store_get(i->a->store, nb_agent_key(i->a, key), piece_came, i, err);
}

int nb_image_fetch(struct nb_agent *a, const char *digest, nb_image_done_fn *done, void *arg,
		   struct nb_err *err)
{
	struct image *i = calloc(1, sizeof(*i));
	int rc;

	if (!i)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory");
	i->a = a;
	i->done = done;
	i->arg = arg;
	nb_sha256_init(&i->hash);
	snprintf(i->digest, sizeof(i->digest), "%s", digest);
	rc = image_next(i, err);
	if (rc)
		free(i);
	return rc;
}
