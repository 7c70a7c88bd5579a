// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_PROFILER_H
#define NB_PLUGIN_ABI_WRAPPED_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"

/*
 * The wrapped profiler, called with the version that NCCL would have taken. If
 * NCCL calls us with the same version, it gets NCCL's descriptors with only the
 * parents' handles replaced. Else descriptors are converted by the rows of
 * core/defs/profiler.h.
 */

/* Init the wrapped profiler for our @context. Failures are counted and logged.
 * */
void nb_wrapped_prof_init(void *context, const struct nb_pcomm_init *init,
			  nb_nccl_logger *logger);
void nb_wrapped_prof_finalize(void *context);

/* Start an event of both profilers; *@to gets the handle. @v: NCCL's version.
 */
typedef int nb_own_start(void *context, void **to, void *descr);
void nb_wrapped_prof_start(void *context, void **to, const void *descr, int v,
			   nb_own_start *own);
/* False: the handle is not a pair's. */
bool nb_wrapped_prof_stop(void *handle);
bool nb_wrapped_prof_record(void *handle, int state, void *args);

#endif
