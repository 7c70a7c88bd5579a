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
 * The tuner that ours has displaced, for one rank of one communicator. Its
 * functions are those of plugin/abi/wrapped_tuner.c, which know its version.
 */
typedef int nb_wrapped_ask_fn(const struct nb_wrapped_tuner *p,
			      const struct nb_ask *ask);
typedef int nb_wrapped_chunk_fn(const struct nb_wrapped_tuner *p, int coll,
				size_t bytes, int algo, int proto, int channels,
				size_t *chunk);
struct nb_wrapped_tuner {
	nb_wrapped_ask_fn *ask; /* NULL: there is none */
	nb_wrapped_chunk_fn *chunk;
	void (*end)(const struct nb_wrapped_tuner *p);
	const void *table;
	void *context;
};

/*
 * nb_wrapped_tuner_ask - let it answer first
 * @ask: as NCCL asks; its table, channels (and for v2 both numbers) get the
 *       answer, if that can be had
 *
 * An error, a combination that NCCL does not offer, a table in which nothing
 * is left and a number of channels that is out of range are counted and
 * undone. On the decision path: no lock, no allocation of ours.
 */
void nb_wrapped_tuner_ask(struct nb_comm *c, const struct nb_ask *ask);
/* getChunkSize of v6, likewise. */
void nb_wrapped_tuner_chunk(struct nb_comm *c, int coll, size_t bytes, int algo,
			    int proto, int channels, size_t *chunk);
/* Where there is no table (v2): its answer as NCCL's own choice. */
void nb_wrapped_tuner_choice(const struct nb_ask *ask, struct nb_costs *costs);

#endif
