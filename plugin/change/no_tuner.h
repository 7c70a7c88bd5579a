// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_NO_TUNER_H
#define NB_PLUGIN_CHANGE_NO_TUNER_H

#include <stdbool.h>
#include <stddef.h>

struct nb_gen;

/*
 * nb_no_tuner - has NCCL made communicators without our tuner?
 * @why: set to the reason and to what to set, or to "" if the result is false
 *
 * NCCL loads no tuner if NCCL_TUNER_PLUGIN names two, for example. Policies of
 * the tuner then never run. The caller holds NB_LOCK_STATE.
 */
bool nb_no_tuner(char *why, size_t size);

/* Returns true if the generation has programs that answer NCCL's tuner. */
bool nb_gen_tunes(const struct nb_gen *g);

#endif
