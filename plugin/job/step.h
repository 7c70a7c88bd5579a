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

/* Name of each step; the comment says who takes it. */
#define NB_STEP_ROWS(STEP)                                      \
	STEP(ANNOUNCED) /* taken by a rank */                   \
	STEP(BEGIN)	/* a rank, before its first decision */ \
	STEP(WAITING)	/* taken by a rank */                   \
	STEP(PATIENCE)	/* a rank whose time-out has ended */   \
	STEP(RELEASED)	/* a rank that saw the word change */   \
	STEP(ADOPT)	/* taken by a rank */                   \
	STEP(ADOPTED)	/* taken by a rank */                   \
	STEP(LOCKED)	/* taken by the coordinator */          \
	STEP(REAPED)	/* taken by the coordinator */          \
	STEP(RECOVER)	/* taken by the coordinator */          \
	STEP(NUMBERED)	/* taken by the coordinator */          \
	STEP(READY)	/* taken by the coordinator */          \
	STEP(FALLBACK)	/* taken by the coordinator */          \
	STEP(ARMED)	/* taken by the coordinator */          \
	STEP(BARRIER)	/* taken by the coordinator */          \
	STEP(NONE_PAST) /* taken by the coordinator */          \
	STEP(OVERRUN)	/* taken by the coordinator */          \
	STEP(COMMITTED) /* taken by the coordinator */          \
	STEP(BASELINE)	/* taken by the coordinator */          \
	STEP(SWAP)	/* rank or coordinator swaps the record's word */

/* Steps of the controllers (controller.c), which are not in the model. */
#define NB_LOOP_STEP_ROWS(STEP)                                             \
	STEP(LOOP_ELECTED)   /* elected process: learned of its election */ \
	STEP(LOOP_ASKED)     /* elected: asked all processes for maps */    \
	STEP(LOOP_MERGING)   /* elected: has merged its own maps */         \
	STEP(LOOP_MERGED)    /* elected: has merged all maps */             \
	STEP(LOOP_RAN)	     /* elected: the controllers have run */        \
	STEP(LOOP_STAGED)    /* elected: staged the change, not posted */   \
	STEP(LOOP_PROPOSED)  /* elected: posted the change */               \
	STEP(LOOP_AGREED)    /* elected: all have staged the change */      \
	STEP(LOOP_COMMITTED) /* elected: committed, not reported */         \
	STEP(LOOP_ANSWERED)  /* other process: has posted its maps */       \
	STEP(LOOP_FOLLOWED)  /* other process: has staged the change */

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
