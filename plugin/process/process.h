// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROCESS_PROCESS_H
#define NB_PLUGIN_PROCESS_PROCESS_H

#include <stdbool.h>

#include "plugin/runtime/log.h"

/*
 * The plugin's life in a process: NCCL's first call initialises it, the control
 * thread does its housekeeping, it survives fork(2), and unloading the library
 * frees it.
 */

/*
 * nb_process_ready - initialise the plugin at the first call
 * @logger: NCCL's, may be NULL; the first one given is kept
 *
 * Reads the environment, loads NCCLBPF_POLICY, starts the control thread
 * (again after a fork). Failures are logged, and the plugin does without the
 * failed part. False: NCCLBPF_DISABLE=1, or memory is short. Any thread,
 * without locks.
 */
bool nb_process_ready(nb_logger_fn *logger);

/*
 * One turn of housekeeping: changes of other processes, generations to free,
 * log lines, divergence, controllers, the profiler. The control thread calls
 * it about ten times a second, without locks.
 */
void nb_process_tick(void);

/* Path of the control socket; NULL: there is none. */
const char *nb_process_socket(void);

#endif
