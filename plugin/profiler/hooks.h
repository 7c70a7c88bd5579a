// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_HOOKS_H
#define NB_PLUGIN_PROFILER_HOOKS_H

#include "plugin/hooks/hooks.h"
#include "plugin/profiler/state.h"

/* Run the programs for the sample of slot @slot, in one of NCCL's threads. */
void nb_run_sample(const struct nb_pcomm *pc, const struct nb_op_slot *slot,
		   const struct nb_sample *s, bool p2p);
/*
 * Run the programs for a child event, which the caller owns. @op and @task are
 * the slots of its proxy operation and its collective; they may be NULL, and
 * other threads may be writing them.
 */
void nb_run_child(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		  const struct nb_child_slot *op, const struct nb_op_slot *task, uint64_t now);

#endif
