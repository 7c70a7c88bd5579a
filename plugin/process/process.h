// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROCESS_PROCESS_H
#define NB_PLUGIN_PROCESS_PROCESS_H

#include <stdbool.h>

#include "plugin/runtime/log.h"

/*
 * The plugin's life cycle in a process. NCCL's first call initialises it, the
 * control thread does its housekeeping, and it survives fork(2). The library is
 * never unloaded, and nothing is freed at exit, because other threads still
 * run.
 */

/*
 * nb_process_ready - initialise the plugin at NCCL's first call
 * @logger: NCCL's logger, may be NULL; the first one given is kept
 *
 * It reads the environment, loads NCCLBPF_POLICY and starts the control thread
 * (again after a fork). A failure is logged, and the plugin works without the
 * failed part. Returns false if NCCLBPF_DISABLE=1 or there is no memory. Any
 * thread may call it without locks.
 */
bool nb_process_ready(nb_logger_fn *logger);

/*
 * Do the housekeeping: adopt changes of other processes, free generations,
 * write log lines, check for divergence, run controllers and the profiler's
 * sweep. The control thread calls it about ten times a second, without locks.
 */
void nb_process_tick(void);

/* Returns the path of the control socket, or NULL if there is none. */
const char *nb_process_socket(void);

#endif
