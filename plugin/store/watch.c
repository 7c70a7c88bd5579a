// SPDX-License-Identifier: MIT
/*
 * Watches. A watch is one streamed reply with a JSON value on each line. A
 * member that hangs leaves the stream open and silent. The member of an open
 * watch must therefore answer some request every few seconds; if there is none,
 * the watch reads a key.
 */
#include "plugin/store/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/store/member.h"

enum {
	CONNECT_MS = 1500,
	OPEN_MS = 5000, /* longest time until the store accepts the watch */
	/* longest silence of the watch's member before it is asked */
	PROBE_MS = 3000,
	LINE_LIMIT = 64 << 20
};

struct nb_store_watch {
	struct nb_store *store;
	struct nb_store_watch *next, **link;
	char *prefix;
	int64_t revision; /* first revision to report */
	nb_store_watch_fn *fn;
	void *arg;
	struct nb_http_transfer *transfer;
	/* fires at the start or the next check of the member */
	struct nb_http_timer *timer;
	unsigned endpoint;
	bool open, waiting, probing;
	bool over;	    /* its user knows that it has ended */
	unsigned reporting; /* nesting depth of the calls of fn */
	bool ended;	    /* nb_store_unwatch was called */
};

static void watch_free(struct nb_store_watch *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
	free(w->prefix);
	free(w);
}

static void watch_quiet(struct nb_store_watch *w)
{
	nb_http_cancel(w->transfer);
	w->transfer = NULL;
	nb_http_timer_cancel(w->timer);
	w->timer = NULL;
	w->open = w->waiting = false;
}

/*
 * Free the watch if its function has ended it. Every function that calls
 * watch_tell ends with this call.
 */
static void watch_settle(struct nb_store_watch *w)
{
	if (w->ended && !w->reporting)
		watch_free(w);
}

static void watch_tell(struct nb_store_watch *w, const struct nb_store_watch_report *r)
{
	w->reporting++;
	w->fn(w->arg, r);
	w->reporting--;
}

/* Report the end of the watch, once. */
static void watch_over(struct nb_store_watch *w, const struct nb_err *err)
{
	const struct nb_store_watch_report r = { .err = err };

	if (w->over)
		return;
	watch_quiet(w);
	w->over = true;
	watch_tell(w, &r);
}

static void watch_cancelled(struct nb_store_watch *w, const struct nb_store_decoded *d)
{
	const char *endpoint = w->store->endpoint[w->endpoint];
	struct nb_err err = { .code = 0 };

	/*
	 * A restarted member does not know tokens it issued before, so get a
	 * new one.
	 */
	if (strstr(d->reason, "nauthenticated") || strstr(d->reason, "invalid auth token"))
		nb_store_drop_token(w->store);
	if (d->compacted)
		nb_fail(&err, NB_E_NOENT, 0,
			"%s: revision %" PRId64
			" of %s is compacted, the oldest one kept is %" PRId64,
			endpoint, w->revision, w->prefix, d->compacted);
	else
		nb_fail(&err, strstr(d->reason, "ermission") ? NB_E_PERM : NB_E_STORE, 0,
			"%s: the watch of %s was cancelled: %s", endpoint, w->prefix,
			d->reason[0] ? d->reason : "no reason given");
	watch_over(w, &err);
}

/* The store has refused the watch. */
static void watch_refused(struct nb_store_watch *w, const char *text, size_t size, long status)
{
	struct nb_store *s = w->store;
	struct nb_err err = { .code = 0 };
	int grpc;

	nb_store_decode_error(text, size, status, s->endpoint[w->endpoint], &grpc, &err);
	if (grpc == NB_STORE_GRPC_UNAUTHENTICATED)
		nb_store_drop_token(s);
	watch_over(w, &err);
}

static void watch_line(struct nb_store_watch *w, const char *text, size_t size)
{
	struct nb_store *s = w->store;
	struct nb_store_decoded d;
	struct nb_err err = { .code = 0 };

	s->answered_ms[w->endpoint] = nb_http_now_ms();
	if (size > 8 && !memcmp(text, "{\"error\"", 8)) {
		watch_refused(w, text, size, 200);
		return;
	}
	nb_store_decoded_init(&d);
	if (nb_store_decode(&d, NB_STORE_FORM_WATCH, text, size, s->endpoint[w->endpoint], &err)) {
		watch_over(w, &err);
	} else if (d.cancelled) {
		watch_cancelled(w, &d);
	} else {
		const struct nb_store_watch_report r = { .kv = d.kv, .nkv = d.nkv };

		w->open = true;
		if (d.nkv)
			watch_tell(w, &r);
	}
	nb_store_decoded_fini(&d);
}

static void watch_lines(void *arg, struct nb_buf *body)
{
	struct nb_store_watch *w = arg;
	size_t at = 0;

	/* the callback must not free the watch while this function runs */
	w->reporting++;
	while (!w->ended && !w->over) {
		char *p = body->data + at;
		char *end = memchr(p, '\n', body->size - at);

		if (!end)
			break;
		watch_line(w, p, (size_t)(end - p));
		at += (size_t)(end - p) + 1;
	}
	w->reporting--;
	if (!w->ended && !w->over && at) {
		memmove(body->data, body->data + at, body->size - at);
		body->size -= at;
	}
	watch_settle(w);
}

static void stream_ended(void *arg, const struct nb_http_reply *reply)
{
	struct nb_store_watch *w = arg;
	struct nb_store *s = w->store;
	struct nb_err err = { .code = 0 };

	w->transfer = NULL;
	if (!reply->err && reply->status != 200) {
		watch_refused(w, nb_buf_text(reply->body), reply->body->size, reply->status);
	} else {
		nb_fail(&err, NB_E_STORE, 0, "%s: the watch of %s ended: %s",
			s->endpoint[w->endpoint], w->prefix,
			reply->err ? reply->err->text : "the member closed it");
		if (s->current == w->endpoint)
			s->current = (w->endpoint + 1) % s->nendpoints;
		watch_over(w, &err);
	}
	watch_settle(w);
}

static void check(void *arg);

static void check_later(struct nb_store_watch *w, unsigned ms)
{
	w->timer = nb_http_timer_start(w->store->http, ms, check, w);
}

struct probe {
	struct nb_store *store;
	unsigned endpoint;
};

static void probed(void *arg, const struct nb_store_reply *r)
{
	struct probe *p = arg;

	for (struct nb_store_watch *w = p->store->watches; w; w = w->next)
		if (w->endpoint == p->endpoint)
			w->probing = false;
	if (r->err)
		nb_store_member_failed(p->store, p->endpoint, r->err);
	free(p);
}

static void probe_member(struct nb_store_watch *w)
{
	struct probe *p = malloc(sizeof(*p));

	if (!p)
		return;
	*p = (struct probe){ w->store, w->endpoint };
	if (nb_store_probe(w->store, w->endpoint, w->prefix, probed, p))
		free(p);
	else
		w->probing = true;
}

static void check(void *arg)
{
	struct nb_store_watch *w = arg;
	struct nb_store *s = w->store;
	uint64_t since = nb_http_now_ms() - s->answered_ms[w->endpoint];

	w->timer = NULL;
	if (!w->open) {
		struct nb_err err = { .code = 0 };

		nb_fail(&err, NB_E_TIMEOUT, 0, "%s: no answer to the watch of %s within %d ms",
			s->endpoint[w->endpoint], w->prefix, OPEN_MS);
		w->reporting++;
		nb_store_member_failed(s, w->endpoint, &err);
		w->reporting--;
		watch_settle(w);
		return;
	}
	if (since >= PROBE_MS && !w->probing)
		probe_member(w);
	check_later(w, PROBE_MS);
}

static void watch_start(void *arg)
{
	struct nb_store_watch *w = arg;
	struct nb_store *s = w->store;
	char url[512];
	struct nb_buf body;
	struct nb_http_request h = { .url = url,
				     .tls = &s->tls,
				     .header = { "Grpc-Metadata-hasleader: true" },
				     .connect_ms = CONNECT_MS,
				     .limit = LINE_LIMIT,
				     .chunk = watch_lines,
				     .done = stream_ended,
				     .arg = w };
	struct nb_err err = { .code = 0 };

	w->timer = NULL;
	w->waiting = nb_store_must_authenticate(s);
	if (w->waiting)
		return;
	if (s->authorization[0])
		h.header[1] = s->authorization;
	w->endpoint = s->current;
	snprintf(url, sizeof(url), "%s/v3/watch", s->endpoint[w->endpoint]);
	nb_buf_init(&body, 0);
	if (!nb_store_encode_watch(&body, w->prefix, w->revision, &err)) {
		h.body = nb_buf_text(&body);
		w->transfer = nb_http_start(s->http, &h, &err);
	}
	nb_buf_fini(&body);
	if (w->transfer)
		check_later(w, OPEN_MS);
	else
		watch_over(w, &err);
	watch_settle(w);
}

struct nb_store_watch *nb_store_watch(struct nb_store *s, const char *prefix, int64_t revision,
				      nb_store_watch_fn *fn, void *arg, struct nb_err *err)
{
	struct nb_store_watch *w = calloc(1, sizeof(*w));

	if (w)
		w->prefix = strdup(prefix);
	if (w && w->prefix)
		w->timer = nb_http_timer_start(s->http, 0, watch_start, w);
	if (!w || !w->timer) {
		if (w)
			free(w->prefix);
		free(w);
		nb_fail(err, NB_E_NOMEM, 0, "store: no memory for a watch");
		return NULL;
	}
	w->store = s;
	w->revision = revision;
	w->fn = fn;
	w->arg = arg;
	w->next = s->watches;
	w->link = &s->watches;
	if (w->next)
		w->next->link = &w->next;
	s->watches = w;
	return w;
}

void nb_store_unwatch(struct nb_store_watch *w)
{
	if (!w || w->ended)
		return;
	watch_quiet(w);
	w->ended = w->over = true;
	watch_settle(w);
}

void nb_store_watches_free(struct nb_store *s)
{
	while (s->watches) {
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		watch_quiet(s->watches);
		watch_free(s->watches);
	}
}

void nb_store_watches_authenticated(struct nb_store *s, const struct nb_err *err)
{
	struct nb_store_watch *next;

	for (struct nb_store_watch *w = s->watches; w; w = next) {
		w->reporting++;
		if (w->waiting && err)
			watch_over(w, err);
		else if (w->waiting)
			watch_start(w);
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): not freed while it reports
		w->reporting--;
		next = w->next;
		watch_settle(w);
	}
}

void nb_store_watches_moved(struct nb_store *s, unsigned i, const struct nb_err *err)
{
	struct nb_store_watch *next;

	for (struct nb_store_watch *w = s->watches; w; w = next) {
		w->reporting++;
		if (w->endpoint == i && w->transfer && !w->ended)
			watch_over(w, err);
		w->reporting--;
		next = w->next;
		watch_settle(w);
	}
}
