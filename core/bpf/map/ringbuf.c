// SPDX-License-Identifier: MIT
/*
 * The ring buffer. A record is a header of 8 bytes and its data, padded to 8.
 *
 * A writer claims room by moving the producer's position (one compare and
 * swap), stores the header with its busy bit, fills in the data, and clears the
 * busy bit. Before the header is stored a reader finds zero there, which also
 * means an incomplete record: readers zero each record before they move the
 * consumer's position, so no header of an earlier round remains. A flag admits
 * one reader at a time; writers ignore it.
 *
 * As many bytes again follow the ring, so that a record across the ring's end
 * lies in one piece. (The kernel maps the pages twice; twice the memory needs
 * no page tables.)
 */
#include "core/bpf/map/ringbuf.h"

#include "core/bpf/map/ops.h"

enum {
	HEADER = NB_RINGBUF_HEADER,
	/* Limit of attempts. Each failed attempt means that another writer
	 * succeeded. */
	ROUNDS = 1 << 12
};

/* Flags of a header, whose lower half is the size. */
#define BUSY ((uint64_t)NB_RINGBUF_BUSY)
#define DISCARD ((uint64_t)NB_RINGBUF_DISCARD)
#define RECORD ((uint64_t)1 << 32) /* Always set, so that no header is 0. */
#define SIZE_MASK (DISCARD - 1)

/*
 * The two positions have separate cache lines: writers change one, the reader
 * changes the other.
 */
struct ring {
	struct nb_map map;
	_Alignas(NB_CACHE_LINE) uint64_t produced;
	_Alignas(NB_CACHE_LINE) uint64_t consumed;
	uint32_t reading;
	/* Number of records for which the ring was full; rarely written. */
	uint64_t dropped;
	_Alignas(NB_CACHE_LINE) unsigned char data[];
};

static struct ring *ring_of(struct nb_map *m)
{
	return (struct ring *)m;
}

static uint64_t ring_size(const struct ring *r)
{
	return r->map.max_entries;
}

static uint64_t *record_header(struct ring *r, uint64_t pos)
{
	return (uint64_t *)(void *)&r->data[pos & (ring_size(r) - 1)];
}

/* Return the length of a record with its header. */
static uint64_t record_length(uint64_t size)
{
	return (size + HEADER + 7) & ~(uint64_t)7;
}

static void *ring_no_room(struct ring *r)
{
	__atomic_fetch_add(&r->dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}

void *nb_ringbuf_reserve(struct nb_map *m, uint64_t size)
{
	struct ring *r = ring_of(m);
	uint64_t all = ring_size(r), at, len = record_length(size);
	uint64_t *h;

	if (size > SIZE_MASK || len > all)
		return ring_no_room(r);
	at = __atomic_load_n(&r->produced, __ATOMIC_RELAXED);
	for (int n = 0; n < ROUNDS; n++) {
		/* Acquire order: the reader's zeroes come before our stores. */
		uint64_t from = __atomic_load_n(&r->consumed, __ATOMIC_ACQUIRE);

		/*
		 * Signed: the reader may have passed an old @at. The last byte
		 * is never filled, as in the kernel.
		 */
		if ((int64_t)(at + len - from) >= (int64_t)all)
			return ring_no_room(r);
		if (__atomic_compare_exchange_n(&r->produced, &at, at + len, true, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED)) {
			h = record_header(r, at);
			__atomic_store_n(h, RECORD | BUSY | size, __ATOMIC_RELEASE);
			return h + 1;
		}
		nb_cpu_relax();
	}
	return ring_no_room(r);
}

static void record_finish(void *sample, uint64_t how)
{
	uint64_t *h = (uint64_t *)sample - 1;

	__atomic_store_n(h, (__atomic_load_n(h, __ATOMIC_RELAXED) & ~BUSY) | how, __ATOMIC_RELEASE);
}

void nb_ringbuf_submit(void *sample, uint64_t flags)
{
	(void)flags;
	record_finish(sample, 0);
}

void nb_ringbuf_discard(void *sample, uint64_t flags)
{
	(void)flags;
	record_finish(sample, DISCARD);
}

int64_t nb_ringbuf_output(struct nb_map *m, const void *data, uint64_t size, uint64_t flags)
{
	void *to;

	if (flags & ~(uint64_t)(NB_RB_NO_WAKEUP | NB_RB_FORCE_WAKEUP))
		return -EINVAL;
	to = nb_ringbuf_reserve(m, size);
	if (!to)
		return -EAGAIN;
	memcpy(to, data, size);
	record_finish(to, 0);
	return 0;
}

uint64_t nb_ringbuf_dropped(const struct nb_map *m)
{
	return __atomic_load_n(&((const struct ring *)m)->dropped, __ATOMIC_RELAXED);
}

uint64_t nb_ringbuf_query(const struct nb_map *m, uint64_t flags)
{
	const struct ring *r = (const struct ring *)m;
	uint64_t cons = __atomic_load_n(&r->consumed, __ATOMIC_ACQUIRE);
	uint64_t prod = __atomic_load_n(&r->produced, __ATOMIC_ACQUIRE);

	switch (flags) {
	case NB_RB_AVAIL:
		return prod - cons;
	case NB_RB_SIZE:
		return ring_size(r);
	case NB_RB_CONS_POS:
		return cons;
	case NB_RB_PROD_POS:
		return prod;
	}
	return 0;
}

static bool begin_reading(struct ring *r)
{
	return !__atomic_exchange_n(&r->reading, 1, __ATOMIC_ACQUIRE);
}

static void end_reading(struct ring *r)
{
	__atomic_store_n(&r->reading, 0, __ATOMIC_RELEASE);
}

/*
 * Move *@pos to the first complete record that was not discarded, and
 * return its header. Returns 0 if there is none up to the first incomplete
 * record, at *@pos.
 */
static uint64_t ring_find(struct ring *r, uint64_t *pos)
{
	uint64_t end = __atomic_load_n(&r->produced, __ATOMIC_ACQUIRE), h;

	while (*pos < end) {
		h = __atomic_load_n(record_header(r, *pos), __ATOMIC_ACQUIRE);
		if (!h || h & BUSY)
			return 0;
		if (!(h & DISCARD))
			return h;
		*pos += record_length(h & SIZE_MASK);
	}
	return 0;
}

/* Free the records before @pos: zero them first, then move the position. */
static void ring_consume(struct ring *r, uint64_t pos)
{
	uint64_t all = ring_size(r);
	uint64_t at = __atomic_load_n(&r->consumed, __ATOMIC_RELAXED);

	for (uint64_t i = at; i < pos; i += 8)
		__atomic_store_n((uint64_t *)(void *)&r->data[i & (all - 1)], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&r->consumed, pos, __ATOMIC_RELEASE);
}

int nb_ringbuf_read(struct nb_map *m, void *to, size_t room, size_t *size)
{
	struct ring *r = ring_of(m);
	uint64_t pos, h;
	int rc = 0;

	if (!begin_reading(r))
		return -EAGAIN;
	pos = __atomic_load_n(&r->consumed, __ATOMIC_RELAXED);
	h = ring_find(r, &pos);
	*size = h & SIZE_MASK;
	if (!h) {
		rc = -EAGAIN;
	} else if (*size > room) {
		rc = -ENOSPC;
	} else {
		memcpy(to, record_header(r, pos) + 1, *size);
		pos += record_length(*size);
	}
	/* This also frees the discarded records before it. */
	ring_consume(r, pos);
	end_reading(r);
	return rc;
}

int nb_ringbuf_peek(struct nb_map *m, uint64_t *at, uint64_t *pos, void *to, size_t room,
		    size_t *size)
{
	struct ring *r = ring_of(m);
	uint64_t first, i, h = 0;
	int rc = -EAGAIN;

	*size = 0;
	if (!begin_reading(r))
		return -EAGAIN;
	first = __atomic_load_n(&r->consumed, __ATOMIC_RELAXED);
	/*
	 * Only a search from the oldest record finds whether there is a header
	 * at @at.
	 */
	for (i = first; (h = ring_find(r, &i)) && i < *at;)
		i += record_length(h & SIZE_MASK);
	if (h) {
		*size = h & SIZE_MASK;
		rc = *size > room ? -ENOSPC : 0;
	}
	if (!rc)
		memcpy(to, record_header(r, i) + 1, *size);
	if (h && pos)
		*pos = i;
	if (h)
		*at = i + record_length(*size);
	end_reading(r);
	return rc;
}

static uint64_t ring_memory(const struct nb_map_def *def, uint32_t ncpus)
{
	(void)ncpus;
	return sizeof(struct ring) + 2 * (uint64_t)def->max_entries;
}

/* Return the number of complete records not yet read; 0 while another
 * thread is reading. */
static uint32_t ring_count(struct nb_map *m)
{
	struct ring *r = ring_of(m);
	uint64_t pos, h;
	uint32_t n = 0;

	if (!begin_reading(r))
		return 0;
	pos = __atomic_load_n(&r->consumed, __ATOMIC_RELAXED);
	for (; (h = ring_find(r, &pos)); n++)
		pos += record_length(h & SIZE_MASK);
	end_reading(r);
	return n;
}

/* Copy the complete records up to the first that is being written. Copies
 * nothing if another thread is emptying the ring. */
static void ring_copy(struct nb_map *to, struct nb_map *from)
{
	struct ring *f = ring_of(from);
	uint64_t pos, h;

	if (!begin_reading(f))
		return;
	pos = __atomic_load_n(&f->consumed, __ATOMIC_RELAXED);
	for (; (h = ring_find(f, &pos)); pos += record_length(h & SIZE_MASK))
		nb_ringbuf_output(to, record_header(f, pos) + 1, h & SIZE_MASK, 0);
	end_reading(f);
}

const struct nb_map_ops nb_map_ringbuf_ops = {
	.size = ring_memory,
	.count = ring_count,
	.copy = ring_copy,
	.lacking = -NB_ENOTSUPP,
};
