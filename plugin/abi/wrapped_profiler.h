// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_PROFILER_H
#define NB_PLUGIN_ABI_WRAPPED_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"

/*
 * Calls the wrapped profiler, which must have the interface version with which
 * NCCL calls us. It gets NCCL's descriptors with only the handles of parents
 * replaced.
 */

/*
 * Initialise the wrapped profiler for our @context. Failures are counted and
 * logged.
 */
void nb_wrapped_prof_init(void *context, const struct nb_pcomm_init *init, nb_nccl_logger *logger);
void nb_wrapped_prof_finalize(void *context);

/*
 * Start an event in both profilers; *@to gets the handle. @v: version of NCCL's
 * interface
 */
typedef int nb_own_start(void *context, void **to, void *descr);
void nb_wrapped_prof_start(void *context, void **to, const void *descr, int v, nb_own_start *own);
/* These functions return false if the handle does not belong to a pair. */
bool nb_wrapped_prof_stop(void *handle);
bool nb_wrapped_prof_record(void *handle, int state, void *args);

#endif
