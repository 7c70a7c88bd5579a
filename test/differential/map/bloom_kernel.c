// SPDX-License-Identifier: MIT
// Bloom filters beside the kernel's: what was added is found, flags and the
// operations that do not exist are answered alike. Which values are found by
// mistake differs (the hash functions do); that it is few is checked for both.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/differential/map/kernel.h"

enum { VALUE = 64, ADDED = 64, MORE = 600 };

static const struct nb_map_def defs[] = {
	{ "bloom_filter", NB_MAP_BLOOM_FILTER, 0, 8, ADDED, 0 },
	{ "bloom_filter of one", NB_MAP_BLOOM_FILTER, 0, 4, 1, 0 },
	{ "bloom_filter, 1-byte values", NB_MAP_BLOOM_FILTER, 0, 1, 30, 0 },
	{ "bloom_filter, odd values", NB_MAP_BLOOM_FILTER, 0, 21, 500, 0 },
	{ "bloom_filter, 64-byte values", NB_MAP_BLOOM_FILTER, 0, 64, 100, 0 },
};

struct run {
	const struct nb_map_def *def;
	struct side ours, theirs;
	uint64_t rng, nadded;
	unsigned char added[ADDED][VALUE], value[VALUE];
	uint64_t asked, wrong[2]; /* of values that were not added */
};

static uint64_t below(struct run *r, uint64_t n)
{
	return sequence_random(&r->rng) % n;
}

static void choose_value(struct run *r)
{
	for (size_t i = 0; i < VALUE; i++)
		r->value[i] = (unsigned char)sequence_random(&r->rng);
}

static bool was_added(const struct run *r)
{
	for (uint64_t i = 0; i < r->nadded; i++)
		if (!memcmp(r->added[i], r->value, r->def->value_size))
			return true;
	return false;
}

/* Two numbers say "this map does not do that". */
static int plain(int rc)
{
	return rc == -524 ? -EOPNOTSUPP : rc;
}

static bool same(const struct run *r, const char *what, int a, int b, char *why,
		 size_t size)
{
	if (plain(a) == plain(b))
		return true;
	snprintf(why, size, "%s: %s: ours %d, kernel %d", r->def->name, what, a,
		 b);
	return false;
}

static bool push(struct run *r, char *why, size_t size)
{
	static const uint64_t odd[] = { 1, 2, 3, 4, 8, 1ull << 63 };
	uint64_t flags = below(r, 6) ? 0 : odd[below(r, 6)];
	int a, b;

	choose_value(r);
	a = r->ours.update(r->ours.self, NULL, r->value, flags);
	b = r->theirs.update(r->theirs.self, NULL, r->value, flags);
	if (!b && r->nadded < ADDED)
		memcpy(r->added[r->nadded++], r->value, VALUE);
	return same(r, "push", a, b, why, size);
}

/* Of one that was added the answer is certain. */
static bool peek_added(struct run *r, char *why, size_t size)
{
	unsigned char *v = r->added[r->nadded ? below(r, r->nadded) : 0];

	return !r->nadded ||
	       (same(r, "a value that was added",
		     r->ours.lookup(r->ours.self, NULL, v), 0, why, size) &&
		same(r, "a value that was added", 0,
		     r->theirs.lookup(r->theirs.self, NULL, v), why, size));
}

static bool peek_other(struct run *r, char *why, size_t size)
{
	int a, b;

	choose_value(r);
	a = r->ours.lookup(r->ours.self, NULL, r->value);
	b = r->theirs.lookup(r->theirs.self, NULL, r->value);
	if (was_added(r))
		return same(r, "a value again", a, b, why, size);
	/* only where it is filled as it is meant to be */
	if (r->def->value_size > 1 && r->nadded < ADDED) {
		r->asked++;
		r->wrong[0] += !a;
		r->wrong[1] += !b;
	}
	return same(r, "a value not added", a ? a : -ENOENT, b ? b : -ENOENT,
		    why, size);
}

static bool no_such_thing(struct run *r, char *why, size_t size)
{
	unsigned char out[VALUE];
	uint64_t what = below(r, 3);

	if (what == 0)
		return same(r, "delete", r->ours.remove(r->ours.self, NULL),
			    r->theirs.remove(r->theirs.self, NULL), why, size);
	if (what == 1) /* our walks end where there is nothing to walk over */
		return same(r, "next", r->ours.next(r->ours.self, NULL, out),
			    -ENOENT, why, size) &&
		       same(r, "next", -EOPNOTSUPP,
			    r->theirs.next(r->theirs.self, NULL, out), why,
			    size);
	return same(r, "pop", r->ours.take(r->ours.self, out),
		    r->theirs.take(r->theirs.self, out), why, size);
}

static bool steps(struct run *r, int n, char *why, size_t size)
{
	bool good = true;

	for (int i = 0; i < n && good; i++) {
		uint64_t what = below(r, 10);

		if (what < 4)
			good = r->nadded < r->def->max_entries
				       ? push(r, why, size)
				       : true;
		else if (what < 6)
			good = peek_added(r, why, size);
		else if (what < 9)
			good = peek_other(r, why, size);
		else
			good = no_such_thing(r, why, size);
	}
	return good;
}

static bool one(struct run *r, int n, char *why, size_t size)
{
	int fd = kernel_map(r->def);
	struct nb_err err = { .text = "" };
	struct nb_map *m = NULL;
	bool good = false;

	r->nadded = 0;
	if (fd < 0 || nb_map_new(&m, r->def, &err)) {
		snprintf(why, size, "no map: %d %.100s", fd, err.text);
	} else {
		side_manage(&r->ours, m);
		side_kernel(&r->theirs, &fd, r->def);
		good = steps(r, n, why, size);
	}
	nb_map_put(m);
	if (fd >= 0)
		close(fd);
	return good;
}

static void sequences_of(const struct nb_map_def *def, uint64_t seed, int n)
{
	struct run r = { .def = def };
	char why[160] = "", name[96];
	bool good = true;

	for (int i = 0; i < n && good; i++) {
		r.rng = seed * 1000003 + (uint64_t)i;
		good = one(&r, i ? 1 + (int)below(&r, 60) : MORE, why,
			   sizeof(why));
	}
	if (good && (r.wrong[0] > r.asked / 20 || r.wrong[1] > r.asked / 20)) {
		snprintf(why, sizeof(why),
			 "false answers: ours %llu, kernel %llu of %llu",
			 (unsigned long long)r.wrong[0],
			 (unsigned long long)r.wrong[1],
			 (unsigned long long)r.asked);
		good = false;
	}
	snprintf(name, sizeof(name), "%s: %d sequences as the kernel",
		 def->name, n);
	ok(good, name, why);
}

void bloom_sequences(uint64_t seed, int n)
{
	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
		sequences_of(&defs[i], seed + i, n + 1);
}
