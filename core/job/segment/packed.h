// SPDX-License-Identifier: MIT
#ifndef NB_JOB_SEGMENT_PACKED_H
#define NB_JOB_SEGMENT_PACKED_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A decision, unpacked. algo and proto are -1 for none. Without a policy's
 * opinion the answer is NCCL's choice. Costs are NCCL's predictions in
 * microseconds; negative for none.
 */
struct nb_decision {
	uint64_t seq; /* Number of the decision in its communicator. */
	/* nb_comm_latest: number of decisions in that bucket. */
	uint64_t count;
	uint64_t bytes;
	/* Combinations that NCCL offers; see ncclbpf_tuner.usable. */
	uint32_t usable;
	uint32_t generation;
	uint32_t pipe_ops;
	int coll;
	int nccl_algo, nccl_proto;
	int algo, proto;
	uint32_t channels;   /* Number of channels; 0 for NCCL's own choice. */
	uint32_t chunk_size; /* Bytes of a chunk; 0 for NCCL's own choice. */
	/* Index of the deciding policy in the generation; -1 for NCCL. */
	int by;
	uint32_t refused; /* Why NCCL's choice was kept, an enum nb_refused. */
	double cost_us, nccl_cost_us;
	bool reg_buff;
	/* The library is RCCL: NCCL's choice is only the cheapest entry. */
	bool rccl;
};

/*
 * A decision in four 64-bit words. Other threads and processes read it while
 * its thread writes it, and also after its process died. Each word carries the
 * low 16 bits of the decision's number + 1, so a reader recognises words of
 * different decisions and needs no lock.
 *
 *   0  bytes 48 (clamped)
 *   1  generation 22, usable 21, registered buffers 1, RCCL 1
 *   2  pipe operations 12 (clamped), collective 4, NCCL's choice 6,
 *      entry chosen 6, policy 5, reason 5, channels 8, chunk size 1
 *   3  cost of the entry 24, of NCCL's choice 24: floats less 8 low bits
 *
 * Numbers are widths in bits, from bit 0 up; the tag is in bits 48 to 63. If
 * word 2 says that a policy has chosen a chunk size, this size is in a word of
 * its own with the same tag. It is written before the other words, and only by
 * such decisions.
 */
enum { NB_PACKED_WORDS = 4 };

struct nb_packed {
	uint64_t word[NB_PACKED_WORDS]; /* The words of the decision; atomic. */
};

#define NB_PACKED_BYTES ((UINT64_C(1) << 48) - 1)

enum {
	NB_PACKED_PIPE = 4095,
	NB_PACKED_COLL = 15, /* A collective that we do not know. */
	/* The combinations of 7 algorithms and 3 protocols. */
	NB_PACKED_ENTRIES = 21,
	NB_PACKED_ENTRY = 63,	  /* No entry was chosen. */
	NB_PACKED_POLICY = 31,	  /* No policy made the choice. */
	NB_PACKED_CHANNELS = 255, /* The most channels of a decision. */
	/* The lowest bits of the parts of words 1 and 2. */
	NB_PACKED_AT_USABLE = 22,
	NB_PACKED_AT_REG_BUFF = 43,
	NB_PACKED_AT_RCCL = 44,
	NB_PACKED_AT_COLL = 12,
	NB_PACKED_AT_BEST = 16,
	NB_PACKED_AT_INDEX = 22,
	NB_PACKED_AT_BY = 28,
	NB_PACKED_AT_REFUSED = 33,
	NB_PACKED_AT_CHANNELS = 38,
	NB_PACKED_AT_CHUNK = 46,
	NB_PACKED_AT_BEST_COST = 24
};

/* The bits of word 2 that must be the same on all ranks. */
#define NB_PACKED_AGREED                                                          \
	(UINT64_C(15) << NB_PACKED_AT_COLL | UINT64_C(63) << NB_PACKED_AT_INDEX | \
	 (uint64_t)NB_PACKED_CHANNELS << NB_PACKED_AT_CHANNELS |                  \
	 UINT64_C(1) << NB_PACKED_AT_CHUNK)

static inline uint64_t nb_packed_tag(uint64_t seq)
{
	return (seq + 1) << 48;
}

static inline uint64_t nb_packed_float(float f)
{
	union {
		float f;
		uint32_t u;
	} v = { .f = f };

	return v.u >> 8;
}

/* Return the part of word 2 that holds the answer. */
static inline uint64_t nb_packed_outcome(uint32_t index, uint32_t by, uint32_t refused,
					 uint32_t channels)
{
	return (uint64_t)index << NB_PACKED_AT_INDEX | (uint64_t)by << NB_PACKED_AT_BY |
	       (uint64_t)refused << NB_PACKED_AT_REFUSED |
	       (uint64_t)channels << NB_PACKED_AT_CHANNELS;
}

/*
 * Store two words. x86-64 uses one instruction: a reader may see only one
 * of the new words, but never part of a word, and the tags show which words
 * belong together. ThreadSanitizer only knows C's atomics.
 */
static inline void nb_packed_two(uint64_t to[2], uint64_t a, uint64_t b)
{
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
	typedef uint64_t two __attribute__((vector_size(16), aligned(8)));

	*(volatile two *)to = (two){ a, b };
#else
	__atomic_store_n(&to[0], a, __ATOMIC_RELAXED);
	__atomic_store_n(&to[1], b, __ATOMIC_RELAXED);
#endif
}

/*
 * The running hash over all values that must be the same on all ranks: 48
 * bits, and above them the tag of its last decision. A step can be rolled
 * back, so that ranks at different decisions can be compared.
 */
#define NB_HASH_MASK ((UINT64_C(1) << 48) - 1)
#define NB_HASH_TIMES UINT64_C(0x9e3779b97f4a7c15)
/* The inverse of the factor, modulo 2^64. */
#define NB_HASH_BACK UINT64_C(0xf1de83e19937733d)

static inline uint64_t nb_hash_step(uint64_t word0, uint64_t word2)
{
	return (word0 & NB_PACKED_BYTES) ^
	       (word2 & NB_PACKED_AGREED) * UINT64_C(0xd6e8feb86659fd93);
}

/* Return the part of a decision's step that depends on its chunk size; 0 for
 * NCCL's own. */
static inline uint64_t nb_hash_chunk(uint32_t chunk_size)
{
	return chunk_size * UINT64_C(0xff51afd7ed558ccd);
}

/* Add decision @seq with its step to the hash. The factor shifts out the
 * bits above 48 of both. */
static inline uint64_t nb_hash_add(uint64_t hash, uint64_t seq, uint64_t step)
{
	uint64_t h = (hash ^ step) * (NB_HASH_TIMES << 16);

	return (h >> 16 ^ h >> 41) | nb_packed_tag(seq);
}

/* Roll back the last decision, which has these words and this chunk size. */
static inline uint64_t nb_hash_back(uint64_t hash, uint64_t word0, uint64_t word2,
				    uint32_t chunk_size)
{
	uint64_t h = hash & NB_HASH_MASK;

	h = (h ^ h >> 25) * NB_HASH_BACK;
	return (h ^ nb_hash_step(word0, word2) ^ nb_hash_chunk(chunk_size)) & NB_HASH_MASK;
}

/*
 * Read the chunk size of decision @seq, which has the word @word2. Returns false
 * if @chunk belongs to another decision.
 */
static inline bool nb_packed_chunk(const uint64_t *chunk, uint64_t seq, uint64_t word2,
				   uint32_t *out)
{
	uint64_t w;

	*out = 0;
	if (!(word2 >> NB_PACKED_AT_CHUNK & 1))
		return true;
	w = __atomic_load_n(chunk, __ATOMIC_ACQUIRE);
	*out = (uint32_t)w;
	return !((w ^ nb_packed_tag(seq)) >> 48);
}

/* Read decision @seq, whose chunk size is in @chunk; returns false if @from does
 * not hold it, or if it is being written. @out->count is left 0. Any thread. */
bool nb_unpack(const struct nb_packed *from, const uint64_t *chunk, uint64_t seq,
	       struct nb_decision *out);

#endif
