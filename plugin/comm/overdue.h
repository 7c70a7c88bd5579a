// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_OVERDUE_H
#define NB_PLUGIN_COMM_OVERDUE_H

#include <stdint.h>

#include "plugin/comm/comm.h"

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
