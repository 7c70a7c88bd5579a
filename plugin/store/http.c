// SPDX-License-Identifier: MIT
/*
 * The event loop: libcurl's sockets and one timerfd in an epoll set. libcurl's
 * callbacks must not call libcurl, so they only store bytes, sockets and the
 * next deadline. Our callbacks run afterwards, from lists. A cancelled transfer
 * is freed at the end of the loop's iteration, because these lists may still
 * contain it.
 */
#include "plugin/store/http.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <curl/curl.h>

#include "plugin/runtime/clock.h"

enum { EVENTS = 64, NO_DEADLINE = -1 };

struct nb_http_transfer {
	struct nb_http *http;
	struct nb_http_transfer *next, **link;
	struct nb_http_transfer *next_fresh;
	CURL *easy;
	struct curl_slist *headers;
	char *body;
	struct nb_buf in;
	bool fresh, over_limit, cancelled, once, begun;
	nb_http_chunk_fn *chunk;
	nb_http_done_fn *done;
	void *arg;
	uint64_t started_us;
	char error[CURL_ERROR_SIZE];
};

struct nb_http_timer {
	struct nb_http *http;
	struct nb_http_timer *next, **link;
	uint64_t due_ms;
	void (*fn)(void *arg);
	void *arg;
};

struct nb_http {
	CURLM *multi;
	int epoll, timer;
	/* time of libcurl's next deadline, or NO_DEADLINE */
	int64_t curl_due_ms;
	bool turning;
	struct nb_http_transfer *open, *dead, *fresh;
	struct nb_http_timer *timers; /* list of timers, sorted by their time */
};

uint64_t nb_http_now_ms(void)
{
	return nb_clock_system() / 1000000;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct nb_http *h = arg;
	struct epoll_event e = { .data.fd = fd };

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		e.events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		e.events |= EPOLLOUT;
	if (epoll_ctl(h->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e))
		return -1;
	curl_multi_assign(h->multi, fd, h);
	return 0;
}

static int keep_deadline(CURLM *multi, long ms, void *arg)
{
	struct nb_http *h = arg;

	(void)multi;
	h->curl_due_ms = ms < 0 ? NO_DEADLINE : (int64_t)nb_http_now_ms() + ms;
	return 0;
}

static size_t take_bytes(char *bytes, size_t one, size_t n, void *arg)
{
	struct nb_http_transfer *t = arg;

	nb_buf_bytes(&t->in, bytes, one * n);
	if (!nb_buf_ok(&t->in)) {
		t->over_limit = !t->in.no_memory;
		return 0;
	}
	if (t->chunk && !t->fresh) {
		t->fresh = true;
		t->next_fresh = t->http->fresh;
		t->http->fresh = t;
	}
	return one * n;
}

/*
 * libcurl is about to send a request. If a connection that it has used before ends without a
 * reply, it would send the request again on a new one, though the peer may have carried it out.
 */
static int may_send(void *arg, char *to, char *from, int to_port, int from_port)
{
	struct nb_http_transfer *t = arg;
	bool again = t->begun;

	(void)to, (void)from, (void)to_port, (void)from_port;
	t->begun = true;
	return t->once && again ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static void arm_timer(struct nb_http *h)
{
	struct itimerspec at = { .it_value = { 0, 0 } };
	int64_t due = h->curl_due_ms;

	if (h->timers && (due < 0 || (int64_t)h->timers->due_ms < due))
		due = (int64_t)h->timers->due_ms;
	/* a time of zero disarms the timer */
	if (due >= 0) {
		at.it_value.tv_sec = due / 1000;
		at.it_value.tv_nsec = due % 1000 * 1000000 + 1;
	}
	timerfd_settime(h->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

int nb_http_new(struct nb_http **out, struct nb_err *err)
{
	struct nb_http *h = calloc(1, sizeof(*h));
	struct epoll_event e = { .events = EPOLLIN };
	CURLcode curl;

	*out = NULL;
	if (!h)
		return nb_fail(err, NB_E_NOMEM, 0, "HTTP: no memory");
	h->curl_due_ms = NO_DEADLINE;
	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	h->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	curl = curl_global_init(CURL_GLOBAL_DEFAULT);
	if (curl == CURLE_OK)
		h->multi = curl_multi_init();
	e.data.fd = h->timer;
	if (!h->multi || h->epoll < 0 || h->timer < 0 ||
	    epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->timer, &e)) {
		int rc = nb_fail(err, NB_E_IO, 0, "HTTP: no event loop: %s",
				 h->multi ? strerror(errno)
					  : curl_easy_strerror(curl ? curl : CURLE_FAILED_INIT));

		nb_http_free(h);
		return rc;
	}
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, keep_deadline);
	curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h);
	*out = h;
	return 0;
}

static void transfer_free(struct nb_http_transfer *t)
{
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	free(t->body);
	nb_buf_fini(&t->in);
	free(t);
}

static void bury(struct nb_http *h)
{
	while (h->dead) {
		struct nb_http_transfer *t = h->dead;

		h->dead = t->next;
		transfer_free(t);
	}
}

/* Take a cancelled transfer out of the list of those with new bytes. */
static void forget_fresh(struct nb_http *h, const struct nb_http_transfer *t)
{
	struct nb_http_transfer **at = &h->fresh;

	while (*at && *at != t)
		at = &(*at)->next_fresh;
	if (*at)
		*at = t->next_fresh;
}

void nb_http_cancel(struct nb_http_transfer *t)
{
	struct nb_http *h;

	if (!t)
		return;
	h = t->http;
	curl_multi_remove_handle(h->multi, t->easy);
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	t->cancelled = true;
	t->next = h->dead;
	h->dead = t;
	if (!h->turning) {
		forget_fresh(h, t);
		bury(h);
		arm_timer(h);
	}
}

void nb_http_free(struct nb_http *h)
{
	if (!h)
		return;
	while (h->timers)
		// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
		nb_http_timer_cancel(h->timers);
	while (h->open)
		nb_http_cancel(h->open);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	if (h->epoll >= 0)
		close(h->epoll);
	if (h->timer >= 0)
		close(h->timer);
	free(h);
}

int nb_http_fd(const struct nb_http *h)
{
	return h->epoll;
}

/* Returns true if the connection failed before the request was sent. */
static bool never_sent(CURLcode rc)
{
	/* The cases are a few of libcurl's hundred codes. NOLINTNEXTLINE */
	switch ((int)rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return true;
	default:
		return false;
	}
}

static int curl_code(const struct nb_http_transfer *t, CURLcode rc)
{
	if (t->over_limit)
		return NB_E_LIMIT;
	// NOLINTNEXTLINE
	switch ((int)rc) {
	case CURLE_OPERATION_TIMEDOUT:
		return NB_E_TIMEOUT;
	case CURLE_OUT_OF_MEMORY:
		return NB_E_NOMEM;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
		return NB_E_PERM;
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
		return NB_E_SETTING;
	default:
		return NB_E_IO;
	}
}

static void end_transfer(CURL *easy, CURLcode rc)
{
	struct nb_http_transfer *t;
	struct nb_http_reply r = { .sent = true };
	struct nb_err err = { .code = 0 };
	char *url = NULL;
	long sent = 0;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&t);
	curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &r.status);
	curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &sent);
	r.took_us = nb_clock_system() / 1000 - t->started_us;
	r.body = &t->in;
	if (rc != CURLE_OK) {
		r.sent = !never_sent(rc) && sent > 0;
		if (t->over_limit)
			nb_fail(&err, NB_E_LIMIT, 0, "%s: reply of more than %zu bytes", url,
				t->in.limit);
		else
			nb_fail(&err, curl_code(t, rc), 0, "%s: %s", url,
				t->error[0] ? t->error : curl_easy_strerror(rc));
		r.err = &err;
	}
	/* Remove the transfer first, because @done may not use the handle. */
	nb_http_cancel(t);
	t->done(t->arg, &r);
}

static void end_transfers(struct nb_http *h)
{
	struct CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left)))
		if (m->msg == CURLMSG_DONE)
			end_transfer(m->easy_handle, m->data.result);
}

static void hand_chunks(struct nb_http *h)
{
	while (h->fresh) {
		struct nb_http_transfer *t = h->fresh;

		h->fresh = t->next_fresh;
		t->fresh = false;
		if (!t->cancelled)
			t->chunk(t->arg, &t->in);
	}
}

static void run_timers(struct nb_http *h)
{
	uint64_t now = nb_http_now_ms();

	// NOLINTNEXTLINE(clang-analyzer-unix.Malloc): unlinked
	while (h->timers && h->timers->due_ms <= now) {
		struct nb_http_timer *t = h->timers;
		void (*fn)(void *arg) = t->fn;
		void *arg = t->arg;

		nb_http_timer_cancel(t);
		fn(arg);
	}
}

static void run_sockets(struct nb_http *h)
{
	struct epoll_event e[EVENTS];
	int n = epoll_wait(h->epoll, e, EVENTS, 0), running;
	uint64_t count;

	for (int i = 0; i < n; i++) {
		int mask = 0;

		if (e[i].data.fd == h->timer) {
			(void)!read(h->timer, &count, sizeof(count));
			continue;
		}
		if (e[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			mask |= CURL_CSELECT_IN;
		if (e[i].events & EPOLLOUT)
			mask |= CURL_CSELECT_OUT;
		if (e[i].events & EPOLLERR)
			mask |= CURL_CSELECT_ERR;
		curl_multi_socket_action(h->multi, e[i].data.fd, mask, &running);
	}
	if (h->curl_due_ms >= 0 && (int64_t)nb_http_now_ms() >= h->curl_due_ms) {
		h->curl_due_ms = NO_DEADLINE;
		curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	}
}

void nb_http_tick(struct nb_http *h)
{
	if (h->turning)
		return;
	h->turning = true;
	run_sockets(h);
	hand_chunks(h);
	end_transfers(h);
	run_timers(h);
	h->turning = false;
	bury(h);
	arm_timer(h);
}

void nb_http_wait(struct nb_http *h, int ms)
{
	struct pollfd p = { .fd = h->epoll, .events = POLLIN };

	if (poll(&p, 1, ms) > 0)
		nb_http_tick(h);
}

static bool set_file(CURL *e, CURLoption option, const char *path)
{
	return !path || !path[0] || !curl_easy_setopt(e, option, path);
}

/*
 * Trust only the given certificate authorities, since libcurl would also trust
 * the system's folder. A libcurl without this option has no such folder.
 */
static bool set_authorities(CURL *e, const char *path)
{
	CURLcode rc;

	if (!path || !path[0])
		return true;
	rc = curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
	return (!rc || rc == CURLE_NOT_BUILT_IN || rc == CURLE_UNKNOWN_OPTION) &&
	       set_file(e, CURLOPT_CAINFO, path);
}

static bool set_tls(CURL *e, const struct nb_http_tls *tls)
{
	return !tls ||
	       (set_authorities(e, tls->cacert) && set_file(e, CURLOPT_SSLCERT, tls->cert) &&
		set_file(e, CURLOPT_SSLKEY, tls->key));
}

static bool set_headers(struct nb_http_transfer *t, const struct nb_http_request *q)
{
	/* an empty Expect header avoids the wait for "100 Continue" */
	const char *fixed[] = { "Expect:", "Content-Type: application/json" };
	struct curl_slist *l;

	for (unsigned i = 0; i < 6; i++) {
		const char *line = i < 2 ? fixed[i] : q->header[i - 2];

		if (!line)
			continue;
		l = curl_slist_append(t->headers, line);
		if (!l)
			return false;
		t->headers = l;
	}
	return !curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

static bool set_request(struct nb_http_transfer *t, const struct nb_http_request *q)
{
	CURL *e = t->easy;

	if (q->body) {
		size_t size = q->body_size ? q->body_size : strlen(q->body);

		t->body = malloc(size + 1);
		if (!t->body)
			return false;
		memcpy(t->body, q->body, size);
		if (curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size) ||
		    curl_easy_setopt(e, CURLOPT_POSTFIELDS, t->body))
			return false;
	}
	return !curl_easy_setopt(e, CURLOPT_URL, q->url) &&
	       !curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") &&
	       !curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
	       /* stores and agents are inside the cluster, so use no proxy */
	       !curl_easy_setopt(e, CURLOPT_NOPROXY, "*") &&
	       !curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) &&
	       !curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)q->connect_ms) &&
	       !curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)q->timeout_ms) &&
	       !curl_easy_setopt(e, CURLOPT_TCP_KEEPALIVE, 1L) &&
	       !curl_easy_setopt(e, CURLOPT_TCP_KEEPIDLE, 5L) &&
	       !curl_easy_setopt(e, CURLOPT_TCP_KEEPINTVL, 2L) &&
	       !curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error) &&
	       !curl_easy_setopt(e, CURLOPT_PRIVATE, (char *)t) &&
	       !curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, may_send) &&
	       !curl_easy_setopt(e, CURLOPT_PREREQDATA, t) &&
	       !curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take_bytes) &&
	       !curl_easy_setopt(e, CURLOPT_WRITEDATA, t) && set_tls(e, q->tls) &&
	       set_headers(t, q);
}

struct nb_http_transfer *nb_http_start(struct nb_http *h, const struct nb_http_request *q,
				       struct nb_err *err)
{
	struct nb_http_transfer *t = calloc(1, sizeof(*t));

	if (!t)
		goto fail;
	nb_buf_init(&t->in, q->limit);
	t->http = h;
	t->chunk = q->chunk;
	t->done = q->done;
	t->once = q->once;
	t->arg = q->arg;
	t->started_us = nb_clock_system() / 1000;
	t->easy = curl_easy_init();
	if (!t->easy || !set_request(t, q) || curl_multi_add_handle(h->multi, t->easy))
		goto fail;
	t->next = h->open;
	t->link = &h->open;
	if (t->next)
		t->next->link = &t->next;
	h->open = t;
	arm_timer(h);
	return t;
fail:
	if (t)
		transfer_free(t);
	nb_fail(err, NB_E_NOMEM, 0,
		"%s: no memory for a request, or libcurl refuses an option of it", q->url);
	return NULL;
}

struct nb_http_timer *nb_http_timer_start(struct nb_http *h, unsigned ms, void (*fn)(void *arg),
					  void *arg)
{
	struct nb_http_timer *t = calloc(1, sizeof(*t)), **at = &h->timers;

	if (!t)
		return NULL;
	t->http = h;
	t->fn = fn;
	t->arg = arg;
	t->due_ms = nb_http_now_ms() + ms;
	while (*at && (*at)->due_ms <= t->due_ms)
		at = &(*at)->next;
	t->next = *at;
	t->link = at;
	if (t->next)
		t->next->link = &t->next;
	*at = t;
	arm_timer(h);
	return t;
}

void nb_http_timer_cancel(struct nb_http_timer *t)
{
	if (!t)
		return;
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	free(t);
}
