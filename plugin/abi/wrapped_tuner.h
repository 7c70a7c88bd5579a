// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_ABI_WRAPPED_TUNER_H
#define NB_PLUGIN_ABI_WRAPPED_TUNER_H

#include "plugin/abi/tuner_abi.h"
#include "plugin/wrap/wrapped_tuner.h"

/*
 * nb_wrapped_tuner_init - init the displaced tuner for one communicator
 *
 * @p->ask is NULL where there is none, or where it cannot be had; that is
 * counted and said. Without locks of ours: it may take its time. Returns what
 * our init is to return: the error of its init where the communicator has
 * several hosts, as ranks of others cannot learn that one went without it.
 * Else 0.
 */
int nb_wrapped_tuner_init(struct nb_wrapped_tuner *p,
			  const struct nb_tuner_init *in);

#endif
