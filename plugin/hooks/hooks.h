// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_HOOKS_HOOKS_H
#define NB_PLUGIN_HOOKS_HOOKS_H

#include "core/spec/spec.h"
#include "plugin/profiler/state.h"

/*
 * Programs on the profiler's hooks. The baseline generation contains them, and
 * they run in the thread that reports the event.
 */
struct nb_gen;

/*
 * nb_events_use - run the programs of @gen from now on
 *
 * @gen may have no programs. The caller holds NB_LOCK_STATE. A later call
 *   releases the previous generation once no thread runs it. Returns false if
 *   threads still run eight replaced generations; the previous generation then
 *   stays, and nb_process_tick tries again.
 */
bool nb_events_use(struct nb_gen *gen);
/* In a forked child, forget threads that ran programs in the parent. */
void nb_event_progs_forked(void);

/* Returns true if the hook (enum nb_hook) has programs. */
static inline bool nb_events_hooked(unsigned hook)
{
	return __atomic_load_n(&nb_prof.hooks, __ATOMIC_RELAXED) >> hook & 1;
}
/* Run the programs of an event hook. Any thread may call it. */
void nb_events_run(enum nb_hook hook, void *ctx, uint64_t size);
/*
 * Like nb_events_run, for a context whose times are 0. Does nothing if the
 * hook's programs read times.
 */
void nb_events_run_untimed(enum nb_hook hook, void *ctx, uint64_t size);
/*
 * Run the programs for the look-up of a variable. Any thread may call it, with
 * any lock held.
 */
struct ncclbpf_env;
void nb_run_env(struct ncclbpf_env *c);

#endif
