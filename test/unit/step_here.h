/* SPDX-License-Identifier: MIT */
#ifndef NB_TEST_STEP_HERE_H
#define NB_TEST_STEP_HERE_H

#include <signal.h>
#include <stdint.h>

#include "plugin/job/step.h"

/*
 * What plugin/job/step.h wants of a test whose processes are stopped or killed,
 * once each: stop_at is the step, NB_NSTEPS_ALL none of them, and stop_by the
 * signal. One file of a test program includes this.
 */
static uint32_t stop_at = NB_NSTEPS_ALL;
static int stop_by = SIGSTOP;

void nb_step_at(enum nb_step step)
{
	if (step != stop_at)
		return;
	stop_at = NB_NSTEPS_ALL;
	raise(stop_by);
}

void nb_step_begin(void)
{
}

void nb_step_end(enum nb_step step, uint64_t a, uint64_t b)
{
	(void)step, (void)a, (void)b;
}

#endif
