// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_MASK_H
#define NB_PLUGIN_PROFILER_MASK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The events that we ask NCCL for: those that telemetry, traces, hooks, call
 * counts and a wrapped profiler need. NCCL has one activation mask for the
 * process and reads it at each call; it is zero while nothing needs events.
 */

enum {
	NB_TEL_ON = 1,	  /* collectives, sends and receives */
	NB_TEL_GPU = 2,	  /* ...with the kernels' times */
	NB_TEL_PROXY = 4, /* ...with the proxies' times */
};

/*
 * nb_events_telemetry - enable or disable telemetry, and update NCCL's mask
 * @what: NB_TEL_* or 0
 *
 * Any thread. Affects later calls of NCCL.
 */
void nb_events_telemetry(unsigned what);
unsigned nb_events_telemetry_now(void);
/* Update NCCL's mask. */
void nb_events_ask(void);
/* The activation mask that all communicators have now. */
unsigned nb_events_mask(void);
/*
 * Count the living communicators whose profiler channels NCCL has not
 * connected. NCCL
 * connects them at the first collective for which it is asked for kernels, and
 * this collective waits. So we ask for kernels from a communicator's start
 * until the first kernel is reported (NCCLBPF_PROFILER_CONNECT). Any thread.
 */
unsigned nb_events_unconnected(void);
/* Bits of the events that a version of the interface has. */
uint32_t nb_events_known(uint32_t abi);
/* Update NCCL's mask after the wrapped profiler's may have changed. No lock. */
void nb_events_remask(void *context);

/* With nb_prof.lock: recompute the events needed, and write all masks. */
void nb_mask_write(void);
/* The mask for NCCL, whose interface has version @abi. */
uint32_t nb_mask_for(uint32_t abi);
/* Do fences count calls of the API? */
bool nb_mask_by_calls(uint32_t abi);

#endif
