// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_DIVERGENCE_H
#define NB_PLUGIN_CHANGE_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job/segment/format.h"

/*
 * nb_divergence_tick - check that the ranks of this host agree
 *
 * About once a second it compares the ranks of communicators with new
 * decisions, and logs the first divergence of each communicator. With
 * NCCLBPF_ON_DIVERGENCE=baseline it also commits the empty generation if a
 * fence is safe. The control thread calls it without locks. It may take
 * seconds.
 */
void nb_divergence_tick(void);

/*
 * Returns the number + 1 of the decision at which ranks of @c were first found
 * to differ; 0 if none.
 */
static inline uint64_t nb_divergence_diverged(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->diverged, __ATOMIC_ACQUIRE);
}

#endif
