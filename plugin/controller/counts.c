// SPDX-License-Identifier: MIT
/* What a run of the controllers counts: ranks, runs, generation numbers. */
#include "plugin/controller/counts.h"

#include "core/bpf/generation/controller.h"
#include "core/job/segment/format.h"

/* 8 weeks in seconds; see nb_controllers_rest_ns */
enum { LAST_S = 8 * 7 * 86400 };

void nb_run_count_ranks(const struct nb_seg *mem, struct ncclbpf_controller *ctx)
{
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++) {
		const struct nb_seg_comm *c = &mem->comm[i];

		if (!__atomic_load_n(&c->in_use, __ATOMIC_ACQUIRE))
			continue;
		ctx->comms++;
		for (uint32_t k = 0; k < NB_SEG_SLOTS; k++)
			ctx->ranks += __atomic_load_n(&c->slot[k].state, __ATOMIC_RELAXED) ==
				      NB_SLOT_LIVE;
	}
}

void nb_run_count_policies(struct nb_gen *g, const struct nb_gen *own)
{
	for (uint32_t i = 0; i < own->nevents; i++)
		for (uint32_t k = 0; k < g->nevents; k++)
			if (g->event[k].policy == own->event[i].policy &&
			    g->event[k].prog == own->event[i].prog)
				__atomic_fetch_add(&g->event[k].sum.runs, 1, __ATOMIC_RELAXED);
}

uint64_t nb_controllers_rest_ns(uint64_t next_gen)
{
	const uint64_t left = next_gen < NB_FENCE_MAX_GEN ? NB_FENCE_MAX_GEN - next_gen : 1;

	return left > NB_FENCE_MAX_GEN / 2 ? 0 : (uint64_t)LAST_S * 1000000000 / left;
}
