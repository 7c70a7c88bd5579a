// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TUNER_ADOPT_H
#define NB_PLUGIN_TUNER_ADOPT_H

#include "plugin/comm/comm.h"

/* Code of the first decision after a fence, which is prefetched before the fence. */
struct nb_adopt_code {
	int (*rare)(struct nb_comm *c, int coll, uint64_t bytes, int pipe_ops, float *table,
		    int nalgo, int nproto, int reg_buff, int *channels);
	int (*ask)(struct nb_comm *c, const struct nb_seen *seen, float *table, int *channels);
};
extern const struct nb_adopt_code nb_adopt_warm; /* plugin/tuner/decide.c */

/*
 * Handle a change of the communicator's nb_seg_record.word: a fence was armed,
 * committed or aborted. The deciding thread calls it after it has announced its
 * number, before anything else uses c->gen. It may wait at an undecided fence.
 */
void nb_adopt_look(struct nb_comm *c);

/*
 * nb_tuner_call - NCCL reports a call of its API, before it decides for it
 * @comm: struct nb_comm whose calls are counted; the call is counted already
 * @coll: enum ncclbpf_coll, or NCCL_NUM_COLLS for other functions
 * @bytes: of the whole collective
 *
 * It moves the communicator to the generation of this call, and runs the
 * programs on profiler/coll_api. It uses no lock, allocation or system call,
 * except while it waits at an undecided fence. The thread that calls the API;
 * NCCL makes no decision for the communicator meanwhile.
 */
void nb_tuner_call(void *comm, uint32_t coll, uint64_t bytes);

#endif
