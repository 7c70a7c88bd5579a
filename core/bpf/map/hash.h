// SPDX-License-Identifier: MIT
#ifndef NB_MAP_HASH_H
#define NB_MAP_HASH_H

/*
 * The layout of the hash types and the steps of a reader, which are inlined
 * into each look-up. Private to the hash types; hash.c says how readers and
 * writers run concurrently.
 */
#include "core/bpf/map/seqlock.h"

#define NIL UINT32_MAX

/*
 * A hash. An element has the place of the next one, its own number, the key
 * and the value, in 8-byte words.
 */
struct hash {
	struct nb_map map;
	uint64_t *bucket;
	unsigned char *elem;
	uint32_t shift; /* 64 minus log2 of the number of buckets. */
	uint32_t nelems;
	uint64_t factor, fold; /* Odd parameters of the hash function. */
	size_t value_off;
	/* LRU hashes: NB_USED_* of each element, by element number. */
	uint8_t *used;
	/* Every update writes this, so it is not on the cache line of the
	 * members above. The lower 32 bits hold the first free element, the
	 * upper 32 bits the number of pops. */
	_Alignas(NB_CACHE_LINE) uint64_t free;
	uint32_t count;
	/* LRU hashes: element at which the next search for room starts. */
	uint32_t hand;
};

/* State of an LRU map's element. It is a hint: a free element may still hold
 * NB_USED_YES. */
enum { NB_USED_NOT, NB_USED_YES, NB_USED_LATELY };

/*
 * Position of a key in a locked chain: its element (NIL if absent), the
 * element before it (NIL for the bucket), and the number of elements before
 * it.
 */
struct place {
	uint32_t at, before, n;
};

static inline struct hash *hash_of(struct nb_map *m)
{
	return (struct hash *)m;
}

/* Return the element at a place. A place is an offset in words, so that no
 * multiplication is needed. */
static inline unsigned char *element(const struct hash *h, uint32_t at)
{
	return h->elem + (size_t)8 * at;
}

static inline uint32_t number_of(const unsigned char *e)
{
	uint32_t n; /* The number of an element never changes. */

	memcpy(&n, e + 4, sizeof(n));
	return n;
}

static inline unsigned char *value_of(const struct hash *h, unsigned char *e)
{
	return e + h->value_off;
}

static inline unsigned char *key_of(unsigned char *e)
{
	return e + NB_HASH_KEY;
}

static inline uint32_t next_of(unsigned char *e)
{
	return nb_load32((const uint32_t *)(const void *)e);
}

static inline void set_next(unsigned char *e, uint32_t to)
{
	nb_store32((uint32_t *)(void *)e, to);
}

/*
 * Load eight bytes as two words of four. Most keys are structs that the program
 * has just stored field by field. A wide load of two narrow stores cannot be
 * forwarded from the store buffer and waits longer than a look-up takes. The
 * empty statement keeps the compiler from joining the loads.
 */
static inline __attribute__((always_inline)) uint64_t key_in_halves(const unsigned char *key)
{
	uint32_t low, high;

	memcpy(&low, key, 4);
	memcpy(&high, key + 4, 4);
	__asm__("" : "+r"(high));
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		return (uint64_t)low << 32 | high;
	return (uint64_t)high << 32 | low;
}

/* Return the key's word at byte @at, padded with zeros as in its slot. */
static inline __attribute__((always_inline)) uint64_t key_word(const unsigned char *key, size_t at,
							       size_t size)
{
	uint64_t w = 0;
	uint32_t half;

	if (size - at >= 8 && __builtin_constant_p(size)) {
		/* Only the readers' fast paths load in halves. */
		w = key_in_halves(key + at);
	} else if (size - at >= 8) {
		memcpy(&w, key + at, 8);
	} else if (size - at == 4) {
		memcpy(&half, key + at, 4);
		w = half;
	} else {
		memcpy(&w, key + at, size - at);
	}
	return w;
}

__extension__ typedef unsigned __int128 hash_wide;

/* Fold another word of a key, except its last one, into @sum. */
static inline __attribute__((always_inline)) uint64_t hash_word(const struct hash *h, uint64_t sum,
								uint64_t word)
{
	hash_wide p = (hash_wide)(sum ^ word) * h->fold;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/*
 * Return the bucket of a key, by multiplicative hashing with the upper
 * bits: an 8-byte key costs one multiplication. A user who does not know
 * the factor cannot choose keys that share a bucket
 * (docs/adr/0011-hash-seeds.md).
 */
static inline __attribute__((always_inline)) uint64_t *hash_bucket(const struct hash *h,
								   uint64_t sum, uint64_t last)
{
	return &h->bucket[((sum ^ last) * h->factor) >> h->shift];
}

static inline __attribute__((always_inline)) uint64_t *
bucket_of(const struct hash *h, const unsigned char *key, size_t size)
{
	uint64_t sum = 0;
	size_t at = 0;

	for (; at + 8 < size; at += 8)
		sum = hash_word(h, sum, key_word(key, at, size));
	return hash_bucket(h, sum, key_word(key, at, size));
}

/* Return the bucket of the key in an element, which another thread may be
 * filling. */
static inline uint64_t *bucket_of_slot(const struct hash *h, const unsigned char *slot)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;
	uint64_t sum = 0;

	for (size_t at = 8; at < h->map.def.key_size; at += 8)
		sum = hash_word(h, sum, nb_seq_load(s++));
	return hash_bucket(h, sum, nb_seq_load(s));
}

static inline __attribute__((always_inline)) bool key_is(const unsigned char *slot,
							 const unsigned char *key, size_t size)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;

	for (size_t at = 0; at < size; at += 8)
		if (nb_seq_load(s++) != key_word(key, at, size))
			return false;
	return true;
}

/*
 * Search a bucket once. Returns true if the answer is valid: *@e is the
 * element, or NULL. Returns false if an element left the chain meanwhile.
 * *@seen is the bucket's word at the start.
 */
static inline __attribute__((always_inline)) bool walk(const struct hash *h, const uint64_t *b,
						       const unsigned char *key, size_t size,
						       uint64_t *seen, unsigned char **e)
{
	uint64_t start = nb_seq_load(b);
	uint32_t i = (uint32_t)start;
	unsigned char *p;

	*seen = start;
	while (i != NIL) {
		p = element(h, i);
		if (key_is(key_of(p), key, size)) {
			*e = p;
			return !nb_seq_moved(b, start);
		}
		/* A reused element may lead anywhere, so check at each step. */
		i = next_of(p);
		if (nb_seq_moved(b, start))
			return false;
	}
	*e = NULL;
	return true;
}

/* Return the element of a key, or NULL. A key that stays in the map is
 * found. */
static inline __attribute__((always_inline)) unsigned char *find_sized(const struct hash *h,
								       const void *key, size_t size)
{
	const uint64_t *b = bucket_of(h, key, size);
	unsigned char *e;
	uint64_t seen;

	for (int n = 0; n < NB_SEQ_READ_ROUNDS; n++) {
		if (walk(h, b, key, size, &seen, &e))
			return e;
		nb_cpu_relax();
	}
	return NULL;
}

/* Return the element of a key of @n words, padded as in its slot. For key
 * sizes known at compile time; reads the key once. */
static inline __attribute__((always_inline)) unsigned char *
find_words(const struct hash *h, const uint64_t *key, size_t n)
{
	const uint64_t *b;
	uint64_t sum = 0;

	for (size_t w = 0; w + 1 < n; w++)
		sum = hash_word(h, sum, key[w]);
	b = hash_bucket(h, sum, key[n - 1]);
	for (int rounds = 0; rounds < NB_SEQ_READ_ROUNDS; rounds++) {
		uint64_t start = nb_seq_load(b);
		uint32_t i = (uint32_t)start;

		do {
			const uint64_t *slot;
			unsigned char *e;
			bool same = true;

			if (i == NIL)
				return NULL;
			e = element(h, i);
			slot = (const uint64_t *)(const void *)key_of(e);
			for (size_t w = 0; w < n; w++)
				same = same && nb_seq_load(slot + w) == key[w];
			if (same && !nb_seq_moved(b, start))
				return e;
			i = next_of(e);
		} while (!nb_seq_moved(b, start));
		nb_cpu_relax();
	}
	return NULL;
}

/* Take the element at @p out of its locked chain, unlock the chain, and
 * free the element. */
void nb_hash_drop(struct hash *h, uint64_t *b, uint64_t word, struct place p);

/* Operations that all hash types share; see ops.h. */
uint64_t nb_hash_size(const struct nb_map_def *def, uint32_t ncpus);
void nb_hash_init(struct nb_map *m);
int nb_hash_update(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		   uint32_t cpu);
int nb_hash_read(struct nb_map *m, const void *key, void *value);
int nb_hash_remove(struct nb_map *m, const void *key);
int nb_hash_next(struct nb_map *m, const void *key, void *to);
bool nb_hash_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu);
uint32_t nb_hash_count(struct nb_map *m);
/* A bucket that changes during each of NB_SEQ_READ_ROUNDS attempts stays empty
 * in the copy. This concerns only maps that programs write, so no answer that
 * ranks have to agree on. */
void nb_hash_copy(struct nb_map *to, struct nb_map *from);

/* The operations of a type whose memory, look-up and updates differ. */
#define NB_HASH_OPS                                                           \
	.remove = nb_hash_remove, .read = nb_hash_read, .next = nb_hash_next, \
	.count = nb_hash_count, .copy = nb_hash_copy

#endif
