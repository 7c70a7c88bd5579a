// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_TUNER_H
#define NB_PLUGIN_TUNER_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/comm/comm.h"
#include "plugin/comm/costs.h"

/*
 * A question that NCCL asks the tuner, in one form for all versions of the
 * ABI. All fields are
 * untrusted; pointers may be NULL.
 */
struct nb_ask {
	uint64_t bytes;
	int coll, pipe_ops, reg_buff;
	/* v3 to v6: the cost table, @nalgo * @nproto floats */
	float *table;
	int nalgo, nproto;
	int *channels;
	/* v2: no table but these flags, and the answer goes into these two */
	bool flags_only;
	int collnet, nvls;
	int *algo, *proto;
};

/*
 * nb_tuner_decide - one decision: context, fence, policies, checks, ring
 * @c: NULL (memory was short at init): NCCL's own choice stands
 *
 * Never fails; it counts everything that it could not do. No lock, no
 * allocation, no system call, except during the wait at an undecided fence.
 * One thread at a time
 * for one @c. Source: design, sections 6 to 8; ABI reference, 1.6 to 1.8.
 */
void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask);

/*
 * nb_tuner_check - check the policies' answer against NCCL's offer
 * @ctx:   as the policies left it
 * @costs: of the table the question came with; @table that table, or NULL
 * @index: gets the entry to choose, or NB_COSTS_NONE: NCCL's own choice
 * @channels: gets the channels to ask for, 0: NCCL's number
 *
 * Returns the reason why a part of the answer was dropped, else
 * NB_REFUSED_NONE. Pure.
 */
enum nb_refused nb_tuner_check(const struct ncclbpf_tuner *ctx,
			       const struct nb_costs *costs, const float *table,
			       uint32_t max_channels, uint32_t *index,
			       uint32_t *channels);

#endif
