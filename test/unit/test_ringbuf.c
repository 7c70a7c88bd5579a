// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Ring buffer and program array: order, room, busy and discarded records, the
// ring's end, readers; random sequences against a model; elements that hold
// programs. Threads are test/differential/map/map_stress.c's, the kernel's own
// ring is compared in test/differential/map/ring_kernel.c.
#include "test/unit/unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/map/map.h"
#include "core/bpf/map/ringbuf.h"

enum { RING = 4096, HEADER = 8 };

static struct nb_map *ring(uint32_t size)
{
	const struct nb_map_def def = { "r", NB_MAP_RINGBUF, 0, 0, size, 0 };
	struct nb_err err;
	struct nb_map *m;

	ck_assert_msg(nb_map_new(&m, &def, &err) == 0, "%s", err.text);
	return m;
}

static int take(struct nb_map *m, uint64_t *v)
{
	size_t size;
	int rc = nb_ringbuf_read(m, v, sizeof(*v), &size);

	if (!rc)
		ck_assert_uint_eq(size, sizeof(*v));
	return rc;
}

static void give(struct nb_map *m, uint64_t v)
{
	ck_assert_int_eq(nb_ringbuf_output(m, &v, sizeof(v), 0), 0);
}

TEST(records_come_in_order_of_reservation)
{
	struct nb_map *m = ring(RING);
	uint64_t *a = nb_ringbuf_reserve(m, 8), *b = nb_ringbuf_reserve(m, 8);
	uint64_t v;

	*b = 2;
	nb_ringbuf_submit(b, 0);
	ck_assert_int_eq(take(m, &v), -EAGAIN); /* the first is busy */
	ck_assert_uint_eq(nb_map_count(m), 0);
	*a = 1;
	nb_ringbuf_submit(a, 0);
	ck_assert_uint_eq(nb_map_count(m), 2);
	ck_assert_int_eq(take(m, &v), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(take(m, &v), 0);
	ck_assert_uint_eq(v, 2);
	ck_assert_int_eq(take(m, &v), -EAGAIN);
	nb_map_put(m);
}

TEST(discarded_records_are_never_seen)
{
	struct nb_map *m = ring(RING);
	uint64_t v;

	nb_ringbuf_discard(nb_ringbuf_reserve(m, 8), 0);
	give(m, 5);
	nb_ringbuf_discard(nb_ringbuf_reserve(m, 100), 0);
	ck_assert_uint_eq(nb_map_count(m), 1);
	ck_assert_int_eq(take(m, &v), 0);
	ck_assert_uint_eq(v, 5);
	ck_assert_int_eq(take(m, &v), -EAGAIN);
	/* and their room is free again */
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_AVAIL), 0);
	nb_map_put(m);
}

TEST(a_ring_is_never_filled_to_the_last_byte)
{
	struct nb_map *m = ring(RING);
	size_t size;
	char room[RING];

	ck_assert_ptr_null(nb_ringbuf_reserve(m, RING));
	ck_assert_ptr_null(nb_ringbuf_reserve(m, RING - HEADER));
	ck_assert_ptr_null(nb_ringbuf_reserve(m, UINT64_MAX));
	ck_assert_ptr_null(nb_ringbuf_reserve(m, UINT64_MAX - 7));
	ck_assert_ptr_null(nb_ringbuf_reserve(m, UINT32_MAX));
	ck_assert_ptr_null(nb_ringbuf_reserve(m, 1ull << 32));
	memset(room, 7, sizeof(room));
	ck_assert_int_eq(nb_ringbuf_output(m, room, RING - 2 * HEADER, 0), 0);
	ck_assert_int_eq(nb_ringbuf_output(m, room, 0, 0), -EAGAIN);
	ck_assert_int_eq(nb_ringbuf_output(m, room, 0, 4), -EINVAL);
	ck_assert_int_eq(nb_ringbuf_read(m, room, 8, &size), -ENOSPC);
	ck_assert_uint_eq(size, RING - 2 * HEADER);
	ck_assert_int_eq(nb_ringbuf_read(m, room, sizeof(room), &size), 0);
	ck_assert_int_eq(nb_ringbuf_output(m, room, 0, 3), 0);
	ck_assert_int_eq(nb_ringbuf_read(m, room, 0, &size), 0);
	ck_assert_uint_eq(size, 0);
	nb_map_put(m);
}

TEST(query_tells_positions)
{
	struct nb_map *m = ring(RING);
	uint64_t v;

	give(m, 1);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_SIZE), RING);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_AVAIL), 16);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_PROD_POS), 16);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_CONS_POS), 0);
	ck_assert_int_eq(take(m, &v), 0);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_CONS_POS), 16);
	ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_AVAIL), 0);
	ck_assert_uint_eq(nb_ringbuf_query(m, 4), 0);
	ck_assert_uint_eq(nb_ringbuf_query(m, UINT64_MAX), 0);
	nb_map_put(m);
}

TEST(peeking_takes_nothing)
{
	struct nb_map *m = ring(RING);
	uint64_t at = 0, pos, v;
	size_t size;

	give(m, 1);
	nb_ringbuf_discard(nb_ringbuf_reserve(m, 8), 0);
	give(m, 2);
	ck_assert_int_eq(nb_ringbuf_peek(m, &at, &pos, &v, 8, &size), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_uint_eq(pos, 0);
	ck_assert_int_eq(nb_ringbuf_peek(m, &at, &pos, &v, 8, &size), 0);
	ck_assert_uint_eq(v, 2);
	ck_assert_uint_eq(pos, 32);
	ck_assert_uint_eq(at, 48);
	ck_assert_int_eq(nb_ringbuf_peek(m, &at, NULL, &v, 8, &size), -EAGAIN);
	at = 0;
	ck_assert_int_eq(nb_ringbuf_peek(m, &at, NULL, &v, 4, &size), -ENOSPC);
	ck_assert_uint_eq(size, 8);
	ck_assert_int_eq(take(m, &v), 0);
	ck_assert_uint_eq(v, 1);
	at = 0; /* passed by the reader: the oldest */
	ck_assert_int_eq(nb_ringbuf_peek(m, &at, NULL, &v, 8, &size), 0);
	ck_assert_uint_eq(v, 2);
	nb_map_put(m);
}

TEST(a_clone_has_the_complete_records)
{
	struct nb_map *m = ring(RING), *copy;
	uint64_t v, *busy;

	give(m, 1);
	give(m, 2);
	busy = nb_ringbuf_reserve(m, 8);
	give(m, 3); /* behind one that is not complete */
	ck_assert_int_eq(nb_map_clone(&copy, m, NULL), 0);
	ck_assert_int_eq(take(copy, &v), 0);
	ck_assert_uint_eq(v, 1);
	ck_assert_int_eq(take(copy, &v), 0);
	ck_assert_uint_eq(v, 2);
	ck_assert_int_eq(take(copy, &v), -EAGAIN);
	ck_assert_uint_eq(nb_map_count(m), 2); /* still there */
	nb_ringbuf_submit(busy, 0);
	nb_map_put(copy);
	nb_map_put(m);
}

TEST(a_ring_has_no_elements)
{
	struct nb_map *m = ring(RING);
	struct nb_err err;
	char byte = 0;

	ck_assert_int_eq(nb_map_read(m, &byte, &byte, &err), NB_E_NOTSUP);
	ck_assert_str_eq(err.text, "map \"r\": type ringbuf lacks this operation");
	ck_assert_int_eq(nb_map_write(m, &byte, &byte, 0, &err), NB_E_NOTSUP);
	ck_assert_int_eq(nb_map_erase(m, &byte, &err), NB_E_NOTSUP);
	ck_assert_int_eq(nb_map_next(m, NULL, &byte), NB_E_NOKEY);
	nb_map_put(m);
}

/* ---- against a model ---------------------------------------------------- */

/* Records in the order of reservation; positions as the kernel counts. */
struct record {
	unsigned char *sample;
	size_t size;
	unsigned char fill;
	int state; /* 0 busy, 1 submitted, 2 discarded */
};

struct model {
	struct record r[1024];
	int first, n;
	uint64_t prod, cons;
};

static uint64_t rnd(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return *s >> 33;
}

static uint64_t length(size_t size)
{
	return (size + HEADER + 7) / 8 * 8;
}

static void model_write(struct model *d, struct nb_map *m, uint64_t *s)
{
	struct record *r = &d->r[d->n];
	bool fits;

	r->size = rnd(s) % 4 ? rnd(s) % 64 : rnd(s) % RING;
	r->fill = (unsigned char)rnd(s);
	r->state = 0;
	r->sample = nb_ringbuf_reserve(m, r->size);
	fits = d->prod + length(r->size) - d->cons < RING;
	ck_assert_int_eq(fits, r->sample != NULL);
	if (!fits)
		return;
	ck_assert_uint_eq((uintptr_t)r->sample % 8, 0);
	memset(r->sample, r->fill, r->size);
	d->prod += length(r->size);
	d->n++;
}

static void model_finish(struct model *d, uint64_t *s)
{
	struct record *r;

	if (d->first == d->n)
		return;
	r = &d->r[d->first + (int)(rnd(s) % (uint64_t)(d->n - d->first))];
	if (r->state)
		return;
	for (size_t i = 0; i < r->size; i++) /* nobody else wrote there */
		ck_assert_uint_eq(r->sample[i], r->fill);
	r->state = rnd(s) % 4 ? 1 : 2;
	if (r->state == 1)
		nb_ringbuf_submit(r->sample, 0);
	else
		nb_ringbuf_discard(r->sample, 0);
}

static void model_read(struct model *d, struct nb_map *m)
{
	static unsigned char to[RING];
	size_t size;
	int rc = nb_ringbuf_read(m, to, sizeof(to), &size);

	while (d->first < d->n && d->r[d->first].state == 2)
		d->cons += length(d->r[d->first++].size);
	if (d->first == d->n || d->r[d->first].state == 0) {
		ck_assert_int_eq(rc, -EAGAIN);
		return;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(size, d->r[d->first].size);
	for (size_t i = 0; i < size; i++)
		ck_assert_uint_eq(to[i], d->r[d->first].fill);
	d->cons += length(d->r[d->first++].size);
}

TEST(random_sequences_act_as_the_model)
{
	static struct model d;
	struct nb_map *m = ring(RING);
	uint64_t s = 12345;

	for (int step = 0; step < 200000; step++) {
		uint64_t what = rnd(&s) % 3;

		if (what == 0)
			model_write(&d, m, &s);
		else if (what == 1)
			model_finish(&d, &s);
		else
			model_read(&d, m);
		ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_PROD_POS), d.prod);
		ck_assert_uint_eq(nb_ringbuf_query(m, NB_RB_CONS_POS), d.cons);
		if (d.n == 1024) {
			memmove(d.r, d.r + d.first, (size_t)(d.n - d.first) * sizeof(d.r[0]));
			d.n -= d.first;
			d.first = 0;
		}
	}
	ck_assert_uint_gt(d.cons, 100 * RING); /* it went round */
	nb_map_put(m);
}

UNIT_MAIN("ringbuf")
