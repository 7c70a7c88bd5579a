// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CONTROL_H
#define NB_PLUGIN_CONTROL_H

#include "core/base/err.h"
#include "plugin/doctor.h"
#include "plugin/place.h"

/*
 * The control socket of a process: one thread, one poll loop, every length
 * bounded. docs/protocol.md is what it speaks; plugin/conn.h is one
 * connection, plugin/command.h what a request does.
 *
 * The thread never takes a lock that a decision takes. It calls
 * nb_runtime_tick at least twice a second.
 */
struct nb_runtime;
struct nb_control;

enum { NB_CONTROL_CONNS = 16 };

/*
 * nb_control_start - make the socket and start the thread
 * @place: borrowed, its descriptor too, until nb_control_stop
 *
 * Removes stale sockets of the directory first. 0; NB_E_IO (the socket or
 * the thread cannot be made, with the reason), NB_E_BUSY (another process
 * serves that name), NB_E_NOMEM. *@out is NULL on failure.
 */
int nb_control_start(struct nb_control **out, struct nb_runtime *rt,
		     const struct nb_place *place, struct nb_err *err);

/*
 * Stop the thread, close every connection, unlink the socket. NULL is fine.
 * In a forked child, which has no such thread, it only frees.
 */
void nb_control_stop(struct nb_control *c);

/*
 * For the child side of pthread_atfork: closes the descriptors, nothing
 * else; async-signal-safe. The socket file stays the parent's. NULL is fine.
 */
void nb_control_forked(struct nb_control *c);

/* Path of the socket, for people. Lives as long as @c. Any thread. */
const char *nb_control_path(const struct nb_control *c);

/* The environment as it was at nb_control_start. Lives as long as @c. */
const struct nb_env *nb_control_env(const struct nb_control *c);

/* Have nb_runtime_tick called soon. Any thread; never blocks. */
void nb_control_wake(struct nb_control *c);

#endif
