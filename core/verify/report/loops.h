// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_LOOPS_H
#define NB_VERIFY_REPORT_LOOPS_H

#include "core/verify/state/env.h"

/* The smallest loop around a slot: slots [head, last], of which @last jumps
 * back to @head. */
struct nb_loop {
	uint32_t head, last;
	bool found; /* else both are the slot */
};
struct nb_loop nb_loop_at(const struct nb_env *env, uint32_t pc);

/* "; it ends by: line 13, while (x != 7)": the first branch that leaves the
 * loop around @pc; "; nothing leaves it"; "" where there is no loop. */
const char *nb_say_exit(struct nb_env *env, uint32_t pc);

#endif
