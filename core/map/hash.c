// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_HASH: chains of elements that are all there from the start.
//
// A bucket is one 64-bit word: a sequence number, a writer's lock bit and the
// place of its first element. Writers change a chain by one store at a time
// (a new element replaces the old one, as in the kernel: who still holds the
// old value sees it whole until the element is used again). Readers take no
// lock: the sequence number moves when an element leaves the chain, before it
// can be used again, so a walk that ends with the number it began with has
// met no reused element and has seen every key that was there throughout.
// Nobody waits for a reader, and a reader never waits for a stopped writer.
// Checks and their order follow kernel/bpf/hashtab.c.
#include "core/map/hash.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

enum {
	/* A spin is about 10 us: a writer holds a bucket for 0.1 us unless it
	 * is preempted, and then there is no point in spinning longer. */
	LOCK_SPINS = 256,
	FREE_SPINS = 64
};

struct plan {
	uint64_t buckets, elems, elem_size, value_off;
	uint64_t bucket_bytes, used_bytes, row_bytes;
};

static bool is_percpu(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->traits & NB_TRAIT_PERCPU;
}

static bool is_lru(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->traits & NB_TRAIT_LRU;
}

static uint64_t whole_lines(uint64_t n)
{
	return (n + NB_CACHE_LINE - 1) & ~(uint64_t)(NB_CACHE_LINE - 1);
}

/*
 * One element more for each update in flight: it fills its element before it
 * knows whether it replaces one, so a full map can still be updated.
 */
static uint32_t spares(uint32_t ncpus)
{
	return ncpus > 16 ? ncpus : 16;
}

/* All below 2^63: check has bounded the element, max_entries is 32 bits. */
static struct plan layout(const struct nb_map_def *def, uint32_t ncpus)
{
	struct plan p = { .buckets = 2 };

	while (p.buckets < def->max_entries)
		p.buckets *= 2;
	p.value_off = 8 + nb_round8(def->key_size);
	p.elem_size = p.value_off;
	if (!is_percpu(def))
		p.elem_size += nb_round8(def->value_size);
	p.elems = (uint64_t)def->max_entries + spares(ncpus);
	p.bucket_bytes = whole_lines(p.buckets * sizeof(uint64_t));
	p.used_bytes = is_lru(def) ? whole_lines(p.elems) : 0;
	if (is_percpu(def))
		p.row_bytes = whole_lines(p.elems * nb_round8(def->value_size));
	return p;
}

bool nb_hash_plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	struct plan p = layout(def, ncpus);

	*size = sizeof(struct hash) + p.bucket_bytes + p.used_bytes +
		whole_lines(p.elems * p.elem_size) + p.row_bytes * ncpus;
	return p.elems * p.elem_size / 8 < NIL;
}

/* ---- elements not in use ------------------------------------------------ */

/* Treiber's stack; the count in the upper half defeats A-B-A. */
uint32_t nb_hash_pop(struct hash *h)
{
	uint64_t head = load(&h->free), to;
	uint32_t i;

	do {
		i = (uint32_t)head;
		if (i == NIL)
			return NIL;
		to = (head & ~HEAD) + LOCK;
		to |= __atomic_load_n(next_of(element(h, i)), __ATOMIC_ACQUIRE);
	} while (!__atomic_compare_exchange_n(
		&h->free, &head, to, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return i;
}

void nb_hash_push(struct hash *h, uint32_t i)
{
	uint64_t head = __atomic_load_n(&h->free, __ATOMIC_RELAXED), to;

	do {
		__atomic_store_n(next_of(element(h, i)), (uint32_t)head,
				 __ATOMIC_RELEASE);
		to = (head & ~HEAD) | i;
	} while (!__atomic_compare_exchange_n(
		&h->free, &head, to, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
}

/* Elements run out only while more updates are in flight than spares(). */
static uint32_t take(struct hash *h)
{
	uint32_t i = nb_hash_pop(h);

	for (int n = 0; i == NIL && n < FREE_SPINS; n++) {
		nb_cpu_relax();
		i = nb_hash_pop(h);
	}
	return i;
}

/* ---- readers ------------------------------------------------------------ */

static inline __attribute__((always_inline)) void *
lookup_sized(struct nb_map *m, const void *key, size_t size)
{
	const struct hash *h = hash_of(m);
	uint64_t word[2] = { 0 };
	unsigned char *e;

	for (size_t at = 0; at < size; at += 8)
		word[at / 8] = key_word(key, at, size);
	e = find_words(h, word, (size + 7) / 8);
	return e ? e + h->value_off : NULL;
}

static void *lookup(struct nb_map *m, const void *key, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	unsigned char *e = find_sized(h, key, m->def.key_size);

	(void)cpu;
	return e ? e + h->value_off : NULL;
}

static void *lookup4(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return lookup_sized(m, key, 4);
}

static void *lookup8(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return lookup_sized(m, key, 8);
}

static void *lookup16(struct nb_map *m, const void *key, uint32_t cpu)
{
	(void)cpu;
	return lookup_sized(m, key, 16);
}

bool nb_hash_where(const struct nb_map *m, struct nb_hash_places *out)
{
	const struct hash *h = const_hash_of(m);

	if (m->ops != &nb_map_hash_ops ||
	    (m->def.key_size != 4 && m->def.key_size != 8))
		return false;
	*out = (struct nb_hash_places){ (uintptr_t)h->bucket,
					(uintptr_t)h->elem, h->factor, h->shift,
					(uint32_t)h->value_off };
	return true;
}

/* The value is copied whole, or again. */
int nb_hash_read(const struct nb_map *m, const void *key, void *value)
{
	const struct hash *h = const_hash_of(m);
	const uint64_t *b = bucket_of(h, key, m->def.key_size);
	unsigned char *e;
	uint64_t seen;

	for (int n = 0; n < READ_ROUNDS; n++) {
		if (walk(h, b, key, m->def.key_size, &seen, &e)) {
			if (!e)
				return -ENOENT;
			nb_value_load(m, value, e + h->value_off);
			if ((load(b) ^ seen) < SEQ)
				return 0;
		}
		sched_yield();
	}
	return -EBUSY;
}

/* ---- writers ------------------------------------------------------------ */

/* *@word: the bucket with its lock bit, which is ours then. */
bool nb_hash_lock(uint64_t *b, uint64_t *word)
{
	for (int n = 0; n < LOCK_SPINS; n++) {
		uint64_t w = __atomic_load_n(b, __ATOMIC_RELAXED);

		if (!(w & LOCK) &&
		    __atomic_compare_exchange_n(b, &w, w | LOCK, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED)) {
			*word = w | LOCK;
			return true;
		}
		nb_cpu_relax();
	}
	return false;
}

void nb_hash_unlock(uint64_t *b, uint64_t word)
{
	__atomic_store_n(b, word & ~LOCK, __ATOMIC_RELEASE);
}

struct place nb_hash_find(const struct hash *h, uint64_t word,
			  const unsigned char *key)
{
	struct place p = { (uint32_t)word, NIL, 0 };

	while (p.at != NIL) {
		unsigned char *e = element(h, p.at);

		if (key_is(key_of(e), key, h->map.def.key_size))
			break;
		p.n++;
		p.before = p.at;
		p.at = __atomic_load_n(next_of(e), __ATOMIC_RELAXED);
	}
	return p;
}

/* Let what led to place @p lead to @to; the chain's element there is out. */
static void relink(struct hash *h, uint64_t *b, uint64_t word, struct place p,
		   uint32_t to)
{
	if (p.before == NIL)
		word = (word & ~HEAD) | to;
	else
		__atomic_store_n(next_of(element(h, p.before)), to,
				 __ATOMIC_RELEASE);
	nb_hash_unlock(b, word + SEQ);
}

/* One more element, unless max_entries are in use. */
bool nb_hash_reserve(struct hash *h)
{
	uint32_t n = __atomic_load_n(&h->count, __ATOMIC_RELAXED);

	do {
		if (n >= h->map.max_entries)
			return false;
	} while (!__atomic_compare_exchange_n(&h->count, &n, n + 1, true,
					      __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

void nb_hash_note(struct hash *h, uint32_t i, uint8_t used)
{
	if (h->used)
		__atomic_store_n(&h->used[number_of(element(h, i))], used,
				 __ATOMIC_RELAXED);
}

static int refuse(struct hash *h, struct place p, uint64_t flags)
{
	if (p.at != NIL)
		return flags == NB_NOEXIST ? -EEXIST : 0;
	if (flags == NB_EXIST)
		return -ENOENT;
	if (p.n >= NB_MAP_CHAIN_MAX)
		return -ENOSPC;
	return nb_hash_reserve(h) ? 0 : -E2BIG;
}

/*
 * Put the filled element @i into its chain, in place of the one with the same
 * key if there is one. The element is taken back on failure.
 */
static int insert(struct hash *h, uint32_t i, uint64_t flags)
{
	unsigned char *e = element(h, i);
	uint64_t *b = bucket_of(h, key_of(e), h->map.def.key_size), word;
	uint32_t next;
	struct place p;
	int rc;

	if (!nb_hash_lock(b, &word)) {
		nb_hash_push(h, i);
		return -EBUSY;
	}
	p = nb_hash_find(h, word, key_of(e));
	rc = refuse(h, p, flags);
	if (rc) {
		nb_hash_unlock(b, word);
		nb_hash_push(h, i);
		return rc;
	}
	next = (uint32_t)word;
	if (p.at != NIL)
		next = __atomic_load_n(next_of(element(h, p.at)),
				       __ATOMIC_RELAXED);
	__atomic_store_n(next_of(e), next, __ATOMIC_RELEASE);
	nb_hash_note(h, i, p.at == NIL ? NB_USED_YES : NB_USED_LATELY);
	if (p.at == NIL) {
		nb_hash_unlock(b, (word & ~HEAD) | i);
		return 0;
	}
	nb_hash_note(h, p.at, NB_USED_NOT);
	relink(h, b, word, p, i);
	nb_hash_push(h, p.at);
	return 0;
}

/*
 * The key is copied first and hashed from the copy: it may lie in memory that
 * another thread changes, and what is stored must be what was hashed.
 */
int nb_hash_write(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags)
{
	struct hash *h = hash_of(m);
	unsigned char *e;
	uint32_t i;

	if (flags > NB_EXIST)
		return -EINVAL;
	i = take(h);
	if (i == NIL)
		return -EBUSY;
	e = element(h, i);
	nb_slot_store(key_of(e), key, m->def.key_size);
	nb_value_store(m, e + h->value_off, value);
	return insert(h, i, flags);
}

static int update(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags, uint32_t cpu)
{
	(void)cpu;
	return nb_hash_write(m, key, value, flags);
}

void nb_hash_drop(struct hash *h, uint64_t *b, uint64_t word, struct place p)
{
	nb_hash_note(h, p.at, NB_USED_NOT);
	relink(h, b, word, p,
	       __atomic_load_n(next_of(element(h, p.at)), __ATOMIC_RELAXED));
	nb_hash_push(h, p.at);
	/* After the push: who may insert now finds an element. */
	__atomic_sub_fetch(&h->count, 1, __ATOMIC_RELEASE);
}

int nb_hash_remove(struct nb_map *m, const void *key)
{
	struct hash *h = hash_of(m);
	uint64_t *b = bucket_of(h, key, m->def.key_size), word;
	struct place p;

	if (!nb_hash_lock(b, &word))
		return -EBUSY;
	p = nb_hash_find(h, word, key);
	if (p.at == NIL) {
		nb_hash_unlock(b, word);
		return -ENOENT;
	}
	nb_hash_drop(h, b, word, p);
	return 0;
}

/* ---- walking, counting, copying ----------------------------------------- */

/*
 * Keys of one bucket come in the order of their words taken as numbers: so a
 * walk goes on from any key, present or not, and always ends.
 */
static int key_order(const unsigned char *slot, const unsigned char *key,
		     size_t size)
{
	const uint64_t *s = (const uint64_t *)(const void *)slot;

	for (size_t at = 0; at < size; at += 8) {
		uint64_t a = load(s++), b = key_word(key, at, size);

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

/* A stopped writer goes on sooner or later; a dead one must not hang us. */
static bool lock_waiting(uint64_t *b, uint64_t *word)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	for (int n = 0; n < 2000; n++) {
		if (nb_hash_lock(b, word))
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

/* The least key of @b above @key (NULL: of all) to @next; false if none. */
static bool least_above(const struct hash *h, uint64_t *b,
			const unsigned char *key, unsigned char *next)
{
	size_t size = h->map.def.key_size;
	unsigned char *least = NULL;
	uint64_t word;

	if ((uint32_t)load(b) == NIL || !lock_waiting(b, &word))
		return false;
	for (uint32_t i = (uint32_t)word; i != NIL;) {
		unsigned char *e = element(h, i);

		if ((!key || key_order(key_of(e), key, size) > 0) &&
		    (!least || key_order(key_of(e), key_of(least), size) < 0))
			least = e;
		i = __atomic_load_n(next_of(e), __ATOMIC_RELAXED);
	}
	if (least)
		nb_slot_load(next, key_of(least), size);
	nb_hash_unlock(b, word);
	return least != NULL;
}

int nb_hash_next(const struct nb_map *m, const void *key, void *to)
{
	const struct hash *h = const_hash_of(m);
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
 * Of bucket @b the element with the least place above c->after - 1: places
 * stay while elements do, so a walk in their order meets each once. False:
 * no more.
 */
static bool each_of_bucket(const struct hash *h, const uint64_t *b,
			   struct nb_map_cursor *c, uint32_t cpu)
{
	for (int n = 0; n < READ_ROUNDS; n++) {
		uint64_t seen = load(b);
		uint32_t i = (uint32_t)seen, least = NIL;

		while (i != NIL && (load(b) ^ seen) < SEQ) {
			if (i >= c->after && i < least)
				least = i;
			i = __atomic_load_n(next_of(element(h, i)),
					    __ATOMIC_ACQUIRE);
		}
		if ((load(b) ^ seen) >= SEQ)
			continue;
		if (least == NIL)
			return false;
		c->after = (uint64_t)least + 1;
		c->key = key_of(element(h, least));
		c->value = h->row ? percpu_value(h, element(h, least), cpu)
				  : element(h, least) + h->value_off;
		return true;
	}
	return false;
}

/* What the verifier counts with (most_turns, core/verify/feature/callback.c) is
 * no less on any host, however many CPUs it has. */
static uint64_t most_visits(const struct nb_map *m)
{
	uint32_t extra = spares(nb_ncpus());

	return (uint64_t)m->max_entries +
	       (extra < m->max_entries ? extra : m->max_entries);
}

/* Elements that others put in again and again do not make a walk longer. */
bool nb_hash_each(struct nb_map *m, struct nb_map_cursor *c, uint32_t cpu)
{
	const struct hash *h = hash_of(m);
	uint64_t n = (uint64_t)1 << (64 - h->shift);

	while (c->at < n && c->visited < most_visits(m)) {
		if (each_of_bucket(h, &h->bucket[c->at], c, cpu)) {
			c->visited++;
			return true;
		}
		c->at++;
		c->after = 0;
	}
	return false;
}

uint32_t nb_hash_count(const struct nb_map *m)
{
	return __atomic_load_n(&const_hash_of(m)->count, __ATOMIC_RELAXED);
}

/* Put back what a copy that must be made again has brought; nobody else sees
 * @to yet. */
static void empty_bucket(struct hash *to, uint64_t *b)
{
	uint32_t i = (uint32_t)*b;

	*b |= HEAD;
	while (i != NIL) {
		uint32_t after = *next_of(element(to, i));

		nb_hash_note(to, i, NB_USED_NOT);
		nb_hash_push(to, i);
		to->count--;
		i = after;
	}
}

/*
 * Take out of a copy what the original has no more; false if there is nothing
 * such. Elements that came and went while we walked can make the copy seem
 * full, and must not keep out those that stay.
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

			i = *next_of(e);
			if (walk(from, &from->bucket[b], key_of(e), size, &seen,
				 &theirs) &&
			    !theirs)
				nb_hash_remove(&to->map, key_of(e));
		}
	}
	return to->count < before;
}

/* Copy one bucket's elements as of one moment; false if it changed. */
static bool copy_bucket(struct hash *to, const struct hash *from,
			const uint64_t *b)
{
	uint64_t seen = load(b);
	uint32_t i = (uint32_t)seen;

	while (i != NIL) {
		unsigned char *e = element(from, i);
		uint32_t mine = take(to);

		if (mine == NIL)
			return true;
		nb_slot_copy(element(to, mine) + 8, e + 8,
			     from->map.elem_size - 8);
		nb_value_unlock(&to->map, element(to, mine) + to->value_off);
		for (uint32_t cpu = 0; from->row && cpu < nb_ncpus(); cpu++)
			nb_slot_copy(percpu_value(to, element(to, mine), cpu),
				     percpu_value(from, e, cpu),
				     from->value_size);
		i = __atomic_load_n(next_of(e), __ATOMIC_ACQUIRE);
		if ((load(b) ^ seen) >= SEQ) {
			nb_hash_push(to, mine);
			return false;
		}
		if (insert(to, mine, NB_ANY) == -E2BIG)
			return !drop_gone(to, from);
	}
	return true;
}

void nb_hash_copy(struct nb_map *to, const struct nb_map *from)
{
	const struct hash *f = const_hash_of(from);
	uint64_t n = (uint64_t)1 << (64 - f->shift);

	/* Elements stay in their buckets, so none finds its bucket full. */
	hash_of(to)->factor = f->factor;
	hash_of(to)->fold = f->fold;
	for (uint64_t i = 0; i < n; i++)
		for (int r = 0; r < READ_ROUNDS; r++) {
			if (copy_bucket(hash_of(to), f, &f->bucket[i]))
				break;
			empty_bucket(hash_of(to), &hash_of(to)->bucket[i]);
			sched_yield();
		}
}

/* ---- the hash function -------------------------------------------------- */

/* 2^64 over the golden ratio: of hashes that are not seeded. */
#define FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define FOLD UINT64_C(0xa0761d6478bd642f)

enum { SPREAD = 8 };

/*
 * Do keys in equal steps, which move by @step / 2^64 of all @buckets each,
 * fill buckets evenly? They do not if they come round after q steps, few
 * against the buckets, and miss their start by so little that SPREAD rounds
 * end in one bucket. Such q are denominators of the continued fraction.
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

/* The same of steps of each power of two: indices, sizes, addresses. */
static bool hash_factor_is_good(uint64_t factor, uint64_t buckets)
{
	for (unsigned i = 0; i < 64 && UINT64_MAX >> i >= buckets; i++)
		if (!hash_spreads(factor << i, buckets))
			return false;
	return true;
}

/* splitmix64 */
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
	/* Two of five are good. */
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
	struct plan p = layout(&m->def, nb_ncpus());
	uint32_t step, end;

	h->bucket = (uint64_t *)(void *)(h + 1);
	h->elem = (unsigned char *)h->bucket + p.bucket_bytes + p.used_bytes;
	if (is_lru(&m->def))
		h->used = h->elem - p.used_bytes;
	if (is_percpu(&m->def))
		h->row = h->elem + whole_lines(p.elems * p.elem_size);
	h->value_size = nb_round8(m->def.value_size);
	h->nelems = (uint32_t)p.elems;
	m->cpu_size = p.row_bytes;
	h->shift = 64 - (uint32_t)__builtin_ctzll(p.buckets);
	h->factor = FACTOR;
	h->fold = FOLD;
	h->value_off = p.value_off;
	m->elem_size = p.elem_size;
	for (uint64_t i = 0; i < p.buckets; i++)
		h->bucket[i] = NIL;
	step = (uint32_t)(p.elem_size / 8);
	end = (uint32_t)p.elems * step;
	for (uint32_t i = 0, n = 0; i < end; i += step, n++) {
		*next_of(element(h, i)) = i + step < end ? i + step : NIL;
		memcpy(element(h, i) + 4, &n, sizeof(n));
	}
}

static void init(struct nb_map *m)
{
	nb_hash_init(m);
	if (m->def.key_size == 4)
		m->lookup = lookup4;
	else if (m->def.key_size == 8)
		m->lookup = lookup8;
	else if (m->def.key_size == 16)
		m->lookup = lookup16;
}

const struct nb_map_ops nb_map_hash_ops = {
	.plan = nb_hash_plan,
	.init = init,
	.lookup = lookup,
	.update = update,
	.remove = nb_hash_remove,
	.read = nb_hash_read,
	.write = nb_hash_write,
	.next = nb_hash_next,
	.each = nb_hash_each,
	.count = nb_hash_count,
	.copy = nb_hash_copy,
};
