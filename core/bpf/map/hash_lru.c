// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_LRU_HASH: a hash that evicts elements to make room. Each element
 * has a byte that a program's look-up sets to "lately" (one store, unless it is
 * "lately" already). An update that needs room moves a clock hand around the
 * elements, shared by all threads. The hand turns "lately" into "in use" and
 * evicts the first element that was only in use: no look-up has found it since
 * the hand last passed.
 *
 * Guarantees: there are never more than max_entries elements. A present key
 * has the value stored last. An element that was looked up or replaced since
 * the hand last passed stays, unless HAND_MOST such elements in a row are
 * before the hand. Which element is evicted is otherwise unspecified, like in
 * the kernel (kernel/bpf/bpf_lru_list.c), which may also evict elements while
 * there is room.
 */
#include "core/bpf/map/hash.h"
#include "core/bpf/map/map.h"

enum {
	/* Elements that one update may pass; this takes less than 2 us. */
	HAND_MOST = NB_MAP_LRU_STEPS,
	/* Tries to make room: another thread may take the room that was
	 * made. */
	TRIES = 16
};

/* Evict element number @n; returns false if it is in no chain, or if its
 * bucket is busy. */
static bool lru_drop(struct hash *h, uint32_t n)
{
	uint32_t i = n * (uint32_t)(h->map.elem_size / 8);
	uint64_t *b = bucket_of_slot(h, key_of(element(h, i)));
	struct place p;
	uint64_t word;

	if (!nb_seq_lock(b, &word))
		return false;
	p = (struct place){ (uint32_t)word, NIL, 0 };
	while (p.at != NIL && p.at != i) {
		p.before = p.at;
		p.at = next_of(element(h, p.at));
	}
	if (p.at == NIL) {
		nb_seq_unlock(b, word);
		return false;
	}
	nb_hash_drop(h, b, word, p);
	return true;
}

static bool lru_make_room(struct hash *h)
{
	for (uint32_t step = 0; step < 2 * HAND_MOST; step++) {
		uint32_t n = __atomic_fetch_add(&h->hand, 1, __ATOMIC_RELAXED) % h->nelems;
		uint8_t used = __atomic_load_n(&h->used[n], __ATOMIC_RELAXED);

		if (used == NB_USED_LATELY && step < HAND_MOST)
			__atomic_store_n(&h->used[n], NB_USED_YES, __ATOMIC_RELAXED);
		else if (used != NB_USED_NOT && lru_drop(h, n))
			return true;
	}
	return false;
}

/* Make room for @key, if an update with @flags needs it. */
static bool lru_prepare(struct hash *h, const void *key, uint64_t flags)
{
	if (flags == NB_EXIST || nb_hash_count(&h->map) < h->map.max_entries ||
	    find_sized(h, key, h->map.def.key_size))
		return true;
	return lru_make_room(h);
}

static int lru_update(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		      uint32_t cpu)
{
	int rc = -E2BIG;

	if (flags > NB_EXIST)
		return -EINVAL;
	for (int n = 0; rc == -E2BIG && n < TRIES; n++)
		if (lru_prepare(hash_of(m), key, flags))
			rc = nb_hash_update(m, key, value, flags, cpu);
	return rc == -E2BIG ? -ENOMEM : rc;
}

const struct nb_map_ops nb_map_lru_hash_ops = {
	.size = nb_hash_size,
	.init = nb_hash_init,
	.update = lru_update,
	NB_HASH_OPS,
	.each = nb_hash_each,
};
