// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_CHUNK_H
#define NB_PLUGIN_TUNER_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/comm/comm.h"

/*
 * NCCL asks for chunk sizes (getChunkSize) while it cuts the collectives of a
 * group into kernels: after all decisions of that group, once for each part of
 * a collective, which are up to three. It names the collective, the algorithm
 * and the protocol of a part, but not the decision. All parts get the answer of
 * the latest decision that chose these.
 *
 * This answer is the same on all ranks, although 2.29 and later may ask the
 * tuners of some ranks more often than others. NCCL asks these extra questions
 * before it asks about the collectives of the group. So between an extra
 * question and a part with the same algorithm lies the decision of the part's
 * own collective, which every rank makes. A part whose decision kept NCCL's
 * chunk size gets NCCL's, also if an earlier decision chose one.
 *
 * RCCL may change the protocol after its tuner has answered, so policies do not
 * choose its chunk sizes.
 */

/* Keep the chunk size that a decision chose for entry @index; 0: NCCL's own. */
static inline void nb_chunk_keep(struct nb_comm *c, uint32_t coll, uint32_t index, uint32_t size)
{
	if (coll >= NCCL_NUM_COLLS || index >= NB_COSTS_KNOWN)
		return;
	c->chunk_size[coll][index] = size;
	c->chunked = c->chunked || size;
}

/* Forget all chunk sizes, when another generation begins to decide. */
void nb_chunk_forget(struct nb_comm *c);

/*
 * nb_chunk_fits - can NCCL use chunks of @size bytes instead of @own?
 *
 * NCCL lowers a size to that of its buffers, but to the wrong buffers for NVLS,
 * and rounds it down to whole lines of the protocol, or to 0.
 */
bool nb_chunk_fits(int algo, size_t own, size_t size);

/*
 * nb_tuner_chunk - choose a chunk size
 * @bytes, @channels: of the part
 * @chunk: NCCL's own size, which is replaced
 *
 * The wrapped tuner answers first, then the policies. The thread that makes the
 * communicator's decisions calls it; it takes no lock and allocates nothing.
 */
void nb_tuner_chunk(struct nb_comm *c, int coll, size_t bytes, int algo, int proto, int channels,
		    size_t *chunk);

#endif
