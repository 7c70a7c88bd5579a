// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_COMM_OVERDUE_H
#define NB_PLUGIN_COMM_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

struct nb_comm;

/*
 * A decision that takes long. The deciding thread takes no time for it: its
 * slot says which decision it has begun, its hash which one it has finished,
 * and the control thread looks at both again and again.
 */
struct nb_overdue {
	uint64_t seq;	   /* the decision, while since_ns is not 0 */
	uint64_t since_ns; /* CLOCK_MONOTONIC: first seen unfinished */
	bool told;
};

/*
 * nb_overdue_look - is the rank of @c still inside the decision of the last
 *                   look? Log it once where that has lasted for a second
 *
 * A wait at an undecided fence is none: it has a bound and is shown elsewhere.
 * The control thread, with the runtime's lock.
 */
void nb_overdue_look(struct nb_comm *c);

/* Whole seconds that the rank has been inside one decision, as of now; 0: less
 * than one. *@seq: its number. With the runtime's lock. */
uint64_t nb_overdue_s(const struct nb_comm *c, uint64_t *seq);

#endif
