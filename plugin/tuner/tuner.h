// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_TUNER_H
#define NB_PLUGIN_TUNER_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/comm/comm.h"
#include "plugin/comm/costs.h"

/*
 * A question that NCCL asks the tuner, in one form for all versions of the
 * interface. No field is trusted, and pointers may be NULL.
 */
struct nb_ask {
	uint64_t bytes;
	int coll, pipe_ops, reg_buff;
	/* v3 to v6: the cost table of @nalgo * @nproto floats */
	float *table;
	int nalgo, nproto;
	int *channels;
	/* v2: two flags instead of a table, and two numbers for the answer */
	bool flags_only;
	int collnet, nvls;
	int *algo, *proto;
};

/*
 * nb_tuner_decide - make one decision
 * @c: NULL (there was no memory at init): NCCL's own choice stands
 *
 * It fills the context, looks at the fence, runs the policies, checks the
 * answer and records the decision. It never fails, but counts what it could not
 * do. It uses no lock, allocation or system call, except while it waits at an
 * undecided fence. Only one thread at a time may use @c. Sources: design,
 * sections 6 to 8; ABI reference, 1.6 to 1.8.
 */
void nb_tuner_decide(struct nb_comm *c, const struct nb_ask *ask);

/*
 * nb_tuner_check - check the policies' answer against NCCL's offer
 * @ctx: the context as the policies left it
 * @costs: costs of the question's table; @table: that table, or NULL
 * @index: set to the entry to choose, or NB_COSTS_NONE for NCCL's own choice
 * @channels: set to the channels to ask for, 0: NCCL's number
 *
 * Returns why a part of the answer was dropped, or NB_REFUSED_NONE. It has no
 * side effects.
 */
enum nb_refused nb_tuner_check(const struct ncclbpf_tuner *ctx,
			       const struct nb_costs *costs, const float *table,
			       uint32_t max_channels, uint32_t *index,
			       uint32_t *channels);

#endif
