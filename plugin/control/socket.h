// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_SOCKET_H
#define NB_PLUGIN_CONTROL_SOCKET_H

#include "core/base/err.h"
#include "plugin/control/environment.h"
#include "plugin/runtime/jobdir.h"

/*
 * The control socket of a process: one thread, one poll loop, every length
 * bounded. docs/protocol.md is what it speaks; plugin/control/connection.h is
 * one connection, plugin/control/dispatch.h what a request does.
 *
 * The thread never takes a lock that a decision takes. It calls
 * @tick at least twice a second.
 */
struct nb_control;

enum { NB_CONTROL_CONNS = 16 };
typedef void nb_tick_fn(void);

/*
 * nb_control_start - make the socket and start the thread
 * @tick:  housekeeping of the process
 * @place: borrowed, its descriptor too, until nb_control_stop
 *
 * Removes stale sockets of the directory first. 0; NB_E_IO (the socket or
 * the thread cannot be made, with the reason), NB_E_BUSY (another process
 * serves that name), NB_E_NOMEM. *@out is NULL on failure.
 */
int nb_control_start(struct nb_control **out, nb_tick_fn *tick,
		     const struct nb_jobdir *place, struct nb_err *err);

/*
 * Stop the thread, close every connection, unlink the socket. NULL is fine.
 * In a forked child, which has no such thread, it only frees.
 */
void nb_control_stop(struct nb_control *c);

/*
 * For pthread_atfork: before the fork, after it on both sides, and then in the
 * child, where it closes the descriptors. The socket file stays the parent's.
 * NULL is fine.
 */
void nb_control_fork_begin(struct nb_control *c);
void nb_control_fork_end(struct nb_control *c);
void nb_control_forked(struct nb_control *c);

/* Path of the socket, for people. Lives as long as @c. Any thread. */
const char *nb_control_path(const struct nb_control *c);

/* The environment as it was at nb_control_start. Lives as long as @c. */
const struct nb_env *nb_control_env(const struct nb_control *c);

/* Have the tick called soon. Any thread; never blocks. */
void nb_control_wake(struct nb_control *c);

#endif
