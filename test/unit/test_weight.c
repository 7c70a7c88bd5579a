// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// How long helpers of each kind of map take, in instructions, for the length
// of iterations: what core/bpf/verify/feature/helper_cost.c says, as the first
// iteration of a program that calls one. See also weight_*.asm in
// test/corpus/verify/accept.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include "test/bench/weight_rows.h"
#include "test/unit/verify_image.h"

enum { LETTERS = 1000, MANY_LETTERS = 1 << 20 };

/* MANY_LETTERS of them, and a NUL; filled before the tests. */
static unsigned char letters[MANY_LETTERS + 1];

static const struct nb_map_spec maps[] = {
	MAP_SPEC("hash", HASH, 20, 8, 1000, 0),
	MAP_SPEC("large", HASH, 8, 8, 5000000, 0),
	{ .name = ".rodata",
	  .type = NB_MAP_ARRAY,
	  .key_size = 4,
	  .value_size = sizeof(letters),
	  .max_entries = 1,
	  .flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
	  .origin = NB_ORIGIN_RODATA,
	  .init = letters },
	MAP_SPEC("lru", LRU_HASH, 20, 8, 8, 0),
};

enum { HASH, LARGE, TEXT, LRU };

enum { NMAPS = sizeof(maps) / sizeof(maps[0]) };

/* What stands before look-ups and deletions by a key of 20 bytes, at most. */
static const char by_key[] = "mov %r1, 0\n"
			     "stxdw [%r10-24], %r1\n"
			     "stxdw [%r10-16], %r1\n"
			     "stxdw [%r10-8], %r1\n"
			     "mov %r2, %r10\n"
			     "add %r2, -24\n";

enum { BY_KEY = 10 /* instructions */ };

/* What the call of @helper on @map weighs besides its own instruction. */
static uint32_t weight(const char *text, int map, int helper, uint32_t insns)
{
	struct nb_verify_opts o = { .coherence_off = true };
	static struct case_image c;
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	char src[1024];
	uint32_t first;

	snprintf(src, sizeof(src), "%slddw map %%r1, %d\ncall %d\nmov %%r0, 0\nexit\n", text, map,
		 helper);
	ck_assert_msg(!case_asm(&c, src, &err), "%s", err.text);
	c.img.maps = maps;
	c.img.nmaps = NMAPS;
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s", err.text);
	ck_assert_msg(v->accepted, "map %s, helper %d: %s", maps[map].name, helper,
		      v->finding.required);
	first = v->runs.first;
	nb_verdict_free(v);
	ck_assert_uint_ge(first, insns);
	return first - insns;
}

/* Does @text call helper @id? */
static bool calls(const char *text, int32_t id)
{
	while ((text = strstr(text, "call "))) {
		text += 5;
		if (strtol(text, NULL, 0) == id)
			return true;
	}
	return false;
}

/* What a row of core/defs/helpers.h says it costs was measured. */
TEST(each_helper_is_measured)
{
	size_t n;
	const struct nb_helper_spec *h = nb_spec_helpers(&n);

	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
			found |= calls(rows[k].call, h[i].id);
		ck_assert_msg(found, "no row of test/bench/weight_rows.h calls bpf_%s", h[i].name);
	}
}

/* As many keys as a bucket may have are compared, however large the map. */
TEST(a_hash_by_the_keys_of_a_bucket)
{
	enum { LOOKUP = 1, DELETE = 3, KEY = 20, CHAIN = 32 * 2 };

	ck_assert_uint_eq(weight(by_key, HASH, LOOKUP, BY_KEY), KEY / 16 + CHAIN);
	ck_assert_uint_eq(weight(by_key, HASH, DELETE, BY_KEY), KEY / 16 + CHAIN);
}

/* A walk over so large a hash, once in each pass, makes iterations too long,
 * also where the way to the first pass is short. */
TEST(an_iteration_has_its_limit)
{
	static const char text[] = "again:\n"
				   "may_goto out\n"
				   "lddw map %r1, 1\n"
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
	ck_assert_uint_lt(v->runs.first, 100);
	ck_assert_uint_gt(v->runs.iteration, NB_MAX_ITERATION_INSNS);
	nb_verdict_free(v);
}

/* Judge bpf_snprintf with the last @n letters as its format. */
static struct nb_verdict *formatted(uint32_t n)
{
	struct nb_verify_opts o = { .coherence_off = true };
	static struct case_image c;
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	char src[256];

	snprintf(src, sizeof(src),
		 "mov %%r1, %%r10\n"
		 "add %%r1, -8\n"
		 "mov %%r2, 8\n"
		 "lddw map_value %%r3, %d, %u\n"
		 "stdw [%%r10-16], 0\n"
		 "mov %%r4, %%r10\n"
		 "add %%r4, -16\n"
		 "mov %%r5, 8\n"
		 "call 165\n"
		 "mov %%r0, 0\n"
		 "exit\n",
		 TEXT, MANY_LETTERS - n);
	ck_assert_msg(!case_asm(&c, src, &err), "%s", err.text);
	c.img.maps = maps;
	c.img.nmaps = NMAPS;
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s", err.text);
	return v;
}

/* Each character, and each number that a format may have. */
TEST(a_format_by_its_length)
{
	enum { INSNS = 11, NUMBERS = 12 * 32 };
	struct nb_verdict *v = formatted(LETTERS);

	ck_assert(v->accepted);
	ck_assert_uint_eq(v->runs.first, INSNS + NUMBERS + LETTERS);
	nb_verdict_free(v);
	v = formatted(NB_MAX_ITERATION_INSNS - INSNS - NUMBERS);
	ck_assert(v->accepted);
	ck_assert_uint_eq(v->runs.first, NB_MAX_ITERATION_INSNS);
	nb_verdict_free(v);
	v = formatted(NB_MAX_ITERATION_INSNS - INSNS - NUMBERS + 1);
	ck_assert(!v->accepted);
	ck_assert_uint_eq(v->finding.cls, NB_FIND_RUN_LENGTH);
	nb_verdict_free(v);
}

/* What stands before an update, in two instructions more. */
static const char by_both[] = "mov %r1, 0\n"
			      "stxdw [%r10-24], %r1\n"
			      "stxdw [%r10-16], %r1\n"
			      "stxdw [%r10-8], %r1\n"
			      "mov %r2, %r10\n"
			      "add %r2, -24\n"
			      "mov %r3, %r2\n"
			      "mov %r4, 0\n";

/* It passes elements that were used to find one that was not, and looks for the
 * keys of both. */
TEST(an_update_of_an_lru_hash_by_what_it_passes)
{
	enum { LOOKUP = 1, UPDATE = 2, CHAIN = 32 * 2 };
	uint32_t update = weight(by_both, LRU, UPDATE, BY_KEY + 2);

	ck_assert_uint_eq(weight(by_key, LRU, LOOKUP, BY_KEY),
			  weight(by_key, HASH, LOOKUP, BY_KEY));
	ck_assert_uint_eq(update, weight(by_both, HASH, UPDATE, BY_KEY + 2) + 2 * (1024 + CHAIN));
}

UNIT_MAIN_WITH("weight", memset(letters, 'a', MANY_LETTERS);)
