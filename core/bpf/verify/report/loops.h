// SPDX-License-Identifier: MIT
#ifndef NB_VERIFY_REPORT_LOOPS_H
#define NB_VERIFY_REPORT_LOOPS_H

#include "core/bpf/verify/state/env.h"

/* The smallest loop around a slot: the slots [head, last], of which @last
 * jumps back to @head. */
struct nb_loop {
	uint32_t head, last;
	/* A loop was found; otherwise @head and @last are the slot itself. */
	bool found;
};
struct nb_loop nb_loop_at(const struct nb_env *env, uint32_t pc);

/*
 * Name the first branch that leaves the loop around @pc, for example "; it
 * ends by: line 13, while (x != 7)". Returns "; nothing leaves it" if no
 * branch does, and "" if @pc is in no loop.
 */
const char *nb_say_exit(struct nb_env *env, uint32_t pc);

#endif
