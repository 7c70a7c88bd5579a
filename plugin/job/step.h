// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_STEP_H
#define NB_PLUGIN_JOB_STEP_H

/*
 * Steps of the fence protocol, named as in test/model/fence.pml. A test stops
 * or kills a process at each step and checks the history against the model's
 * rules. The macros expand to nothing unless NB_STEPS is defined, which only
 * test/unit/test_fence_faults.c does.
 *
 * NB_STEP(name): the process is between two operations. NB_DONE(name, a, b,
 * what): do @what and record it. All processes record such operations in the
 * order in which they happen.
 */
#ifdef NB_STEPS
#include <stdint.h>

/*
 * Steps in the order of the protocol. A rank takes ANNOUNCED to ADOPTED, the
 * coordinator takes LOCKED to BASELINE, and both take SWAP.
 */
#define NB_STEP_ROWS(STEP)                                           \
	STEP(ANNOUNCED)                                              \
	STEP(WAITING)                                                \
	STEP(PATIENCE) /* a waiting rank's time-out has ended */     \
	STEP(RELEASED) /* a waiting rank has seen the word change */ \
	STEP(ADOPT)                                                  \
	STEP(ADOPTED)                                                \
	STEP(LOCKED)                                                 \
	STEP(REAPED)                                                 \
	STEP(RECOVER)                                                \
	STEP(NUMBERED)                                               \
	STEP(READY)                                                  \
	STEP(FALLBACK)                                               \
	STEP(ARMED)                                                  \
	STEP(BARRIER)                                                \
	STEP(NONE_PAST)                                              \
	STEP(OVERRUN)                                                \
	STEP(COMMITTED)                                              \
	STEP(BASELINE)                                               \
	STEP(SWAP) /* a rank or the coordinator swaps the record's word */

/* Steps of the controllers (controller.c), which are not in the model. */
#define NB_LOOP_STEP_ROWS(STEP)                                                  \
	STEP(LOOP_ELECTED)   /* a process has learned of its election */         \
	STEP(LOOP_ASKED)     /* the elected process has asked for maps */        \
	STEP(LOOP_MERGING)   /* the elected process has merged its own maps */   \
	STEP(LOOP_MERGED)    /* the elected process has merged all maps */       \
	STEP(LOOP_RAN)	     /* the elected process has run the controllers */   \
	STEP(LOOP_STAGED)    /* the elected process has staged the change */     \
	STEP(LOOP_PROPOSED)  /* the elected process has posted the change */     \
	STEP(LOOP_AGREED)    /* all processes have staged the change */          \
	STEP(LOOP_COMMITTED) /* the elected process has committed the change   \
			      */ \
	STEP(LOOP_ANSWERED)  /* another process has posted its maps */           \
	STEP(LOOP_FOLLOWED)  /* another process has staged the change */

enum nb_step {
#define STEP(name) NB_STEP_##name,
	NB_STEP_ROWS(STEP) NB_NSTEPS,
	NB_LOOP_STEP_ROWS(STEP)
#undef STEP
		NB_NSTEPS_ALL
};

void nb_step_at(enum nb_step step);
void nb_step_begin(void);
void nb_step_end(enum nb_step step, uint64_t a, uint64_t b);

#define NB_STEP(name) nb_step_at(NB_STEP_##name)
#define NB_DONE(name, a, b, what)                  \
	do {                                       \
		nb_step_begin();                   \
		what;                              \
		nb_step_end(NB_STEP_##name, a, b); \
	} while (0)
#else
#define NB_STEP(name) ((void)0)
#define NB_DONE(name, a, b, what) what
#endif

#endif
