// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_HOOKS_HOOKS_H
#define NB_PLUGIN_HOOKS_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spec/spec.h"

/*
 * Which programs run on the hooks of events: those of NCCL's profiler, net,
 * GIN, verbs and env. The baseline generation contains them, and they run in
 * the thread that reports the event.
 */
struct nb_gen;

/* All fields are accessed atomically. */
struct nb_hooks {
	/* bit sets of hooks that have programs, and of hooks whose programs read times */
	uint32_t used, timed;
	/*
	 * bit sets of hooks that the tap must report, and of hooks that it must
	 * report with times. Programs and traces need them
	 */
	uint32_t tapped, tap_timed;
	struct nb_gen *gen; /* generation whose programs run, or NULL */
};
extern struct nb_hooks nb_hooks;

/*
 * nb_hooks_use - run the programs of @gen from now on
 *
 * @gen may have no programs. The caller holds NB_LOCK_STATE. A later call
 *   releases the previous generation once no thread runs it. Returns true if
 *   other programs run now, and the caller calls nb_events_ask then. While
 *   threads run eight replaced generations, the previous generation stays, and
 *   nb_process_tick tries again.
 */
bool nb_hooks_use(struct nb_gen *gen);
/*
 * Let the tap report @hooks (bits) too, with times, because a trace records
 * their contexts.
 */
void nb_hooks_record(uint32_t hooks);
/* In a forked child, forget threads that ran programs in the parent. */
void nb_hooks_forked(void);

/* Returns true if one of @hooks (bits) has programs. */
static inline bool nb_hooks_any(uint32_t hooks)
{
	return __atomic_load_n(&nb_hooks.used, __ATOMIC_RELAXED) & hooks;
}
/* Returns true if the hook (enum nb_hook) has programs. */
static inline bool nb_hooks_on(unsigned hook)
{
	return nb_hooks_any(UINT32_C(1) << hook);
}
/* Run the programs of an event hook. Any thread may call it, with any lock held. */
void nb_hooks_run(enum nb_hook hook, void *ctx, uint64_t size);
/*
 * Like nb_hooks_run, for a context whose times are 0. Does nothing if the
 * hook's programs read times.
 */
void nb_hooks_run_untimed(enum nb_hook hook, void *ctx, uint64_t size);

#endif
