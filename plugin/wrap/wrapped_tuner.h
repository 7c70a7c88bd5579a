// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_WRAP_WRAPPED_TUNER_H
#define NB_PLUGIN_WRAP_WRAPPED_TUNER_H

#include <stdbool.h>
#include <stddef.h>

struct nb_ask;
struct nb_comm;
struct nb_costs;
struct nb_wrapped_tuner;

/*
 * The wrapped tuner of one rank of one communicator. Its functions are in
 * plugin/abi/wrapped_tuner.c, which knows the tuner's version.
 */
typedef int nb_wrapped_ask_fn(const struct nb_wrapped_tuner *p, const struct nb_ask *ask);
typedef int nb_wrapped_chunk_fn(const struct nb_wrapped_tuner *p, int coll, size_t bytes, int algo,
				int proto, int channels, size_t *chunk);
struct nb_wrapped_tuner {
	/* asks for a choice; NULL if there is no wrapped tuner */
	nb_wrapped_ask_fn *ask;
	nb_wrapped_chunk_fn *chunk;
	void (*end)(const struct nb_wrapped_tuner *p);
	const void *table;
	void *context;
};

/*
 * nb_wrapped_tuner_ask - ask the wrapped tuner before the policies
 * @ask: NCCL's question; the table, the channels and (v2) both numbers are set
 *   to a valid answer
 *
 * It counts and undoes an error, a combination that NCCL does not offer, a
 * table without a usable entry, and channels out of range. It runs on the
 * decision path, without locks and allocations.
 */
void nb_wrapped_tuner_ask(struct nb_comm *c, const struct nb_ask *ask);
/* Ask the wrapped tuner for the chunk size (getChunkSize, from v6 on). */
void nb_wrapped_tuner_chunk(struct nb_comm *c, int coll, size_t bytes, int algo, int proto,
			    int channels, size_t *chunk);
/*
 * In v2, which has no table, show the wrapped tuner's answer to policies as
 * NCCL's own choice.
 */
void nb_wrapped_tuner_choice(const struct nb_ask *ask, struct nb_costs *costs);

#endif
