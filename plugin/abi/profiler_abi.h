// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_PROFILER_ABI_H
#define NB_PLUGIN_ABI_PROFILER_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/abi/tuner_abi.h"

/*
 * NCCL's profiler ABI, versions 1 to 7, in our own declarations. The seven tables
 * of functions have the same layout. They differ in init and in the event
 * descriptors, whose fields are rows of core/defs/profiler.h.
 */
typedef int nb_profiler_init_v1(void **context, int *mask);
typedef int nb_profiler_init_v4(void **context, int *mask, const char *name, uint64_t comm,
				int nodes, int ranks, int rank, nb_nccl_logger *logger);
typedef int nb_profiler_init_v5(void **context, uint64_t comm, int *mask, const char *name,
				int nodes, int ranks, int rank, nb_nccl_logger *logger);

struct nb_profiler {
	const char *name;
	union {
		nb_profiler_init_v1 *v1;
		nb_profiler_init_v4 *v4;
		nb_profiler_init_v5 *v5;
	} init;
	int (*start_event)(void *context, void **handle, void *descr);
	int (*stop_event)(void *handle);
	int (*record_event_state)(void *handle, int state, void *args);
	int (*finalize)(void *context);
};
static_assert(offsetof(struct nb_profiler, init) == 8, "ABI ref., 2.1");
static_assert(offsetof(struct nb_profiler, start_event) == 16, "ABI ref., 2.1");
static_assert(offsetof(struct nb_profiler, stop_event) == 24, "ABI ref., 2.1");
static_assert(offsetof(struct nb_profiler, record_event_state) == 32, "ABI ref., 2.1");
static_assert(offsetof(struct nb_profiler, finalize) == 40, "ABI ref., 2.1");
static_assert(sizeof(struct nb_profiler) == 48, "ABI ref., 2.1");

/* Returns NCCL's number for the data type @text, or NB_WORD_NONE. */
uint32_t nb_profiler_type(const char *text);
/*
 * Returns the event of a descriptor of version @v, or NB_NEVENTS if the event
 * is unknown in version @v.
 */
uint32_t nb_profiler_event(const char *descr, int v);

extern const struct nb_profiler ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4,
	ncclProfiler_v5, ncclProfiler_v6, ncclProfiler_v7;

#endif
