// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_TUNER_H
#define NB_PLUGIN_ABI_WRAPPED_TUNER_H

#include "plugin/abi/tuner_abi.h"
#include "plugin/wrap/wrapped_tuner.h"

/*
 * nb_wrapped_tuner_init - init the wrapped tuner for one communicator
 *
 * @p->ask is NULL if there is none, or if its init failed, which is counted and
 * logged. Call it without our locks: its init may take long. Returns what our
 * own init must return. That is 0, except on a communicator of several hosts:
 * there it is the wrapped tuner's error, as other hosts cannot learn that this
 * rank continues without that tuner.
 */
int nb_wrapped_tuner_init(struct nb_wrapped_tuner *p,
			  const struct nb_tuner_init *in);

#endif
