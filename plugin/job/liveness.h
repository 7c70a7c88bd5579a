// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_LIVENESS_H
#define NB_PLUGIN_JOB_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * nb_process_alive - is the process with this pid and start time alive
 * @start: as nb_process_start gives it; 0: any
 *
 * A zombie is not alive; a process that /proc hides from us counts as alive.
 */
bool nb_process_alive(uint64_t pid, uint64_t start);
/* Start time of a process, in clock ticks since boot; 0: unknown. */
uint64_t nb_process_start(pid_t pid);
/* Inode of this process's PID namespace; 0: unknown. */
uint64_t nb_pid_namespace(void);

#endif
