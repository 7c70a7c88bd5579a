// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WATCH_H
#define NB_PLUGIN_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job/format.h"

struct nb_runtime;

/* What the watch remembers of the segment's entries; the control thread's. */
struct nb_watch {
	uint64_t next_ns; /* CLOCK_MONOTONIC; when to look again */
	struct nb_watched {
		uint64_t comm_id;
		uint64_t sum; /* of announcements at the last look */
		bool told;
		bool reset; /* to NCCL's own choice, still to be had */
	} comm[NB_SEG_COMMS];
};

/*
 * nb_watch_turn - do the ranks of this host's communicators still agree?
 *
 * Looks about once a second, only at communicators that decided meanwhile, and
 * says once for each where its ranks part. NCCLBPF_ON_DIVERGENCE=baseline: also
 * commits the empty generation where a fence is safe. The control thread,
 * without locks; seconds at worst.
 */
void nb_watch_turn(struct nb_runtime *rt);

/* The decision + 1 at which ranks of @c were first seen to differ; 0: none. */
static inline uint64_t nb_watch_diverged(const struct nb_seg_comm *c)
{
	return __atomic_load_n(&c->diverged, __ATOMIC_ACQUIRE);
}

#endif
