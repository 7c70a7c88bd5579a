// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_DECIDED_H
#define NB_PLUGIN_PROFILER_DECIDED_H

#include "core/job/segment/packed.h"
#include "plugin/profiler/state.h"

/* What of a collective tells its decision, as nb_descr and nb_sample have it. */
struct nb_decided_task {
	uint32_t func, algo, proto;
	uint64_t bytes;
};

/* The decision that a collective ran with. */
struct nb_decided {
	/* one more than the decision's number in its communicator; 0: not known */
	uint64_t n;
	struct nb_packed packed;
	struct nb_decision d;
};

/*
 * nb_decided_start - find the decision of the task that starts in slot @s
 *
 * NCCL makes all decisions of a group before it starts the group's collectives,
 * and does not report which belongs to which. Those since the task before it are
 * searched, or since the first task that has started with as many, for one that
 * chose what the collective runs with. A decision of the collective's size is
 * preferred; NCCL may also make one decision for several collectives, as if they
 * were one of their sum. If several decisions fit equally well, it is the latest of
 * them if they are alike, else none is known. None is known among more than 64, and
 * symmetric kernels have none. A replay of a CUDA graph starts its collectives in
 * another thread at any time, so it may be taken for a later decision of the same
 * size and choice. Takes no lock.
 *
 * Without a user of decisions, @s only keeps which of them are to be searched.
 */
void nb_decided_start(struct nb_pcomm *pc, struct nb_op_slot *s,
		      const struct nb_decided_task *task);
/*
 * nb_decided_of - read the decision of the task that ends in slot @s
 *
 * A decision that nb_decided_start has not found is searched now. By then the
 * tuner may have made NB_RING more, and it is lost.
 */
void nb_decided_of(const struct nb_pcomm *pc, const struct nb_op_slot *s,
		   const struct nb_decided_task *task, struct nb_decided *out);

#endif
