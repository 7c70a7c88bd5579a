// SPDX-License-Identifier: MIT
// BPF_MAP_TYPE_QUEUE and BPF_MAP_TYPE_STACK: values without keys, first in or
// last in first out. One word holds a sequence number and the writers' lock
// bit; it moves with every change, so whoever only looks (peek) takes no lock
// and looks again if it moved. Writers hold the lock for one copy of a value;
// who finds it held for longer gives up with -EBUSY, as the kernel's maps do
// where they cannot wait. Checks and their order follow
// kernel/bpf/queue_stack_maps.c.
#include <errno.h>
#include <sched.h>

#include "core/map/ops.h"

enum { LOCK_SPINS = 256, READ_ROUNDS = 1 << 16 };

#define LOCK ((uint64_t)1)
#define SEQ ((uint64_t)2)

struct queue {
	struct nb_map map;
	_Alignas(NB_CACHE_LINE) uint64_t word;
	uint32_t first; /* the oldest value's place */
	uint32_t n;	/* values present */
	_Alignas(NB_CACHE_LINE) unsigned char values[];
};

static struct queue *queue_of(struct nb_map *m)
{
	return (struct queue *)m;
}

static const struct queue *const_queue_of(const struct nb_map *m)
{
	return (const struct queue *)m;
}

static bool plan(const struct nb_map_def *def, uint32_t ncpus, uint64_t *size)
{
	(void)ncpus;
	*size = sizeof(struct queue) +
		(uint64_t)nb_round8(def->value_size) * def->max_entries;
	return true; /* below 2^55 */
}

static void init(struct nb_map *m)
{
	m->elem_size = nb_round8(m->def.value_size);
	m->base = queue_of(m)->values;
}

/* ---- one writer at a time ----------------------------------------------- */

/* Stores below have release order: who sees one sees the lock bit as well. */
static bool lock(struct queue *q)
{
	for (int i = 0; i < LOCK_SPINS; i++) {
		uint64_t w = __atomic_load_n(&q->word, __ATOMIC_RELAXED);

		if (!(w & LOCK) && __atomic_compare_exchange_n(
					   &q->word, &w, w | LOCK, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
		nb_cpu_relax();
	}
	return false;
}

static void unlock(struct queue *q, uint64_t by)
{
	uint64_t w = __atomic_load_n(&q->word, __ATOMIC_RELAXED);

	__atomic_store_n(&q->word, (w & ~LOCK) + by, __ATOMIC_RELEASE);
}

static uint32_t load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store32(uint32_t *p, uint32_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* The value @nth after the oldest. */
static unsigned char *place(const struct queue *q, uint32_t first, uint32_t nth)
{
	uint64_t at = (uint64_t)first + nth;

	if (at >= q->map.max_entries)
		at -= q->map.max_entries;
	return q->map.base + at * q->map.elem_size;
}

static bool is_stack(const struct queue *q)
{
	return q->map.def.type == NB_MAP_STACK;
}

static int push(struct nb_map *m, const void *value, uint64_t flags)
{
	struct queue *q = queue_of(m);
	uint32_t n;

	if (flags & NB_NOEXIST || flags > NB_EXIST)
		return -EINVAL;
	if (!lock(q))
		return -EBUSY;
	n = q->n;
	if (n == m->max_entries && !(flags & NB_EXIST)) {
		unlock(q, 0);
		return -E2BIG;
	}
	if (n == m->max_entries) { /* in place of the oldest */
		store32(&q->first,
			q->first + 1 == m->max_entries ? 0 : q->first + 1);
		n--;
	}
	nb_slot_store(place(q, q->first, n), value, m->def.value_size);
	store32(&q->n, n + 1);
	unlock(q, SEQ);
	return 0;
}

static int pop(struct nb_map *m, void *value)
{
	struct queue *q = queue_of(m);
	uint32_t n;

	if (!lock(q)) {
		memset(value, 0, m->def.value_size);
		return -EBUSY;
	}
	n = q->n;
	if (n == 0) {
		unlock(q, 0);
		memset(value, 0, m->def.value_size);
		return -ENOENT;
	}
	nb_slot_load(value, place(q, q->first, is_stack(q) ? n - 1 : 0),
		     m->def.value_size);
	if (!is_stack(q))
		store32(&q->first,
			q->first + 1 == m->max_entries ? 0 : q->first + 1);
	store32(&q->n, n - 1);
	unlock(q, SEQ);
	return 0;
}

/* ---- looking ------------------------------------------------------------ */

static int nth(const struct nb_map *m, uint32_t i, void *value)
{
	const struct queue *q = const_queue_of(m);

	for (int r = 0; r < READ_ROUNDS; r++) {
		uint64_t w = __atomic_load_n(&q->word, __ATOMIC_ACQUIRE);
		uint32_t n = load32(&q->n), first = load32(&q->first);

		if (i < n)
			nb_slot_load(
				value,
				place(q, first, is_stack(q) ? n - 1 - i : i),
				m->def.value_size);
		if (!(w & LOCK) &&
		    __atomic_load_n(&q->word, __ATOMIC_RELAXED) == w) {
			if (i < n)
				return 0;
			memset(value, 0, m->def.value_size);
			return -ENOENT;
		}
		nb_cpu_relax();
	}
	memset(value, 0, m->def.value_size);
	return -EBUSY;
}

static int peek(struct nb_map *m, void *value)
{
	return nth(m, 0, value);
}

/* ---- the management side ------------------------------------------------ */

static int read(const struct nb_map *m, const void *key, void *value)
{
	(void)key;
	return nth(m, 0, value);
}

static int write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags)
{
	(void)key;
	return push(m, value, flags);
}

static uint32_t count(const struct nb_map *m)
{
	return load32(&const_queue_of(m)->n);
}

static void copy(struct nb_map *to, const struct nb_map *from)
{
	const struct queue *f = const_queue_of(from);
	struct queue *t = queue_of(to);

	for (int r = 0; r < READ_ROUNDS; r++) {
		uint64_t w = __atomic_load_n(&f->word, __ATOMIC_ACQUIRE);

		t->n = load32(&f->n);
		t->first = load32(&f->first);
		nb_slot_copy(t->values, f->values,
			     from->elem_size * from->max_entries);
		if (!(w & LOCK) &&
		    __atomic_load_n(&f->word, __ATOMIC_RELAXED) == w)
			return;
		sched_yield();
	}
	t->n = 0; /* never at rest: better nothing than a torn value */
}

const struct nb_map_ops nb_map_queue_ops = {
	.plan = plan,
	.init = init,
	.lookup = nb_no_lookup,
	.update = nb_no_update,
	.remove = nb_no_remove,
	.push = push,
	.pop = pop,
	.peek = peek,
	.nth = nth,
	.read = read,
	.write = write,
	.next = nb_no_next,
	.count = count,
	.copy = copy,
};
