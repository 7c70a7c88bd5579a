// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_CONNECTION_H
#define NB_PLUGIN_CONTROL_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/control/dispatch.h"

struct nb_control;

/*
 * One connection of the control socket: lines in, replies and streams out, and
 * descriptors. Everything is bounded: one request line, one unread reply,
 * NB_CONN_FDS descriptors, NB_CONN_STREAMS streams. A request starts only when
 * the client has read the previous reply. Control thread only.
 */
enum {
	NB_CONN_STREAMS = 4,
	NB_CONN_FDS = 4,
	NB_CONN_GREET_MS = 30000, /* for the first hello, typed by hand */
	NB_CONN_LINE_MS = 10000,  /* from a line's first byte to its last */
	NB_CONN_READ_MS = 5000,	  /* without taking a byte of a reply */
	NB_CONN_POLL_MS = 100	  /* between two polls of a stream's source */
};

/* @fd is borrowed and non-blocking. NULL: no memory. */
struct nb_conn *nb_conn_new(struct nb_control *control, int fd,
			    const struct nb_peer *peer, uint64_t now_ms);
void nb_conn_free(struct nb_conn *c);
int nb_conn_fd(const struct nb_conn *c);
/* What to poll(2) for. */
short nb_conn_events(const struct nb_conn *c);
/* Milliseconds until it needs a turn without an event. */
int nb_conn_patience(const struct nb_conn *c);
/* Handle @revents of poll(2); false: free the connection. */
bool nb_conn_turn(struct nb_conn *c, short revents, uint64_t now_ms);

struct nb_control *nb_conn_control(const struct nb_conn *c);
bool nb_conn_open(const struct nb_conn *c); /* has the client sent hello? */
void nb_conn_greet(struct nb_conn *c);

/*
 * Take the oldest received descriptor; the caller closes it. -1: none.
 */
int nb_conn_take_fd(struct nb_conn *c);

/*
 * A stream: @poll is called about ten times a second as long as the client
 * keeps up. It writes members of an open object and returns 1 if there is new
 * data; on 0 its output is dropped; a negative code with @err filled ends the
 * stream. @free_state (may be NULL) is called once with @state.
 */
typedef int nb_stream_poll_fn(void *state, struct nb_json *out,
			      struct nb_err *err);

/*
 * nb_conn_follow - continue the reply to @req as a stream
 *
 * @req must have an id that no other stream of the connection has. *Takes*
 * @state on success. 0, NB_E_USAGE, NB_E_EXISTS, NB_E_LIMIT.
 */
int nb_conn_follow(struct nb_conn *c, const struct nb_request *req,
		   nb_stream_poll_fn *poll, void *state,
		   void (*free_state)(void *state), struct nb_err *err);

/* Stop stream @id; its end line follows the reply. 0, NB_E_NOENT. */
int nb_conn_cancel(struct nb_conn *c, uint64_t id, struct nb_err *err);

#endif
