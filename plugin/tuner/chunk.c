// SPDX-License-Identifier: MIT
/* The sizes of the chunks in which NCCL moves the data of a collective. */
#include "plugin/tuner/chunk.h"

#include <string.h>

#include "core/defs/ctx.h"

void nb_chunk_forget(struct nb_comm *c)
{
	memset(c->chunk_size, 0, sizeof(c->chunk_size));
	c->chunked = false;
}

/*
 * Returns true if NCCL's limit, the size of the protocol's buffers, is that of
 * the buffers that the algorithm uses. NVLS has smaller ones.
 */
static bool has_limit(int algo)
{
	return algo == NCCL_ALGO_TREE || algo == NCCL_ALGO_RING || algo == NCCL_ALGO_PAT;
}

bool nb_chunk_fits(int algo, size_t own, size_t size)
{
	if (size > own)
		return has_limit(algo);
	return size == own || size >= NCCL_CHUNK_LEAST;
}

static uint32_t chosen(const struct nb_comm *c, int coll, int algo, int proto)
{
	if ((uint32_t)coll >= NCCL_NUM_COLLS || (uint32_t)algo >= NCCL_NUM_ALGOS ||
	    (uint32_t)proto >= NCCL_NUM_PROTOS)
		return 0;
	return c->chunk_size[coll][algo * NCCL_NUM_PROTOS + proto];
}

void nb_tuner_chunk(struct nb_comm *c, int coll, size_t bytes, int algo, int proto, int channels,
		    size_t *chunk)
{
	size_t own = *chunk;
	uint32_t size;

	if (__atomic_load_n(&c->mismatch, __ATOMIC_RELAXED))
		return;
	if (c->peer.chunk)
		nb_wrapped_tuner_chunk(c, coll, bytes, algo, proto, channels, chunk);
	size = chosen(c, coll, algo, proto);
	if (!size)
		return;
	if (nb_chunk_fits(algo, own, size))
		*chunk = size;
	else
		nb_gen_bump(&c->refused[NB_REFUSED_CHUNK_ALGO]);
}
