// SPDX-License-Identifier: MIT
#ifndef NB_STORE_HTTP_H
#define NB_STORE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * HTTP requests and timers in one loop, over libcurl's multi interface. One
 * thread uses a loop. Callbacks run in nb_http_turn only, and may start and
 * cancel requests and timers.
 */
struct nb_http;
struct nb_http_transfer;
struct nb_http_timer;

/* PEM files of TLS. Empty or NULL: the system's authorities; no certificate.
 */
struct nb_http_tls {
	const char *cacert, *cert, *key;
};

/*
 * The end of a request.
 *
 * @err:     NULL: a reply came, of any HTTP status
 * @sent:    the peer may have got the request; false: certainly not
 * @status:  HTTP status; 0 without a reply
 * @body:    the reply's, valid during the call; of a stream: what no call of
 *           the chunk function has consumed
 * @took_us: since the request was started
 */
struct nb_http_reply {
	const struct nb_err *err;
	bool sent;
	long status;
	struct nb_buf *body;
	uint64_t took_us;
};

typedef void nb_http_done_fn(void *arg, const struct nb_http_reply *reply);
/* New bytes of a stream. The function removes what it consumes. */
typedef void nb_http_chunk_fn(void *arg, struct nb_buf *body);

/*
 * A request. Its strings are copied. POST if there is a body, else GET.
 *
 * @body_size:  0: the body is text
 * @auth:       a header line, or NULL
 * @timeout_ms: of the whole request; 0: none (streams)
 * @limit:      most bytes of a reply (of a stream: not yet consumed)
 * @chunk:      NULL: the reply comes in one piece with @done
 */
struct nb_http_request {
	const char *url;
	const char *body;
	size_t body_size;
	const char *header[4];
	const struct nb_http_tls *tls;
	unsigned connect_ms, timeout_ms;
	size_t limit;
	nb_http_chunk_fn *chunk;
	nb_http_done_fn *done;
	void *arg;
};

int nb_http_new(struct nb_http **out, struct nb_err *err);
/* Cancel everything. Callbacks of what is open do not run. */
void nb_http_free(struct nb_http *h);

/* A descriptor that is readable when nb_http_turn has something to do, for
 * the caller's poll or epoll. Timers make it readable, too. */
int nb_http_fd(const struct nb_http *h);
/* Do what is due and return without waiting. */
void nb_http_turn(struct nb_http *h);
/* Wait for at most @ms (-1: no limit) until something is due, and do it. */
void nb_http_wait(struct nb_http *h, int ms);

/* Start a request. NULL and @err if there is no memory. The handle is valid
 * until @done has run or nb_http_cancel was called. */
struct nb_http_transfer *nb_http_start(struct nb_http *h,
				       const struct nb_http_request *request,
				       struct nb_err *err);
void nb_http_cancel(struct nb_http_transfer *t);

/* Call @fn once, @ms from now. NULL: no memory. The handle is valid until @fn
 * runs or nb_http_timer_cancel was called. */
struct nb_http_timer *nb_http_timer_start(struct nb_http *h, unsigned ms,
					  void (*fn)(void *arg), void *arg);
void nb_http_timer_cancel(struct nb_http_timer *t);

/* Milliseconds of the loop's clock (CLOCK_MONOTONIC). */
uint64_t nb_http_now_ms(void);

#endif
