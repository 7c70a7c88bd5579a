// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_HASH: chains of elements that are all allocated from the start;
 * hash_lru.c makes room in them for the LRU hash.
 *
 * A bucket is a sequence lock (seqlock.h) whose data is the place of its first
 * element. A writer changes a chain by one store at a time. A new element
 * replaces the old one of its key, as in the kernel: a program that holds the
 * old value sees it whole until the element is reused. The sequence number
 * moves when an element leaves the chain. So a walk that ends with the number
 * it began with has seen every key that was there throughout. Checks and their
 * order follow kernel/bpf/hashtab.c.
 */
#include "core/bpf/map/hash.h"
#include "core/bpf/map/map.h"

#include <sched.h>

enum { FREE_SPINS = 64 };

struct plan {
	uint64_t buckets, elems, elem_size, value_off;
	uint64_t bucket_bytes, used_bytes;
};

static bool is_lru(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->traits & NB_TRAIT_LRU;
}

/*
 * Return the number of elements beyond max_entries, one for each concurrent
 * update: an update fills an element before it knows whether it replaces
 * another one, so that a full map can be updated.
 */
static uint32_t spares(uint32_t ncpus)
{
	return ncpus > 16 ? ncpus : 16;
}

/* Compute the layout. All sizes are below 2^63: the check bounds elements,
 * and max_entries has 32 bits. */
static struct plan hash_plan(const struct nb_map_def *def, uint32_t ncpus)
{
	struct plan p = { .buckets = 2 };

	while (p.buckets < def->max_entries)
		p.buckets *= 2;
	p.value_off = 8 + nb_round8(def->key_size);
	p.elem_size = p.value_off + nb_round8(def->value_size);
	p.elems = (uint64_t)def->max_entries + spares(ncpus);
	p.bucket_bytes = nb_whole_lines(p.buckets * sizeof(uint64_t));
	if (is_lru(def))
		p.used_bytes = nb_whole_lines(p.elems);
	return p;
}

uint64_t nb_hash_size(const struct nb_map_def *def, uint32_t ncpus)
{
	struct plan p = hash_plan(def, ncpus);

	if (p.elems * p.elem_size / 8 >= NIL)
		return UINT64_MAX;
	return sizeof(struct hash) + p.bucket_bytes + p.used_bytes +
	       nb_whole_lines(p.elems * p.elem_size);
}

/* Take an element from the free list, which is a Treiber stack. A count of
 * pops in the upper half prevents the ABA problem. */
static uint32_t pop_free(struct hash *h)
{
	uint64_t head = nb_seq_load(&h->free), to;
	uint32_t i;

	do {
		i = (uint32_t)head;
		if (i == NIL)
			return NIL;
		to = (head & ~NB_SEQ_DATA) + NB_SEQ_LOCK;
		to |= next_of(element(h, i));
	} while (!__atomic_compare_exchange_n(&h->free, &head, to, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return i;
}

static void push_free(struct hash *h, uint32_t i)
{
	uint64_t head = __atomic_load_n(&h->free, __ATOMIC_RELAXED), to;

	do {
		set_next(element(h, i), (uint32_t)head);
		to = (head & ~NB_SEQ_DATA) | i;
	} while (!__atomic_compare_exchange_n(&h->free, &head, to, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
}

/*
 * Return an element for an update; NIL if there are more concurrent updates
 * than spare elements.
 */
static uint32_t hash_take_free(struct hash *h)
{
	uint32_t i = pop_free(h);

	for (int n = 0; i == NIL && n < FREE_SPINS; n++) {
		nb_cpu_relax();
		i = pop_free(h);
	}
	return i;
}

static inline __attribute__((always_inline)) void touch_element(const struct hash *h,
								const unsigned char *e)
{
	uint8_t *used = &h->used[number_of(e)];

	if (__atomic_load_n(used, __ATOMIC_RELAXED) != NB_USED_LATELY)
		__atomic_store_n(used, NB_USED_LATELY, __ATOMIC_RELAXED);
}

/* Look up a key; @size is its size, or 0 if not known at compile time. */
static inline __attribute__((always_inline)) void *hash_find(struct nb_map *m, const void *key,
							     size_t size, bool lru)
{
	const struct hash *h = hash_of(m);
	uint64_t word[2] = { 0 };
	unsigned char *e;

	for (size_t at = 0; at < size; at += 8)
		word[at / 8] = key_word(key, at, size);
	e = size ? find_words(h, word, (size + 7) / 8) : find_sized(h, key, m->def.key_size);
	if (!e)
		return NULL;
	if (lru)
		touch_element(h, e);
	return value_of(h, e);
}

typedef void *hash_lookup_fn(struct nb_map *m, const void *key, uint32_t cpu);

/* Define a look-up for each type, with fast paths for key sizes that are
 * common. */
#define LOOKUP(name, size, lru)                                                  \
	static void *name##size(struct nb_map *m, const void *key, uint32_t cpu) \
	{                                                                        \
		(void)cpu;                                                       \
		return hash_find(m, key, size, lru);                             \
	}
#define LOOKUPS(name, lru)    \
	LOOKUP(name, 0, lru)  \
	LOOKUP(name, 4, lru)  \
	LOOKUP(name, 8, lru)  \
	LOOKUP(name, 16, lru) \
	static hash_lookup_fn *const name[] = { name##0, name##4, name##8, name##16 };

LOOKUPS(lookup, false)
LOOKUPS(lookup_lru, true)

static hash_lookup_fn *choose_lookup(const struct nb_map_def *def)
{
	size_t k = def->key_size == 4 ? 1 : def->key_size == 8 ? 2 : def->key_size == 16 ? 3 : 0;

	return is_lru(def) ? lookup_lru[k] : lookup[k];
}

bool nb_hash_where(const struct nb_map *m, struct nb_hash_places *out)
{
	const struct hash *h = (const struct hash *)m;

	if (m->def.type != NB_MAP_HASH || (m->def.key_size != 4 && m->def.key_size != 8))
		return false;
	*out = (struct nb_hash_places){ (uintptr_t)h->bucket, (uintptr_t)h->elem, h->factor,
					h->shift, (uint32_t)h->value_off };
	return true;
}

/* Copy a value. The copy is repeated if the element left the chain
 * meanwhile. */
int nb_hash_read(struct nb_map *m, const void *key, void *value)
{
	const struct hash *h = hash_of(m);
	const uint64_t *b = bucket_of(h, key, m->def.key_size);
	unsigned char *e;
	uint64_t seen;

	for (int n = 0; n < NB_SEQ_READ_ROUNDS; n++) {
		if (walk(h, b, key, m->def.key_size, &seen, &e)) {
			if (!e)
				return -ENOENT;
			nb_slot_load(value, value_of(h, e), m->def.value_size);
			if (!nb_seq_moved(b, seen))
				return 0;
		}
		sched_yield();
	}
	return -EBUSY;
}

/* Find the key @key in a locked chain. */
static struct place chain_find(const struct hash *h, uint64_t word, const unsigned char *key)
{
	struct place p = { (uint32_t)word, NIL, 0 };

	while (p.at != NIL) {
		unsigned char *e = element(h, p.at);

		if (key_is(key_of(e), key, h->map.def.key_size))
			break;
		p.n++;
		p.before = p.at;
		p.at = next_of(e);
	}
	return p;
}

/* Remove the element at @p from its chain: let the link to this element point
 * to @to, then unlock the chain. */
static void chain_relink(struct hash *h, uint64_t *b, uint64_t word, struct place p, uint32_t to)
{
	if (p.before == NIL)
		word = (word & ~NB_SEQ_DATA) | to;
	else
		set_next(element(h, p.before), to);
	nb_seq_unlock(b, word + NB_SEQ_STEP);
}

/* Count one more element, unless max_entries are in use. */
static bool count_reserve(struct hash *h)
{
	uint32_t n = __atomic_load_n(&h->count, __ATOMIC_RELAXED);

	do {
		if (n >= h->map.max_entries)
			return false;
	} while (!__atomic_compare_exchange_n(&h->count, &n, n + 1, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

static void note_used(struct hash *h, uint32_t i, uint8_t used)
{
	if (h->used)
		__atomic_store_n(&h->used[number_of(element(h, i))], used, __ATOMIC_RELAXED);
}

static int check_update(struct hash *h, struct place p, uint64_t flags)
{
	if (p.at != NIL)
		return flags == NB_NOEXIST ? -EEXIST : 0;
	if (flags == NB_EXIST)
		return -ENOENT;
	if (p.n >= NB_MAP_CHAIN_MAX)
		return -ENOSPC;
	return count_reserve(h) ? 0 : -E2BIG;
}

/*
 * Put the filled element @i into its chain, in place of an element with the
 * same key. @i is freed unless it is in the chain at the end.
 */
static int chain_insert(struct hash *h, uint32_t i, uint64_t flags)
{
	unsigned char *e = element(h, i);
	uint64_t *b = bucket_of(h, key_of(e), h->map.def.key_size), word;
	struct place p;
	int rc;

	if (!nb_seq_lock(b, &word)) {
		push_free(h, i);
		return -EBUSY;
	}
	p = chain_find(h, word, key_of(e));
	rc = check_update(h, p, flags);
	if (rc) {
		nb_seq_unlock(b, word);
		push_free(h, i);
		return rc;
	}
	if (p.at == NIL) {
		set_next(e, (uint32_t)word);
		note_used(h, i, NB_USED_YES);
		nb_seq_unlock(b, (word & ~NB_SEQ_DATA) | i);
		return 0;
	}
	set_next(e, next_of(element(h, p.at)));
	note_used(h, i, NB_USED_LATELY);
	note_used(h, p.at, NB_USED_NOT);
	chain_relink(h, b, word, p, i);
	push_free(h, p.at);
	return 0;
}

/* Copy the key first and hash the copy: another thread may be changing the
 * key, and the stored key must be the hashed key. */
int nb_hash_update(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		   uint32_t cpu)
{
	struct hash *h = hash_of(m);
	uint32_t i;

	(void)cpu;
	if (flags > NB_EXIST)
		return -EINVAL;
	i = hash_take_free(h);
	if (i == NIL)
		return -EBUSY;
	nb_slot_store(key_of(element(h, i)), key, m->def.key_size);
	nb_slot_store(value_of(h, element(h, i)), value, m->def.value_size);
	return chain_insert(h, i, flags);
}

void nb_hash_drop(struct hash *h, uint64_t *b, uint64_t word, struct place p)
{
	note_used(h, p.at, NB_USED_NOT);
	chain_relink(h, b, word, p, next_of(element(h, p.at)));
	push_free(h, p.at);
	/*
	 * Decrement after the push, so that an update that increments the count
	 * finds a free element.
	 */
	__atomic_sub_fetch(&h->count, 1, __ATOMIC_RELEASE);
}

int nb_hash_remove(struct nb_map *m, const void *key)
{
	struct hash *h = hash_of(m);
	uint64_t *b = bucket_of(h, key, m->def.key_size), word;
	struct place p;

	if (!nb_seq_lock(b, &word))
		return -EBUSY;
	p = chain_find(h, word, key);
	if (p.at == NIL) {
		nb_seq_unlock(b, word);
		return -ENOENT;
	}
	nb_hash_drop(h, b, word, p);
	return 0;
}

/*
 * Compare keys by their words as numbers. bpf()'s iteration returns the
 * keys of a bucket in this order. So it can continue from any key, present
 * or not, and always ends.
 */
static int key_order(const unsigned char *slot, const unsigned char *key, size_t size)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;

	for (size_t at = 0; at < size; at += 8) {
		uint64_t a = nb_seq_load(s++), b = key_word(key, at, size);

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

/* Copy the least key of @b that is greater than @key (NULL: the least key)
 * to @next. */
static bool least_above(const struct hash *h, uint64_t *b, const unsigned char *key,
			unsigned char *next)
{
	size_t size = h->map.def.key_size;
	unsigned char *least = NULL;
	uint64_t word;

	if ((uint32_t)nb_seq_load(b) == NIL || !nb_seq_lock_sleeping(b, &word))
		return false;
	for (uint32_t i = (uint32_t)word; i != NIL;) {
		unsigned char *e = element(h, i);

		if ((!key || key_order(key_of(e), key, size) > 0) &&
		    (!least || key_order(key_of(e), key_of(least), size) < 0))
			least = e;
		i = next_of(e);
	}
	if (least)
		nb_slot_load(next, key_of(least), size);
	nb_seq_unlock(b, word);
	return least != NULL;
}

int nb_hash_next(struct nb_map *m, const void *key, void *to)
{
	const struct hash *h = hash_of(m);
	uint64_t *end = h->bucket + ((uint64_t)1 << (64 - h->shift));
	uint64_t *b = h->bucket;

	if (key) {
		b = bucket_of(h, key, m->def.key_size);
		if (least_above(h, b++, key, to))
			return 0;
	}
	for (; b < end; b++)
		if (least_above(h, b, NULL, to))
			return 0;
	return -ENOENT;
}

/*
 * Return the element of bucket @b with the least place from @after on, or NIL.
 * The result is only valid if the bucket still has @seen. Places decide and not
 * keys: programs may reuse an element and change its key meanwhile, and a step
 * costs the same for any key.
 */
static uint32_t chain_next(const struct hash *h, const uint64_t *b, uint64_t seen, uint64_t after)
{
	uint32_t least = NIL;

	for (uint32_t i = (uint32_t)seen; i != NIL && !nb_seq_moved(b, seen);
	     i = next_of(element(h, i)))
		if (i >= after && i < least)
			least = i;
	return least;
}

/*
 * Step to the next element of bucket @b, so that an iteration visits each
 * element once. Returns false if there is none.
 */
static bool each_of_bucket(const struct hash *h, const uint64_t *b, struct nb_map_cursor *c)
{
	for (int n = 0; n < NB_SEQ_READ_ROUNDS; n++) {
		uint64_t seen = nb_seq_load(b);
		uint32_t i = chain_next(h, b, seen, c->after);

		if (nb_seq_moved(b, seen))
			continue;
		if (i == NIL)
			return false;
		c->after = (uint64_t)i + 1;
		c->key = key_of(element(h, i));
		c->value = value_of(h, element(h, i));
		return true;
	}
	return false;
}

/*
 * Return the most elements that an iteration visits. The verifier's bound
 * (most_iterations, core/bpf/verify/feature/callback.c) is at least this on
 * every host, whatever its number of CPUs.
 */
static uint64_t most_visits(const struct nb_map *m)
{
	uint32_t extra = spares(nb_ncpus());

	return (uint64_t)m->max_entries + (extra < m->max_entries ? extra : m->max_entries);
}

/* Step to the next element. The number of steps is bounded, even if others
 * keep adding elements. */
bool nb_hash_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	uint64_t n = (uint64_t)1 << (64 - h->shift);

	(void)cpu;
	while (c->at < n && c->visited < most_visits(m)) {
		if (each_of_bucket(h, &h->bucket[c->at], c)) {
			c->visited++;
			return true;
		}
		c->at++;
		c->after = 0;
	}
	return false;
}

uint32_t nb_hash_count(struct nb_map *m)
{
	return __atomic_load_n(&hash_of(m)->count, __ATOMIC_RELAXED);
}

/*
 * Undo the copy of a bucket before the next attempt. No other thread sees @to
 * yet.
 */
static void empty_bucket(struct hash *to, uint64_t *b)
{
	uint32_t i = (uint32_t)*b;

	*b |= NB_SEQ_DATA;
	while (i != NIL) {
		uint32_t after = next_of(element(to, i));

		note_used(to, i, NB_USED_NOT);
		push_free(to, i);
		to->count--;
		i = after;
	}
}

/*
 * Delete from a copy the keys that the original no longer has; returns
 * false if it has all of them. Keys that came and went during the copy can
 * fill it up, and must not keep out the keys that stay.
 */
static bool drop_gone(struct hash *to, const struct hash *from)
{
	uint64_t n = (uint64_t)1 << (64 - to->shift);
	size_t size = to->map.def.key_size;
	uint32_t before = to->count;

	for (uint64_t b = 0; b < n; b++) {
		uint32_t i = (uint32_t)to->bucket[b];

		while (i != NIL) {
			unsigned char *e = element(to, i), *theirs = NULL;
			uint64_t seen;

			i = next_of(e);
			if (walk(from, &from->bucket[b], key_of(e), size, &seen, &theirs) &&
			    !theirs)
				nb_hash_remove(&to->map, key_of(e));
		}
	}
	return to->count < before;
}

/* Copy a bucket as it is at one moment; returns false if it changed
 * meanwhile. */
static bool copy_bucket(struct hash *to, const struct hash *from, const uint64_t *b)
{
	uint64_t seen = nb_seq_load(b);
	uint32_t i = (uint32_t)seen;

	while (i != NIL) {
		unsigned char *e = element(from, i);
		uint32_t mine = hash_take_free(to);

		if (mine == NIL)
			return true;
		nb_slot_copy(element(to, mine) + 8, e + 8, from->map.elem_size - 8);
		i = next_of(e);
		if (nb_seq_moved(b, seen)) {
			push_free(to, mine);
			return false;
		}
		if (chain_insert(to, mine, NB_ANY) == -E2BIG)
			return !drop_gone(to, from);
	}
	return true;
}

void nb_hash_copy(struct nb_map *to, struct nb_map *from)
{
	const struct hash *f = hash_of(from);
	uint64_t n = (uint64_t)1 << (64 - f->shift);

	/* The copy has the same hash function, so no key finds its bucket
	 * full. */
	hash_of(to)->factor = f->factor;
	hash_of(to)->fold = f->fold;
	for (uint64_t i = 0; i < n; i++)
		for (int r = 0; r < NB_SEQ_READ_ROUNDS; r++) {
			if (copy_bucket(hash_of(to), f, &f->bucket[i]))
				break;
			empty_bucket(hash_of(to), &hash_of(to)->bucket[i]);
			sched_yield();
		}
}

/* Constants of hashes without a seed; FACTOR is 2^64 over the golden ratio. */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define FOLD UINT64_C(0xa0761d6478bd642f)

enum { SPREAD = 8 };

/*
 * Do keys in equal steps fill the buckets evenly? Each step moves by @step
 * / 2^64 of all @buckets. Keys cluster if q steps, few compared with the
 * buckets, return so close to the start that SPREAD rounds end in one
 * bucket. Such q are denominators of the continued fraction of @step /
 * 2^64.
 */
static bool hash_spreads(uint64_t step, uint64_t buckets)
{
	uint64_t part = UINT64_MAX / step, a = step, b = 0 - part * step;
	uint64_t before = 1, q = part;

	if (part > SPREAD * buckets)
		return false;
	while (b && q <= buckets / SPREAD) {
		uint64_t rest = a % b, next;

		part = a / b;
		if (part > SPREAD * buckets / q)
			return false;
		next = part * q + before;
		before = q;
		q = next;
		a = b;
		b = rest;
	}
	return true;
}

/* Do keys in steps of each power of two (indices, sizes, addresses) fill
 * the buckets evenly? */
static bool hash_factor_is_good(uint64_t factor, uint64_t buckets)
{
	for (unsigned i = 0; i < 64 && UINT64_MAX >> i >= buckets; i++)
		if (!hash_spreads(factor << i, buckets))
			return false;
	return true;
}

/* Return the next number of the generator splitmix64. */
static uint64_t hash_random(uint64_t *state)
{
	uint64_t x = *state += FACTOR;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

void nb_hash_seed(struct nb_map *m, uint64_t random)
{
	struct hash *h = hash_of(m);
	uint64_t buckets = (uint64_t)1 << (64 - h->shift);

	h->fold = hash_random(&random) | 1;
	/* About two of five factors are good, so few tries are needed. */
	for (int n = 0; n < 64; n++) {
		h->factor = hash_random(&random) | 1;
		if (hash_factor_is_good(h->factor, buckets))
			return;
	}
	h->factor = FACTOR;
}

void nb_hash_init(struct nb_map *m)
{
	struct hash *h = hash_of(m);
	struct plan p = hash_plan(&m->def, nb_ncpus());
	uint32_t step = (uint32_t)(p.elem_size / 8), end;

	h->bucket = (uint64_t *)(void *)(h + 1);
	h->elem = (unsigned char *)h->bucket + p.bucket_bytes + p.used_bytes;
	if (p.used_bytes)
		h->used = h->elem - p.used_bytes;
	h->nelems = (uint32_t)p.elems;
	h->shift = 64 - (uint32_t)__builtin_ctzll(p.buckets);
	h->factor = FACTOR;
	h->fold = FOLD;
	h->value_off = p.value_off;
	m->elem_size = p.elem_size;
	m->lookup = choose_lookup(&m->def);
	for (uint64_t i = 0; i < p.buckets; i++)
		h->bucket[i] = NIL;
	end = (uint32_t)p.elems * step;
	for (uint32_t i = 0, n = 0; i < end; i += step, n++) {
		set_next(element(h, i), i + step < end ? i + step : NIL);
		memcpy(element(h, i) + 4, &n, sizeof(n));
	}
}

const struct nb_map_ops nb_map_hash_ops = {
	.size = nb_hash_size,
	.init = nb_hash_init,
	.update = nb_hash_update,
	NB_HASH_OPS,
	.each = nb_hash_each,
};
