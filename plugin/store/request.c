// SPDX-License-Identifier: MIT
/*
 * Requests to the store. A request makes attempts until it has a reply, its
 * time is over, or nobody can know whether a write took effect. Without a
 * leader no member can answer, and a busy member may not accept a connection,
 * so attempts then continue until the time is over. A member that does not
 * answer counts as failed for all requests and watches.
 */
#include "plugin/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/store/member.h"

enum {
	CONNECT_MS = 1500,
	LEAST_MS = 300,	 /* shortest time limit of one attempt */
	AGAIN_MS = 100,	 /* delay before all members are tried again */
	ANY_MEMBER = -1, /* value of pinned if any member may answer */
	REPLY_LIMIT = 256 << 20
};

struct nb_store_request {
	struct nb_store *store;
	struct nb_store_request *next, **link;
	enum nb_store_form form;
	const char *path;
	char *body;
	bool write;   /* changes the store, so it must not run twice */
	bool waiting; /* waits for authentication */
	bool renewed; /* the token was refused once, and renewed */
	bool patient; /* a member may answer soon: ask all again in time */
	int pinned;
	unsigned endpoint, tried;
	uint64_t started_ms, deadline_ms;
	/* when the current attempt of the request started */
	uint64_t attempt_ms;
	struct nb_http_transfer *transfer;
	struct nb_http_timer *timer;
	nb_store_done_fn *done;
	void *arg;
};

static void attempt(struct nb_store_request *q);

static void request_free(struct nb_store_request *q)
{
	nb_http_cancel(q->transfer);
	nb_http_timer_cancel(q->timer);
	*q->link = q->next;
	if (q->next)
		q->next->link = q->link;
	/*
	 * overwrite the body before freeing it, since it may contain the
	 * password
	 */
	if (q->body)
		explicit_bzero(q->body, strlen(q->body));
	free(q->body);
	free(q);
}

void nb_store_requests_free(struct nb_store *s)
{
	while (s->requests)
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		request_free(s->requests);
}

/* Finish @q with reply @d, or with @err if that is not NULL. Frees @q. */
static void finish(struct nb_store_request *q, struct nb_store_decoded *d, const struct nb_err *err,
		   bool unknown)
{
	struct nb_store_request done = *q;
	struct nb_store_reply *r = &d->reply;

	r->err = err;
	r->unknown = unknown;
	r->endpoint = q->store->endpoint[q->endpoint];
	r->took_us = (nb_http_now_ms() - q->started_ms) * 1000;
	request_free(q);
	done.done(done.arg, r);
	nb_store_decoded_fini(d);
}

static void fail(struct nb_store_request *q, const struct nb_err *err, bool unknown)
{
	struct nb_store_decoded d;

	nb_store_decoded_init(&d);
	finish(q, &d, err, unknown);
}

void nb_store_end(struct nb_store *s)
{
	struct nb_err err = { .code = 0 };

	if (!s)
		return;
	nb_store_watches_free(s);
	s->ended = true;
	nb_fail(&err, NB_E_STORE, 0, "the store is being closed");
	while (s->requests)
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		fail(s->requests, &err, s->requests->write);
}

static void try_again(void *arg)
{
	struct nb_store_request *q = arg;

	q->timer = NULL;
	attempt(q);
}

/*
 * Start another attempt if @q still may have one, else finish it. @patient:
 * this member may answer soon, so try all of them again until the time is over,
 * whatever the others say.
 */
static void next_attempt(struct nb_store_request *q, const struct nb_err *err, bool patient,
			 bool unknown)
{
	struct nb_store *s = q->store;
	uint64_t now = nb_http_now_ms();

	q->tried++;
	q->patient |= patient;
	if (q->pinned != ANY_MEMBER || unknown || now + LEAST_MS > q->deadline_ms ||
	    (q->tried >= s->nendpoints && !q->patient)) {
		fail(q, err, unknown);
		return;
	}
	if (q->tried % s->nendpoints) {
		attempt(q);
		return;
	}
	q->timer = nb_http_timer_start(s->http, AGAIN_MS, try_again, q);
	if (!q->timer)
		fail(q, err, unknown);
}

/*
 * Returns true if the member is only slow: it has answered other requests since
 * this attempt began. Leaving a slow member would move all our watches to the
 * other members.
 */
static bool is_slow(const struct nb_store_request *q, const struct nb_err *err)
{
	return err->code == NB_E_TIMEOUT && q->store->answered_ms[q->endpoint] > q->attempt_ms;
}

/*
 * Handle an attempt without a reply. An I/O error of libcurl means that the
 * store does not answer.
 */
static void no_reply(struct nb_store_request *q, const struct nb_http_reply *reply)
{
	struct nb_err err = *reply->err;
	bool unknown = q->write && reply->sent;

	if (err.code == NB_E_LIMIT) {
		fail(q, &err, unknown);
		return;
	}
	if (err.code == NB_E_IO)
		err.code = NB_E_STORE;
	if (unknown)
		nb_hint(&err, "it is unknown whether the change took effect");
	if (q->pinned == ANY_MEMBER && !is_slow(q, &err))
		nb_store_member_failed(q->store, q->endpoint, &err);
	/* nobody accepted the connection, or encrypted it, in time */
	next_attempt(q, &err, err.code == NB_E_TIMEOUT && !reply->sent, unknown);
}

static bool token_expired(int grpc, const char *text)
{
	return grpc == NB_STORE_GRPC_UNAUTHENTICATED ||
	       (grpc == NB_STORE_GRPC_INVALID && strstr(text, "auth: revision"));
}

static void error_reply(struct nb_store_request *q, const struct nb_http_reply *reply)
{
	struct nb_store *s = q->store;
	const char *endpoint = s->endpoint[q->endpoint];
	struct nb_err err = { .code = 0 };
	int grpc;

	nb_store_decode_error(nb_buf_text(reply->body), reply->body->size, reply->status, endpoint,
			      &grpc, &err);
	if (q->form == NB_STORE_FORM_KEEPALIVE && err.code == NB_E_NOENT) {
		struct nb_store_decoded d;

		/* a reply with ttl_s 0 says that the lease has expired */
		nb_store_decoded_init(&d);
		finish(q, &d, NULL, false);
		return;
	}
	if (token_expired(grpc, err.text) && s->user && !q->renewed &&
	    q->form != NB_STORE_FORM_AUTH) {
		q->renewed = true;
		nb_store_drop_token(s);
		attempt(q);
		return;
	}
	if (err.code != NB_E_STORE && err.code != NB_E_TIMEOUT) {
		fail(q, &err, q->write && reply->status >= 500 && !grpc);
		return;
	}
	bool no_leader = strstr(err.text, "no leader") != NULL;

	if (q->pinned == ANY_MEMBER)
		nb_store_member_failed(s, q->endpoint, &err);
	next_attempt(q, &err, true, q->write && !no_leader);
}

static void good_reply(struct nb_store_request *q, const struct nb_http_reply *reply)
{
	struct nb_store *s = q->store;
	struct nb_store_decoded d;
	struct nb_err err = { .code = 0 };

	nb_store_decoded_init(&d);
	if (nb_store_decode(&d, q->form, nb_buf_text(reply->body), reply->body->size,
			    s->endpoint[q->endpoint], &err)) {
		finish(q, &d, &err, q->write);
		return;
	}
	s->answered_ms[q->endpoint] = nb_http_now_ms();
	finish(q, &d, NULL, false);
}

static void attempt_done(void *arg, const struct nb_http_reply *reply)
{
	struct nb_store_request *q = arg;

	q->transfer = NULL;
	if (reply->err)
		no_reply(q, reply);
	else if (reply->status != 200 || (q->form == NB_STORE_FORM_KEEPALIVE &&
					  !strncmp(nb_buf_text(reply->body), "{\"error\"", 8)))
		error_reply(q, reply);
	else
		good_reply(q, reply);
}

static void attempt(struct nb_store_request *q)
{
	struct nb_store *s = q->store;
	uint64_t now = nb_http_now_ms();
	unsigned left = q->deadline_ms > now ? (unsigned)(q->deadline_ms - now) : 0;
	unsigned others = q->tried < s->nendpoints ? s->nendpoints - q->tried : 1;
	char url[512];
	struct nb_err err = { .code = 0 };
	struct nb_http_request h = { .url = url,
				     .body = q->body,
				     .tls = &s->tls,
				     .limit = REPLY_LIMIT,
				     .done = attempt_done,
				     .arg = q,
				     .once = q->write };

	q->attempt_ms = now;
	q->waiting = q->form != NB_STORE_FORM_AUTH && nb_store_must_authenticate(s);
	if (q->waiting)
		return;
	if (s->authorization[0] && q->form != NB_STORE_FORM_AUTH)
		h.header[0] = s->authorization;
	if (q->pinned != ANY_MEMBER)
		others = 1;
	h.timeout_ms = left / others > LEAST_MS ? left / others : LEAST_MS;
	h.connect_ms = h.timeout_ms < CONNECT_MS ? h.timeout_ms : CONNECT_MS;
	q->endpoint = q->pinned == ANY_MEMBER ? s->current : (unsigned)q->pinned;
	snprintf(url, sizeof(url), "%s%s", s->endpoint[q->endpoint], q->path);
	q->transfer = nb_http_start(s->http, &h, &err);
	if (!q->transfer)
		fail(q, &err, false);
}

static struct nb_store_request *request_new(struct nb_store *s, enum nb_store_form form,
					    const char *path, struct nb_buf *body)
{
	struct nb_store_request *q = calloc(1, sizeof(*q));

	if (!q || !nb_buf_ok(body) || s->ended) {
		nb_buf_fini(body);
		free(q);
		return NULL;
	}
	q->store = s;
	q->form = form;
	q->path = path;
	q->body = nb_buf_take(body, NULL);
	q->pinned = ANY_MEMBER;
	q->started_ms = nb_http_now_ms();
	q->deadline_ms =
		q->started_ms + (form == NB_STORE_FORM_KEEPALIVE ? s->keep_ms : s->timeout_ms);
	q->next = s->requests;
	q->link = &s->requests;
	if (q->next)
		q->next->link = &q->next;
	s->requests = q;
	return q;
}

/* Start a request. Takes ownership of @body. */
static int start(struct nb_store *s, enum nb_store_form form, const char *path, struct nb_buf *body,
		 bool write, nb_store_done_fn *done, void *arg, struct nb_err *err)
{
	struct nb_store_request *q = request_new(s, form, path, body);

	if (!q)
		return nb_fail(err, NB_E_NOMEM, 0, "store: no memory");
	q->write = write;
	q->done = done;
	q->arg = arg;
	q->timer = nb_http_timer_start(s->http, 0, try_again, q);
	if (!q->timer) {
		request_free(q);
		return nb_fail(err, NB_E_NOMEM, 0, "store: no memory");
	}
	return 0;
}

static void authenticated(void *arg, const struct nb_store_reply *reply)
{
	struct nb_store *s = arg;
	/* @reply is the first member of struct nb_store_decoded */
	const struct nb_store_decoded *d = (const void *)reply;
	struct nb_store_request *q;

	s->authenticating = false;
	if (!reply->err)
		snprintf(s->authorization, sizeof(s->authorization), "Authorization: %s", d->token);
	do {
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		for (q = s->requests; q && !q->waiting; q = q->next)
			;
		if (q && reply->err)
			fail(q, reply->err, false);
		else if (q)
			attempt(q);
	} while (q);
	nb_store_watches_authenticated(s, reply->err);
}

void nb_store_drop_token(struct nb_store *s)
{
	s->authorization[0] = '\0';
}

bool nb_store_must_authenticate(struct nb_store *s)
{
	struct nb_buf body;

	if (!s->user || s->authorization[0])
		return false;
	if (s->authenticating)
		return true;
	nb_buf_init(&body, 0);
	nb_store_encode_user(&body, s->user, s->password);
	s->authenticating = !start(s, NB_STORE_FORM_AUTH, "/v3/auth/authenticate", &body, false,
				   authenticated, s, NULL);
	/*
	 * if there is no memory, send the request without a token; the store
	 * refuses it
	 */
	return s->authenticating;
}

static bool changes(const struct nb_store_op *op, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (op[i].kind != NB_STORE_GET && op[i].kind != NB_STORE_GET_PREFIX)
			return true;
	return false;
}

int nb_store_txn(struct nb_store *s, const struct nb_store_txn *txn, nb_store_done_fn *done,
		 void *arg, struct nb_err *err)
{
	struct nb_buf body;
	int rc;

	nb_buf_init(&body, 0);
	rc = nb_store_encode_txn(&body, txn, err);
	if (rc) {
		nb_buf_fini(&body);
		return rc;
	}
	return start(s, NB_STORE_FORM_TXN, "/v3/kv/txn", &body,
		     changes(txn->then, txn->nthen) || changes(txn->otherwise, txn->notherwise),
		     done, arg, err);
}

int nb_store_do(struct nb_store *s, const struct nb_store_op *op, nb_store_done_fn *done, void *arg,
		struct nb_err *err)
{
	struct nb_store_txn txn = { .then = op, .nthen = 1 };

	return nb_store_txn(s, &txn, done, arg, err);
}

int nb_store_get(struct nb_store *s, const char *key, nb_store_done_fn *done, void *arg,
		 struct nb_err *err)
{
	struct nb_store_op op = { .kind = NB_STORE_GET, .key = key };

	return nb_store_do(s, &op, done, arg, err);
}

static int start_lease(struct nb_store *s, enum nb_store_form form, const char *path,
		       const char *name, int64_t value, nb_store_done_fn *done, void *arg,
		       struct nb_err *err)
{
	struct nb_buf body;

	nb_buf_init(&body, 0);
	nb_buf_printf(&body, "{\"%s\":\"%lld\"}", name, (long long)value);
	return start(s, form, path, &body, false, done, arg, err);
}

int nb_store_lease_grant(struct nb_store *s, int64_t ttl_s, nb_store_done_fn *done, void *arg,
			 struct nb_err *err)
{
	return start_lease(s, NB_STORE_FORM_LEASE, "/v3/lease/grant", "TTL", ttl_s, done, arg, err);
}

int nb_store_lease_keepalive(struct nb_store *s, int64_t lease, nb_store_done_fn *done, void *arg,
			     struct nb_err *err)
{
	return start_lease(s, NB_STORE_FORM_KEEPALIVE, "/v3/lease/keepalive", "ID", lease, done,
			   arg, err);
}

int nb_store_lease_revoke(struct nb_store *s, int64_t lease, nb_store_done_fn *done, void *arg,
			  struct nb_err *err)
{
	return start_lease(s, NB_STORE_FORM_LEASE, "/v3/lease/revoke", "ID", lease, done, arg, err);
}

int nb_store_probe(struct nb_store *s, unsigned i, const char *key, nb_store_done_fn *done,
		   void *arg)
{
	int rc = nb_store_get(s, key, done, arg, NULL);

	if (rc)
		return rc;
	/* the request is the newest one, and has made no attempt yet */
	s->requests->pinned = (int)i;
	s->requests->endpoint = i;
	return 0;
}
