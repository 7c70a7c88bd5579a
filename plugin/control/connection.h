// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_CONNECTION_H
#define NB_PLUGIN_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/control/dispatch.h"

struct nb_control;

/*
 * One connection of the control socket. It receives request lines and
 * descriptors, and sends replies, streams and descriptors. Everything is
 * bounded: one request line, one unread reply, NB_CONN_FDS descriptors,
 * NB_CONN_STREAMS streams. A request starts only after the client has read the
 * previous reply. Only the control thread uses connections.
 */
enum {
	NB_CONN_STREAMS = 4,
	NB_CONN_FDS = 4,
	/* time until the first hello, which a person may type */
	NB_CONN_GREET_MS = 30000,
	/* time from the first byte of a line to its last */
	NB_CONN_LINE_MS = 10000,
	/*
	 * A client that reads no byte of a reply for so long loses its
	 * connection if another client needs the place, or if the reply is the
	 * last one.
	 */
	NB_CONN_READ_MS = 5000,
	/* one without a request or a stream does, too, if another needs the place */
	NB_CONN_IDLE_MS = 60000,
	NB_CONN_POLL_MS = 100 /* time between two polls of a stream's source */
};

/*
 * Returns a new connection, or NULL if there is no memory. @handlers and @fd are
 * borrowed; @fd is non-blocking.
 */
struct nb_conn *nb_conn_new(struct nb_control *control, const struct nb_handler *handlers, int fd,
			    const struct nb_peer *peer, uint64_t now_ms);
void nb_conn_free(struct nb_conn *c);
int nb_conn_fd(const struct nb_conn *c);
/* Returns the events to wait for with poll(2). */
short nb_conn_events(const struct nb_conn *c);
/*
 * Returns after how many milliseconds nb_conn_tick must be called without an
 * event.
 */
int nb_conn_patience(const struct nb_conn *c);
/*
 * Handle @revents from poll(2). Returns false if the caller must free the
 * connection.
 */
bool nb_conn_tick(struct nb_conn *c, short revents, uint64_t now_ms);
/*
 * Returns for how many milliseconds the client has not used the connection, or
 * UINT64_MAX if it has closed it. Returns 0 if the client needs the connection,
 * or did a moment ago (NB_CONN_READ_MS, NB_CONN_IDLE_MS).
 */
uint64_t nb_conn_spare_ms(const struct nb_conn *c, uint64_t now_ms);

struct nb_control *nb_conn_control(const struct nb_conn *c);
/* Accept commands other than hello. */
void nb_conn_greet(struct nb_conn *c);

/*
 * Returns the oldest received descriptor, which the caller must close, or -1 if
 * there is none.
 */
int nb_conn_take_fd(struct nb_conn *c);

/*
 * A stream. @poll is called about ten times a second while the client keeps up.
 * It writes members of an open object and returns 1 if there is new data. If it
 * returns 0, its output is dropped. If it returns a negative code, with @err
 * filled, the stream ends. @free_state (may be NULL) is called once with
 * @state.
 */
typedef int nb_stream_poll_fn(void *state, struct nb_json *out, struct nb_err *err);

/*
 * nb_conn_follow - continue the reply to @req as a stream
 *
 * @req must have an ID that no other stream of the connection has. On success
 *   it takes ownership of @state. Returns 0, NB_E_USAGE, NB_E_EXISTS or
 *   NB_E_LIMIT.
 */
int nb_conn_follow(struct nb_conn *c, const struct nb_request *req, nb_stream_poll_fn *poll,
		   void *state, void (*free_state)(void *state), struct nb_err *err);

/*
 * Stop stream @id. The stream's end line follows the reply. Returns 0 or
 * NB_E_NOENT.
 */
int nb_conn_cancel(struct nb_conn *c, uint64_t id, struct nb_err *err);

#endif
