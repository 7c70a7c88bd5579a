// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_SOCKET_H
#define NB_PLUGIN_CONTROL_SOCKET_H

#include <stdbool.h>

#include "core/base/err.h"
#include "plugin/runtime/jobdir.h"

/*
 * The control socket of a process, served by one thread with one poll loop;
 * every length is bounded. docs/protocol.md describes the protocol.
 * plugin/control/connection.h handles one connection; plugin/control/dispatch.h
 * handles a request.
 *
 * The thread never takes a lock that a decision takes. It calls @tick at least
 * twice a second.
 */
struct nb_control;
struct nb_handler;

enum { NB_CONTROL_CONNS = 16 };
typedef void nb_tick_fn(void);

/*
 * nb_control_start - create the socket and start its thread
 * @handlers: of the commands (dispatch.h), constant
 * @tick: housekeeping of the process
 * @place: the job directory, borrowed with its descriptor until
 * nb_control_abandon
 *
 * It first removes stale sockets from the directory. Returns 0, NB_E_IO (the
 * socket or the thread cannot be created), NB_E_BUSY (another process serves
 * that name) or NB_E_NOMEM. *@out is NULL on failure.
 */
int nb_control_start(struct nb_control **out, const struct nb_handler *handlers, nb_tick_fn *tick,
		     const struct nb_jobdir *place, struct nb_err *err);

/* Free memory and descriptors in a forked child. @c may be NULL. */
void nb_control_abandon(struct nb_control *c);

/*
 * Stop the thread at exit and unlink the socket, but free nothing. Returns
 * false if the thread has not ended after some seconds, because it waits for a
 * lock whose holder is stuck or is the exiting thread. @c may be NULL.
 */
bool nb_control_quit(struct nb_control *c);

/*
 * Handlers for pthread_atfork: before the fork, after it in both processes, and
 * in the child, which closes the descriptors. The parent keeps the socket file.
 * @c may be NULL.
 */
void nb_control_fork_begin(struct nb_control *c);
void nb_control_fork_end(struct nb_control *c);
void nb_control_forked(struct nb_control *c);

/*
 * Returns the path of the socket for messages. It is valid as long as @c. Any
 * thread may call it.
 */
const char *nb_control_path(const struct nb_control *c);

#endif
