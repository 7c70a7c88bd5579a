// SPDX-License-Identifier: MIT
#ifndef NB_LIVENESS_H
#define NB_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Identities of processes. A PID identifies a process only together with its
 * PID namespace: each container usually has one of its own, in which the job's
 * process has PID 1. So a process is identified by its namespace and PID in
 * names (docs/protocol.md, "Sockets"), and by its token in memory. A process of
 * another PID namespace cannot be found by its PID. Only a lock that it holds,
 * or a socket that it serves, shows that it is alive.
 */

/*
 * nb_process_alive - check whether a process of this PID namespace is alive
 * @start: start time from nb_process_start; 0: any
 *
 * A zombie is not alive. A process that /proc hides from us counts as alive.
 */
bool nb_process_alive(uint64_t pid, uint64_t start);
/* Returns true if a signal or a debugger has stopped the process. */
bool nb_process_stopped(uint64_t pid);
/*
 * Returns the start time of a process in clock ticks since boot, or 0 if it is
 * unknown.
 */
uint64_t nb_process_start(pid_t pid);
/*
 * Returns the inode of this process's PID namespace. If /proc does not show it,
 * the number differs for each process and from all inodes, so that no process
 * relies on the other's PIDs. Not for two threads at once.
 */
uint64_t nb_pid_namespace(void);
/* Returns a random number above 1, a new one for each call. */
uint64_t nb_process_token(void);

#endif
