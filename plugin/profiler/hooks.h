// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_HOOKS_H
#define NB_PLUGIN_PROFILER_HOOKS_H

#include "core/spec/spec.h"
#include "plugin/profiler/state.h"

/*
 * Programs on the profiler's hooks. They belong to the baseline generation and
 * run in the thread of the event.
 */
struct nb_gen;

/*
 * nb_events_use - run the programs of @gen from now on; it may have none
 *
 * With NB_LOCK_STATE. nb_events_drain releases the previous generation when no
 * thread runs it. False: threads still run eight replaced generations, so the
 * previous one stays; nb_process_tick tries again.
 */
bool nb_events_use(struct nb_gen *gen);
void nb_events_drain(void);
/* In a forked child: no thread runs programs. */
void nb_event_progs_forked(void);
void nb_event_progs_end(void);

/* Does a hook have programs? enum nb_hook. */
static inline bool nb_events_hooked(unsigned hook)
{
	return __atomic_load_n(&nb_prof.hooks, __ATOMIC_RELAXED) >> hook & 1;
}
/* Run the programs of a hook of events; any thread. */
void nb_events_run(enum nb_hook hook, void *ctx, uint64_t size);
/* Run the programs for a sample; NCCL's threads. */
void nb_run_sample(const struct nb_sample *s, bool p2p);
/* Run the programs for a look-up of a variable; any thread, with any lock held.
 * */
struct ncclbpf_env;
void nb_run_env(struct ncclbpf_env *c);
/* The caller owns the child. @op and @task are the slots of its proxy operation
 * and its collective, which others may be writing; may be NULL. */
void nb_run_child(const struct nb_pcomm *pc, const struct nb_child_slot *c,
		  const struct nb_child_slot *op, const struct nb_op_slot *task,
		  uint64_t now);

#endif
