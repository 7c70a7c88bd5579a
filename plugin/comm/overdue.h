// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_OVERDUE_H
#define NB_PLUGIN_COMM_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

struct nb_comm;

/*
 * Detection of a decision that takes long. The deciding thread measures no
 * time: its slot holds the decision that it began, its hash the last that it
 * finished, and the control thread compares both periodically.
 */
struct nb_overdue {
	uint64_t seq;	   /* the decision, while since_ns is not 0 */
	uint64_t since_ns; /* CLOCK_MONOTONIC: first seen unfinished */
	bool told;
};

/*
 * nb_overdue_look - check whether the rank of @c is still inside the decision
 * of the last check; log once after a second
 *
 * A wait at an undecided fence does not count: it is bounded and shown
 * elsewhere. Control thread, with NB_LOCK_STATE.
 */
void nb_overdue_look(struct nb_comm *c);

/* Whole seconds for which the rank has been inside one decision; 0: less than
 * one. *@seq gets its number. With NB_LOCK_STATE. */
uint64_t nb_overdue_s(const struct nb_comm *c, uint64_t *seq);

#endif
