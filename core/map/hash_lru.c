// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_LRU_HASH and BPF_MAP_TYPE_LRU_PERCPU_HASH: hashes that make
// room. Each element has a byte that look-ups by programs set to "lately" (one
// store, and only if it is not that yet); who needs room goes round the
// elements with a hand that all share, takes the first one that is in use and
// was not looked up since the hand came by, and turns "lately" of those that
// it passes into "in use".
//
// What holds: there are never more than max_entries elements; a key that is
// there has the value stored last; an element that a program looked up, or that
// was replaced, since the hand last passed stays, unless HAND_MOST such in a
// row stand before the hand. Which one goes is otherwise open, as it is in the
// kernel, whose order is approximate too and differs between CPUs
// (kernel/bpf/bpf_lru_list.c; it may also drop elements while there is room,
// which this does not).
#include "core/map/hash.h"
#include "core/map/hash_percpu.h"

#include <errno.h>

enum {
	HAND_MOST = NB_MAP_LRU_STEPS, /* for one update, below 2 us */
	TRIES = 16 /* others may take the room that was made */
};

/* Take element number @n out; false: it is in no chain, or that is busy. */
static bool drop(struct hash *h, uint32_t n)
{
	uint32_t i = n * (uint32_t)(h->map.elem_size / 8);
	uint64_t *b = bucket_of_slot(h, key_of(element(h, i)));
	struct place p;
	uint64_t word;

	if (!nb_hash_lock(b, &word))
		return false;
	p = (struct place){ (uint32_t)word, NIL, 0 };
	while (p.at != NIL && p.at != i) {
		p.before = p.at;
		p.at = __atomic_load_n(next_of(element(h, p.at)),
				       __ATOMIC_RELAXED);
	}
	if (p.at == NIL) {
		nb_hash_unlock(b, word);
		return false;
	}
	nb_hash_drop(h, b, word, p);
	return true;
}

static bool make_room(struct hash *h)
{
	for (uint32_t step = 0; step < 2 * HAND_MOST; step++) {
		uint32_t n = __atomic_fetch_add(&h->hand, 1, __ATOMIC_RELAXED) %
			     h->nelems;
		uint8_t used = __atomic_load_n(&h->used[n], __ATOMIC_RELAXED);

		if (used == NB_USED_LATELY && step < HAND_MOST)
			__atomic_store_n(&h->used[n], NB_USED_YES,
					 __ATOMIC_RELAXED);
		else if (used != NB_USED_NOT && drop(h, n))
			return true;
	}
	return false;
}

/* Room for @key, if an update with @flags would need it. */
static bool prepare(struct hash *h, const void *key, uint64_t flags)
{
	if (flags == NB_EXIST || nb_hash_count(&h->map) < h->map.max_entries ||
	    find_sized(h, key, h->map.def.key_size))
		return true;
	return make_room(h);
}

static inline __attribute__((always_inline)) unsigned char *
touched(const struct hash *h, unsigned char *e)
{
	uint8_t *used = e ? &h->used[number_of(e)] : NULL;

	if (used && __atomic_load_n(used, __ATOMIC_RELAXED) != NB_USED_LATELY)
		__atomic_store_n(used, NB_USED_LATELY, __ATOMIC_RELAXED);
	return e;
}

/* ---- one value ---------------------------------------------------------- */

static inline __attribute__((always_inline)) void *
lookup_sized(struct nb_map *m, const void *key, size_t size)
{
	const struct hash *h = hash_of(m);
	unsigned char *e = touched(h, find_sized(h, key, size));

	return e ? e + h->value_off : NULL;
}

static void *lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return lookup_sized(m, key, m->def.key_size);
}

static void *lookup8(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return lookup_sized(m, key, 8);
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	int rc = -E2BIG;

	if (flags > NB_EXIST)
		return -EINVAL;
	for (int n = 0; rc == -E2BIG && n < TRIES; n++)
		if (prepare(hash_of(m), key, flags))
			rc = nb_hash_write(m, key, value, flags);
	return rc == -E2BIG ? -ENOMEM : rc;
}

static int update(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags, uint32_t cpu)
{
	(void)cpu;
	return write(m, key, value, flags);
}

static void init(struct nb_map *m)
{
	nb_hash_init(m);
	if (m->def.key_size == 8)
		m->lookup = lookup8;
}

const struct nb_map_ops nb_map_lru_hash_ops = {
	.plan = nb_hash_plan,
	.init = init,
	.lookup = lookup,
	.update = update,
	.remove = nb_hash_remove,
	.read = nb_hash_read,
	.write = write,
	.next = nb_hash_next,
	.each = nb_hash_each,
	.count = nb_hash_count,
	.copy = nb_hash_copy,
};

/* ---- a value for each CPU ----------------------------------------------- */

static void *percpu_lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	unsigned char *e = touched(h, find_sized(h, key, m->def.key_size));

	return e ? percpu_value(h, e, cpu) : NULL;
}

static int percpu_update(struct nb_map *m, const void *key, const void *value,
			 uint64_t flags, uint32_t cpu)
{
	int rc = -E2BIG;

	if (flags > NB_EXIST)
		return -EINVAL;
	for (int n = 0; rc == -E2BIG && n < TRIES; n++)
		if (prepare(hash_of(m), key, flags))
			rc = nb_hash_percpu_write(m, key, value, flags, cpu);
	return rc == -E2BIG ? -ENOMEM : rc;
}

static int percpu_write(struct nb_map *m, const void *key, const void *value,
			uint64_t flags)
{
	return percpu_update(m, key, value, flags, NB_ALL_CPUS);
}

const struct nb_map_ops nb_map_lru_percpu_hash_ops = {
	.plan = nb_hash_plan,
	.init = nb_hash_init,
	.lookup = percpu_lookup,
	.update = percpu_update,
	.remove = nb_hash_remove,
	.read = nb_hash_percpu_read,
	.write = percpu_write,
	.next = nb_hash_next,
	.each = nb_hash_each,
	.count = nb_hash_count,
	.copy = nb_hash_copy,
	.percpu = true,
};
