// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_PACKED_H
#define NB_TEST_UNIT_PACKED_H

/* Packed decisions and running hashes as the tuner writes them, in one call. */
#include "core/job/segment/packed.h"

static inline void packed_store(struct nb_packed *to, uint64_t seq, uint64_t w0, uint64_t w1,
				uint64_t w2, uint64_t w3)
{
	uint64_t tag = nb_packed_tag(seq);

	nb_packed_two(&to->word[0], tag | w0, tag | w1);
	nb_packed_two(&to->word[2], tag | w2, tag | w3);
}

static inline uint64_t hash_extend(uint64_t hash, uint64_t seq, uint64_t word0, uint64_t word2)
{
	return nb_hash_add(hash, seq, nb_hash_step(word0, word2));
}

#endif
