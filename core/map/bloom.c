// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_BLOOM_FILTER: a set of values. "Not in the set" is certain;
 * "in the set" is sometimes wrong. A value sets five bits; there are at
 * least seven bits an entry, rounded up to a power of two, like the
 * kernel's default (kernel/bpf/bloom_filter.c). Our hash function differs
 * from the kernel's, so other values are false positives. A bit is set by
 * one atomic operation and never cleared, so no operation needs a lock.
 */
#include "core/map/map.h"
#include "core/map/ops.h"

enum { HASHES = 5 };

struct bloom {
	struct nb_map map;
	uint32_t mask; /* Number of bits minus 1 */
	_Alignas(NB_CACHE_LINE) uint64_t word[];
};

/* Return the number of bits, at most 2^32: five hash functions divided by
 * ln 2 need about seven bits for each entry. */
static uint64_t bloom_bits(const struct nb_map_def *def)
{
	uint64_t want = (uint64_t)def->max_entries * 7, n = 64;

	while (n < want && n < (uint64_t)1 << 32)
		n *= 2;
	return n;
}

static uint64_t bloom_size(const struct nb_map_def *def, uint32_t ncpus)
{
	(void)ncpus;
	return sizeof(struct bloom) + bloom_bits(def) / 8;
}

static void bloom_init(struct nb_map *m)
{
	struct bloom *b = (struct bloom *)m;

	b->mask = (uint32_t)(bloom_bits(&m->def) - 1);
	m->base = (unsigned char *)b->word;
}

static uint64_t bloom_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9;
	return x ^ x >> 32;
}

/* Hash the value: one half is the number of the first bit, the other half
 * the step to the next. */
static uint64_t bloom_hash(const void *value, size_t size)
{
	const unsigned char *p = value;
	uint64_t sum = size, w;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&w, p, 8);
		sum = bloom_mix(sum + w);
	}
	if (size) {
		w = 0;
		memcpy(&w, p, size);
		sum = bloom_mix(sum + w);
	}
	return bloom_mix(sum);
}

static int bloom_push(struct nb_map *m, const void *value, uint64_t flags)
{
	struct bloom *b = (struct bloom *)m;
	uint64_t h = bloom_hash(value, m->def.value_size);
	uint32_t bit = (uint32_t)h, step = (uint32_t)(h >> 32) | 1;

	if (flags != NB_ANY)
		return -EINVAL;
	for (int i = 0; i < HASHES; i++, bit += step) {
		uint32_t at = bit & b->mask;

		__atomic_fetch_or(&b->word[at / 64], (uint64_t)1 << at % 64,
				  __ATOMIC_RELAXED);
	}
	return 0;
}

/* Return whether *@value is in the filter. */
static int bloom_peek(struct nb_map *m, uint32_t i, void *value)
{
	const struct bloom *b = (const struct bloom *)m;
	uint64_t h = bloom_hash(value, m->def.value_size), w;
	uint32_t bit = (uint32_t)h, step = (uint32_t)(h >> 32) | 1;

	if (i)
		return -ENOENT;
	for (int k = 0; k < HASHES; k++, bit += step) {
		uint32_t at = bit & b->mask;

		w = __atomic_load_n(&b->word[at / 64], __ATOMIC_RELAXED);
		if (!(w >> at % 64 & 1))
			return -ENOENT;
	}
	return 0;
}

/* Count the bits that are set: how full the filter is. The number of values
 * is unknown. */
static uint32_t bloom_count(struct nb_map *m)
{
	const struct bloom *b = (const struct bloom *)m;
	uint64_t n = 0;

	for (uint64_t i = 0; i <= b->mask / 64; i++)
		n += (uint64_t)__builtin_popcountll(
			__atomic_load_n(&b->word[i], __ATOMIC_RELAXED));
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

const struct nb_map_ops nb_map_bloom_ops = {
	.size = bloom_size,
	.init = bloom_init,
	.push = bloom_push,
	.peek = bloom_peek,
	.count = bloom_count,
	.copy = nb_array_copy,
	.lacking = -EOPNOTSUPP,
};
