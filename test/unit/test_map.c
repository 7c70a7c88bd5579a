// SPDX-License-Identifier: MIT
// Maps: each operation and each error number, definitions, clones, the texts
// of errors; random sequences against a model; memory that runs out.
#include "test/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/map/hash.h"
#include "core/map/map.h"
#include "test/map/sequence.h"

/* ---- allocations, counted and made to fail ------------------------------ */

/*
 * Only between watch and unwatch, where no assertion is made: libcheck may be
 * linked in and allocates as well.
 */
static bool watching;
static long live;	  /* allocations not freed */
static long fail_at = -1; /* allocations until one fails; -1: none */

static void watch(long fail)
{
	live = 0;
	fail_at = fail;
	watching = true;
}

static void unwatch(void)
{
	watching = false;
}

static bool fails(void)
{
	return watching && fail_at >= 0 && fail_at-- == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
int __real_posix_memalign(void **p, size_t align, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
int __wrap_posix_memalign(void **p, size_t align, size_t size);
void __wrap_free(void *p);

static void *counted(void *p)
{
	live += watching && p;
	return p;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : counted(__real_aligned_alloc(align, size));
}

int __wrap_posix_memalign(void **p, size_t align, size_t size)
{
	int rc = fails() ? ENOMEM : __real_posix_memalign(p, align, size);

	live += watching && rc == 0;
	return rc;
}

void __wrap_free(void *p)
{
	live -= watching && p;
	__real_free(p);
}

/* ---- helpers ------------------------------------------------------------ */

static struct nb_map *make(uint32_t type, uint32_t key_size,
			   uint32_t value_size, uint32_t max_entries)
{
	const struct nb_map_def def = { "m",	    type,	 key_size,
					value_size, max_entries, 0 };
	struct nb_err err;
	struct nb_map *m;

	ck_assert_msg(nb_map_new(&m, &def, &err) == 0, "%s", err.text);
	return m;
}

static int put(struct nb_map *m, uint64_t key, uint64_t value, uint64_t flags)
{
	return nb_map_update(m, &key, &value, flags, 0);
}

static uint64_t *at(struct nb_map *m, uint64_t key)
{
	return nb_map_lookup(m, &key, 0);
}

static int drop(struct nb_map *m, uint64_t key)
{
	return nb_map_delete(m, &key);
}

/* ---- arrays ------------------------------------------------------------- */

START_TEST(array_elements_are_there_zeroed)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 5);

	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_ptr_nonnull(at(m, i));
		ck_assert_uint_eq(*at(m, i), 0);
	}
	ck_assert_uint_eq(nb_map_count(m), 5);
	nb_map_put(m);
}
END_TEST

START_TEST(array_ends_at_max_entries)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 5);
	uint32_t far[] = { 5, 6, INT32_MAX, UINT32_MAX };

	for (size_t i = 0; i < 4; i++) {
		ck_assert_ptr_null(nb_map_lookup(m, &far[i], 0));
		ck_assert_int_eq(put(m, far[i], 1, NB_ANY), -E2BIG);
		ck_assert_int_eq(nb_map_read(m, &far[i], NULL, NULL),
				 NB_E_NOKEY);
	}
	nb_map_put(m);
}
END_TEST

START_TEST(array_update_checks_flags_then_index_then_presence)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 2);

	ck_assert_int_eq(put(m, 0, 7, NB_ANY), 0);
	ck_assert_int_eq(put(m, 1, 8, NB_EXIST), 0);
	ck_assert_int_eq(put(m, 0, 9, NB_NOEXIST), -EEXIST);
	ck_assert_int_eq(put(m, 9, 9, 3), -EINVAL);
	ck_assert_int_eq(put(m, 9, 9, NB_NOEXIST), -E2BIG);
	ck_assert_int_eq(put(m, 0, 9, 1ull << 63), -EINVAL);
	ck_assert_uint_eq(*at(m, 0), 7);
	ck_assert_uint_eq(*at(m, 1), 8);
	nb_map_put(m);
}
END_TEST

START_TEST(array_elements_cannot_be_deleted)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 2);

	ck_assert_int_eq(drop(m, 0), -EINVAL);
	ck_assert_int_eq(drop(m, 99), -EINVAL);
	nb_map_put(m);
}
END_TEST

START_TEST(array_walk_is_by_index_and_starts_over_outside)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 3);
	uint32_t key = 77;

	ck_assert_int_eq(nb_map_next(m, &key, &key), 0);
	ck_assert_uint_eq(key, 0);
	ck_assert_int_eq(nb_map_next(m, NULL, &key), 0);
	ck_assert_uint_eq(key, 0);
	ck_assert_int_eq(nb_map_next(m, &key, &key), 0);
	ck_assert_int_eq(nb_map_next(m, &key, &key), 0);
	ck_assert_uint_eq(key, 2);
	ck_assert_int_eq(nb_map_next(m, &key, &key), NB_E_NOKEY);
	nb_map_put(m);
	/* The only index of a map of one is its last. */
	m = make(NB_MAP_ARRAY, 4, 8, 1);
	key = 0;
	ck_assert_int_eq(nb_map_next(m, &key, &key), NB_E_NOKEY);
	nb_map_put(m);
}
END_TEST

START_TEST(array_values_lie_side_by_side_from_its_base)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 13, 4);
	char *base = nb_map_array_base(m);
	struct nb_map *h = make(NB_MAP_HASH, 4, 13, 4);

	for (uint32_t i = 0; i < 4; i++)
		ck_assert_ptr_eq(nb_map_lookup(m, &i, 0), base + 16 * i);
	ck_assert_ptr_null(nb_map_array_base(h));
	nb_map_put(h);
	nb_map_put(m);
}
END_TEST

START_TEST(array_update_stays_inside_its_element)
{
	unsigned char value[13], *base;
	uint32_t one = 1;
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 13, 3);

	memset(value, 0xff, sizeof(value));
	ck_assert_int_eq(nb_map_update(m, &one, value, 0, 0), 0);
	base = nb_map_array_base(m);
	for (int i = 0; i < 48; i++)
		ck_assert_uint_eq(base[i], i >= 16 && i < 29 ? 0xff : 0);
	nb_map_put(m);
}
END_TEST

/* ---- per-CPU arrays ----------------------------------------------------- */

START_TEST(percpu_values_are_apart_and_read_together)
{
	struct nb_map *m = make(NB_MAP_PERCPU_ARRAY, 4, 8, 3);
	size_t size = nb_map_user_value_size(m);
	uint64_t *all = malloc(size);
	uint32_t one = 1;

	ck_assert_uint_eq(size, 8 * nb_ncpus());
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++) {
		uint64_t v = 100 + cpu;

		ck_assert_int_eq(nb_map_update(m, &one, &v, 0, cpu), 0);
	}
	ck_assert_int_eq(nb_map_read(m, &one, all, NULL), 0);
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++)
		ck_assert_uint_eq(all[cpu], 100 + cpu);
	for (uint32_t cpu = 1; cpu < nb_ncpus(); cpu++)
		ck_assert_uint_ge(
			(uintptr_t)nb_map_lookup(m, &one, cpu) / 64,
			(uintptr_t)nb_map_lookup(m, &one, cpu - 1) / 64 + 1);
	free(all);
	nb_map_put(m);
}
END_TEST

START_TEST(percpu_write_sets_every_cpu)
{
	struct nb_map *m = make(NB_MAP_PERCPU_ARRAY, 4, 5, 2);
	size_t size = nb_map_user_value_size(m);
	unsigned char *all = calloc(1, size), *p;
	uint32_t zero = 0, far = 2;

	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++)
		all[8 * cpu] = (unsigned char)(cpu + 1);
	ck_assert_int_eq(nb_map_write(m, &zero, all, NB_EXIST, NULL), 0);
	for (uint32_t cpu = 0; cpu < nb_ncpus(); cpu++) {
		p = nb_map_lookup(m, &zero, cpu);
		ck_assert_uint_eq(p[0], cpu + 1);
	}
	ck_assert_int_eq(nb_map_write(m, &far, all, 0, NULL), NB_E_BIG);
	ck_assert_int_eq(nb_map_write(m, &zero, all, NB_NOEXIST, NULL),
			 NB_E_EXISTS);
	ck_assert_int_eq(nb_map_update(m, &far, all, 0, 0), -E2BIG);
	ck_assert_ptr_null(nb_map_lookup(m, &far, 0));
	ck_assert_int_eq(nb_map_erase(m, &zero, NULL), NB_E_FLAGS);
	free(all);
	nb_map_put(m);
}
END_TEST

START_TEST(cpus_are_counted_above_the_current_one)
{
	ck_assert_uint_ge(nb_ncpus(), 1);
	ck_assert_int_lt(sched_getcpu(), (int)nb_ncpus());
}
END_TEST

/* ---- hashes ------------------------------------------------------------- */

START_TEST(hash_update_obeys_flags)
{
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, 4);

	ck_assert_ptr_null(at(m, 1));
	ck_assert_int_eq(put(m, 1, 10, NB_EXIST), -ENOENT);
	ck_assert_int_eq(put(m, 1, 10, NB_NOEXIST), 0);
	ck_assert_int_eq(put(m, 1, 11, NB_NOEXIST), -EEXIST);
	ck_assert_uint_eq(*at(m, 1), 10);
	ck_assert_int_eq(put(m, 1, 12, NB_EXIST), 0);
	ck_assert_uint_eq(*at(m, 1), 12);
	ck_assert_int_eq(put(m, 1, 13, NB_ANY), 0);
	ck_assert_int_eq(put(m, 1, 14, 3), -EINVAL);
	ck_assert_int_eq(put(m, 1, 14, 1ull << 32), -EINVAL);
	ck_assert_uint_eq(*at(m, 1), 13);
	ck_assert_uint_eq(nb_map_count(m), 1);
	nb_map_put(m);
}
END_TEST

START_TEST(hash_delete_makes_room)
{
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, 2);

	ck_assert_int_eq(drop(m, 1), -ENOENT);
	ck_assert_int_eq(put(m, 1, 10, 0), 0);
	ck_assert_int_eq(put(m, 2, 20, 0), 0);
	ck_assert_int_eq(drop(m, 1), 0);
	ck_assert_ptr_null(at(m, 1));
	ck_assert_int_eq(drop(m, 1), -ENOENT);
	ck_assert_uint_eq(nb_map_count(m), 1);
	ck_assert_int_eq(put(m, 3, 30, 0), 0);
	ck_assert_uint_eq(*at(m, 2), 20);
	ck_assert_uint_eq(*at(m, 3), 30);
	nb_map_put(m);
}
END_TEST

START_TEST(full_hash_still_replaces)
{
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, 3);

	for (uint64_t k = 0; k < 3; k++)
		ck_assert_int_eq(put(m, k, k, NB_ANY), 0);
	ck_assert_int_eq(put(m, 9, 9, NB_ANY), -E2BIG);
	ck_assert_int_eq(put(m, 9, 9, NB_NOEXIST), -E2BIG);
	ck_assert_int_eq(put(m, 9, 9, NB_EXIST), -ENOENT);
	ck_assert_int_eq(put(m, 1, 9, NB_NOEXIST), -EEXIST);
	/* More often than there are spare elements. */
	for (uint64_t n = 0; n < 100000; n++)
		ck_assert_int_eq(put(m, n % 3, n, n % 2 ? NB_ANY : NB_EXIST),
				 0);
	ck_assert_uint_eq(*at(m, 99999 % 3), 99999);
	ck_assert_uint_eq(nb_map_count(m), 3);
	ck_assert_int_eq(put(m, 9, 9, NB_ANY), -E2BIG);
	nb_map_put(m);
}
END_TEST

/* As in the kernel: the old element stays whole until it is used again. */
START_TEST(replaced_value_stays_readable)
{
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, 3);
	uint64_t *old;

	put(m, 1, 10, 0);
	old = at(m, 1);
	put(m, 1, 11, 0);
	ck_assert_ptr_ne(old, at(m, 1));
	ck_assert_uint_eq(*old, 10);
	ck_assert_uint_eq(*at(m, 1), 11);
	nb_map_put(m);
}
END_TEST

/* Keys of every size, each differing from the next in one byte only. */
START_TEST(hash_tells_keys_apart_by_every_byte)
{
	for (uint32_t size = 1; size <= 40; size++) {
		struct nb_map *m = make(NB_MAP_HASH, size, 4, 41);
		unsigned char key[41] = { 0 };
		uint32_t v;

		for (uint32_t i = 0; i < size; i++) {
			key[i] = 1;
			v = i;
			ck_assert_int_eq(
				nb_map_update(m, key, &v, NB_NOEXIST, 0), 0);
			key[i] = 0;
		}
		ck_assert_ptr_null(nb_map_lookup(m, key, 0));
		for (uint32_t i = 0; i < size; i++) {
			key[i] = 1;
			ck_assert_ptr_nonnull(nb_map_lookup(m, key, 0));
			memcpy(&v, nb_map_lookup(m, key, 0), 4);
			ck_assert_uint_eq(v, i);
			key[i] = 0;
		}
		nb_map_put(m);
	}
}
END_TEST

START_TEST(keys_and_values_need_no_alignment)
{
	struct nb_map *m = make(NB_MAP_HASH, 12, 20, 8);
	unsigned char bytes[64], *p;

	for (int i = 0; i < 64; i++)
		bytes[i] = (unsigned char)i;
	ck_assert_int_eq(nb_map_update(m, bytes + 1, bytes + 33, 0, 0), 0);
	memcpy(bytes + 18, bytes + 1, 12);
	p = nb_map_lookup(m, bytes + 18, 0);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_eq(memcmp(p, bytes + 33, 20), 0);
	ck_assert_uint_eq((uintptr_t)p % 8, 0);
	nb_map_put(m);
}
END_TEST

START_TEST(hash_walk_goes_on_from_an_absent_key)
{
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, 64);
	uint64_t key, after, n = 0, seen = 0;
	const void *from = NULL;

	ck_assert_int_eq(nb_map_next(m, NULL, &key), NB_E_NOKEY);
	for (uint64_t k = 0; k < 64; k++)
		put(m, k, k, 0);
	for (; nb_map_next(m, from, &key) == 0; from = &key, n++) {
		ck_assert_uint_lt(key, 64);
		ck_assert_uint_eq(seen >> key & 1, 0);
		seen |= 1ull << key;
		/* Deleting what the walk stands on does not upset it. */
		if (key % 2)
			drop(m, key);
	}
	ck_assert_uint_eq(n, 64);
	ck_assert_uint_eq(nb_map_count(m), 32);
	for (key = 1; key < 64; key += 2)
		if (nb_map_next(m, &key, &after) == 0)
			ck_assert_uint_eq(after % 2, 0);
	nb_map_put(m);
}
END_TEST

/*
 * Keys put in ahead of a walk, again and again, do not make it longer than
 * the verifier counts with, whatever the number of CPUs: twice as many turns
 * as there may be elements (most_turns, core/verify/callback.c).
 */
START_TEST(hash_walk_ends_while_keys_come_and_go)
{
	for (uint32_t n = 1; n < 64; n *= 2) {
		struct nb_map *m = make(NB_MAP_HASH, 8, 8, n);
		struct nb_map_cursor c = { 0 };

		put(m, 1, 1, 0);
		c.visited = n; /* elements that are gone again */
		ck_assert(nb_hash_each(m, &c, 0));
		c = (struct nb_map_cursor){ .visited = 2 * n };
		ck_assert(!nb_hash_each(m, &c, 0));
		nb_map_put(m);
	}
}
END_TEST

START_TEST(large_hash_holds_all_its_entries)
{
	enum { N = 100000 };
	struct nb_map *m = make(NB_MAP_HASH, 8, 8, N);

	for (uint64_t k = 0; k < N; k++)
		ck_assert_int_eq(put(m, k << 32, k, NB_NOEXIST), 0);
	ck_assert_int_eq(put(m, 1, 1, 0), -E2BIG);
	for (uint64_t k = 0; k < N; k++)
		ck_assert_uint_eq(*at(m, k << 32), k);
	ck_assert_uint_eq(nb_map_count(m), N);
	nb_map_put(m);
}
END_TEST

/* ---- definitions -------------------------------------------------------- */

struct bad {
	struct nb_map_def def;
	int code;
	const char *text;
};

START_TEST(bad_definitions_are_refused_with_numbers)
{
	static const char long_name[] = "a_name_that_goes_on_and_on_and_on_and"
					"_on_for_more_than_63_bytes_";
	const struct bad bad[] = {
		{ { "x", 99, 4, 4, 1, 0 }, NB_E_MAPDEF, "type 99" },
		{ { "x", 0, 4, 4, 1, 0 }, NB_E_MAPDEF, "type 0" },
		{ { "x", 1, 4, 4, 1, 2 }, NB_E_MAPDEF, "map_flags are 0x2" },
		{ { "x", 2, 4, 4, 1, 1 }, NB_E_MAPDEF, "map_flags are 0x1" },
		{ { "x", 2, 4, 4, 1, 0x180 }, NB_E_MAPDEF, "at once" },
		{ { "x", 2, 4, 4, 0, 0 }, NB_E_MAPDEF, "max_entries is 0" },
		{ { "x", 1, 4, 0, 1, 0 }, NB_E_MAPDEF, "value_size 0" },
		{ { "x", 1, 0, 4, 1, 0 }, NB_E_MAPDEF, "key_size is 0" },
		{ { "x", 2, 8, 4, 1, 0 }, NB_E_MAPDEF, "key_size is 8" },
		{ { "x", 6, 2, 4, 1, 0 }, NB_E_MAPDEF, "key_size is 2" },
		{ { "x", 2, 4, 1u << 31, 1, 0 }, NB_E_MAPDEF, "value_size" },
		{ { "x", 6, 4, 32769, 1, 0 }, NB_E_MAPDEF, "32768" },
		{ { "x", 1, 4, 4 << 20, 1, 0 }, NB_E_MAPDEF, "4194308" },
		{ { "x", 1, UINT32_MAX, UINT32_MAX, 1, 0 },
		  NB_E_MAPDEF,
		  "8589934590" },
		{ { long_name, 2, 4, 4, 1, 0 }, NB_E_MAPDEF, "64 bytes" },
		/* products that wrap in 32 or 64 bits */
		{ { "x", 2, 4, 8, 1u << 29, 0 }, NB_E_LIMIT, "256 MiB" },
		{ { "x", 2, 4, 1u << 30, 4, 0 }, NB_E_LIMIT, "256 MiB" },
		{ { "x", 2, 4, INT32_MAX, UINT32_MAX, 0 },
		  NB_E_LIMIT,
		  "4294967295 entries" },
		{ { "x", 6, 4, 32768, UINT32_MAX, 0 }, NB_E_LIMIT, "256" },
		{ { "x", 1, 4, 4, UINT32_MAX, 0 }, NB_E_LIMIT, "256" },
		{ { "x", 1, 8, 4 << 19, UINT32_MAX, 0 }, NB_E_LIMIT, "256" },
		{ { "x", 1, 8, 4 << 19, 1 << 11, 0 }, NB_E_LIMIT, "256" },
	};

	ck_assert_uint_eq(strlen(long_name), 64);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nb_err err;
		struct nb_map *m = (void *)&err;
		int rc = nb_map_new(&m, &bad[i].def, &err);

		ck_assert_msg(rc == bad[i].code, "row %zu: %d", i, rc);
		ck_assert_ptr_null(m);
		ck_assert_int_eq(err.code, rc);
		ck_assert_msg(strstr(err.text, bad[i].text) != NULL,
			      "row %zu: \"%s\" lacks \"%s\"", i, err.text,
			      bad[i].text);
		ck_assert_int_eq(nb_map_new(&m, &bad[i].def, NULL), rc);
	}
}
END_TEST

/* Hash flags and names that are at the limit. */
START_TEST(good_definitions_are_taken)
{
	static const struct nb_map_def good[] = {
		{ NULL, NB_MAP_ARRAY, 4, 8, 1, 0 },
		{ "a_name_that_goes_on_and_on_and_on_and_on_for_just_63_bytes__"
		  "___",
		  NB_MAP_HASH, 8, 8, 1, NB_F_NO_PREALLOC },
		{ "", NB_MAP_ARRAY, 4, 8, 1, NB_F_MMAPABLE | NB_F_RDONLY_PROG },
		{ "w", NB_MAP_PERCPU_ARRAY, 4, 32768, 2, NB_F_WRONLY_PROG },
		{ "big", NB_MAP_HASH, 1 << 20, 1 << 20, 1, 0 },
		{ "rd", NB_MAP_HASH, 600, 1, 3, NB_F_RDONLY_PROG },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct nb_map *m = make(NB_MAP_ARRAY, 4, 4, 1);
		struct nb_err err = { .text = "untouched" };
		const struct nb_map_def *d;

		nb_map_put(m);
		ck_assert_msg(nb_map_new(&m, &good[i], &err) == 0, "%s",
			      err.text);
		ck_assert_str_eq(err.text, "untouched");
		d = nb_map_definition(m);
		ck_assert_str_eq(d->name, good[i].name ? good[i].name : "");
		ck_assert_uint_eq(d->type, good[i].type);
		ck_assert_uint_eq(d->key_size, good[i].key_size);
		ck_assert_uint_eq(d->value_size, good[i].value_size);
		ck_assert_uint_eq(d->max_entries, good[i].max_entries);
		ck_assert_uint_eq(d->flags, good[i].flags);
		ck_assert_uint_ge(nb_map_memory(m),
				  (size_t)d->value_size * d->max_entries);
		nb_map_put(m);
	}
}
END_TEST

START_TEST(memory_stays_under_the_limit)
{
	/* Within a few KiB of the limit, on either side. */
	struct nb_map_def def = { "x", NB_MAP_ARRAY, 4, 1 << 16, 4096, 0 };
	struct nb_map *m;

	ck_assert_int_eq(nb_map_new(&m, &def, NULL), NB_E_LIMIT);
	def.max_entries--;
	ck_assert_int_eq(nb_map_new(&m, &def, NULL), 0);
	ck_assert_uint_le(nb_map_memory(m), NB_MAP_MAX_BYTES);
	nb_map_put(m);
}
END_TEST

/* ---- references, clones, error texts ------------------------------------ */

START_TEST(last_reference_frees)
{
	const struct nb_map_def def = { "m", NB_MAP_HASH, 8, 8, 4, 0 };
	struct nb_map *m;
	long made, got, put_back, gone;

	watch(-1);
	nb_map_new(&m, &def, NULL);
	made = live;
	nb_map_get(m);
	got = live;
	nb_map_put(m);
	put_back = live;
	nb_map_put(m);
	gone = live;
	nb_map_put(NULL);
	unwatch();
	ck_assert_int_eq(made, 1);
	ck_assert_int_eq(got, 1);
	ck_assert_int_eq(put_back, 1);
	ck_assert_int_eq(gone, 0);
}
END_TEST

START_TEST(a_frozen_map_is_only_read)
{
	const struct nb_map_def def = { "f", NB_MAP_ARRAY, 4, 8, 1, 0 };
	uint64_t seven = 7, v = 0;
	struct nb_map *m, *copy;
	struct nb_err err = { 0 };
	uint32_t zero = 0;

	ck_assert_int_eq(nb_map_new(&m, &def, NULL), 0);
	ck_assert_int_eq(nb_map_write(m, &zero, &seven, NB_ANY, NULL), 0);
	nb_map_freeze(m);
	ck_assert_int_eq(nb_map_clone(&copy, m, NULL), 0);
	for (int i = 0; i < 2; i++) {
		struct nb_map *which = i ? copy : m;

		ck_assert_int_eq(nb_map_write(which, &zero, &v, NB_ANY, &err),
				 NB_E_READONLY);
		ck_assert(strstr(err.text, "\"f\" is frozen"));
		ck_assert_int_eq(nb_map_erase(which, &zero, NULL),
				 NB_E_READONLY);
		ck_assert_int_eq(nb_map_read(which, &zero, &v, NULL), 0);
		ck_assert_uint_eq(v, 7);
	}
	nb_map_put(copy);
	nb_map_put(m);
}
END_TEST

START_TEST(clone_is_equal_and_apart)
{
	for (size_t i = 0; i < nshapes; i++) {
		struct side a, b;
		struct nb_map *m, *copy;
		char why[256] = "";

		ck_assert_int_eq(nb_map_new(&m, &shapes[i].def, NULL), 0);
		side_manage(&a, m);
		side_program(&b, m);
		/* One side on both places fills the map with anything. */
		sequence_run(&shapes[i], 1, 30, &a, &b, why, sizeof(why));
		ck_assert_int_eq(nb_map_clone(&copy, m, NULL), 0);
		ck_assert_str_eq(nb_map_definition(copy)->name,
				 shapes[i].def.name);
		ck_assert_uint_eq(nb_map_count(copy), nb_map_count(m));
		side_manage(&b, copy);
		/* Two maps that began equal stay so under equal steps. */
		ck_assert_msg(sequence_run(&shapes[i], 2, 500, &a, &b, why,
					   sizeof(why)) == 0,
			      "%s", why);
		nb_map_put(m);
		nb_map_put(copy);
	}
}
END_TEST

START_TEST(management_errors_name_map_and_key)
{
	struct nb_map *h = make(NB_MAP_HASH, 20, 8, 1);
	struct nb_map *a = make(NB_MAP_ARRAY, 4, 8, 4);
	unsigned char key[20] = { 0xab, 0xcd };
	uint32_t seven = 7;
	uint64_t v = 0;
	struct nb_err err;

	ck_assert_int_eq(nb_map_read(h, key, &v, &err), NB_E_NOKEY);
	ck_assert_str_eq(err.text, "map \"m\" has no key "
				   "abcd0000000000000000000000000000...");
	ck_assert_int_eq(nb_map_write(h, key, &v, NB_EXIST, &err), NB_E_NOKEY);
	ck_assert_int_eq(nb_map_erase(h, key, &err), NB_E_NOKEY);
	ck_assert_int_eq(nb_map_write(h, key, &v, 0, &err), 0);
	ck_assert_int_eq(nb_map_write(h, key, &v, NB_NOEXIST, &err),
			 NB_E_EXISTS);
	ck_assert_ptr_nonnull(strstr(err.text, "already"));
	ck_assert_int_eq(nb_map_write(h, key, &v, 4, &err), NB_E_FLAGS);
	ck_assert_ptr_nonnull(strstr(err.text, "flags 0x4"));
	key[0] = 1;
	ck_assert_int_eq(nb_map_write(h, key, &v, 0, &err), NB_E_FULL);
	ck_assert_ptr_nonnull(strstr(err.text, "all 1 entries"));
	ck_assert_int_eq(nb_map_write(a, &seven, &v, 0, &err), NB_E_BIG);
	ck_assert_str_eq(err.text, "map \"m\": index 7; the last is 3");
	ck_assert_int_eq(nb_map_erase(a, &seven, &err), NB_E_FLAGS);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be deleted"));
	nb_map_put(h);
	nb_map_put(a);
}
END_TEST

/* ---- types that make room ------------------------------------------------ */

/* Never more than max_entries; what is looked up between any two new keys
 * stays; values are the ones stored last. */
START_TEST(lru_keeps_what_is_looked_up)
{
	static const uint32_t types[] = { NB_MAP_LRU_HASH,
					  NB_MAP_LRU_PERCPU_HASH };
	enum { N = 64, HOT = 20 };
	uint64_t *v = calloc(nb_ncpus(), 8);

	for (size_t t = 0; t < 2; t++) {
		struct nb_map *m = make(types[t], 8, 8, N);

		for (uint64_t k = 0; k < HOT; k++)
			ck_assert_int_eq(put(m, k, k + 1, NB_NOEXIST), 0);
		for (uint64_t k = 1000; k < 9000; k++) {
			ck_assert_int_eq(put(m, k, k + 1, NB_ANY), 0);
			ck_assert_uint_le(nb_map_count(m), N);
			ck_assert_int_eq(nb_map_read(m, &k, v, NULL), 0);
			ck_assert_uint_eq(v[0], k + 1);
			for (uint64_t h = 0; h < HOT; h++) {
				ck_assert_ptr_nonnull(at(m, h));
				ck_assert_uint_eq(*at(m, h), h + 1);
			}
		}
		ck_assert_uint_eq(nb_map_count(m), N);
		nb_map_put(m);
	}
	free(v);
}
END_TEST

/* An update that fails makes no room, and one that replaces needs none. */
START_TEST(lru_drops_only_for_new_keys)
{
	struct nb_map *m = make(NB_MAP_LRU_HASH, 8, 8, 4);

	for (uint64_t k = 0; k < 4; k++)
		ck_assert_int_eq(put(m, k, k, NB_ANY), 0);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(put(m, 99, 1, NB_EXIST), -ENOENT);
		ck_assert_int_eq(put(m, 0, 1, NB_NOEXIST), -EEXIST);
		ck_assert_int_eq(put(m, 99, 1, 3), -EINVAL);
		ck_assert_int_eq(put(m, 3, (uint64_t)i, NB_ANY), 0);
	}
	for (uint64_t k = 0; k < 4; k++)
		ck_assert_ptr_nonnull(at(m, k));
	ck_assert_int_eq(drop(m, 1), 0);
	ck_assert_int_eq(put(m, 5, 5, NB_ANY), 0);
	ck_assert_uint_eq(nb_map_count(m), 4);
	ck_assert_ptr_nonnull(at(m, 0));
	ck_assert_ptr_nonnull(at(m, 2));
	nb_map_put(m);
}
END_TEST

START_TEST(percpu_hash_values_are_apart)
{
	struct nb_map *m = make(NB_MAP_PERCPU_HASH, 8, 12, 5);
	uint64_t key = 7, v[2] = { 1, 2 };
	unsigned char *p, *all = calloc(nb_ncpus(), 16);

	ck_assert_int_eq(nb_map_update(m, &key, v, NB_ANY, nb_ncpus() - 1), 0);
	ck_assert_int_eq(nb_map_read(m, &key, all, NULL), 0);
	for (uint32_t c = 0; c < nb_ncpus(); c++) {
		p = nb_map_lookup(m, &key, c);
		ck_assert_ptr_nonnull(p);
		ck_assert_mem_eq(p, all + (size_t)16 * c, 12);
		ck_assert_uint_eq(*p, c == nb_ncpus() - 1);
		*p = (unsigned char)(c + 2);
	}
	ck_assert_int_eq(nb_map_read(m, &key, all, NULL), 0);
	for (uint32_t c = 0; c < nb_ncpus(); c++)
		ck_assert_uint_eq(all[(size_t)16 * c], c + 2);
	/* deleted and added again: zeros on the other CPUs */
	ck_assert_int_eq(nb_map_delete(m, &key), 0);
	ck_assert_int_eq(nb_map_update(m, &key, v, NB_ANY, 0), 0);
	ck_assert_int_eq(nb_map_read(m, &key, all, NULL), 0);
	for (uint32_t c = 1; c < nb_ncpus(); c++)
		ck_assert_uint_eq(all[(size_t)16 * c], 0);
	free(all);
	nb_map_put(m);
}
END_TEST

/* ---- against a model ---------------------------------------------------- */

/* As plain as can be: elements in a list, searched from the start. */
struct model {
	const struct nb_map_def *def;
	size_t value_size;
	uint32_t n;
	unsigned char *key, *value; /* n of them, max_entries at most */
};

static bool is_array(const struct model *m)
{
	return shape_keys(m->def) == NB_KEYS_INDEX;
}

static void model_init(struct model *m, const struct nb_map_def *def)
{
	m->def = def;
	m->value_size = side_value_size(def);
	m->n = 0;
	m->key = calloc(def->max_entries, def->key_size + 1u);
	m->value = calloc(def->max_entries, m->value_size);
	for (uint32_t i = 0; is_array(m) && i < def->max_entries; i++)
		memcpy(m->key + 4 * m->n++, &i, 4);
}

/* Queues and stacks: value i is the i-th oldest. */
static bool keyless(const struct model *m)
{
	return shape_keys(m->def) == NB_KEYS_NONE;
}

static unsigned char *model_oldest(const struct model *m, uint32_t i)
{
	return m->value + i * m->value_size;
}

static uint32_t model_turn(const struct model *m)
{
	return m->def->type == NB_MAP_STACK ? m->n - 1 : 0;
}

static void model_drop(struct model *m, uint32_t i)
{
	m->n--;
	memmove(model_oldest(m, i), model_oldest(m, i + 1),
		(m->n - i) * m->value_size);
}

static int model_push(struct model *m, const void *value, uint64_t flags)
{
	if (flags != 0 && flags != 2)
		return -EINVAL;
	if (m->n == m->def->max_entries && flags == 0)
		return -E2BIG;
	if (m->n == m->def->max_entries)
		model_drop(m, 0);
	memcpy(model_oldest(m, m->n++), value, m->value_size);
	return 0;
}

static int model_take(void *self, void *value)
{
	struct model *m = self;

	if (!m->n)
		return -ENOENT;
	memcpy(value, model_oldest(m, model_turn(m)), m->value_size);
	model_drop(m, model_turn(m));
	return 0;
}

/* Prefix tries: keys are equal as far as they go. */
static bool prefixed(const struct model *m)
{
	return shape_keys(m->def) == NB_KEYS_PREFIX;
}

static uint32_t model_bits(const void *key)
{
	uint32_t n;

	memcpy(&n, key, 4);
	return n;
}

static bool begins(const unsigned char *a, const unsigned char *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if ((a[4 + i / 8] ^ b[4 + i / 8]) >> (7 - i % 8) & 1)
			return false;
	return true;
}

/* The longest prefix of @key, at least @least bits long. */
static uint32_t model_longest(const struct model *m, const void *key,
			      uint32_t least)
{
	uint32_t best = UINT32_MAX, have = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		const unsigned char *k = m->key + i * m->def->key_size;
		uint32_t n = model_bits(k);

		if (n > model_bits(key) || n < least || !begins(k, key, n) ||
		    (best != UINT32_MAX && n < have))
			continue;
		best = i;
		have = n;
	}
	return best;
}

static uint32_t model_find(const struct model *m, const void *key)
{
	if (shape_keys(m->def) == NB_KEYS_PREFIX)
		return model_longest(m, key, model_bits(key));
	for (uint32_t i = 0; i < m->n; i++)
		if (memcmp(m->key + i * m->def->key_size, key,
			   m->def->key_size) == 0)
			return i;
	return UINT32_MAX;
}

static bool too_long(const struct model *m, const void *key)
{
	return prefixed(m) && model_bits(key) > (m->def->key_size - 4) * 8;
}

static int model_lookup(void *self, const void *key, void *value)
{
	const struct model *m = self;
	uint32_t i = keyless(m) ? UINT32_MAX : model_find(m, key);

	if (keyless(m) && m->n)
		i = model_turn(m);
	if (prefixed(m))
		i = too_long(m, key) ? UINT32_MAX : model_longest(m, key, 0);
	if (i == UINT32_MAX)
		return -ENOENT;
	memcpy(value, m->value + i * m->value_size, m->value_size);
	return 0;
}

static int model_update(void *self, const void *key, const void *value,
			uint64_t flags)
{
	struct model *m = self;
	uint32_t i;

	if (keyless(m))
		return model_push(m, value, flags);
	if (flags > 2 || too_long(m, key))
		return -EINVAL;
	i = model_find(m, key);
	if (i != UINT32_MAX && flags == 1)
		return -EEXIST;
	if (i == UINT32_MAX && is_array(m))
		return -E2BIG;
	if (i == UINT32_MAX && flags == 2)
		return -ENOENT;
	if (i == UINT32_MAX) {
		if (m->n == m->def->max_entries)
			return prefixed(m) ? -ENOSPC : -E2BIG;
		i = m->n++;
		memcpy(m->key + i * m->def->key_size, key, m->def->key_size);
	}
	memcpy(m->value + i * m->value_size, value, m->value_size);
	return 0;
}

static int model_remove(void *self, const void *key)
{
	struct model *m = self;
	uint32_t i, k = m->def->key_size;

	if (is_array(m) || keyless(m) || too_long(m, key))
		return -EINVAL;
	i = model_find(m, key);
	if (i == UINT32_MAX)
		return -ENOENT;
	m->n--;
	memmove(m->key + i * k, m->key + m->n * k, k);
	memmove(m->value + i * m->value_size, m->value + m->n * m->value_size,
		m->value_size);
	return 0;
}

static int model_next(void *self, const void *key, void *next)
{
	const struct model *m = self;
	uint32_t i;

	if (keyless(m))
		return -ENOENT;
	i = key ? model_find(m, key) + 1 : 0; /* absent: wraps to 0 */
	if (i >= m->n)
		return -ENOENT;
	memcpy(next, m->key + i * m->def->key_size, m->def->key_size);
	return 0;
}

static void against_model(void (*side)(struct side *, struct nb_map *),
			  int steps)
{
	uint64_t seed = sequence_seed();

	for (size_t i = 0; i < nshapes; i++) {
		struct model model;
		struct side ours,
			theirs = { "model",	 &model,       model_lookup,
				   model_update, model_remove, model_next,
				   model_take };
		struct nb_map *m;
		char why[512];

		model_init(&model, &shapes[i].def);
		ck_assert_int_eq(nb_map_new(&m, &shapes[i].def, NULL), 0);
		side(&ours, m);
		ck_assert_msg(sequence_run(&shapes[i], seed + i, steps, &ours,
					   &theirs, why, sizeof(why)) == 0,
			      "SEED=%llu: %s", (unsigned long long)seed, why);
		ck_assert_uint_eq(nb_map_count(m), model.n);
		nb_map_put(m);
		free(model.key);
		free(model.value);
	}
}

START_TEST(management_calls_act_as_the_model)
{
	against_model(side_manage, 5000);
}
END_TEST

START_TEST(program_calls_act_as_the_model)
{
	against_model(side_program, 5000);
}
END_TEST

/* ---- memory that runs out ----------------------------------------------- */

/* 0, or NB_E_NOMEM as it has to be; anything else is a failed test. */
static int make_and_clone(const struct nb_map_def *def, struct nb_err *err)
{
	struct nb_map *m, *copy = NULL;
	int rc = nb_map_new(&m, def, err);

	if (rc)
		return m ? NB_E_BUG : rc;
	rc = nb_map_clone(&copy, m, err);
	if (rc && copy)
		rc = NB_E_BUG;
	nb_map_put(copy);
	nb_map_put(m);
	return rc;
}

START_TEST(failed_allocation_is_an_error_and_leaks_nothing)
{
	for (size_t i = 0; i < nshapes; i++) {
		int rc = NB_E_NOMEM, k;

		for (k = 0; rc; k++) {
			struct nb_err err = { 0 };

			watch(k);
			rc = make_and_clone(&shapes[i].def, &err);
			unwatch();
			ck_assert_int_eq(live, 0);
			if (!rc)
				break;
			ck_assert_int_eq(rc, NB_E_NOMEM);
			ck_assert_ptr_nonnull(strstr(err.text, "no memory"));
			ck_assert_int_lt(k, 100);
		}
		ck_assert_int_ge(k, 2); /* one of each, at least, did fail */
	}
}
END_TEST

/* Nothing but making a map allocates. */
START_TEST(operations_never_allocate)
{
	for (size_t i = 0; i < nshapes; i++) {
		struct side a;
		struct nb_map *m;
		unsigned char key[600] = { 0 }, *value;

		value = calloc(1, side_value_size(&shapes[i].def));
		ck_assert_int_eq(nb_map_new(&m, &shapes[i].def, NULL), 0);
		watch(0); /* the first one would fail and be counted */
		for (int side = 0; side < 2; side++) {
			(side ? side_program : side_manage)(&a, m);
			for (uint32_t k = 0; k < 300; k++) {
				memcpy(key, &k,
				       shapes[i].def.key_size < 4 ? 1 : 4);
				a.update(a.self, key, value, 0);
				a.lookup(a.self, key, value);
				a.next(a.self, key, key);
				if (k % 2 && a.take(a.self, value) == 0)
					continue;
				if (k % 3 == 0)
					a.remove(a.self, key);
			}
		}
		unwatch();
		ck_assert_int_eq(fail_at, 0);
		nb_map_put(m);
		free(value);
	}
}
END_TEST

UNIT_MAIN("map", tcase_add_test(tc, array_elements_are_there_zeroed);
	  tcase_add_test(tc, array_ends_at_max_entries);
	  tcase_add_test(tc,
			 array_update_checks_flags_then_index_then_presence);
	  tcase_add_test(tc, array_elements_cannot_be_deleted);
	  tcase_add_test(tc, array_walk_is_by_index_and_starts_over_outside);
	  tcase_add_test(tc, array_values_lie_side_by_side_from_its_base);
	  tcase_add_test(tc, array_update_stays_inside_its_element);
	  tcase_add_test(tc, percpu_values_are_apart_and_read_together);
	  tcase_add_test(tc, percpu_write_sets_every_cpu);
	  tcase_add_test(tc, cpus_are_counted_above_the_current_one);
	  tcase_add_test(tc, hash_update_obeys_flags);
	  tcase_add_test(tc, hash_delete_makes_room);
	  tcase_add_test(tc, full_hash_still_replaces);
	  tcase_add_test(tc, replaced_value_stays_readable);
	  tcase_add_test(tc, hash_tells_keys_apart_by_every_byte);
	  tcase_add_test(tc, keys_and_values_need_no_alignment);
	  tcase_add_test(tc, hash_walk_goes_on_from_an_absent_key);
	  tcase_add_test(tc, hash_walk_ends_while_keys_come_and_go);
	  tcase_add_test(tc, large_hash_holds_all_its_entries);
	  tcase_add_test(tc, bad_definitions_are_refused_with_numbers);
	  tcase_add_test(tc, good_definitions_are_taken);
	  tcase_add_test(tc, memory_stays_under_the_limit);
	  tcase_add_test(tc, last_reference_frees);
	  tcase_add_test(tc, a_frozen_map_is_only_read);
	  tcase_add_test(tc, clone_is_equal_and_apart);
	  tcase_add_test(tc, lru_keeps_what_is_looked_up);
	  tcase_add_test(tc, lru_drops_only_for_new_keys);
	  tcase_add_test(tc, percpu_hash_values_are_apart);
	  tcase_add_test(tc, management_errors_name_map_and_key);
	  tcase_add_test(tc, management_calls_act_as_the_model);
	  tcase_add_test(tc, program_calls_act_as_the_model);
	  tcase_add_test(tc, failed_allocation_is_an_error_and_leaks_nothing);
	  tcase_add_test(tc, operations_never_allocate);)
