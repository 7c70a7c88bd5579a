// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// Keys that share a bucket: how many may, and what a seed does against it. Work
// is counted in elements that a look-up passes, never in time.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/generation/policy.h"
#include "core/bpf/map/hash.h"
#include "core/bpf/map/map.h"

enum { ENTRIES = 4096, MOST = NB_MAP_CHAIN_MAX };

/* The inverse, mod 2^64, of the factor that unseeded hashes have. */
#define BACK UINT64_C(0xf1de83e19937733d)

static struct nb_map *make(uint32_t type, uint32_t key_size)
{
	const struct nb_map_def def = { .name = "m",
					.type = type,
					.key_size = key_size,
					.value_size = 8,
					.max_entries = ENTRIES };
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

static int put(struct nb_map *m, uint64_t key, uint64_t flags)
{
	return nb_map_update(m, &key, &(uint64_t){ 1 }, flags, 0);
}

/* Elements of the longest chain. */
static uint32_t longest(const struct nb_map *m)
{
	const struct hash *h = (const struct hash *)m;
	uint32_t most = 0;

	for (uint64_t b = 0; b < UINT64_C(1) << (64 - h->shift); b++) {
		uint32_t n = 0;

		for (uint32_t i = (uint32_t)h->bucket[b]; i != NIL; n++)
			i = next_of(element(h, i));
		most = n > most ? n : most;
	}
	return most;
}

static const uint32_t types[] = { NB_MAP_HASH, NB_MAP_LRU_HASH };
enum { TYPES = sizeof(types) / sizeof(types[0]) };

/* 20,000 keys of one bucket: no operation passes more than MOST elements. */
TEST_EACH(a_bucket_has_its_limit, 0, TYPES)
{
	struct nb_map *m = make(types[_i], 8);
	uint32_t taken = 0;

	for (uint64_t i = 0; i < 20000; i++) {
		int rc = put(m, i * BACK, NB_ANY);

		ck_assert_int_eq(rc, taken < MOST ? 0 : -ENOSPC);
		taken += !rc;
	}
	ck_assert_uint_eq(taken, MOST);
	ck_assert_uint_eq(longest(m), MOST);
	/* keys that are there are replaced, and one may follow one that went */
	ck_assert_int_eq(put(m, BACK, NB_EXIST), 0);
	ck_assert_int_eq(nb_map_delete(m, &(uint64_t){ BACK }), 0);
	ck_assert_int_eq(put(m, 20000 * BACK, NB_ANY), 0);
	ck_assert_int_eq(put(m, BACK, NB_ANY), -ENOSPC);
	/* other buckets are open */
	ck_assert_int_eq(put(m, 7, NB_ANY), 0);
	nb_map_put(m);
}

/* The same keys do not share a bucket of a map that is seeded. */
TEST_EACH(a_seed_spreads_the_same_keys, 0, TYPES)
{
	struct nb_map *m = make(types[_i], 8);

	nb_map_seed(m);
	for (uint64_t i = 0; i < ENTRIES; i++)
		ck_assert_int_eq(put(m, i * BACK, NB_ANY), 0);
	ck_assert_uint_le(longest(m), MOST);
	nb_map_put(m);
}

TEST(the_refusal_says_why)
{
	struct nb_map *m = make(NB_MAP_HASH, 8);
	struct nb_err err = { 0 };
	uint64_t key = MOST * BACK;

	for (uint64_t i = 0; i < MOST; i++)
		ck_assert_int_eq(put(m, i * BACK, NB_ANY), 0);
	ck_assert_int_eq(nb_map_write(m, &key, &key, NB_ANY, &err), NB_E_FULL);
	ck_assert_msg(strstr(err.text, "32 keys share its bucket"), "%s", err.text);
	nb_map_put(m);
}

/* Indices, sizes, addresses: keys in steps of any power of two, and seeds as
 * they come. Some random factors would put a hundred in a bucket. */
TEST(steps_of_powers_of_two_are_spread)
{
	for (uint64_t seed = 0; seed < 20; seed++)
		for (unsigned step = 0; step <= 52; step += 4) {
			struct nb_map *m = make(NB_MAP_HASH, 8);

			nb_hash_seed(m, seed);
			for (uint64_t i = 0; i < ENTRIES; i++)
				ck_assert_int_eq(put(m, i << step, NB_ANY), 0);
			ck_assert_uint_le(longest(m), MOST);
			nb_map_put(m);
		}
}

/* Of a hash that multiplies words and adds them up, keys that differ in the
 * highest bits of two words collide, whatever the factor is. */
TEST(long_keys_are_spread)
{
	struct nb_map *m = make(NB_MAP_HASH, 96);

	nb_map_seed(m);
	for (uint32_t i = 0; i < ENTRIES / 2; i++) {
		uint64_t key[12] = { 0 }, value = i;

		for (unsigned bit = 0; bit < 11; bit++)
			if (i >> bit & 1) {
				key[bit] ^= UINT64_C(1) << 63;
				key[bit + 1] ^= UINT64_C(1) << 63;
			}
		ck_assert_int_eq(nb_map_update(m, key, &value, NB_ANY, 0), 0);
		ck_assert(nb_map_lookup(m, key, 0));
	}
	ck_assert_uint_le(longest(m), 12);
	nb_map_put(m);
}

/* What two ranks make of one image. */
static struct nb_map *of_image(uint32_t tags)
{
	const struct nb_map_spec spec = MAP_SPEC("m", HASH, 8, 8, ENTRIES, tags);
	const struct nb_image img = { .name = "p", .maps = &spec, .nmaps = 1 };
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_policy_map_new(&m, &img, 0, &err), "%s", err.text);
	for (uint64_t i = 0; i < 100; i++)
		ck_assert_int_eq(put(m, i, NB_ANY), 0);
	return m;
}

static bool same_function(const struct nb_map *a, const struct nb_map *b)
{
	const struct hash *x = (const struct hash *)a, *y = (const struct hash *)b;

	return x->factor == y->factor && x->fold == y->fold;
}

TEST(coherent_maps_have_one_function)
{
	struct nb_map *a = of_image(NB_MAPF_COHERENT), *b = of_image(NB_MAPF_COHERENT);

	ck_assert(same_function(a, b));
	nb_map_put(a);
	nb_map_put(b);
	a = of_image(0);
	b = of_image(0);
	ck_assert(!same_function(a, b));
	nb_map_put(a);
	nb_map_put(b);
}

UNIT_MAIN("map seed")
