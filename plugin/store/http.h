// SPDX-License-Identifier: MIT
#ifndef NB_STORE_HTTP_H
#define NB_STORE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/*
 * An event loop for HTTP requests and timers, based on libcurl's multi
 * interface. Only one thread may use a loop. Callbacks run only within
 * nb_http_tick; they may start and cancel requests and timers.
 */
struct nb_http;
struct nb_http_transfer;
struct nb_http_timer;

/*
 * TLS files in PEM format. An empty or NULL cacert selects the system's
 * authorities; an empty or NULL cert sends no certificate.
 */
struct nb_http_tls {
	const char *cacert, *cert, *key;
};

/*
 * Result of a request.
 *
 * @err: NULL if a reply arrived, with any HTTP status
 * @sent: false if it is certain that the peer did not get the request
 * @status: HTTP status; 0 if there is no reply
 * @body: body of the reply, valid during the call; of a stream, the bytes that
 *   the chunk function has not consumed
 * @took_us: time since the request was started
 */
struct nb_http_reply {
	const struct nb_err *err;
	bool sent;
	long status;
	struct nb_buf *body;
	uint64_t took_us;
};

typedef void nb_http_done_fn(void *arg, const struct nb_http_reply *reply);
/* Receives new bytes of a stream, and removes the bytes that it consumes. */
typedef void nb_http_chunk_fn(void *arg, struct nb_buf *body);

/*
 * A request. Its strings are copied. It is a POST if it has a body, else a GET.
 *
 * @body_size: 0: the body is a C string
 * @auth: a header line, or NULL
 * @timeout_ms: time limit of the whole request; 0: none, for streams
 * @limit: most bytes of a reply; of a stream, most bytes not yet consumed
 * @chunk: receives a stream; NULL: @done gets the whole reply
 * @once: the request fails rather than being sent a second time
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
	bool once;
};

int nb_http_new(struct nb_http **out, struct nb_err *err);
/* Cancel all requests and timers, and free the loop. No callback runs. */
void nb_http_free(struct nb_http *h);

/*
 * Returns a descriptor for poll or epoll. It is readable when nb_http_tick has
 * work to do, also when a timer is due.
 */
int nb_http_fd(const struct nb_http *h);
/* Do all due work, and return without waiting. */
void nb_http_tick(struct nb_http *h);
/* Wait until work is due, @ms at most (-1: no limit), and do it. */
void nb_http_wait(struct nb_http *h, int ms);

/*
 * Start a request. Returns NULL and sets @err if there is no memory. The handle
 * is valid until @done runs or nb_http_cancel is called.
 */
struct nb_http_transfer *nb_http_start(struct nb_http *h, const struct nb_http_request *request,
				       struct nb_err *err);
void nb_http_cancel(struct nb_http_transfer *t);

/*
 * Call @fn once after @ms. Returns NULL if there is no memory. The handle is
 * valid until @fn runs or nb_http_timer_cancel is called.
 */
struct nb_http_timer *nb_http_timer_start(struct nb_http *h, unsigned ms, void (*fn)(void *arg),
					  void *arg);
void nb_http_timer_cancel(struct nb_http_timer *t);

/* Returns the loop's clock, nb_clock_system, in milliseconds. */
uint64_t nb_http_now_ms(void);

#endif
