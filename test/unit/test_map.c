// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Map types: what look-up, update, delete and walk do in each.
#include "test/unit/map_alloc.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------- */

TEST(array_elements_are_there_zeroed)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 5);

	for (uint32_t i = 0; i < 5; i++) {
		ck_assert_ptr_nonnull(at(m, i));
		ck_assert_uint_eq(*at(m, i), 0);
	}
	ck_assert_uint_eq(nb_map_count(m), 5);
	nb_map_put(m);
}

TEST(array_ends_at_max_entries)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 5);
	uint32_t far[] = { 5, 6, INT32_MAX, UINT32_MAX };

	for (size_t i = 0; i < 4; i++) {
		ck_assert_ptr_null(nb_map_lookup(m, &far[i], 0));
		ck_assert_int_eq(put(m, far[i], 1, NB_ANY), -E2BIG);
		ck_assert_int_eq(nb_map_read(m, &far[i], NULL, NULL), NB_E_NOKEY);
	}
	nb_map_put(m);
}

TEST(array_update_checks_flags_then_index_then_presence)
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

TEST(array_elements_cannot_be_deleted)
{
	struct nb_map *m = make(NB_MAP_ARRAY, 4, 8, 2);

	ck_assert_int_eq(drop(m, 0), -EINVAL);
	ck_assert_int_eq(drop(m, 99), -EINVAL);
	nb_map_put(m);
}

TEST(array_walk_is_by_index_and_starts_over_outside)
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

TEST(array_values_lie_side_by_side_from_its_base)
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

TEST(array_update_stays_inside_its_element)
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

/* ---- per-CPU arrays ----------------------------------------------------- */

TEST(percpu_values_are_apart_and_read_together)
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
		ck_assert_uint_ge((uintptr_t)nb_map_lookup(m, &one, cpu) / 64,
				  (uintptr_t)nb_map_lookup(m, &one, cpu - 1) / 64 + 1);
	free(all);
	nb_map_put(m);
}

TEST(percpu_write_sets_every_cpu)
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
	ck_assert_int_eq(nb_map_write(m, &zero, all, NB_NOEXIST, NULL), NB_E_EXISTS);
	ck_assert_int_eq(nb_map_update(m, &far, all, 0, 0), -E2BIG);
	ck_assert_ptr_null(nb_map_lookup(m, &far, 0));
	ck_assert_int_eq(nb_map_erase(m, &zero, NULL), NB_E_FLAGS);
	free(all);
	nb_map_put(m);
}

TEST(cpus_are_counted_above_the_current_one)
{
	ck_assert_uint_ge(nb_ncpus(), 1);
	ck_assert_int_lt(sched_getcpu(), (int)nb_ncpus());
}

/* ---- hashes ------------------------------------------------------------- */

TEST(hash_update_obeys_flags)
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

TEST(hash_delete_makes_room)
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

TEST(full_hash_still_replaces)
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
		ck_assert_int_eq(put(m, n % 3, n, n % 2 ? NB_ANY : NB_EXIST), 0);
	ck_assert_uint_eq(*at(m, 99999 % 3), 99999);
	ck_assert_uint_eq(nb_map_count(m), 3);
	ck_assert_int_eq(put(m, 9, 9, NB_ANY), -E2BIG);
	nb_map_put(m);
}

/* As in the kernel: the old element stays whole until it is used again. */
TEST(replaced_value_stays_readable)
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

/* Keys of every size, each differing from the next in one byte only. */
TEST(hash_tells_keys_apart_by_every_byte)
{
	for (uint32_t size = 1; size <= 40; size++) {
		struct nb_map *m = make(NB_MAP_HASH, size, 4, 41);
		unsigned char key[41] = { 0 };
		uint32_t v;

		for (uint32_t i = 0; i < size; i++) {
			key[i] = 1;
			v = i;
			ck_assert_int_eq(nb_map_update(m, key, &v, NB_NOEXIST, 0), 0);
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

TEST(keys_and_values_need_no_alignment)
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

TEST(hash_walk_goes_on_from_an_absent_key)
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

/*
 * Keys put in ahead of a walk, again and again, do not make it longer than
 * the verifier counts with, whatever the number of CPUs: twice as many turns
 * as there may be elements (most_turns, core/bpf/verify/feature/callback.c).
 */
TEST(hash_walk_ends_while_keys_come_and_go)
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

TEST(large_hash_holds_all_its_entries)
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

/* ---- types that make room ------------------------------------------------ */

/* Never more than max_entries; what is looked up between any two new keys
 * stays; values are the ones stored last. */
TEST(lru_keeps_what_is_looked_up)
{
	enum { N = 64, HOT = 20 };
	struct nb_map *m = make(NB_MAP_LRU_HASH, 8, 8, N);
	uint64_t v;

	for (uint64_t k = 0; k < HOT; k++)
		ck_assert_int_eq(put(m, k, k + 1, NB_NOEXIST), 0);
	for (uint64_t k = 1000; k < 9000; k++) {
		ck_assert_int_eq(put(m, k, k + 1, NB_ANY), 0);
		ck_assert_uint_le(nb_map_count(m), N);
		ck_assert_int_eq(nb_map_read(m, &k, &v, NULL), 0);
		ck_assert_uint_eq(v, k + 1);
		for (uint64_t h = 0; h < HOT; h++) {
			ck_assert_ptr_nonnull(at(m, h));
			ck_assert_uint_eq(*at(m, h), h + 1);
		}
	}
	ck_assert_uint_eq(nb_map_count(m), N);
	nb_map_put(m);
}

/* An update that fails makes no room, and one that replaces needs none. */
TEST(lru_drops_only_for_new_keys)
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

UNIT_MAIN("map")
