// SPDX-License-Identifier: MIT
/* Read a packed decision: all of its words, or none. */
#include "core/job/segment/packed.h"

#include <string.h>

#include "core/defs/ctx.h"

static uint32_t word_bits(uint64_t word, unsigned from, unsigned n)
{
	return (uint32_t)(word >> from) & ((UINT32_C(1) << n) - 1);
}

static float bits_float(uint32_t cut)
{
	uint32_t u = cut << 8;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static void split_entry(uint32_t index, int *algo, int *proto)
{
	bool known = index < NB_PACKED_ENTRIES;

	*algo = known ? (int)(index / NCCL_NUM_PROTOS) : -1;
	*proto = known ? (int)(index % NCCL_NUM_PROTOS) : -1;
}

bool nb_unpack(const struct nb_packed *from, const uint64_t *chunk, uint64_t seq,
	       struct nb_decision *out)
{
	uint64_t w[NB_PACKED_WORDS];
	uint32_t by, coll, chunk_size;

	for (int i = 0; i < NB_PACKED_WORDS; i++) {
		w[i] = __atomic_load_n(&from->word[i], __ATOMIC_ACQUIRE);
		if ((w[i] ^ nb_packed_tag(seq)) >> 48)
			return false;
	}
	if (!nb_packed_chunk(chunk, seq, w[2], &chunk_size))
		return false;
	memset(out, 0, sizeof(*out));
	out->seq = seq;
	out->bytes = w[0] & NB_PACKED_BYTES;
	out->generation = word_bits(w[1], 0, 22);
	out->usable = word_bits(w[1], NB_PACKED_AT_USABLE, NB_PACKED_ENTRIES);
	out->reg_buff = word_bits(w[1], NB_PACKED_AT_REG_BUFF, 1);
	out->rccl = word_bits(w[1], NB_PACKED_AT_RCCL, 1);
	out->pipe_ops = word_bits(w[2], 0, 12);
	coll = word_bits(w[2], NB_PACKED_AT_COLL, 4);
	out->coll = coll == NB_PACKED_COLL ? -1 : (int)coll;
	split_entry(word_bits(w[2], NB_PACKED_AT_BEST, 6), &out->nccl_algo, &out->nccl_proto);
	split_entry(word_bits(w[2], NB_PACKED_AT_INDEX, 6), &out->algo, &out->proto);
	by = word_bits(w[2], NB_PACKED_AT_BY, 5);
	out->by = by == NB_PACKED_POLICY ? -1 : (int)by;
	out->refused = word_bits(w[2], NB_PACKED_AT_REFUSED, 5);
	out->channels = word_bits(w[2], NB_PACKED_AT_CHANNELS, 8);
	out->chunk_size = chunk_size;
	out->cost_us = (double)bits_float(word_bits(w[3], 0, 24));
	out->nccl_cost_us = (double)bits_float(word_bits(w[3], NB_PACKED_AT_BEST_COST, 24));
	return true;
}
