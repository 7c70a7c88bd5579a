// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_CHANGE_DIVERGENCE_H
#define NB_PLUGIN_CHANGE_DIVERGENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/format.h"

/*
 * nb_divergence_turn - do the ranks of this host's communicators still agree?
 *
 * Looks about once a second, only at communicators that decided meanwhile, and
 * says once for each where its ranks part. NCCLBPF_ON_DIVERGENCE=baseline: also
 * commits the empty generation where a fence is safe. The control thread,
 * without locks; seconds at worst.
 */
void nb_divergence_turn(void);

/* The decision + 1 at which ranks of @c were first seen to differ; 0: none. */
static inline uint64_t nb_divergence_diverged(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->diverged, __ATOMIC_ACQUIRE);
}

#endif
