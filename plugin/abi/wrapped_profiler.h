// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_PROFILER_H
#define NB_PLUGIN_ABI_WRAPPED_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"

/*
 * The displaced profiler, called beside ours with the version that NCCL would
 * have taken. NCCL's descriptors reach it as they are, but for the handles of
 * parents, where that version is the one that NCCL calls us with; else they
 * are rewritten by the rows of core/defs/profiler.h.
 */

/* init of @context, which ours has made; what fails is counted and said. */
void nb_wrapped_prof_init(void *context, const struct nb_pcomm_init *init,
			  nb_nccl_logger *logger);
void nb_wrapped_prof_finalize(void *context);

/* Starts an event with ours: the handle is @to's. @v: NCCL's version. */
typedef int nb_own_start(void *context, void **to, void *descr);
void nb_wrapped_prof_start(void *context, void **to, const void *descr, int v,
			   nb_own_start *own);
/* False: the handle is none of these, but ours or nobody's. */
bool nb_wrapped_prof_stop(void *handle);
bool nb_wrapped_prof_record(void *handle, int state, void *args);

#endif
