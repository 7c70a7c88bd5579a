// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_RUNTIME_NCCL_H
#define NB_PLUGIN_RUNTIME_NCCL_H

#include <stdbool.h>
#include <stdint.h>

/* The NCCL that calls this plugin: its version, and rules that depend on it. */

/*
 * Find NCCL's version. @inside: an address in NCCL's code, such as its logger,
 * or NULL. Only NCCL's threads may call it, because it calls the loader.
 */
void nb_nccl_find(const void *inside);

/*
 * Returns NCCL's version, such as 22907 for 2.29.7, or 0 if it is unknown. If
 * several call this plugin, it is the oldest one's.
 */
int nb_nccl_version(void);

/*
 * nb_nccl_asks_some - may NCCL ask the tuners of some ranks only?
 * @tuner, @profiler: versions of the interfaces that NCCL calls; 0: none
 *
 * NCCL 2.29 and later may: for symmetric windows, for example. This is about
 * the NCCL that called nb_nccl_find last in this thread. If NCCL's version is
 * unknown, the interfaces tell it, and in doubt the result is true.
 */
bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler);

/*
 * Returns true if NCCL chooses the last of equal costs, as 2.31 and later do.
 * Older versions choose the first. If several call this plugin, it is the rule
 * of the first one. Any thread.
 */
bool nb_nccl_last_of_equal(void);

#endif
