// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_REGISTER_H
#define NB_PLUGIN_TUNER_REGISTER_H

#include "plugin/comm/comm.h"

/*
 * nb_comm_new - create a rank's context and register it in the process and the
 * segment
 *
 * Must not be called on a decision path. Returns NULL only if there is no
 * memory, which is logged.
 */
struct nb_comm *nb_comm_new(const struct nb_comm_init *init);
/*
 * Unregister and free a rank's context. nb_comms keeps its counters. @c may be
 * NULL.
 */
void nb_comm_free(struct nb_comm *c);

#endif
