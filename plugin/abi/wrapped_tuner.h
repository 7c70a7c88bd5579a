// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_TUNER_H
#define NB_PLUGIN_ABI_WRAPPED_TUNER_H

#include "plugin/abi/tuner_abi.h"
#include "plugin/wrap/wrapped_tuner.h"

/*
 * nb_wrapped_tuner_init - initialise the wrapped tuner for one communicator
 *
 * @p->ask is NULL if there is no wrapped tuner or its init failed; a failure is
 *   counted and logged. The caller must not hold our locks, since the tuner's
 *   init may take long. Returns what our own init must return: 0, or, for a
 *   communicator of several hosts, the wrapped tuner's error, because other
 *   hosts cannot learn that this rank continues without the tuner.
 */
int nb_wrapped_tuner_init(struct nb_wrapped_tuner *p, const struct nb_tuner_init *in);

#endif
