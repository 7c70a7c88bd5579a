// SPDX-License-Identifier: MIT
/*
 * Watches. A watch is one streamed reply with a JSON value on each line. An
 * interrupted watch resumes at the revision after the last one reported. A
 * member that hangs leaves the stream open and silent. The member of an open
 * watch must therefore answer some request every few seconds; if there is none,
 * the watch asks for its status.
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
	FIRST_MS = 20,
	LONGEST_MS = 2000, /* longest delay between two attempts */
	LINE_LIMIT = 64 << 20
};

struct nb_store_watch {
	struct nb_store *store;
	struct nb_store_watch *next, **link;
	char *prefix;
	/* first revision not yet reported; 0: report only future changes */
	int64_t revision;
	nb_store_watch_fn *fn;
	void *arg;
	struct nb_http_transfer *transfer;
	/* fires at the next attempt or the next check of the member */
	struct nb_http_timer *timer;
	unsigned endpoint, delay_ms;
	bool open, over, waiting;
	bool probing;
	unsigned reporting; /* nesting depth of the calls of fn */
	bool ended;
};

static void watch_start(struct nb_store_watch *w);

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
 * Call the watch's function. Returns false if the function has ended the watch.
 */
static bool report(struct nb_store_watch *w, struct nb_store_watch_report *r)
{
	r->endpoint = w->store->endpoint[w->endpoint];
	w->reporting++;
	w->fn(w->arg, r);
	w->reporting--;
	return !w->ended;
}

/*
 * Free the watch if its function has ended it. Every function that calls report
 * ends with this call.
 */
static void settle(struct nb_store_watch *w)
{
	if (w->ended && !w->reporting)
		watch_free(w);
}

static void start_again(void *arg)
{
	struct nb_store_watch *w = arg;

	w->timer = NULL;
	watch_start(w);
}

/* Report the interruption once, and schedule the next attempt. */
static void interrupted(struct nb_store_watch *w, const struct nb_err *err)
{
	struct nb_store_watch_report r = { .state = NB_STORE_WATCH_BROKEN, .err = err };
	unsigned delay = w->delay_ms;

	watch_quiet(w);
	w->delay_ms = delay * 2 < LONGEST_MS ? delay * 2 : LONGEST_MS;
	w->timer = nb_http_timer_start(w->store->http, delay, start_again, w);
	report(w, &r);
}

static void over(struct nb_store_watch *w, enum nb_store_watch_state state, int64_t revision,
		 const struct nb_err *err)
{
	struct nb_store_watch_report r = { .state = state, .err = err, .revision = revision };

	watch_quiet(w);
	w->over = true;
	report(w, &r);
}

static void lost(struct nb_store_watch *w, int64_t compacted)
{
	struct nb_err err = { .code = 0 };

	nb_fail(&err, NB_E_NOENT, 0,
		"%s: revision %" PRId64 " of %s is compacted, the oldest one kept is %" PRId64,
		w->store->endpoint[w->endpoint], w->revision, w->prefix, compacted);
	over(w, NB_STORE_WATCH_LOST, compacted, &err);
}

static void cancelled(struct nb_store_watch *w, const struct nb_store_decoded *d)
{
	struct nb_err err = { .code = 0 };
	bool denied = strstr(d->reason, "ermission") != NULL;

	if (d->compacted) {
		lost(w, d->compacted);
		return;
	}
	/*
	 * A restarted member does not know tokens it issued before, so get a
	 * new one.
	 */
	if (strstr(d->reason, "nauthenticated") || strstr(d->reason, "invalid auth token"))
		nb_store_drop_token(w->store);
	nb_fail(&err, denied ? NB_E_PERM : NB_E_STORE, 0, "%s: the watch of %s was cancelled: %s",
		w->store->endpoint[w->endpoint], w->prefix,
		d->reason[0] ? d->reason : "no reason given");
	if (denied)
		over(w, NB_STORE_WATCH_FAILED, 0, &err);
	else
		interrupted(w, &err);
}

static void opened(struct nb_store_watch *w, int64_t revision)
{
	struct nb_store_watch_report r = { .state = NB_STORE_WATCH_OPEN, .revision = revision };

	w->open = true;
	w->delay_ms = FIRST_MS;
	if (!w->revision)
		w->revision = revision + 1;
	report(w, &r);
}

static void events(struct nb_store_watch *w, const struct nb_store_decoded *d)
{
	struct nb_store_watch_report r = { .state = NB_STORE_WATCH_EVENTS,
					   .kv = d->kv,
					   .nkv = d->nkv,
					   .revision = d->reply.revision };

	for (size_t i = 0; i < d->nkv; i++)
		if (d->kv[i].mod_revision >= w->revision)
			w->revision = d->kv[i].mod_revision + 1;
	report(w, &r);
}

static void error_line(struct nb_store_watch *w, const char *text, size_t size)
{
	struct nb_store *s = w->store;
	struct nb_err err = { .code = 0 };
	int grpc;

	nb_store_decode_error(text, size, 200, s->endpoint[w->endpoint], &grpc, &err);
	if (grpc == NB_STORE_GRPC_UNAUTHENTICATED)
		nb_store_drop_token(s);
	if (err.code == NB_E_PERM && grpc != NB_STORE_GRPC_UNAUTHENTICATED)
		over(w, NB_STORE_WATCH_FAILED, 0, &err);
	else
		interrupted(w, &err);
}

static void line(struct nb_store_watch *w, const char *text, size_t size)
{
	struct nb_store *s = w->store;
	struct nb_store_decoded d;
	struct nb_err err = { .code = 0 };

	s->answered_ms[w->endpoint] = nb_http_now_ms();
	if (size > 8 && !memcmp(text, "{\"error\"", 8)) {
		error_line(w, text, size);
		return;
	}
	nb_store_decoded_init(&d);
	if (nb_store_decode(&d, NB_STORE_FORM_WATCH, text, size, s->endpoint[w->endpoint], &err))
		interrupted(w, &err);
	else if (d.cancelled)
		cancelled(w, &d);
	else if (d.created)
		opened(w, d.reply.revision);
	else if (d.nkv)
		events(w, &d);
	else if (d.progress && d.reply.revision >= w->revision)
		w->revision = d.reply.revision + 1;
	nb_store_decoded_fini(&d);
}

static void lines(void *arg, struct nb_buf *body)
{
	struct nb_store_watch *w = arg;
	struct nb_http_transfer *of = w->transfer;
	size_t at = 0;

	/* the callback must not free the watch while this function runs */
	w->reporting++;
	while (!w->ended && w->transfer == of) {
		char *p = body->data + at;
		char *end = memchr(p, '\n', body->size - at);

		if (!end)
			break;
		line(w, p, (size_t)(end - p));
		at += (size_t)(end - p) + 1;
	}
	w->reporting--;
	if (!w->ended && w->transfer == of && at) {
		memmove(body->data, body->data + at, body->size - at);
		body->size -= at;
	}
	settle(w);
}

static void stream_ended(void *arg, const struct nb_http_reply *reply)
{
	struct nb_store_watch *w = arg;
	struct nb_store *s = w->store;
	struct nb_err err = { .code = 0 };
	int grpc;

	w->transfer = NULL;
	w->reporting++;
	if (reply->err && reply->err->code == NB_E_LIMIT) {
		over(w, NB_STORE_WATCH_LOST, 0, reply->err);
	} else if (!reply->err && reply->status != 200) {
		nb_store_decode_error(nb_buf_text(reply->body), reply->body->size, reply->status,
				      s->endpoint[w->endpoint], &grpc, &err);
		if (grpc == NB_STORE_GRPC_UNAUTHENTICATED)
			nb_store_drop_token(s);
		if (grpc == NB_STORE_GRPC_DENIED)
			over(w, NB_STORE_WATCH_FAILED, 0, &err);
		else
			interrupted(w, &err);
	} else {
		nb_fail(&err, NB_E_STORE, 0, "%s: the watch of %s ended: %s",
			s->endpoint[w->endpoint], w->prefix,
			reply->err ? reply->err->text : "the member closed it");
		if (s->current == w->endpoint)
			s->current = (w->endpoint + 1) % s->nendpoints;
		interrupted(w, &err);
	}
	w->reporting--;
	settle(w);
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

static void probed(void *arg, const struct nb_store_member *m)
{
	struct probe *p = arg;
	struct nb_err err = { .code = 0 };

	if (m->err)
		nb_fail(&err, m->err->code, 0, "%s", m->err->text);
	else if (!m->leader)
		nb_fail(&err, NB_E_STORE, 0, "%s: the member has no leader", m->endpoint);
	for (struct nb_store_watch *w = p->store->watches; w; w = w->next)
		if (w->endpoint == p->endpoint)
			w->probing = false;
	if (err.code)
		nb_store_member_failed(p->store, p->endpoint, &err);
	free(p);
}

static void probe_member(struct nb_store_watch *w)
{
	struct probe *p = malloc(sizeof(*p));

	if (!p)
		return;
	*p = (struct probe){ w->store, w->endpoint };
	if (nb_store_member(w->store, w->endpoint, probed, p, NULL))
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
		settle(w);
		return;
	}
	if (since >= PROBE_MS && !w->probing)
		probe_member(w);
	check_later(w, PROBE_MS);
}

static void watch_start(struct nb_store_watch *w)
{
	struct nb_store *s = w->store;
	char url[512];
	struct nb_buf body;
	struct nb_http_request h = { .url = url,
				     .tls = &s->tls,
				     .header = { "Grpc-Metadata-hasleader: "
						 "true" },
				     .connect_ms = CONNECT_MS,
				     .limit = LINE_LIMIT,
				     .chunk = lines,
				     .done = stream_ended,
				     .arg = w };
	struct nb_err err = { .code = 0 };

	w->waiting = nb_store_must_authenticate(s);
	if (w->waiting)
		return;
	if (s->authorization[0])
		h.header[1] = s->authorization;
	w->endpoint = s->current;
	w->probing = false;
	snprintf(url, sizeof(url), "%s/v3/watch", s->endpoint[w->endpoint]);
	nb_buf_init(&body, 0);
	nb_store_encode_watch(&body, w->prefix, w->revision, NULL);
	if (nb_buf_ok(&body)) {
		h.body = nb_buf_text(&body);
		w->transfer = nb_http_start(s->http, &h, &err);
	}
	nb_buf_fini(&body);
	if (w->transfer)
		check_later(w, OPEN_MS);
	else
		w->timer = nb_http_timer_start(s->http, LONGEST_MS, start_again, w);
}

struct nb_store_watch *nb_store_watch(struct nb_store *s, const char *prefix, int64_t revision,
				      nb_store_watch_fn *fn, void *arg, struct nb_err *err)
{
	struct nb_store_watch *w;
	struct nb_buf body;
	int rc;

	nb_buf_init(&body, 0);
	rc = nb_store_encode_watch(&body, prefix, revision, err);
	nb_buf_fini(&body);
	if (rc)
		return NULL;
	w = calloc(1, sizeof(*w));
	if (w)
		w->prefix = strdup(prefix);
	if (w && w->prefix)
		w->timer = nb_http_timer_start(s->http, 0, start_again, w);
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
	w->delay_ms = FIRST_MS;
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
	settle(w);
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
		next = w->next;
		if (!w->waiting)
			continue;
		w->reporting++;
		if (!err)
			watch_start(w);
		else if (err->code == NB_E_PERM)
			over(w, NB_STORE_WATCH_FAILED, 0, err);
		else
			interrupted(w, err);
		w->reporting--;
		next = w->next;
		settle(w);
	}
}

void nb_store_watches_moved(struct nb_store *s, unsigned i, const struct nb_err *err)
{
	struct nb_store_watch *next;

	for (struct nb_store_watch *w = s->watches; w; w = next) {
		next = w->next;
		if (w->endpoint != i || !w->transfer || w->ended)
			continue;
		w->reporting++;
		interrupted(w, err);
		w->reporting--;
		next = w->next;
		settle(w);
	}
}
