// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_SPIN_H
#define NB_EXEC_RUN_SPIN_H

#include <stdint.h>

struct nb_run;

/*
 * Return the number that a lock's word holds while the run at @run holds
 * the lock. Runs that overlap have different places on their threads'
 * stacks, so their numbers differ. The number is never 0.
 */
enum { NB_SPIN_SHIFT = 3 };
static inline uint32_t nb_spin_number(const struct nb_run *run)
{
	uint32_t n = (uint32_t)((uintptr_t)run >> NB_SPIN_SHIFT);

	return n ? n : 1;
}

/* Return how often, in this process, a lock was taken over from a holder
 * that did not release it in time. Any thread. */
uint64_t nb_spin_takeovers(void);

#endif
