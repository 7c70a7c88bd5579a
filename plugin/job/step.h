// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_JOB_STEP_H
#define NB_PLUGIN_JOB_STEP_H

/*
 * The steps of the fence protocol, named as in test/model/fence.pml, for a
 * test that stops or kills a process at each of them and checks what was
 * done against the model's rules. Nothing at all unless NB_STEPS is defined,
 * which only test/unit/test_fence_faults.c does.
 *
 * NB_STEP(name): the process is between two operations. NB_DONE(name, a, b,
 * what): do @what and record it, in the order in which all processes do such
 * operations.
 */
#ifdef NB_STEPS
#include <stdint.h>

/*   name          taken by */
#define NB_STEP_ROWS(STEP)                                    \
	STEP(ANNOUNCED) /* rank */                            \
	STEP(BEGIN)	/* rank: before its first decision */ \
	STEP(WAITING)	/* rank */                            \
	STEP(PATIENCE)	/* rank: its time-out has ended */    \
	STEP(RELEASED)	/* rank: the word has changed */      \
	STEP(ADOPT)	/* rank */                            \
	STEP(ADOPTED)	/* rank */                            \
	STEP(LOCKED)	/* coordinator */                     \
	STEP(REAPED)	/* coordinator */                     \
	STEP(RECOVER)	/* coordinator */                     \
	STEP(NUMBERED)	/* coordinator */                     \
	STEP(READY)	/* coordinator */                     \
	STEP(FALLBACK)	/* coordinator */                     \
	STEP(ARMED)	/* coordinator */                     \
	STEP(BARRIER)	/* coordinator */                     \
	STEP(NONE_PAST) /* coordinator */                     \
	STEP(OVERRUN)	/* coordinator */                     \
	STEP(COMMITTED) /* coordinator */                     \
	STEP(BASELINE)	/* coordinator */                     \
	STEP(SWAP)	/* rank or coordinator: swap of the record's word */

/* Steps of the controllers (controller.c), which the model does not have. */
#define NB_LOOP_STEP_ROWS(STEP)                                                \
	STEP(LOOP_ELECTED) /* elected process: it has seen its election */     \
	STEP(LOOP_ASKED)   /* elected: it has asked all processes for maps */  \
	STEP(LOOP_MERGING) /* elected: its own maps are merged */              \
	STEP(LOOP_MERGED)  /* elected: all maps are merged */                  \
	STEP(LOOP_RAN)	   /* elected: the controllers have run */             \
	STEP(LOOP_STAGED) /* elected: the change is staged here, not posted */ \
	STEP(LOOP_PROPOSED)  /* elected: posted */                             \
	STEP(LOOP_AGREED)    /* elected: all have staged the change */         \
	STEP(LOOP_COMMITTED) /* elected: committed, not reported */            \
	STEP(LOOP_ANSWERED)  /* other process: its maps are posted */          \
	STEP(LOOP_FOLLOWED)  /* other process: it has staged the change */

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
