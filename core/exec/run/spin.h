// SPDX-License-Identifier: MIT
#ifndef NB_EXEC_RUN_SPIN_H
#define NB_EXEC_RUN_SPIN_H

#include <stdint.h>

struct nb_run;

/*
 * What a lock's word holds while the run at @run has it: runs that overlap
 * have different places on their threads' stacks. Never 0.
 */
enum { NB_SPIN_SHIFT = 3 };
static inline uint32_t nb_spin_number(const struct nb_run *run)
{
	uint32_t n = (uint32_t)((uintptr_t)run >> NB_SPIN_SHIFT);

	return n ? n : 1;
}

/* How often a lock was taken from a holder that did not give it back in
 * time, in this process. Any thread. */
uint64_t nb_spin_takeovers(void);

#endif
