// SPDX-License-Identifier: MIT
// See sequence.h. Keys come from a small pool, one and a half times as many as
// the map holds, so that full maps, absent keys and re-used elements all come
// up often; flags include ones that no map takes.
#include "test/differential/map/sequence.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_MAX = 600, VALUE_MAX = 64 << 10, WALK_MAX = 4096 };

const struct shape shapes[] = {
	{ "array of bytes", { "a1", NB_MAP_ARRAY, 4, 1, 5, 0 } },
	{ "array of one", { "a2", NB_MAP_ARRAY, 4, 8, 1, 0 } },
	{ "array", { "a3", NB_MAP_ARRAY, 4, 8, 100, 0 } },
	{ "array, odd values", { "a4", NB_MAP_ARRAY, 4, 13, 17, 0 } },
	{ "array, large values", { "a5", NB_MAP_ARRAY, 4, 5000, 3, 0 } },
	{ "array, mmapable", { "a6", NB_MAP_ARRAY, 4, 24, 9, NB_F_MMAPABLE } },
	{ "percpu_array", { "p1", NB_MAP_PERCPU_ARRAY, 4, 8, 10, 0 } },
	{ "percpu_array of one", { "p2", NB_MAP_PERCPU_ARRAY, 4, 4, 1, 0 } },
	{ "percpu_array, odd", { "p3", NB_MAP_PERCPU_ARRAY, 4, 21, 7, 0 } },
	{ "hash, 1-byte key", { "h1", NB_MAP_HASH, 1, 1, 20, 0 } },
	{ "hash, 4-byte key", { "h2", NB_MAP_HASH, 4, 4, 64, 0 } },
	{ "hash, 8-byte key", { "h3", NB_MAP_HASH, 8, 8, 100, 0 } },
	{ "hash of one", { "h4", NB_MAP_HASH, 8, 16, 1, 0 } },
	{ "hash of two", { "h5", NB_MAP_HASH, 8, 3, 2, 0 } },
	{ "hash, 12-byte key", { "h6", NB_MAP_HASH, 12, 40, 33, 0 } },
	{ "hash, 16-byte key", { "h7", NB_MAP_HASH, 16, 24, 50, 0 } },
	{ "hash, 37-byte key", { "h8", NB_MAP_HASH, 37, 5, 7, 0 } },
	{ "hash, 512-byte key", { "h9", NB_MAP_HASH, 512, 1024, 9, 0 } },
	{ "hash, not preallocated", { "h10", NB_MAP_HASH, 8, 8, 30, NB_F_NO_PREALLOC } },
	{ "lru_hash", { "l1", NB_MAP_LRU_HASH, 8, 8, 400, 0 } },
	{ "lru_hash, odd", { "l2", NB_MAP_LRU_HASH, 13, 21, 300, 0 } },
	{ "lru_hash, own lists", { "l3", NB_MAP_LRU_HASH, 4, 4, 400, NB_F_NO_COMMON_LRU } },
};
const size_t nshapes = sizeof(shapes) / sizeof(shapes[0]);

uint64_t sequence_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

uint64_t sequence_seed(void)
{
	const char *given = getenv("SEED");
	struct timespec now;

	if (given)
		return strtoull(given, NULL, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec << 20 ^ (uint64_t)now.tv_nsec;
}

enum nb_map_keys shape_keys(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->keys;
}

bool shape_percpu(const struct nb_map_def *def)
{
	return nb_spec_map_type(def->type)->traits & NB_TRAIT_PERCPU;
}

size_t side_value_size(const struct nb_map_def *def)
{
	if (!shape_percpu(def))
		return def->value_size;
	return (def->value_size + 7u) / 8 * 8 * (size_t)nb_ncpus();
}

/* ---- our own sides ------------------------------------------------------ */

static int as_errno(int rc)
{
	switch (rc) {
	case NB_E_FULL:
	case NB_E_BIG:
		return -E2BIG;
	case NB_E_EXISTS:
		return -EEXIST;
	case NB_E_NOKEY:
		return -ENOENT;
	case NB_E_FLAGS:
		return -EINVAL;
	case NB_E_BUSY:
		return -EBUSY;
	case NB_E_NOTSUP:
		return -EOPNOTSUPP;
	case NB_E_ARG: /* no such program or map */
		return -EBADF;
	}
	return rc;
}

static int manage_lookup(void *self, const void *key, void *value)
{
	return as_errno(nb_map_read(self, key, value, NULL));
}

static int manage_update(void *self, const void *key, const void *value, uint64_t flags)
{
	int rc = nb_map_write(self, key, value, flags, NULL);

	if (rc == NB_E_NOMEM)
		return -ENOMEM;
	return as_errno(rc);
}

static int manage_remove(void *self, const void *key)
{
	return as_errno(nb_map_erase(self, key, NULL));
}

static int manage_next(void *self, const void *key, void *next)
{
	return as_errno(nb_map_next(self, key, next));
}

void side_manage(struct side *s, struct nb_map *m)
{
	*s = (struct side){ "management",  m,	       manage_lookup, manage_update,
			    manage_remove, manage_next };
}

/* CPUs whose values a program-side call has to visit one by one. */
static uint32_t cpus_of(const struct nb_map *m)
{
	return shape_percpu(nb_map_definition(m)) ? nb_ncpus() : 1;
}

static int program_lookup(void *self, const void *key, void *value)
{
	uint32_t size = nb_map_definition(self)->value_size;
	size_t step = (size + 7u) / 8 * 8;

	for (uint32_t cpu = 0; cpu < cpus_of(self); cpu++) {
		const void *p = nb_map_lookup(self, key, cpu);

		if (!p)
			return -ENOENT;
		memcpy((char *)value + cpu * step, p, size);
	}
	return 0;
}

static int program_update(void *self, const void *key, const void *value, uint64_t flags)
{
	uint32_t size = nb_map_definition(self)->value_size;
	size_t step = (size + 7u) / 8 * 8;
	int rc = 0;

	for (uint32_t cpu = 0; cpu < cpus_of(self) && !rc; cpu++) {
		rc = nb_map_update(self, key, (const char *)value + cpu * step, flags, cpu);
		if (!rc && shape_keys(nb_map_definition(self)) != NB_KEYS_INDEX)
			flags = NB_ANY; /* there it is now */
	}
	return rc;
}

static int program_remove(void *self, const void *key)
{
	return nb_map_delete(self, key);
}

void side_program(struct side *s, struct nb_map *m)
{
	*s = (struct side){ "program",	    m,		program_lookup, program_update,
			    program_remove, manage_next };
}

/* ---- the sequence ------------------------------------------------------- */

struct run {
	const struct shape *shape;
	const struct side *a, *b;
	uint64_t rng;
	int step;
	char *why;
	size_t why_size;
	unsigned char key[KEY_MAX];
	unsigned char *va, *vb;
};

static int differ(struct run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int differ(struct run *r, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(r->why, r->why_size, "%s, step %d: ", r->shape->name, r->step);

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < r->why_size)
		vsnprintf(r->why + n, r->why_size - (size_t)n, fmt, ap);
	va_end(ap);
	return -1;
}

static uint64_t below(struct run *r, uint64_t n)
{
	return sequence_random(&r->rng) % n;
}

/* A key of the pool; arrays now and then get an index far outside. */
static void choose_key(struct run *r)
{
	const struct nb_map_def *d = &r->shape->def;
	bool lru = nb_spec_map_type(d->type)->traits & NB_TRAIT_LRU;
	/* Which element makes room is each implementation's own matter: there
	 * is room for all keys, with what a CPU of the kernel keeps aside. */
	uint64_t n = below(r, lru ? d->max_entries / 8 : d->max_entries * 3u / 2 + 2);
	uint64_t x = n;
	uint32_t index = (uint32_t)n;

	if (shape_keys(d) != NB_KEYS_INDEX) {
		/* the number everywhere: keys differ in each of their words */
		for (size_t i = 0; i < d->key_size; i++)
			r->key[i] = (unsigned char)(i % 3 ? x + i : x);
		if (d->key_size > 1)
			r->key[1] = (unsigned char)(x >> 8);
		return;
	}
	if (below(r, 50) == 0)
		index = below(r, 2) ? UINT32_MAX : UINT32_MAX - (uint32_t)n;
	memcpy(r->key, &index, 4);
}

static uint64_t choose_flags(struct run *r)
{
	static const uint64_t rare[] = { 3, 4, 5, 6, 7, 1ull << 63 };

	switch (below(r, 10)) {
	case 0:
		return rare[below(r, sizeof(rare) / sizeof(rare[0]))];
	case 1:
	case 2:
		return NB_NOEXIST;
	case 3:
	case 4:
		return NB_EXIST;
	}
	return NB_ANY;
}

/* The bytes that count: padding behind a CPU's value is nobody's. */
static bool same_value(const struct nb_map_def *d, const unsigned char *a, const unsigned char *b)
{
	size_t step = (d->value_size + 7u) / 8 * 8;

	if (!shape_percpu(d))
		return memcmp(a, b, d->value_size) == 0;
	for (size_t cpu = 0; cpu < nb_ncpus(); cpu++)
		if (memcmp(a + cpu * step, b + cpu * step, d->value_size) != 0)
			return false;
	return true;
}

static int step_lookup(struct run *r)
{
	int a = r->a->lookup(r->a->self, r->key, r->va);
	int b = r->b->lookup(r->b->self, r->key, r->vb);

	if (a != b)
		return differ(r, "lookup: %s %d, %s %d", r->a->name, a, r->b->name, b);
	if (!a && !same_value(&r->shape->def, r->va, r->vb))
		return differ(r, "lookup: the values differ");
	return 0;
}

static int step_update(struct run *r)
{
	size_t size = side_value_size(&r->shape->def);
	uint64_t flags = choose_flags(r);
	int a, b;

	for (size_t i = 0; i < size; i++)
		r->va[i] = (unsigned char)sequence_random(&r->rng);
	a = r->a->update(r->a->self, r->key, r->va, flags);
	b = r->b->update(r->b->self, r->key, r->va, flags);
	if (a != b)
		return differ(r, "update with flags %#llx: %s %d, %s %d", (unsigned long long)flags,
			      r->a->name, a, r->b->name, b);
	return 0;
}

static int step_remove(struct run *r)
{
	int a = r->a->remove(r->a->self, r->key);
	int b = r->b->remove(r->b->self, r->key);

	if (a != b)
		return differ(r, "delete: %s %d, %s %d", r->a->name, a, r->b->name, b);
	return 0;
}

/* The order of array walks is fixed, so each step of them is compared. */
static int step_next(struct run *r)
{
	uint32_t na = 0, nb = 0;
	const void *key = below(r, 5) ? r->key : NULL;
	int a, b;

	if (shape_keys(&r->shape->def) != NB_KEYS_INDEX)
		return 0;
	a = r->a->next(r->a->self, key, &na);
	b = r->b->next(r->b->self, key, &nb);
	if (a != b || na != nb)
		return differ(r, "next: %s %d to %u, %s %d to %u", r->a->name, a, na, r->b->name, b,
			      nb);
	return 0;
}

/* Every key that @a walks over is in @b with the same value. */
static int contained(struct run *r, const struct side *a, const struct side *b, int *n)
{
	bool first = true;
	unsigned char next[KEY_MAX];

	for (*n = 0; *n < WALK_MAX; ++*n, first = false) {
		if (a->next(a->self, first ? NULL : r->key, next))
			return 0;
		memcpy(r->key, next, r->shape->def.key_size);
		if (a->lookup(a->self, r->key, r->va))
			return differ(r, "%s walks to a key it has not", a->name);
		if (b->lookup(b->self, r->key, r->vb))
			return differ(r, "%s has a key that %s lacks", a->name, b->name);
		if (!same_value(&r->shape->def, r->va, r->vb))
			return differ(r, "contents differ");
	}
	return differ(r, "%s: the walk does not end", a->name);
}

static int compare_all(struct run *r)
{
	int na, nb;

	if (contained(r, r->a, r->b, &na) || contained(r, r->b, r->a, &nb))
		return -1;
	if (na != nb)
		return differ(r, "%s has %d elements, %s %d", r->a->name, na, r->b->name, nb);
	return 0;
}

static int one_step(struct run *r)
{
	uint64_t what = below(r, 100);

	choose_key(r);
	if (what < 45)
		return step_update(r);
	if (what < 65)
		return step_remove(r);
	if (what < 70)
		return step_next(r);
	if (what < 71)
		return compare_all(r);
	return step_lookup(r);
}

int sequence_run(const struct shape *shape, uint64_t seed, int steps, const struct side *a,
		 const struct side *b, char *why, size_t why_size)
{
	size_t size = side_value_size(&shape->def);
	struct run r = { .shape = shape, .a = a, .b = b, .rng = seed };
	int rc = 0;

	r.why = why;
	r.why_size = why_size;
	r.va = calloc(2, size);
	if (!r.va)
		return differ(&r, "no memory");
	r.vb = r.va + size;
	for (r.step = 0; r.step < steps && !rc; r.step++)
		rc = one_step(&r);
	if (!rc)
		rc = compare_all(&r);
	free(r.va);
	return rc;
}
