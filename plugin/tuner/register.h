// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_REGISTER_H
#define NB_PLUGIN_TUNER_REGISTER_H

#include "plugin/comm/comm.h"

/*
 * nb_comm_new - a rank's context, registered with runtime and segment
 *
 * Never on a decision path. NULL only when memory is short (logged).
 */
struct nb_comm *nb_comm_new(const struct nb_comm_init *init);
/* Unregister and free; nb_comms keeps its counters. NULL is fine. */
void nb_comm_free(struct nb_comm *c);

#endif
