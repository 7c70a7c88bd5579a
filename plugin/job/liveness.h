// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_LIVENESS_H
#define NB_PLUGIN_JOB_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * nb_process_alive - check whether a process is alive
 * @start: start time from nb_process_start; 0: any
 *
 * A zombie is not alive. A process that /proc hides from us counts as alive.
 */
bool nb_process_alive(uint64_t pid, uint64_t start);
/*
 * Returns the start time of a process in clock ticks since boot, or 0 if it is
 * unknown.
 */
uint64_t nb_process_start(pid_t pid);
/* Returns the inode of this process's PID namespace, or 0 if it is unknown. */
uint64_t nb_pid_namespace(void);

#endif
