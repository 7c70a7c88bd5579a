// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_BLOOM_FILTER: a set of values that can be added and asked for;
// the answer "no" is certain, "yes" is wrong once in a while. Five bits a
// value in 7 bits an entry and hash function, a power of two of them, as the
// kernel's default (kernel/bpf/bloom_filter.c); which bits is our own matter,
// so false answers fall on other values than the kernel's. Bits are only ever
// set, by one atomic each: neither readers nor writers lock.
#include <errno.h>

#include "core/map/ops.h"

enum { HASHES = 5 };

struct bloom {
	struct nb_map map;
	uint32_t mask; /* bits - 1 */
	_Alignas(NB_CACHE_LINE) uint64_t word[];
};

/* ln 2 is about 5 / 7; over 2^31 the kernel takes all 2^32 bits. */
static uint64_t nbits(const struct nb_map_def *def)
{
	uint64_t want = (uint64_t)def->max_entries * HASHES / 5 * 7, n = 64;

	while (n < want && n < (uint64_t)1 << 32)
		n *= 2;
	return n;
}

static bool plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	(void)ncpus;
	*size = sizeof(struct bloom) + nbits(def) / 8;
	return true;
}

static void init(struct nb_map *m)
{
	struct bloom *b = (struct bloom *)m;

	b->mask = (uint32_t)(nbits(&m->def) - 1);
}

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9;
	return x ^ x >> 32;
}

/* 64 bits of the value; its bits are halves of this stepped by the other. */
static uint64_t hash(const void *value, size_t size)
{
	const unsigned char *p = value;
	uint64_t sum = size, w;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&w, p, 8);
		sum = mix(sum + w);
	}
	if (size) {
		w = 0;
		memcpy(&w, p, size);
		sum = mix(sum + w);
	}
	return mix(sum);
}

static int push(struct nb_map *m, const void *value, uint64_t flags)
{
	struct bloom *b = (struct bloom *)m;
	uint64_t h = hash(value, m->def.value_size);
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

static int has(const struct nb_map *m, const void *value)
{
	const struct bloom *b = (const struct bloom *)m;
	uint64_t h = hash(value, m->def.value_size), w;
	uint32_t bit = (uint32_t)h, step = (uint32_t)(h >> 32) | 1;

	for (int i = 0; i < HASHES; i++, bit += step) {
		uint32_t at = bit & b->mask;

		w = __atomic_load_n(&b->word[at / 64], __ATOMIC_RELAXED);
		if (!(w >> at % 64 & 1))
			return -ENOENT;
	}
	return 0;
}

static int peek(struct nb_map *m, void *value)
{
	return has(m, value);
}

/* The value is asked for, not given. */
static int read(const struct nb_map *m, const void *key, void *value)
{
	(void)key;
	return has(m, value);
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	(void)key;
	return push(m, value, flags);
}

static int no_pop(struct nb_map *m, void *value)
{
	(void)m, (void)value;
	return -EOPNOTSUPP;
}

static int take_out(struct nb_map *m, const void *key)
{
	(void)m, (void)key;
	return -EOPNOTSUPP;
}

static int next(const struct nb_map *m, const void *key, void *to)
{
	(void)m, (void)key, (void)to;
	return -EOPNOTSUPP;
}

static int no_nth(const struct nb_map *m, uint32_t i, void *value)
{
	(void)m, (void)i, (void)value;
	return -ENOENT;
}

/* Bits set: how full it is; what was added, nobody knows. */
static uint32_t count(const struct nb_map *m)
{
	const struct bloom *b = (const struct bloom *)m;
	uint64_t n = 0;

	for (uint64_t i = 0; i <= b->mask / 64; i++)
		n += (uint64_t)__builtin_popcountll(
			__atomic_load_n(&b->word[i], __ATOMIC_RELAXED));
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void copy(struct nb_map *to, const struct nb_map *from)
{
	const struct bloom *f = (const struct bloom *)from;

	nb_slot_copy(((struct bloom *)to)->word, f->word,
		     ((size_t)f->mask + 1) / 8);
}

const struct nb_map_ops nb_map_bloom_ops = {
	.plan = plan,
	.init = init,
	.lookup = nb_no_lookup,
	.update = nb_no_update,
	.remove = take_out,
	.push = push,
	.pop = no_pop,
	.peek = peek,
	.nth = no_nth,
	.read = read,
	.write = write,
	.next = next,
	.count = count,
	.copy = copy,
};
