// SPDX-License-Identifier: MIT
#ifndef NB_MAP_HASH_H
#define NB_MAP_HASH_H

/*
 * What the hash types share: the layout and a reader's steps, inlined into
 * each look-up. Private to hash.c, hash_percpu.c and hash_lru.c; how readers
 * and writers get along is told in hash.c.
 */
#include "core/map/ops.h"

#define HEAD ((uint64_t)UINT32_MAX)
#define LOCK ((uint64_t)1 << 32)
#define SEQ ((uint64_t)1 << NB_HASH_SEQ_BIT)
#define NIL UINT32_MAX

enum {
	/* Each failed round means that somebody changed the bucket during a
	 * walk of some 10 ns; thousands in a row do not happen. */
	READ_ROUNDS = 1 << 16
};

/*
 * An element: the next one's place and its own number, the key, the value, in
 * 8-byte words. Per-CPU values lie elsewhere: for each CPU a row of them, by
 * the element's number, so that no two CPUs write to one cache line.
 */
struct hash {
	struct nb_map map;
	uint64_t *bucket;
	unsigned char *elem;
	uint32_t shift; /* 64 - log2 of the number of buckets */
	uint32_t nelems;
	uint64_t factor, fold; /* of the hash function, odd */
	size_t value_off;
	/* per-CPU types: CPU 0's row; each has map.cpu_size bytes, a value
	 * takes value_size of them */
	unsigned char *row;
	size_t value_size;
	uint8_t *used; /* LRU types: NB_USED_* of each element by number */
	/* written by every update, so not on the line of the above */
	_Alignas(NB_CACHE_LINE) uint64_t free; /* count of pops << 32 | first */
	uint32_t count;
	uint32_t hand; /* LRU types: where looking for a victim goes on */
};

/* Of an element of an LRU map; a hint: a free one may say that it is in use. */
enum { NB_USED_NOT, NB_USED_YES, NB_USED_LATELY };

/*
 * Where a key is in a locked chain: its element (NIL: absent), the one before
 * it (NIL: the bucket), and how many are before it.
 */
struct place {
	uint32_t at, before, n;
};

static inline struct hash *hash_of(struct nb_map *m)
{
	return (struct hash *)m;
}

static inline const struct hash *const_hash_of(const struct nb_map *m)
{
	return (const struct hash *)m;
}

/* Elements are named by their offset in words: no multiplication to get there.
 */
static inline unsigned char *element(const struct hash *h, uint32_t at)
{
	return h->elem + (size_t)8 * at;
}

static inline uint32_t *next_of(unsigned char *e)
{
	return (uint32_t *)(void *)e;
}

static inline uint32_t number_of(const unsigned char *e)
{
	uint32_t n; /* never changes */

	memcpy(&n, e + 4, sizeof(n));
	return n;
}

/* The value of an element of a per-CPU map. */
static inline unsigned char *percpu_value(const struct hash *h,
					  const unsigned char *e, uint32_t cpu)
{
	return h->row + h->map.cpu_size * cpu + h->value_size * number_of(e);
}

static inline unsigned char *key_of(unsigned char *e)
{
	return e + NB_HASH_KEY;
}

static inline uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* ---- keys --------------------------------------------------------------- */

/*
 * Eight bytes as two words of four: most keys are structs that the program
 * has just stored field by field, and a wide load of what lies in the store
 * buffer in pieces waits until they have left it, longer than a look-up
 * takes. The empty statement keeps the compiler from joining the loads.
 */
static inline __attribute__((always_inline)) uint64_t
key_in_halves(const unsigned char *key)
{
	uint32_t low, high;

	memcpy(&low, key, 4);
	memcpy(&high, key + 4, 4);
	__asm__("" : "+r"(high));
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		return (uint64_t)low << 32 | high;
	return (uint64_t)high << 32 | low;
}

/* The key's word at byte @at, padded with zeros as in its slot. */
static inline __attribute__((always_inline)) uint64_t
key_word(const unsigned char *key, size_t at, size_t size)
{
	uint64_t w = 0;
	uint32_t half;

	if (size - at >= 8 && __builtin_constant_p(size)) {
		w = key_in_halves(key + at); /* the readers' fast paths */
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

/* All words of a key but its last one, as one word. */
static inline __attribute__((always_inline)) uint64_t
hash_word(const struct hash *h, uint64_t sum, uint64_t word)
{
	hash_wide p = (hash_wide)(sum ^ word) * h->fold;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/*
 * Multiplicative hashing, by the upper bits: one multiplication is what an
 * 8-byte key costs. Who does not know the factor cannot choose keys that share
 * a bucket (docs/adr/0011-hash-seeds.md).
 */
static inline __attribute__((always_inline)) uint64_t *
hash_bucket(const struct hash *h, uint64_t sum, uint64_t last)
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

/* The same of a key in an element, which another thread may be filling. */
static inline uint64_t *bucket_of_slot(const struct hash *h,
				       const unsigned char *slot)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;
	uint64_t sum = 0;

	for (size_t at = 8; at < h->map.def.key_size; at += 8)
		sum = hash_word(h, sum, load(s++));
	return hash_bucket(h, sum, load(s));
}

static inline __attribute__((always_inline)) bool
key_is(const unsigned char *slot, const unsigned char *key, size_t size)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;

	for (size_t at = 0; at < size; at += 8)
		if (load(s++) != key_word(key, at, size))
			return false;
	return true;
}

/*
 * One walk of a bucket. Returns true if its answer stands: *@e is the element,
 * or NULL for none. False: the chain changed meanwhile. *@seen: the bucket's
 * word at the start.
 */
static inline __attribute__((always_inline)) bool
walk(const struct hash *h, const uint64_t *b, const unsigned char *key,
     size_t size, uint64_t *seen, unsigned char **e)
{
	uint64_t start = load(b);
	uint32_t i = (uint32_t)start;
	unsigned char *p;

	*seen = start;
	while (i != NIL) {
		p = element(h, i);
		if (key_is(key_of(p), key, size)) {
			*e = p;
			return (load(b) ^ start) < SEQ;
		}
		/* Checking at each step ends walks that went astray. */
		i = __atomic_load_n(next_of(p), __ATOMIC_ACQUIRE);
		if ((load(b) ^ start) >= SEQ)
			return false;
	}
	*e = NULL;
	return true;
}

/* The element of a key, or NULL; a key that stays is always found. */
static inline __attribute__((always_inline)) unsigned char *
find_sized(const struct hash *h, const void *key, size_t size)
{
	const uint64_t *b = bucket_of(h, key, size);
	unsigned char *e;
	uint64_t seen;

	for (int n = 0; n < READ_ROUNDS; n++) {
		if (walk(h, b, key, size, &seen, &e))
			return e;
		nb_cpu_relax();
	}
	return NULL;
}

/*
 * The same of a key of @n words, as they are in its slot: for sizes that are
 * known when this is compiled. The key is read once.
 */
static inline __attribute__((always_inline)) unsigned char *
find_words(const struct hash *h, const uint64_t *key, size_t n)
{
	const uint64_t *b;
	uint64_t sum = 0;

	for (size_t w = 0; w + 1 < n; w++)
		sum = hash_word(h, sum, key[w]);
	b = hash_bucket(h, sum, key[n - 1]);
	for (int rounds = 0; rounds < READ_ROUNDS; rounds++) {
		uint64_t start = load(b);
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
				same = same && load(slot + w) == key[w];
			if (same && (load(b) ^ start) < SEQ)
				return e;
			i = __atomic_load_n(next_of(e), __ATOMIC_ACQUIRE);
		} while ((load(b) ^ start) < SEQ);
		nb_cpu_relax();
	}
	return NULL;
}

/* ---- writers, in hash.c ------------------------------------------------- */

/* An element not in use, or NIL; and back. */
uint32_t nb_hash_pop(struct hash *h);
void nb_hash_push(struct hash *h, uint32_t i);
/* A bucket for one writer: *@word is the bucket with its lock bit. False: it
 * stays busy. */
bool nb_hash_lock(uint64_t *b, uint64_t *word);
void nb_hash_unlock(uint64_t *b, uint64_t word);
struct place nb_hash_find(const struct hash *h, uint64_t word,
			  const unsigned char *key);
/* Take the element at @p out of its locked chain, unlock, free it. */
void nb_hash_drop(struct hash *h, uint64_t *b, uint64_t word, struct place p);
/* One more element, unless max_entries are in use. */
bool nb_hash_reserve(struct hash *h);
/* Note that an element is, or is not, in a chain. */
void nb_hash_note(struct hash *h, uint32_t i, uint8_t used);

/* Operations that the types share; see ops.h. */
bool nb_hash_plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size);
void nb_hash_init(struct nb_map *m);
int nb_hash_write(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags);
int nb_hash_read(const struct nb_map *m, const void *key, void *value);
int nb_hash_remove(struct nb_map *m, const void *key);
int nb_hash_next(const struct nb_map *m, const void *key, void *to);
bool nb_hash_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu);
uint32_t nb_hash_count(const struct nb_map *m);
void nb_hash_copy(struct nb_map *to, const struct nb_map *from);

#endif
