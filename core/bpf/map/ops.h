// SPDX-License-Identifier: MIT
#ifndef NB_MAP_OPS_H
#define NB_MAP_OPS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/bpf/map/cpu.h"
#include "core/bpf/map/def.h"
#include "core/spec/spec.h"

struct nb_map;

/*
 * A program's iteration over a map; all zeroes starts it. It visits an
 * element that stays once, and an element that is replaced meanwhile up to
 * twice. It ends whatever other threads do.
 */
struct nb_map_cursor {
	const void *key; /* Key of the element: in the map, or &index. */
	void *value;
	uint64_t at, after; /* Members for the map type's own use. */
	uint32_t visited;
	uint32_t index;
};

/* A value in place of a CPU: the caller has a value for each CPU. */
#define NB_ALL_CPUS UINT32_MAX

/*
 * The operations of a map type, named by its row in core/defs/maps.h. An
 * operation may be NULL if the type lacks it. Results are 0 or a negative
 * errno of the kernel; map.c turns them into NB_E_* for the management
 * side.
 */
struct nb_map_ops {
	/* Return the size of the type's struct with all elements on a host
	 * with @ncpus possible CPUs, for a checked definition. UINT64_MAX
	 * if too large. */
	uint64_t (*size)(const struct nb_map_def *def, uint32_t ncpus);
	/* Initialise @m: zeroed memory of that size at a cache line, with
	 * def set. */
	void (*init)(struct nb_map *m);

	void *(*lookup)(struct nb_map *m, const void *key, uint32_t cpu);
	/* Update a key. Per-CPU types store the value of @cpu. With
	 * NB_ALL_CPUS @value is what bpf() takes: a value for each CPU,
	 * padded to 8 bytes. */
	int (*update)(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu);
	int (*remove)(struct nb_map *m, const void *key);
	/* read: copy the value, or a value for each CPU, like bpf(). next:
	 * copy the key after @key in the order of bpf(). */
	int (*read)(struct nb_map *m, const void *key, void *value);
	int (*next)(struct nb_map *m, const void *key, void *next);
	/* Step a program's iteration to the next element; returns false at
	 * the end. Takes no lock. */
	bool (*each)(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu);
	/* Count the elements; if NULL, the count is max_entries. */
	uint32_t (*count)(struct nb_map *m);
	/* Fill @to, a new map with the same definition, with @from's
	 * elements. */
	void (*copy)(struct nb_map *to, struct nb_map *from);
	/* The errno for an operation that is NULL; 0 means EINVAL. */
	int lacking;
};

enum { NB_CACHE_LINE = 64 };

/* The kernel's number for an operation that a map type does not have; no
 * errno.h defines it. */
enum { NB_ENOTSUPP = 524 };

/* The first member of each type's struct. All members except refs are
 * read-only once the map is created. */
struct nb_map {
	/* ops->lookup, or a variant for this key size; never NULL. */
	void *(*lookup)(struct nb_map *m, const void *key, uint32_t cpu);
	const struct nb_map_ops *ops;
	unsigned char *base;  /* Element 0 of an array type. */
	size_t elem_size;     /* Bytes between two elements */
	size_t cpu_size;      /* Bytes between the elements of two CPUs. */
	uint32_t max_entries; /* Equals def.max_entries. */
	bool percpu;	      /* The map has a value for each CPU. */
	bool frozen;	      /* The management side may only read. */
	bool host;	      /* This is a host map: base is a mapping (host.h). */
	bool attached;	      /* Host maps: a descriptor is attached; atomic. */
	bool replicated;      /* Each communicator has its own elements (nb_map_state). */
	uint32_t state_off;   /* Their place in the communicator's memory. */
	struct nb_map_def def;
	size_t memory;
	char name[NB_MAP_NAME];
	/* The count has a cache line of its own, since the decision path
	 * reads the other members. */
	_Alignas(NB_CACHE_LINE) uint32_t refs;
};

/* Allocate a map with one reference in @size bytes; @def is checked.
 * Returns NULL if out of memory. */
struct nb_map *nb_map_allocate(const struct nb_map_def *def, size_t size);
/* Unmap the pages of @m if it is a host map. */
void nb_map_host_unmap(struct nb_map *m);

static inline size_t nb_round8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static inline uint64_t nb_whole_lines(uint64_t n)
{
	return (n + NB_CACHE_LINE - 1) & ~(uint64_t)(NB_CACHE_LINE - 1);
}

/*
 * Elements are stored and loaded a word at a time by atomic accesses, because
 * policies on other threads use the same bytes. @slot is 8-byte aligned and
 * padded with zeros to 8 bytes; the other side is @size bytes without
 * alignment. Release and acquire order the words before the caller's next check
 * of a sequence number.
 */
static inline void nb_slot_store(void *slot, const void *from, size_t size)
{
	const unsigned char *p = from;
	uint64_t *to = slot, w;

	/* Most values have 8 bytes, because most are counters. */
	if (__builtin_expect(size == 8, 1)) {
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

/* Copy from slot to slot; @size is rounded up to whole words. */
static inline void nb_slot_copy(void *to, const void *from, size_t size)
{
	const uint64_t *f = from;
	uint64_t *t = to;

	for (size_t i = 0; i < nb_round8(size) / 8; i++)
		__atomic_store_n(&t[i], __atomic_load_n(&f[i], __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

/*
 * Store or load the values of an element; @slot is the first CPU's. A
 * per-CPU type has one value for each CPU, cpu_size apart; other types
 * ignore @cpu.
 */
static inline void nb_values_store(const struct nb_map *m, void *slot, const void *from,
				   uint32_t cpu)
{
	const unsigned char *p = from;
	unsigned char *to = slot;
	uint32_t size = m->def.value_size;

	if (!m->percpu) {
		nb_slot_store(slot, from, size);
	} else if (cpu != NB_ALL_CPUS) {
		nb_slot_store(to + m->cpu_size * cpu, from, size);
	} else {
		for (cpu = 0; cpu < nb_ncpus(); cpu++, p += nb_round8(size))
			nb_slot_store(to + m->cpu_size * cpu, p, size);
	}
}

static inline void nb_values_load(const struct nb_map *m, void *to, const void *slot)
{
	const unsigned char *from = slot;
	size_t size = nb_round8(m->def.value_size);

	if (!m->percpu) {
		nb_slot_load(to, slot, m->def.value_size);
		return;
	}
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++)
		nb_slot_load((char *)to + size * cpu, from + m->cpu_size * cpu, size);
}

/*
 * Functions of the program side, which helpers call. Any thread, concurrently
 * with all other operations; no allocation, no sleep, no system call. Results
 * are 0 or a negative errno of the kernel (-EBUSY: another writer holds a lock
 * too long).
 *
 * lookup returns the value, or NULL. The value stays readable and writable as
 * long as the map lives; the element may be deleted and reused meanwhile, as
 * in the kernel's preallocated hash.
 *
 * @cpu: below nb_ncpus(); types with one value ignore it
 */
static inline void *nb_map_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	return m->lookup(m, key, cpu);
}

static inline int nb_map_lacks(const struct nb_map *m)
{
	return m->ops->lacking ? m->ops->lacking : -EINVAL;
}

static inline int nb_map_update(struct nb_map *m, const void *key, const void *value,
				uint64_t flags, uint32_t cpu)
{
	return m->ops->update ? m->ops->update(m, key, value, flags, cpu) : nb_map_lacks(m);
}

static inline int nb_map_delete(struct nb_map *m, const void *key)
{
	return m->ops->remove ? m->ops->remove(m, key) : nb_map_lacks(m);
}

static inline void nb_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static inline uint32_t nb_array_index(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

/* Return the value of @cpu; in types with one value, @cpu is 0. */
static inline unsigned char *nb_array_element(const struct nb_map *m, uint32_t index, uint32_t cpu)
{
	return m->base + m->cpu_size * cpu + m->elem_size * index;
}

/* Return an element of a replicated map in the memory @state of a communicator (NULL: the
 * map's own), or NULL. */
static inline void *nb_map_state(const struct nb_map *m, uint32_t index, unsigned char *state)
{
	unsigned char *base = state ? state + m->state_off : m->base;

	return index < m->max_entries ? base + m->elem_size * index : NULL;
}

/* Look up an element of a per-CPU array without an indirect call, for
 * helpers. */
static inline void *nb_percpu_array_lookup(const struct nb_map *m, const void *key, uint32_t cpu)
{
	uint32_t index = nb_array_index(key);

	return index < m->max_entries ? nb_array_element(m, index, cpu) : NULL;
}

/*
 * The layout of a hash with keys of 4 or 8 bytes, for machine code that
 * searches its chains like find_words in hash.h. nb_hash_where returns
 * false for other maps.
 */
struct nb_hash_places {
	uint64_t bucket, elem; /* Addresses of the first bucket and element. */
	uint64_t factor;       /* Multiplier of the hash function */
	uint32_t shift, value_off;
};
bool nb_hash_where(const struct nb_map *m, struct nb_hash_places *out);
/* Derive the map's hash function from @random. Call it before the first key. */
void nb_hash_seed(struct nb_map *m, uint64_t random);
enum { NB_HASH_KEY = 8, NB_HASH_SEQ_BIT = 33 };

/* Operations of types whose keys are indices. */
int nb_array_next(struct nb_map *m, const void *key, void *next);
void nb_array_copy(struct nb_map *to, struct nb_map *from);

#define MAPTYPE(name, id, word, ops, keys, traits, flags, doc) \
	extern const struct nb_map_ops nb_map_##ops##_ops;
#include "core/defs/maps.h"

#endif
