// SPDX-License-Identifier: MIT
/*
 * Carries out the coordinator's orders with the processes of this site: stage a
 * request, commit it for communicators with ranks on this site only, or drop
 * it.
 */
#include "plugin/agent/site/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sha256.h"
#include "plugin/agent/site/facts.h"
#include "plugin/agent/site/follow.h"
#include "plugin/job/segment.h"
#include "plugin/store/base64.h"

static int64_t order_n(const struct nb_agent *a, const char *key)
{
	const struct nb_view_key *k = nb_view_get(&a->view, key);

	return k ? nb_view_int(k->value, "n") : 0;
}

static uint64_t *committed(const struct nb_agent *a)
{
	return &a->site.seg->mem->agent.change;
}

bool nb_agent_staged(const struct nb_agent *a)
{
	return a->staged_n > (int64_t)*committed(a);
}

/* Write the result of order @n to the store. The coordinator waits for it. */
static void tell_result(struct nb_agent *a, int64_t n, const char *state, const char *digest,
			const struct nb_err *err)
{
	json_decref(a->result);
	a->result =
		json_pack("{s:I,s:I,s:s,s:o}", "n", (json_int_t)n, "id", (json_int_t)a->order_id,
			  "state", state, "digest", nb_view_text(digest));
	if (a->result && err && err->code) {
		json_object_set_new(a->result, "text", nb_view_text(err->text));
		json_object_set_new(a->result, "hint", nb_view_text(err->hint));
	}
	nb_agent_answer(a);
	nb_site_measure(&a->site);
}

/*
 * Returns the bytes of a small image that the order itself has, which saves
 * each site a request. Returns NULL if the order lacks the image: read it from
 * the store. The caller frees the bytes.
 */
static void *order_image(const json_t *order, const char *digest, size_t *size)
{
	const char *text = nb_view_str(json_object_get(order, "inline"), digest);
	uint8_t sum[NB_SHA256_SIZE];
	struct nb_buf bytes;
	char hex[65];

	nb_buf_init(&bytes, NB_STORE_VALUE_SIZE);
	if (*text && !nb_base64_get(&bytes, text, strlen(text)) && nb_buf_ok(&bytes)) {
		nb_sha256(bytes.data, bytes.size, sum);
		nb_sha256_text(sum, hex);
		if (!strcmp(hex, digest))
			return nb_buf_take(&bytes, size);
	}
	nb_buf_fini(&bytes);
	return NULL;
}

/*
 * Log, once for each change, why processes that started after the change still
 * lack it.
 */
static void late_failed(struct nb_agent *a, int64_t n, const char *text)
{
	if (a->leaving) /* the agent itself has ended the request */
		return;
	if (a->late_failed != n)
		nb_agent_log("processes that started after change %lld keep "
			     "their own policies: %s",
			     (long long)n, text);
	a->late_failed = n;
}

static void give_or_fail(struct nb_agent *a, struct nb_procs_order *o, const struct nb_err *err)
{
	int64_t n = (int64_t)o->n;

	if (!err->code && n == a->staging_n && nb_procs_give(a->procs, o))
		return;
	if (o->kind == NB_PROCS_LATE) {
		/* tick_late tries again */
		if (err->code)
			late_failed(a, n, err->text);
		if (n == a->staging_n)
			a->staging_n = 0;
	} else if (n == a->staging_n && err->code) {
		tell_result(a, n, "failed", "", err);
		a->staging_n = 0;
		a->staged_n = n;
	} else if (n == a->staging_n) {
		/* the processes are busy: order again on the next round */
		a->staging_n = 0;
	}
	nb_procs_order_free(o);
}

/* An order whose images are read from the store, one after the other. */
struct fetch {
	struct nb_agent *a;
	json_t *from; /* the order in the view */
	struct nb_procs_order *order;
	size_t next; /* index of the next image; after the last one: the data */
	struct nb_err err;
};

static struct nb_procs_blob *fetch_blob(const struct fetch *f)
{
	return f->next < f->order->nimages ? &f->order->image[f->next] : &f->order->data;
}

static void fetch_next(struct fetch *f);

static void image_came(void *arg, void *bytes, size_t size, const struct nb_err *err)
{
	struct fetch *f = arg;
	struct nb_procs_blob *to = fetch_blob(f);

	to->bytes = bytes;
	to->size = size;
	if (err)
		nb_fail(&f->err, err->code, 0, "policy %s: %s", to->name, err->text);
	if (err && *err->hint)
		nb_hint(&f->err, "%s", err->hint);
	f->next++;
	fetch_next(f);
}

/*
 * Take the next images from the order, or read one from the store. After the
 * last one, stage the order.
 */
static void fetch_next(struct fetch *f)
{
	const json_t *images = json_object_get(f->from, "images");
	const char *data = nb_view_str(f->from, "data");

	for (; !f->err.code && f->next < f->order->nimages + (*data != '\0'); f->next++) {
		const json_t *image = json_array_get(images, f->next);
		const char *digest = image ? nb_view_str(image, "digest") : data;
		struct nb_procs_blob *to = fetch_blob(f);

		if (nb_procs_blob_name(to, image ? nb_view_str(image, "name") : "data", &f->err))
			break;
		to->bytes = order_image(f->from, digest, &to->size);
		if (!to->bytes && !nb_image_fetch(f->a, digest, image_came, f, &f->err))
			return;
	}
	give_or_fail(f->a, f->order, &f->err);
	json_decref(f->from);
	free(f);
}

static void begin_stage(struct nb_agent *a, enum nb_procs_kind kind, json_t *order, int64_t n)
{
	struct fetch *f = calloc(1, sizeof(*f));
	struct nb_procs_order *o = nb_procs_order_new();

	if (!f || !o) {
		free(f);
		nb_procs_order_free(o);
		return;
	}
	*f = (struct fetch){ .a = a, .from = json_incref(order), .order = o };
	o->kind = kind;
	if (kind == NB_PROCS_LATE)
		snprintf(o->digest, sizeof(o->digest), "%s", nb_view_str(order, "digest"));
	o->n = (uint64_t)n;
	o->nimages = json_array_size(json_object_get(order, "images"));
	a->staging_n = n;
	(void)nb_procs_order_line(o, nb_view_str(order, "line"), &f->err);
	if (!f->err.code && o->nimages > NB_PROCS_IMAGES)
		nb_fail(&f->err, NB_E_LIMIT, 0, "%zu policies in one request (allowed: %d)",
			o->nimages, NB_PROCS_IMAGES);
	fetch_next(f);
}

/*
 * Carry out an order without a request line: stage nothing, and report the
 * generation that the processes have.
 */
static void stage_nothing(struct nb_agent *a, int64_t n)
{
	char digest[65], why[160];
	struct nb_err err = { .code = 0 };

	nb_site_baseline(&a->site, digest, why, sizeof(why));
	if (!*digest)
		nb_fail(&err, NB_E_REFUSED, 0, "%s", why);
	a->staged_n = n;
	tell_result(a, n, *digest ? "staged" : "failed", digest, &err);
}

static void tick_stage(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/stage");
	int64_t n = k ? nb_view_int(k->value, "n") : 0;

	if (n <= a->staged_n || n == a->staging_n || a->staging_n ||
	    n <= order_n(a, "order/drop") || n <= order_n(a, "order/commit") ||
	    n <= (int64_t)*committed(a))
		return;
	if (*nb_view_str(k->value, "line") && nb_procs_busy(a->procs))
		return;
	a->order_id = nb_view_int(k->value, "id");
	if (*nb_view_str(k->value, "line"))
		begin_stage(a, NB_PROCS_STAGE, k->value, n);
	else
		stage_nothing(a, n);
}

enum { LATE_DOUBLINGS = 6 };

/*
 * Returns true if processes may be given the generation again. Each try makes
 * all processes of the site stage the change, and some tries cannot succeed:
 * for example, the contents of maps may have changed since. The time between
 * two tries therefore doubles.
 */
static bool late_due(const struct nb_agent *a, uint64_t now)
{
	unsigned n = a->late_tries ? a->late_tries - 1 : 0;

	if (n > LATE_DOUBLINGS)
		n = LATE_DOUBLINGS;
	return !a->late_tried_ms || now >= a->late_tried_ms + (nb_agent_times.join_retry << n);
}

/*
 * Give processes that started after the last change its generation. A process
 * needs some time to adopt a change that it has staged itself.
 */
static void tick_late(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/commit");
	int64_t n = k ? nb_view_int(k->value, "n") : 0;
	uint64_t now = nb_agent_ms();
	json_t *state;
	unsigned late = n && n == (int64_t)*committed(a) ? nb_site_late(&a->site) : 0;

	if (late != a->late)
		a->late_tries = 0;
	a->late = late;
	if (!late) {
		a->late_ms = 0;
		return;
	}
	if (!a->late_ms)
		a->late_ms = now;
	if (now < a->late_ms + nb_agent_times.join || a->staging_n || *a->staged_digest ||
	    nb_procs_busy(a->procs) || !late_due(a, now))
		return;
	state = nb_view_generation(&a->view);
	if (!state)
		return; /* the coordinator will store the image soon */
	a->late_tried_ms = now;
	a->late_tries++;
	if (*nb_view_str(state, "line"))
		begin_stage(a, NB_PROCS_LATE, state, n);
	else
		late_failed(a, n, nb_view_str(state, "text"));
}

static void give_short(struct nb_agent *a, enum nb_procs_kind kind, int64_t n, const char *digest,
		       const char *maker)
{
	struct nb_procs_order *o = nb_procs_order_new();

	if (!o)
		return;
	o->kind = kind;
	o->n = (uint64_t)n;
	snprintf(o->digest, sizeof(o->digest), "%s", digest);
	nb_procs_order_maker(o, maker);
	if (!nb_procs_give(a->procs, o))
		nb_procs_order_free(o);
}

static void tick_commit(struct nb_agent *a)
{
	const struct nb_view_key *k = nb_view_get(&a->view, "order/commit");
	int64_t n = k ? nb_view_int(k->value, "n") : 0;

	if (n > (int64_t)*committed(a) && !nb_procs_busy(a->procs))
		give_short(a, NB_PROCS_COMMIT, n, nb_view_str(k->value, "digest"),
			   nb_view_str(k->value, "maker"));
}

static void tick_drop(struct nb_agent *a)
{
	int64_t n = order_n(a, "order/drop");

	if (!*a->staged_digest || n < a->staged_n || nb_procs_busy(a->procs) ||
	    (int64_t)*committed(a) >= a->staged_n)
		return;
	give_short(a, NB_PROCS_DROP, a->staged_n, a->staged_digest, "");
	*a->staged_digest = '\0';
}

void nb_agent_orders(struct nb_agent *a)
{
	tick_commit(a);
	tick_drop(a);
	tick_stage(a);
	tick_late(a);
}

enum { COMMIT_TRIES = 5 };

static void commit_came(struct nb_agent *a, const struct nb_procs_result *r)
{
	if (r->err.code && ++a->commit_tries < COMMIT_TRIES)
		return; /* the agent's next round tries to commit again */
	a->commit_tries = 0;
	*a->staged_digest = '\0';
	*committed(a) = r->n;
	if (r->err.code)
		nb_agent_log("change %llu is not committed here: %s", (unsigned long long)r->n,
			     r->err.text);
	/* one transaction writes both keys */
	nb_agent_describe(a);
	tell_result(a, (int64_t)r->n, r->err.code ? "failed" : "committed", r->digest, &r->err);
}

void nb_agent_result(struct nb_agent *a, struct nb_procs_result *r)
{
	switch (r->kind) {
	case NB_PROCS_STAGE:
		a->staging_n = 0;
		a->staged_n = (int64_t)r->n;
		snprintf(a->staged_digest, sizeof(a->staged_digest), "%s",
			 r->err.code ? "" : r->digest);
		/* one transaction writes both keys; the first says what the change cannot move */
		nb_agent_describe(a);
		tell_result(a, (int64_t)r->n, r->err.code ? "failed" : "staged", r->digest,
			    &r->err);
		break;
	case NB_PROCS_COMMIT:
		commit_came(a, r);
		break;
	case NB_PROCS_DROP:
	case NB_PROCS_EXPORT: /* these two are the coordinator's */
	case NB_PROCS_PROPOSAL:
		break;
	case NB_PROCS_LATE:
		a->staging_n = 0;
		if (r->err.code)
			late_failed(a, (int64_t)r->n, r->err.text);
		else if (!nb_site_late(&a->site))
			nb_agent_log("processes that started later have "
				     "generation %llu",
				     (unsigned long long)r->n);
		break;
	}
}
