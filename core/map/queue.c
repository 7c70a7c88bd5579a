// SPDX-License-Identifier: MIT
/*
 * BPF_MAP_TYPE_QUEUE and BPF_MAP_TYPE_STACK: values without keys, first in or
 * last in first out. Each change holds the lock for one copy of a value and
 * moves the sequence number, so a reader takes no lock and retries if the
 * number has moved. A writer that finds the lock held for long returns -EBUSY,
 * as the kernel's maps do where they cannot wait. Checks and their order follow
 * kernel/bpf/queue_stack_maps.c.
 */
#include <sched.h>

#include "core/map/map.h"
#include "core/map/seqlock.h"

struct queue {
	struct nb_map map;
	_Alignas(NB_CACHE_LINE) uint64_t word;
	uint32_t first; /* Index of the oldest value */
	uint32_t n;	/* Number of values present */
	_Alignas(NB_CACHE_LINE) unsigned char values[];
};

static struct queue *queue_of(struct nb_map *m)
{
	return (struct queue *)m;
}

static uint64_t queue_size(const struct nb_map_def *def, uint32_t ncpus)
{
	(void)ncpus;
	return sizeof(struct queue) +
	       (uint64_t)nb_round8(def->value_size) * def->max_entries;
}

static void queue_init(struct nb_map *m)
{
	m->elem_size = nb_round8(m->def.value_size);
	m->base = queue_of(m)->values;
}

/* Return the value that was added @nth after the one at @first. */
static unsigned char *queue_at(const struct nb_map *m, uint32_t first,
			       uint32_t nth)
{
	uint64_t at = (uint64_t)first + nth;

	if (at >= m->max_entries)
		at -= m->max_entries;
	return m->base + at * m->elem_size;
}

static bool is_stack(const struct nb_map *m)
{
	return m->def.type == NB_MAP_STACK;
}

static void queue_drop_oldest(struct queue *q)
{
	nb_store32(&q->first,
		   q->first + 1 == q->map.max_entries ? 0 : q->first + 1);
}

static int queue_push(struct nb_map *m, const void *value, uint64_t flags)
{
	struct queue *q = queue_of(m);
	uint64_t word;
	uint32_t n;

	if (flags & NB_NOEXIST || flags > NB_EXIST)
		return -EINVAL;
	if (!nb_seq_lock(&q->word, &word))
		return -EBUSY;
	n = q->n;
	if (n == m->max_entries && !(flags & NB_EXIST)) {
		nb_seq_unlock(&q->word, word);
		return -E2BIG;
	}
	if (n == m->max_entries) {
		queue_drop_oldest(q);
		n--;
	}
	nb_slot_store(queue_at(m, q->first, n), value, m->def.value_size);
	nb_store32(&q->n, n + 1);
	nb_seq_unlock(&q->word, word + NB_SEQ_STEP);
	return 0;
}

/* There is no value: zero the program's buffer, as the kernel does. */
static int queue_none(const struct nb_map *m, void *value, int rc)
{
	memset(value, 0, m->def.value_size);
	return rc;
}

static int queue_pop(struct nb_map *m, void *value)
{
	struct queue *q = queue_of(m);
	uint64_t word;
	uint32_t n;

	if (!nb_seq_lock(&q->word, &word))
		return queue_none(m, value, -EBUSY);
	n = q->n;
	if (n == 0) {
		nb_seq_unlock(&q->word, word);
		return queue_none(m, value, -ENOENT);
	}
	nb_slot_load(value, queue_at(m, q->first, is_stack(m) ? n - 1 : 0),
		     m->def.value_size);
	if (!is_stack(m))
		queue_drop_oldest(q);
	nb_store32(&q->n, n - 1);
	nb_seq_unlock(&q->word, word + NB_SEQ_STEP);
	return 0;
}

static int queue_peek(struct nb_map *m, uint32_t i, void *value)
{
	const struct queue *q = queue_of(m);

	for (int r = 0; r < NB_SEQ_READ_ROUNDS; r++) {
		uint64_t seen = nb_seq_load(&q->word);
		uint32_t n = nb_load32(&q->n), first = nb_load32(&q->first);

		if (i < n)
			nb_slot_load(
				value,
				queue_at(m, first, is_stack(m) ? n - 1 - i : i),
				m->def.value_size);
		if (nb_seq_at_rest(&q->word, seen))
			return i < n ? 0 : queue_none(m, value, -ENOENT);
		nb_cpu_relax();
	}
	return queue_none(m, value, -EBUSY);
}

static uint32_t queue_count(struct nb_map *m)
{
	return nb_load32(&queue_of(m)->n);
}

static void queue_copy(struct nb_map *to, struct nb_map *from)
{
	const struct queue *f = queue_of(from);
	struct queue *t = queue_of(to);

	for (int r = 0; r < NB_SEQ_READ_ROUNDS; r++) {
		uint64_t seen = nb_seq_load(&f->word);

		t->n = nb_load32(&f->n);
		t->first = nb_load32(&f->first);
		nb_slot_copy(t->values, f->values,
			     from->elem_size * from->max_entries);
		if (nb_seq_at_rest(&f->word, seen))
			return;
		sched_yield();
	}
	/*
	 * Writers changed the queue during every attempt: copy nothing, because
	 * a copy could mix two values.
	 */
	t->n = 0;
}

const struct nb_map_ops nb_map_queue_ops = {
	.size = queue_size,
	.init = queue_init,
	.push = queue_push,
	.pop = queue_pop,
	.peek = queue_peek,
	.count = queue_count,
	.copy = queue_copy,
};
