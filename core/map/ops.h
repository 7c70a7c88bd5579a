// SPDX-License-Identifier: MIT
#ifndef NB_MAP_OPS_H
#define NB_MAP_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/map/map.h"

/*
 * A program's walk over a map's elements; all zeroes begins one. An element
 * that stays is met once; one that is replaced meanwhile may be met twice or
 * not at all. Whatever others do, a walk ends.
 */
struct nb_map_cursor {
	const void *key; /* the element's: in the map, or &index */
	void *value;
	uint64_t at, after; /* the type's own */
	uint32_t visited;
	uint32_t index;
};

/*
 * What a map type is: one const struct each, named by its row in
 * core/defs/maps.h. Private to core/map and to the helper bodies, which call
 * the operations without a hop in between. Results are 0 or a negative errno
 * of the kernel's; map.c turns them into NB_E_* for the management side.
 */
struct nb_map_ops {
	/* Bytes of the type's struct and everything in it, of a checked
	 * definition; false when they do not fit in 64 bits. On a host with
	 * @ncpus possible CPUs. */
	bool (*plan)(const struct nb_map_def *def, uint32_t ncpus,
		     uint64_t *size);
	/* @m: zeroed memory of plan's size at a cache line, def filled in. */
	void (*init)(struct nb_map *m);

	void *(*lookup)(struct nb_map *m, const void *key, uint32_t cpu);
	int (*update)(struct nb_map *m, const void *key, const void *value,
		      uint64_t flags, uint32_t cpu);
	int (*remove)(struct nb_map *m, const void *key);
	/* Types without keys only (NB_KEYS_NONE): add @value; take one out;
	 * look at the one that pop would take, a bloom filter: ask for it.
	 * nth: the one that pop would take after @i others. */
	int (*push)(struct nb_map *m, const void *value, uint64_t flags);
	int (*pop)(struct nb_map *m, void *value);
	int (*peek)(struct nb_map *m, void *value);
	int (*nth)(const struct nb_map *m, uint32_t i, void *value);

	/* Values as the bpf() system call has them. */
	int (*read)(const struct nb_map *m, const void *key, void *value);
	int (*write)(struct nb_map *m, const void *key, const void *value,
		     uint64_t flags);
	int (*next)(const struct nb_map *m, const void *key, void *next);
	/* The program side's walk: step to the next element, false at the end.
	 * Takes no lock. NULL: the type has none. */
	bool (*each)(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu);
	uint32_t (*count)(const struct nb_map *m);
	/* Fill @to, new and of the same definition, with @from's elements. */
	void (*copy)(struct nb_map *to, const struct nb_map *from);
	bool percpu;
};

enum { NB_CACHE_LINE = 64 };

/* The kernel's number for an operation that a map type does not have; no
 * errno.h has it. */
enum { NB_ENOTSUPP = 524 };

/* The first member of each type's struct; read-only once made, but refs. */
struct nb_map {
	/* = ops->lookup, or one made for this key size */
	void *(*lookup)(struct nb_map *m, const void *key, uint32_t cpu);
	const struct nb_map_ops *ops;
	unsigned char *base;  /* element 0 of array types */
	size_t elem_size;     /* bytes between two elements */
	size_t cpu_size;      /* bytes between two CPUs' elements */
	uint32_t max_entries; /* = def.max_entries */
	bool percpu;	      /* does lookup look at its cpu? */
	uint32_t lock;	      /* offset of the value's lock plus 1; 0: none */
	bool frozen;	      /* the management side only reads */
	uint32_t programs;    /* program arrays: bit i: i may be a value */
	/* maps of maps: what the values mean, NB_MAP_MAX_INNER of them */
	struct nb_map **inner;
	struct nb_map_def def;
	size_t memory;
	char name[NB_MAP_NAME];
	/* a line of its own: the decision path reads the rest */
	_Alignas(NB_CACHE_LINE) uint32_t refs;
};

static inline size_t nb_round8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

/*
 * Elements are written and read a word at a time, by atomic accesses: policies
 * on other threads use the same bytes meanwhile. @slot is 8-byte aligned and
 * padded to 8 bytes (the padding is kept 0); the other side is @size bytes
 * without alignment. Release and acquire make what the caller checks next,
 * a sequence number, no older than the words.
 */
static inline void nb_slot_store(void *slot, const void *from, size_t size)
{
	const unsigned char *p = from;
	uint64_t *to = slot, w;

	if (__builtin_expect(size == 8, 1)) { /* a counter, mostly */
		memcpy(&w, p, 8);
		__atomic_store_n(to, w, __ATOMIC_RELEASE);
		return;
	}
	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&w, p, 8);
		__atomic_store_n(to++, w, __ATOMIC_RELEASE);
	}
	if (size > 0) {
		w = 0;
		memcpy(&w, p, size);
		__atomic_store_n(to, w, __ATOMIC_RELEASE);
	}
}

static inline void nb_slot_load(void *to, const void *slot, size_t size)
{
	const uint64_t *from = slot;
	unsigned char *p = to;
	uint64_t w;

	for (; size >= 8; size -= 8, p += 8) {
		w = __atomic_load_n(from++, __ATOMIC_ACQUIRE);
		memcpy(p, &w, 8);
	}
	if (size > 0) {
		w = __atomic_load_n(from, __ATOMIC_ACQUIRE);
		memcpy(p, &w, size);
	}
}

/* From slot to slot; @size is rounded up to whole words. */
static inline void nb_slot_copy(void *to, const void *from, size_t size)
{
	const uint64_t *f = from;
	uint64_t *t = to;

	for (size_t i = 0; i < nb_round8(size) / 8; i++)
		__atomic_store_n(&t[i],
				 __atomic_load_n(&f[i], __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
}

/*
 * A value's 4 bytes of lock belong to bpf_spin_lock alone: storing a value
 * leaves them as they are, reading one gives 0.
 */
static inline void nb_value_store(const struct nb_map *m, void *slot,
				  const void *from)
{
	const unsigned char *p = from;
	unsigned char *to = slot;
	uint32_t size = m->def.value_size, off, other, half = 0;

	if (!m->lock) {
		nb_slot_store(slot, from, size);
		return;
	}
	off = (m->lock - 1) & ~7u;
	other = (m->lock - 1) ^ 4;
	nb_slot_store(to, p, off);
	if (other < size) {
		memcpy(&half, p + other, size - other < 4 ? size - other : 4);
		__atomic_store_n((uint32_t *)(void *)(to + other), half,
				 __ATOMIC_RELEASE);
	}
	if (off + 8 < size)
		nb_slot_store(to + off + 8, p + off + 8, size - off - 8);
}

static inline void nb_value_load(const struct nb_map *m, void *to,
				 const void *slot)
{
	nb_slot_load(to, slot, m->def.value_size);
	if (m->lock)
		memset((unsigned char *)to + m->lock - 1, 0, 4);
}

/* The lock of a value that nobody else has seen is free. */
static inline void nb_value_unlock(const struct nb_map *m, void *slot)
{
	if (m->lock)
		memset((unsigned char *)slot + m->lock - 1, 0, 4);
}

static inline void nb_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* What types without keys, or with nothing to look up, put there; in map.c:
 * NULL, -EINVAL. */
void *nb_no_lookup(struct nb_map *m, const void *key, uint32_t cpu);
int nb_no_update(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags, uint32_t cpu);
int nb_no_remove(struct nb_map *m, const void *key);
int nb_no_next(const struct nb_map *m, const void *key, void *next);

static inline uint32_t nb_array_index(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

/* percpu_array's */
static inline unsigned char *nb_array_element(const struct nb_map *m,
					      uint32_t index, uint32_t cpu)
{
	return m->base + m->cpu_size * cpu + m->elem_size * index;
}

/* percpu_array's look-up, for helpers: without a call. */
static inline void *nb_percpu_array_lookup(const struct nb_map *m,
					   const void *key, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	return index < m->max_entries ? nb_array_element(m, index, cpu) : NULL;
}

/*
 * Where a hash of keys of 4 or 8 bytes keeps things, for machine code that
 * walks its chains itself, as find_words in hash.h does; false: another map.
 */
struct nb_hash_places {
	uint64_t bucket, elem; /* addresses */
	uint64_t factor;       /* of the map's hash function */
	uint32_t shift, value_off;
};
bool nb_hash_where(const struct nb_map *m, struct nb_hash_places *out);
/* A hash function of the map's own, made of @random; before the first key. */
void nb_hash_seed(struct nb_map *m, uint64_t random);
enum { NB_HASH_KEY = 8, NB_HASH_SEQ_BIT = 33 };

#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) \
	extern const struct nb_map_ops nb_map_##ops##_ops;
#include "core/defs/maps.h"

#endif
