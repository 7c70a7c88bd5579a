// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Rules of all map types: definitions that are refused, references, clones and
// error texts.
#include "test/unit/map_alloc.h"

#include <stdint.h>
#include <string.h>

/* ---- definitions -------------------------------------------------------- */

struct bad {
	struct nb_map_def def;
	int code;
	const char *text;
};

TEST(bad_definitions_are_refused_with_numbers)
{
	static const char long_name[] = "a_name_that_goes_on_and_on_and_on_and"
					"_on_for_more_than_63_bytes_";
	const struct bad bad[] = {
		{ { "x", 99, 4, 4, 1, 0 }, NB_E_MAPDEF, "type 99" },
		{ { "x", 0, 4, 4, 1, 0 }, NB_E_MAPDEF, "type 0" },
		{ { "x", 1, 4, 4, 1, 2 }, NB_E_MAPDEF, "map_flags 0x2" },
		{ { "x", 2, 4, 4, 1, 1 }, NB_E_MAPDEF, "map_flags 0x1" },
		{ { "x", 2, 4, 4, 1, 0x180 }, NB_E_MAPDEF, "exclude" },
		{ { "x", 2, 4, 4, 0, 0 }, NB_E_MAPDEF, "max_entries is 0" },
		{ { "x", 1, 4, 0, 1, 0 }, NB_E_MAPDEF, "value of 0 bytes" },
		{ { "x", 1, 0, 4, 1, 0 }, NB_E_MAPDEF, "key of 0 bytes" },
		{ { "x", 2, 8, 4, 1, 0 }, NB_E_MAPDEF, "key of 8 bytes" },
		{ { "x", 6, 2, 4, 1, 0 }, NB_E_MAPDEF, "key of 2 bytes" },
		{ { "x", 2, 4, 1u << 31, 1, 0 }, NB_E_MAPDEF, "2147483648" },
		{ { "x", 6, 4, 32769, 1, 0 }, NB_E_MAPDEF, "32768" },
		{ { "x", 1, 4, 4 << 20, 1, 0 }, NB_E_MAPDEF, "4194304" },
		{ { "x", 1, UINT32_MAX, UINT32_MAX, 1, 0 }, NB_E_MAPDEF, "4294967295" },
		{ { long_name, 2, 4, 4, 1, 0 }, NB_E_MAPDEF, "64 bytes" },
		/* products that wrap in 32 or 64 bits */
		{ { "x", 2, 4, 8, 1u << 29, 0 }, NB_E_LIMIT, "256 MiB" },
		{ { "x", 2, 4, 1u << 30, 4, 0 }, NB_E_LIMIT, "256 MiB" },
		{ { "x", 2, 4, INT32_MAX, UINT32_MAX, 0 }, NB_E_LIMIT, "4294967295 entries" },
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
		ck_assert_msg(strstr(err.text, bad[i].text) != NULL, "row %zu: \"%s\" lacks \"%s\"",
			      i, err.text, bad[i].text);
		ck_assert_int_eq(nb_map_new(&m, &bad[i].def, NULL), rc);
	}
}

/* Hash flags and names that are at the limit. */
TEST(good_definitions_are_taken)
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
		ck_assert_msg(nb_map_new(&m, &good[i], &err) == 0, "%s", err.text);
		ck_assert_str_eq(err.text, "untouched");
		d = nb_map_definition(m);
		ck_assert_str_eq(d->name, good[i].name ? good[i].name : "");
		ck_assert_uint_eq(d->type, good[i].type);
		ck_assert_uint_eq(d->key_size, good[i].key_size);
		ck_assert_uint_eq(d->value_size, good[i].value_size);
		ck_assert_uint_eq(d->max_entries, good[i].max_entries);
		ck_assert_uint_eq(d->flags, good[i].flags);
		ck_assert_uint_ge(nb_map_memory(m), (size_t)d->value_size * d->max_entries);
		nb_map_put(m);
	}
}

TEST(memory_stays_under_the_limit)
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

/* ---- references, clones, error texts ------------------------------------ */

TEST(last_reference_frees)
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

TEST(a_frozen_map_is_only_read)
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

		ck_assert_int_eq(nb_map_write(which, &zero, &v, NB_ANY, &err), NB_E_READONLY);
		ck_assert(strstr(err.text, "\"f\" is frozen"));
		ck_assert_int_eq(nb_map_erase(which, &zero, NULL), NB_E_READONLY);
		ck_assert_int_eq(nb_map_read(which, &zero, &v, NULL), 0);
		ck_assert_uint_eq(v, 7);
	}
	nb_map_put(copy);
	nb_map_put(m);
}

TEST(clone_is_equal_and_apart)
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
		ck_assert_str_eq(nb_map_definition(copy)->name, shapes[i].def.name);
		ck_assert_uint_eq(nb_map_count(copy), nb_map_count(m));
		side_manage(&b, copy);
		/* Two maps that began equal stay so under equal steps. */
		ck_assert_msg(sequence_run(&shapes[i], 2, 500, &a, &b, why, sizeof(why)) == 0, "%s",
			      why);
		nb_map_put(m);
		nb_map_put(copy);
	}
}

TEST(management_errors_name_map_and_key)
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
	ck_assert_int_eq(nb_map_write(h, key, &v, NB_NOEXIST, &err), NB_E_EXISTS);
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

UNIT_MAIN("map_rules")
