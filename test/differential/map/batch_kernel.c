// SPDX-License-Identifier: MIT
// Batches beside the kernel's (BPF_MAP_*_BATCH): how many elements of a batch
// come in or go out until the first that is refused, and with what error;
// what all look-ups in batches find is what our walk finds.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/differential/map/kernel.h"

enum { MOST = 700, FEW = 12 };

struct batch {
	const struct nb_map_def *def;
	struct side ours;
	int fd;
	size_t value_size;
	unsigned char *keys, *values, *value;
	uint32_t n;
	char *why;
	size_t why_size;
};

static int differ(struct batch *b, const char *what, int ours, int kernel)
{
	snprintf(b->why, b->why_size, "%s, batch: %s: ours %d, kernel %d", b->def->name, what, ours,
		 kernel);
	return -1;
}

/* @n: elements asked for, and then done */
static int kernel_batch(const struct batch *b, enum bpf_cmd cmd, void *in, void *out,
			unsigned char *keys, unsigned char *values, uint32_t *n)
{
	union bpf_attr a;
	int rc;

	memset(&a, 0, sizeof(a));
	a.batch.map_fd = (uint32_t)b->fd;
	a.batch.in_batch = (uintptr_t)in;
	a.batch.out_batch = (uintptr_t)out;
	a.batch.keys = (uintptr_t)keys;
	a.batch.values = (uintptr_t)values;
	a.batch.count = *n;
	rc = kernel_bpf(cmd, &a);
	*n = a.batch.count;
	return rc;
}

/* All of the kernel's elements, @step a call; where a bucket holds more, twice
 * as many. */
static int read_all(struct batch *b, uint32_t step)
{
	unsigned char at[64], next[64];
	bool first = true;

	for (b->n = 0; b->n < MOST;) {
		uint32_t n = step < MOST - b->n ? step : MOST - b->n;
		int rc = kernel_batch(b, BPF_MAP_LOOKUP_BATCH, first ? NULL : at, next,
				      b->keys + b->n * b->def->key_size,
				      b->values + b->n * b->value_size, &n);

		if (rc == -ENOSPC && step < MOST) {
			step *= 2;
			continue;
		}
		if (rc && rc != -ENOENT)
			return rc;
		b->n += n;
		if (rc)
			return 0;
		first = false;
		memcpy(at, next, sizeof(at));
	}
	return -ENOSPC;
}

/* Values of per-CPU maps have bytes between that are nobody's. */
static bool same_value(const struct batch *b, const unsigned char *x, const unsigned char *y)
{
	size_t step = (b->def->value_size + 7u) / 8 * 8;

	if (!shape_percpu(b->def))
		return !memcmp(x, y, b->value_size);
	for (size_t at = 0; at < b->value_size; at += step)
		if (memcmp(x + at, y + at, b->def->value_size) != 0)
			return false;
	return true;
}

static int look_up_all(struct batch *b, uint64_t *rng)
{
	bool index = shape_keys(b->def) == NB_KEYS_INDEX;
	int rc = read_all(b, 1 + (uint32_t)(sequence_random(rng) % 40));
	uint32_t count = nb_map_count(b->ours.self);

	if (rc)
		return differ(b, "look-up", 0, rc);
	if (b->n != count)
		return differ(b, "elements", (int)count, (int)b->n);
	for (uint32_t i = 0; i < b->n; i++) {
		const unsigned char *key = b->keys + i * b->def->key_size;

		/* the order of an array is that of its indices */
		if (index && memcmp(key, &i, 4) != 0)
			return differ(b, "order", (int)i, key[0]);
		rc = b->ours.lookup(b->ours.self, key, b->value);
		if (rc)
			return differ(b, "a key of the batch", rc, 0);
		if (!same_value(b, b->value, b->values + i * b->value_size))
			return differ(b, "value", (int)i, (int)i);
	}
	return 0;
}

/* Keys of few values, so that some are there and some come twice. */
static void choose(struct batch *b, uint64_t *rng)
{
	uint32_t key_size = b->def->key_size;

	b->n = 1 + (uint32_t)(sequence_random(rng) % FEW);
	memset(b->keys, 0, (size_t)b->n * key_size);
	for (uint32_t i = 0; i < b->n; i++) {
		unsigned char *key = b->keys + (size_t)i * key_size;
		uint64_t x = sequence_random(rng);

		key[0] = (unsigned char)(x % (FEW + 4));
	}
	for (size_t i = 0; i < b->n * b->value_size; i++)
		b->values[i] = (unsigned char)sequence_random(rng);
}

/* One after the other, as far as it goes. */
static int by_ones(const struct batch *b, bool update, uint32_t *done)
{
	int rc = 0;

	for (*done = 0; *done < b->n && !rc; *done += !rc) {
		const unsigned char *key = b->keys + *done * b->def->key_size;

		if (update)
			rc = b->ours.update(b->ours.self, key, b->values + *done * b->value_size,
					    NB_ANY);
		else
			rc = b->ours.remove(b->ours.self, key);
	}
	return rc;
}

static int change(struct batch *b, bool update, uint64_t *rng)
{
	uint32_t mine, n;
	int x, y;

	choose(b, rng);
	n = b->n;
	y = kernel_batch(b, update ? BPF_MAP_UPDATE_BATCH : BPF_MAP_DELETE_BATCH, NULL, NULL,
			 b->keys, b->values, &n);
	if (y == -524) /* the type has none of these */
		return 0;
	x = by_ones(b, update, &mine);
	if (x != y)
		return differ(b, update ? "update" : "delete", x, y);
	if (mine != n)
		return differ(b, "elements done", (int)mine, (int)n);
	return 0;
}

int batch_run(const struct shape *shape, uint64_t seed, struct nb_map *m, int fd, char *why,
	      size_t size)
{
	const struct nb_map_def *def = &shape->def;
	struct batch b = { .def = def, .fd = fd, .why = why };
	bool lru = nb_spec_map_type(def->type)->traits & NB_TRAIT_LRU;
	int rc;

	b.why_size = size;
	b.value_size = side_value_size(def);
	side_manage(&b.ours, m);
	b.keys = malloc((size_t)MOST * def->key_size);
	b.values = malloc((MOST + 1) * b.value_size);
	if (!b.keys || !b.values)
		abort();
	b.value = b.values + MOST * b.value_size;
	rc = look_up_all(&b, &seed);
	if (!rc && !lru) /* whose place is taken is not defined */
		rc = change(&b, true, &seed);
	if (!rc)
		rc = change(&b, false, &seed);
	if (!rc)
		rc = look_up_all(&b, &seed);
	free(b.keys);
	free(b.values);
	return rc;
}
