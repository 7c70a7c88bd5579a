// SPDX-License-Identifier: MIT
// How long helpers of each kind of map take, in instructions, for the length
// of laps: what core/verify/weight.c says, as the first lap of a program that
// calls one. See also weight_*.asm in test/corpus/verify/accept.
#include "test/unit/unit.h"

#include "test/unit/verify_image.h"

static const struct nb_map_spec maps[] = {
	{ .name = "prefixes",
	  .type = NB_MAP_LPM_TRIE,
	  .key_size = 4 + 16,
	  .value_size = 8,
	  .max_entries = 8,
	  .flags = NB_F_NO_PREALLOC },
	{ .name = "short",
	  .type = NB_MAP_LPM_TRIE,
	  .key_size = 4 + 1,
	  .value_size = 8,
	  .max_entries = 8,
	  .flags = NB_F_NO_PREALLOC },
	{ .name = "set",
	  .type = NB_MAP_BLOOM_FILTER,
	  .value_size = 64,
	  .max_entries = 8 },
	{ .name = "queue",
	  .type = NB_MAP_QUEUE,
	  .value_size = 64,
	  .max_entries = 8 },
	{ .name = "hash",
	  .type = NB_MAP_HASH,
	  .key_size = 20,
	  .value_size = 8,
	  .max_entries = 1000 },
	{ .name = "large",
	  .type = NB_MAP_HASH,
	  .key_size = 8,
	  .value_size = 8,
	  .max_entries = 5000000 },
};

enum { NMAPS = sizeof(maps) / sizeof(maps[0]) };

/* What stands before look-ups and deletions by a key of 20 bytes, at most. */
static const char by_key[] = "mov %r1, 0\n"
			     "stxdw [%r10-24], %r1\n"
			     "stxdw [%r10-16], %r1\n"
			     "stxdw [%r10-8], %r1\n"
			     "mov %r2, %r10\n"
			     "add %r2, -24\n";

enum { BY_KEY = 10 /* instructions */ };

/* ...and before a value of 64 bytes is put in or asked for. */
static const char by_value[] = "mov %r1, 0\n"
			       "stxdw [%r10-64], %r1\n"
			       "stxdw [%r10-56], %r1\n"
			       "stxdw [%r10-48], %r1\n"
			       "stxdw [%r10-40], %r1\n"
			       "stxdw [%r10-32], %r1\n"
			       "stxdw [%r10-24], %r1\n"
			       "stxdw [%r10-16], %r1\n"
			       "stxdw [%r10-8], %r1\n"
			       "mov %r2, %r10\n"
			       "add %r2, -64\n"
			       "mov %r3, 0\n";

enum { BY_VALUE = 16 };

/* What the call of @helper on @map weighs besides its own instruction. */
static uint32_t weight(const char *text, int map, int helper, uint32_t insns)
{
	struct nb_verify_opts o = { .coherence_off = true };
	static struct case_image c;
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	char src[1024];
	uint32_t first;

	snprintf(src, sizeof(src),
		 "%slddw map %%r1, %d\ncall %d\nmov %%r0, 0\nexit\n", text, map,
		 helper);
	ck_assert_msg(!case_asm(&c, src, &err), "%s", err.text);
	c.img.maps = maps;
	c.img.nmaps = NMAPS;
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s", err.text);
	ck_assert_msg(v->accepted, "map %s, helper %d: %s", maps[map].name,
		      helper, v->finding.required);
	first = v->first;
	nb_verdict_free(v);
	ck_assert_uint_ge(first, insns);
	return first - insns;
}

/* A node for each bit of a key, and one more for each 16 bytes of it. */
START_TEST(a_trie_by_the_bits_of_its_keys)
{
	enum { LOOKUP = 1, DELETE = 3 };

	ck_assert_uint_eq(weight(by_key, 0, LOOKUP, BY_KEY), 8 * 16 + 1);
	ck_assert_uint_eq(weight(by_key, 0, DELETE, BY_KEY), 8 * 16 + 1);
	ck_assert_uint_eq(weight(by_key, 1, LOOKUP, BY_KEY), 8);
	/* a hash with the same keys: its bytes alone, however large */
	ck_assert_uint_eq(weight(by_key, 4, LOOKUP, BY_KEY), 1);
	ck_assert_uint_eq(weight(by_key, 4, DELETE, BY_KEY), 1);
}
END_TEST

/* Each of five hash functions reads the value; a queue copies it once. */
START_TEST(a_filter_by_its_hash_functions)
{
	enum { PUSH = 87, PEEK = 89 };

	ck_assert_uint_eq(weight(by_value, 2, PUSH, BY_VALUE), 5 * 64 / 16);
	ck_assert_uint_eq(weight(by_value, 2, PEEK, BY_VALUE), 5 * 64 / 16);
	ck_assert_uint_eq(weight(by_value, 3, PUSH, BY_VALUE), 64 / 16);
	ck_assert_uint_eq(weight(by_value, 3, PEEK, BY_VALUE), 64 / 16);
}
END_TEST

/* A walk over so large a hash, once in each pass, makes laps too long, also
 * where the way to the first pass is short. */
START_TEST(a_lap_has_its_limit)
{
	static const char text[] = "again:\n"
				   "may_goto out\n"
				   "lddw map %r1, 5\n"
				   "lddw func %r2, cb\n"
				   "mov %r3, 0\n"
				   "mov %r4, 0\n"
				   "call 164\n"
				   "ja again\n"
				   "out:\n"
				   "mov %r0, 0\n"
				   "exit\n"
				   "cb:\n"
				   "mov %r0, 0\n"
				   "exit\n";
	struct nb_verify_opts o = { .coherence_off = true };
	static struct case_image c;
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };

	ck_assert_msg(!case_asm(&c, text, &err), "%s", err.text);
	c.img.maps = maps;
	c.img.nmaps = NMAPS;
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s", err.text);
	ck_assert(!v->accepted);
	ck_assert_uint_eq(v->finding.cls, NB_FIND_RUN_LENGTH);
	ck_assert_uint_lt(v->first, 100);
	ck_assert_uint_gt(v->lap, NB_LAP_MAX);
	nb_verdict_free(v);
}
END_TEST

UNIT_MAIN("weight", tcase_add_test(tc, a_lap_has_its_limit);
	  tcase_add_test(tc, a_trie_by_the_bits_of_its_keys);
	  tcase_add_test(tc, a_filter_by_its_hash_functions);)
