// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_OVERDUE_H
#define NB_PLUGIN_COMM_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

struct nb_comm;

/*
 * Detects a decision that takes too long. The deciding thread does not measure
 * time. Its slot contains the number of the decision that it has begun, and its
 * hash the number of the last one that it has finished. The control thread
 * compares both at intervals.
 */
struct nb_overdue {
	uint64_t seq; /* number of the decision; valid if since_ns is not 0 */
	/*
	 * when the control thread first saw the decision unfinished
	 * (CLOCK_MONOTONIC)
	 */
	uint64_t since_ns;
	bool told;
};

/*
 * nb_overdue_look - check whether the rank of @c is still inside the decision
 * of the last check, and log this once after a second
 *
 * A wait at an undecided fence does not count, because it is bounded and
 * reported elsewhere. The control thread calls it with NB_LOCK_STATE.
 */
void nb_overdue_look(struct nb_comm *c);

/*
 * Returns for how many whole seconds the rank has been inside one decision; 0
 * if less than one. *@seq is set to the decision's number. The caller holds
 * NB_LOCK_STATE.
 */
uint64_t nb_overdue_s(const struct nb_comm *c, uint64_t *seq);

#endif
