// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_PERCPU_HASH: a hash whose elements have a value for each CPU.
// An update of a key that is there changes the values in place, under the
// bucket's lock, as in the kernel: programs that hold a pointer to one see it
// change. A key that a program adds begins with zeros on the other CPUs.
#include "core/map/hash_percpu.h"

#include <errno.h>

static inline __attribute__((always_inline)) void *
lookup_sized(struct nb_map *m, const void *key, size_t size, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	const unsigned char *e = find_sized(h, key, size);

	return e ? percpu_value(h, e, cpu) : NULL;
}

static void *lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	return lookup_sized(m, key, m->def.key_size, cpu);
}

static void *lookup4(struct nb_map *m, const void *key, uint32_t cpu)
{
	return lookup_sized(m, key, 4, cpu);
}

static void *lookup8(struct nb_map *m, const void *key, uint32_t cpu)
{
	return lookup_sized(m, key, 8, cpu);
}

static void store(const struct hash *h, const unsigned char *e,
		  const unsigned char *value, uint32_t cpu)
{
	size_t size = h->map.def.value_size;

	if (cpu != NB_ALL_CPUS) {
		nb_slot_store(percpu_value(h, e, cpu), value, size);
		return;
	}
	for (uint32_t i = 0; i < nb_ncpus(); i++, value += h->value_size)
		nb_slot_store(percpu_value(h, e, i), value, size);
}

/* The values of a new element. */
static void fill(const struct hash *h, const unsigned char *e,
		 const unsigned char *value, uint32_t cpu)
{
	for (uint32_t i = 0; cpu != NB_ALL_CPUS && i < nb_ncpus(); i++)
		for (size_t at = 0; at < h->value_size; at += 8)
			nb_slot_store(percpu_value(h, e, i) + at,
				      &(uint64_t){ 0 }, 8);
	store(h, e, value, cpu);
}

/*
 * Add an element to the locked chain. The key is copied first and everything
 * follows from the copy: it may lie in memory that another thread changes, and
 * then it may be another bucket's, or a key that is there.
 */
static int add(struct hash *h, uint64_t *b, uint64_t word, struct place p,
	       const void *key, const unsigned char *value, uint32_t cpu)
{
	size_t size = h->map.def.key_size;
	unsigned char *e;
	uint32_t i;

	if (p.n >= NB_MAP_CHAIN_MAX || !nb_hash_reserve(h)) {
		nb_hash_unlock(b, word);
		return p.n >= NB_MAP_CHAIN_MAX ? -ENOSPC : -E2BIG;
	}
	i = nb_hash_pop(h);
	e = i == NIL ? NULL : element(h, i);
	if (e)
		nb_slot_store(key_of(e), key, size);
	if (!e || bucket_of(h, key_of(e), size) != b ||
	    nb_hash_find(h, word, key_of(e)).at != NIL) {
		nb_hash_unlock(b, word);
		if (e)
			nb_hash_push(h, i);
		__atomic_sub_fetch(&h->count, 1, __ATOMIC_RELEASE);
		return -EBUSY;
	}
	fill(h, e, value, cpu);
	__atomic_store_n(next_of(e), (uint32_t)word, __ATOMIC_RELEASE);
	nb_hash_note(h, i, NB_USED_YES);
	nb_hash_unlock(b, (word & ~HEAD) | i);
	return 0;
}

int nb_hash_percpu_write(struct nb_map *m, const void *key, const void *value,
			 uint64_t flags, uint32_t cpu)
{
	struct hash *h = hash_of(m);
	uint64_t *b = bucket_of(h, key, m->def.key_size), word;
	struct place p;
	int rc = 0;

	if (flags > NB_EXIST)
		return -EINVAL;
	if (!nb_hash_lock(b, &word))
		return -EBUSY;
	p = nb_hash_find(h, word, key);
	if (p.at == NIL && flags != NB_EXIST)
		return add(h, b, word, p, key, value, cpu);
	if (p.at == NIL)
		rc = -ENOENT;
	else if (flags == NB_NOEXIST)
		rc = -EEXIST;
	else
		store(h, element(h, p.at), value, cpu);
	if (p.at != NIL && !rc)
		nb_hash_note(h, p.at, NB_USED_LATELY);
	nb_hash_unlock(b, word);
	return rc;
}

/* Each CPU's value is what it was at some moment of the call. */
int nb_hash_percpu_read(const struct nb_map *m, const void *key, void *value)
{
	const struct hash *h = const_hash_of(m);
	const uint64_t *b = bucket_of(h, key, m->def.key_size);
	unsigned char *e, *to;
	uint64_t seen;

	for (int n = 0; n < READ_ROUNDS; n++) {
		if (!walk(h, b, key, m->def.key_size, &seen, &e))
			continue;
		if (!e)
			return -ENOENT;
		to = value;
		for (uint32_t i = 0; i < nb_ncpus(); i++, to += h->value_size)
			nb_slot_load(to, percpu_value(h, e, i), h->value_size);
		if ((load(b) ^ seen) < SEQ)
			return 0;
	}
	return -EBUSY;
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	return nb_hash_percpu_write(m, key, value, flags, NB_ALL_CPUS);
}

static void init(struct nb_map *m)
{
	nb_hash_init(m);
	if (m->def.key_size == 4)
		m->lookup = lookup4;
	else if (m->def.key_size == 8)
		m->lookup = lookup8;
}

const struct nb_map_ops nb_map_percpu_hash_ops = {
	.plan = nb_hash_plan,
	.init = init,
	.lookup = lookup,
	.update = nb_hash_percpu_write,
	.remove = nb_hash_remove,
	.read = nb_hash_percpu_read,
	.write = write,
	.next = nb_hash_next,
	.each = nb_hash_each,
	.count = nb_hash_count,
	.copy = nb_hash_copy,
	.percpu = true,
};
