// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_MASK_H
#define NB_PLUGIN_PROFILER_MASK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The events that NCCL must report: those that telemetry, traces, hooks, call
 * counts and a wrapped profiler need. NCCL has one activation mask for the
 * process and reads it at each call. The mask is zero while nothing needs
 * events.
 */

/*
 * nb_events_telemetry - enable or disable telemetry, and update NCCL's mask
 * @what: NB_TEL_* (plugin/trace/telemetry.h) or 0
 *
 * Any thread may call it. It affects later calls of NCCL.
 */
void nb_events_telemetry(unsigned what);
/*
 * Recompute the needed events and update NCCL's mask, after the programs
 * (nb_hooks_use) or the traces (nb_trace_ring_open) have changed.
 */
void nb_events_ask(void);
/* Returns the activation mask that all communicators have now. */
unsigned nb_events_mask(void);
/*
 * Returns how many living communicators have profiler channels that NCCL has
 * yet to connect. NCCL connects them at the first collective for which it must
 * report kernels, and this collective waits. Kernels are therefore requested
 * from a communicator's start until its first kernel is reported
 * (NCCLBPF_PROFILER_CONNECT). Any thread may call it.
 */
unsigned nb_events_unconnected(void);
/*
 * Returns true if kernels are wanted and NCCL is not asked for them, because it
 * would find too little room (plugin/profiler/pools.h). Sets *@why. Any thread
 * may call it, except within one of NCCL's calls.
 */
struct nb_err;
bool nb_events_refused(struct nb_err *why);
/* Returns the events that version @abi of the interface has, as bits. */
uint32_t nb_events_known(uint32_t abi);
/*
 * Update NCCL's mask after the wrapped profiler may have changed its own. The
 * caller holds no lock.
 */
void nb_events_remask(void *context);

/* A mask in which NCCL has other events than were written. */
struct nb_mask_override {
	uint32_t wrote, is; /* bit sets of events */
};
/*
 * Returns true if somebody else has set NCCL's mask: NCCL's RAS does by its
 * command CONTROL PROFILER_MASK (2.31 and later), and again after the init of
 * each profiler. Any thread may call it, except within one of NCCL's calls. A
 * mask that NCCL's thread is writing just now may be reported.
 */
bool nb_mask_overridden(struct nb_mask_override *o);
/*
 * nb_mask_stop_calls - end the clock of communicators whose API calls went uncounted
 *
 * If somebody else has set a mask with which NCCL reports no API calls, the counts
 * stop at one call on all ranks, or almost so. Each process would continue at
 * another call: when it next writes its mask. So the counts stop for good, and the
 * communicators have no clock any more (NB_CLOCK_NONE): a fence that is armed fails,
 * and no rank reaches one that was committed. It runs before each write of a mask,
 * before this process stages a change, and in each tick; two foreign writes between
 * two ticks go unnoticed. Any thread may call it.
 */
void nb_mask_stop_calls(void);

/*
 * Recompute the needed events and write the masks that change. The caller
 * holds nb_prof.lock.
 */
void nb_mask_write(void);
struct nb_pcomm;
/*
 * Write the mask of one communicator, after what it depends on has changed. It takes nb_prof.lock
 * if the mask changes.
 */
void nb_mask_update(const struct nb_pcomm *pc);
/* Returns the mask for NCCL if its interface has version @abi. */
uint32_t nb_mask_for(uint32_t abi);
/* Returns true if fences count API calls instead of decisions. */
bool nb_mask_by_calls(uint32_t abi);

#endif
