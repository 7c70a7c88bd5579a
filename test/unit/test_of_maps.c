// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Maps of maps: elements, what may be one; what programs find through them,
// verified, and from generation to generation when inner or outer change.
#include "test/unit/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/generation/generation.h"
#include "core/generation/policy.h"
#include "core/map/map.h"
#include "core/defs/ctx.h"
#include "core/verify/verify.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

/* channels = outer[0][0], if both are there. */
#define PROGRAM(test)                       \
	"mov %r6, %r1\n"                    \
	"stw [%r10-8], 0\n"                 \
	"mov %r2, %r10\n"                   \
	"add %r2, -8\n"                     \
	"lddw %r1, 0x7000\n"                \
	"call 1\n" test "stw [%r10-8], 0\n" \
	"mov %r2, %r10\n"                   \
	"add %r2, -8\n"                     \
	"mov %r1, %r0\n"                    \
	"call 1\n"                          \
	"jeq %r0, 0, +2\n"                  \
	"ldxw %r3, [%r0+0]\n"               \
	"stxw [%r6+76], %r3\n"              \
	"mov %r0, 0\nexit\n"

enum { OUTER, INNER, A, B, OTHER, NMAPS };

static struct nb_map_spec maps[NMAPS];

static void fresh(uint32_t type, uint32_t tags)
{
	const struct nb_map_spec in = { .name = "outer.inner",
					.type = NB_MAP_ARRAY,
					.key_size = 4,
					.value_size = 8,
					.max_entries = 2,
					.tags = tags,
					.origin = NB_ORIGIN_INNER };

	maps[OUTER] = (struct nb_map_spec){ .name = "outer",
					    .type = type,
					    .key_size = 4,
					    .value_size = 4,
					    .max_entries = 3,
					    .tags = tags,
					    .inner = INNER + 1 };
	maps[INNER] = maps[A] = maps[B] = maps[OTHER] = in;
	maps[A].origin = maps[B].origin = maps[OTHER].origin =
		NB_ORIGIN_DEFINED;
	maps[A].name = "a";
	maps[B].name = "b";
	maps[OTHER].name = "other";
	maps[OTHER].max_entries = 3;
}

static int image_of(struct nb_image **img, const char *text, uint32_t key,
		    uint32_t value, struct nb_err *err)
{
	const struct nb_map_elem elem = { OUTER, key, value };
	struct nb_slot slots[MADE_SLOTS];
	struct nb_func func = { .name = "f" };
	struct nb_prog prog = { .name = "f",
				.section = "tuner",
				.hook = NB_HOOK_TUNER,
				.slots = slots,
				.funcs = &func,
				.nfuncs = 1 };
	const struct nb_image made = { .name = "p",
				       .maps = maps,
				       .nmaps = NMAPS,
				       .progs = &prog,
				       .nprogs = 1,
				       .elems = &elem,
				       .nelems = 1 };
	struct nb_buf b;
	size_t n;
	int rc;

	ck_assert_msg(!nb_asm(slots, MADE_SLOTS, &n, text, err), "%s",
		      err->text);
	for (size_t i = 0; i < n; i++)
		if (slots[i].opcode == 0x18 && slots[i].imm >= MADE_MAP) {
			slots[i].regs |= 1 << 4;
			slots[i].imm -= MADE_MAP;
		}
	func.end = prog.nslots = (uint32_t)n;
	nb_buf_init(&b, 0);
	rc = nb_image_write(&b, &made, err);
	if (!rc)
		rc = nb_image_read(img, b.data, b.size, err);
	nb_buf_fini(&b);
	return rc;
}

static bool accepted(const struct nb_image *img,
		     char text[static sizeof(((struct nb_err *)0)->text)])
{
	struct nb_verdict *v = NULL;
	struct nb_err err = { .text = "" };
	bool good;

	ck_assert_msg(!nb_verify(&v, img, 0, NULL, &err), "%s", err.text);
	good = v->accepted;
	if (!good)
		nb_verdict_err(v, img, 0, &err);
	memcpy(text, err.text, sizeof(err.text));
	nb_verdict_free(v);
	return good;
}

static uint32_t channels(const struct nb_gen *g)
{
	struct nb_gen_count count = { 0 };
	struct ncclbpf_tuner ctx = { .channels = 1000 };

	nb_gen_run_tuner(g, &ctx, &count);
	return ctx.channels;
}

static struct nb_policy *policy_of(uint32_t type, uint32_t tags)
{
	struct nb_err err = { .text = "" };
	struct nb_policy *p;
	struct nb_image *img;

	fresh(type, tags);
	ck_assert_msg(!image_of(&img, PROGRAM("jeq %r0, 0, +8\n"), 0, A, &err),
		      "%s", err.text);
	ck_assert_msg(!nb_policy_make(&p, img, NULL, NULL, 0, &err), "%s",
		      err.text);
	return p;
}

static void put(struct nb_map *m, uint32_t key, uint64_t value)
{
	struct nb_err err;

	ck_assert_msg(!nb_map_write(m, &key, &value, NB_ANY, &err), "%s",
		      err.text);
}

static const uint32_t types[] = { NB_MAP_ARRAY_OF_MAPS, NB_MAP_HASH_OF_MAPS };

START_TEST(programs_look_up_through_local_maps)
{
	struct nb_policy *p = policy_of(types[_i], 0);
	struct nb_gen *g, *copy;
	struct nb_err err;
	uint32_t zero = 0;

	ck_assert_ptr_null(p->maps[INNER]);
	put(p->maps[A], 0, 7);
	put(p->maps[B], 0, 9);
	ck_assert_int_eq(nb_gen_new(&g, &p, 1, NULL, &err), 0);
	ck_assert_uint_eq(channels(g), 7);
	put(p->maps[OUTER], 0, B); /* little-endian: the first four bytes */
	ck_assert_uint_eq(channels(g), 9);
	ck_assert_int_eq(nb_gen_rehearsal(&copy, g, &err), 0);
	put(p->maps[B], 0, 11);
	ck_assert_uint_eq(channels(copy), 9); /* on its own copies */
	ck_assert_int_eq(nb_map_erase(p->maps[OUTER], &zero, &err), 0);
	ck_assert_uint_eq(channels(g), 1000);
	ck_assert_uint_eq(channels(copy), 9);
	nb_gen_put(copy);
	nb_gen_put(g);
	nb_policy_put(p);
}
END_TEST

static struct nb_gen *changed(const struct nb_gen *g, uint32_t map,
			      uint64_t value)
{
	const uint32_t key = 0;
	const struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_err err = { .text = "" };
	struct nb_gen *next;

	ck_assert_msg(!nb_gen_map_change(&next, g, 0, map, &op, 1, &err), "%s",
		      err.text);
	return next;
}

/* Each generation has its own inner maps; the outer one follows. */
START_TEST(coherent_maps_change_with_generations)
{
	struct nb_policy *p = policy_of(types[_i], NB_MAPF_COHERENT);
	struct nb_gen *g[4], *again;
	struct nb_err err;

	ck_assert_int_eq(nb_gen_new(&g[0], &p, 1, NULL, &err), 0);
	g[1] = changed(g[0], A, 7);
	g[2] = changed(g[1], B, 9);
	g[3] = changed(g[2], OUTER, B);
	ck_assert_int_eq(nb_gen_new(&again, &p, 1, g[3], &err), 0);
	ck_assert_uint_eq(channels(g[0]), 0);
	ck_assert_uint_eq(channels(g[1]), 7);
	ck_assert_uint_eq(channels(g[2]), 7);
	ck_assert_uint_eq(channels(g[3]), 9);
	ck_assert_uint_eq(channels(again), 9);
	for (int i = 0; i < 3; i++)
		nb_gen_put(g[i]);
	ck_assert_uint_eq(channels(again), 9);
	nb_gen_put(again);
	ck_assert_uint_eq(channels(g[3]), 9);
	nb_gen_put(g[3]);
	nb_policy_put(p);
}
END_TEST

START_TEST(only_maps_like_the_inner_definition_go_in)
{
	uint32_t key = 1, v[] = { OUTER, INNER, B, OTHER, NMAPS, UINT32_MAX };
	struct nb_err err = { .text = "" };
	struct nb_policy *p;
	struct nb_image *img;

	fresh(types[_i], 0);
	maps[B].tags = NB_MAPF_MAX; /* or like A, but merged */
	ck_assert_int_eq(
		image_of(&img, PROGRAM("jeq %r0, 0, +8\n"), 0, A, &err), 0);
	ck_assert_int_eq(nb_policy_make(&p, img, NULL, NULL, 0, &err), 0);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		ck_assert_int_eq(
			nb_map_write(p->maps[OUTER], &key, &v[i], 0, &err),
			NB_E_ARG);
		ck_assert_ptr_nonnull(strstr(err.text, "inner definition"));
	}
	ck_assert_uint_eq(nb_map_count(p->maps[OUTER]), 1);
	nb_policy_put(p);
}
END_TEST

START_TEST(images_with_bad_inner_maps_are_refused)
{
	static const char text[] = PROGRAM("jeq %r0, 0, +8\n");
	struct nb_err err = { .text = "" };
	struct nb_image *img;

	fresh(types[_i], 0);
	ck_assert_int_eq(image_of(&img, text, 0, OTHER, &err), NB_E_MAPDEF);
	ck_assert_ptr_nonnull(strstr(err.text, "not like the inner"));
	fresh(types[_i], 0);
	maps[A].tags = NB_MAPF_SUM;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_MAPDEF);
	ck_assert_ptr_nonnull(strstr(err.text, "is the merged map"));
	fresh(types[_i], 0);
	maps[OUTER].inner = A + 1;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_IMAGE);
	fresh(types[_i], 0);
	maps[OUTER].inner = 0;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_IMAGE);
	fresh(types[_i], 0);
	maps[A].inner = INNER + 1;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_IMAGE);
	fresh(types[_i], 0);
	maps[INNER].type = types[_i];
	maps[INNER].value_size = 4;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_MAPDEF);
	fresh(types[_i], 0);
	maps[OUTER].tags = NB_MAPF_COHERENT;
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_IMAGE);
	fresh(types[_i], NB_MAPF_SHARED);
	ck_assert_int_eq(image_of(&img, text, 0, A, &err), NB_E_MAPDEF);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot be shared"));
}
END_TEST

START_TEST(what_is_found_is_tested_first)
{
	struct nb_err err = { .text = "" };
	struct nb_image *img;
	char why[sizeof(((struct nb_err *)0)->text)];

	fresh(types[_i], NB_MAPF_COHERENT);
	ck_assert_int_eq(
		image_of(&img, PROGRAM("jeq %r0, 0, +8\n"), 0, A, &err), 0);
	ck_assert_msg(accepted(img, why), "%s", why);
	nb_image_free(img);
	ck_assert_int_eq(image_of(&img, PROGRAM("ja +0\n"), 0, A, &err), 0);
	ck_assert(!accepted(img, why));
	ck_assert_msg(strstr(why, "tested against NULL") != NULL, "%s", why);
	nb_image_free(img);
	/* a map is no value */
	ck_assert_int_eq(image_of(&img,
				  PROGRAM("jeq %r0, 0, +8\n"
					  "ldxw %r1, [%r0+0]\n"),
				  0, A, &err),
			 0);
	ck_assert(!accepted(img, why));
	nb_image_free(img);
	/* local maps: what is found in them is no answer */
	fresh(types[_i], 0);
	ck_assert_int_eq(
		image_of(&img, PROGRAM("jeq %r0, 0, +8\n"), 0, A, &err), 0);
	ck_assert(!accepted(img, why));
	ck_assert_msg(strstr(why, "differs between ranks") != NULL, "%s", why);
	nb_image_free(img);
}
END_TEST

/* What walks over a map found in a map; stays below the map's end if turns
 * are as many as elements. */
static const char walks[] = "stw [%r10-8], 0\nmov %r2, %r10\n"
			    "add %r2, -8\nlddw %r1, 0x7000\ncall 1\n"
			    "jeq %r0, 0, out\nmov %r1, %r0\n"
			    "lddw func %r2, cb\nmov %r3, 0\n"
			    "mov %r4, 0\ncall 164\njslt %r0, 0, out\n"
			    "mov %r1, %r10\nadd %r1, %r0\n"
			    "stb [%r1-3], 1\nout:\nmov %r0, 0\nexit\n"
			    "cb:\nmov %r0, 0\nexit\n";

static struct nb_slot walk_slots[MADE_SLOTS];
static struct nb_prog walk_prog = { .name = "f",
				    .section = "tuner",
				    .hook = NB_HOOK_TUNER,
				    .slots = walk_slots };
static const struct nb_image walk_image = { .name = "p",
					    .maps = maps,
					    .nmaps = NMAPS,
					    .progs = &walk_prog,
					    .nprogs = 1 };

static void assemble(const char *text)
{
	struct nb_err err = { .text = "" };
	size_t n;

	ck_assert_msg(!nb_asm(walk_slots, MADE_SLOTS, &n, text, &err), "%s",
		      err.text);
	for (size_t i = 0; i < n; i++)
		if (walk_slots[i].opcode == 0x18 &&
		    walk_slots[i].imm >= MADE_MAP) {
			walk_slots[i].regs |= 1 << 4;
			walk_slots[i].imm -= MADE_MAP;
		}
	walk_prog.nslots = (uint32_t)n;
}

/* How many elements a map found in a map has, its definition does not say. */
START_TEST(turns_over_what_is_found)
{
	char why[sizeof(((struct nb_err *)0)->text)];

	assemble(walks);
	fresh(types[_i], 0);
	ck_assert(!nb_image_may_hold(&walk_image, OUTER, OTHER));
	ck_assert_msg(accepted(&walk_image, why), "%s", why);
	for (int i = INNER; i < NMAPS; i++)
		maps[i].type = NB_MAP_PERCPU_ARRAY;
	ck_assert(nb_image_may_hold(&walk_image, OUTER, OTHER));
	ck_assert(!accepted(&walk_image, why));
}
END_TEST

/* Where local data took turns, a walk over a hash found in a map may be short
 * of them, however small its definition; one over an array is as long as it. */
START_TEST(turns_that_what_is_found_needs)
{
	char why[sizeof(((struct nb_err *)0)->text)];

	assemble("mov %r6, %r1\nldxw %r1, [%r6+64]\nand %r1, 255\n"
		 "lddw func %r2, turn\nmov %r3, 0\nmov %r4, 0\ncall 181\n"
		 "stw [%r10-8], 0\nmov %r2, %r10\nadd %r2, -8\n"
		 "lddw %r1, 0x7000\ncall 1\njeq %r0, 0, out\n"
		 "mov %r1, %r0\nlddw func %r2, cb\nmov %r3, 0\n"
		 "mov %r4, 0\ncall 164\nstxw [%r6+76], %r0\nout:\n"
		 "mov %r0, 0\nexit\ncb:\nmov %r0, 0\nexit\nturn:\n"
		 "mov %r0, 0\nexit\n");
	fresh(types[_i], NB_MAPF_COHERENT);
	ck_assert_msg(accepted(&walk_image, why), "%s", why);
	for (int i = INNER; i < NMAPS; i++)
		maps[i].type = NB_MAP_HASH;
	ck_assert(!accepted(&walk_image, why));
	ck_assert_ptr_nonnull(strstr(why, "differs between ranks"));
}
END_TEST

static uint32_t first_iteration(void)
{
	struct nb_verdict *v;
	struct nb_err err = { .text = "" };
	uint32_t first;

	ck_assert_msg(!nb_verify(&v, &walk_image, 0, NULL, &err), "%s",
		      err.text);
	ck_assert(v->accepted);
	first = v->first;
	nb_verdict_free(v);
	return first;
}

/* A walk over a hash found in a map takes as long as over the largest. */
START_TEST(walks_weigh_what_may_be_found)
{
	uint32_t first;

	assemble("stw [%r10-8], 0\nmov %r2, %r10\nadd %r2, -8\n"
		 "lddw %r1, 0x7000\ncall 1\njeq %r0, 0, out\n"
		 "mov %r1, %r0\nlddw func %r2, cb\nmov %r3, 0\n"
		 "mov %r4, 0\ncall 164\nout:\nmov %r0, 0\nexit\n"
		 "cb:\nmov %r0, 0\nexit\n");
	fresh(types[_i], 0);
	for (int i = INNER; i < NMAPS; i++)
		maps[i].type = NB_MAP_HASH;
	maps[A].max_entries = 4;
	first = first_iteration();
	maps[B].max_entries = 4000;
	ck_assert_uint_eq(first_iteration(), first + 4 * (4000 - 4));
	maps[B].key_size = 8; /* no longer one that may be found */
	ck_assert_uint_eq(first_iteration(), first);
}
END_TEST

UNIT_MAIN("of_maps", tcase_add_loop_test(tc, turns_over_what_is_found, 0, 2);
	  tcase_add_loop_test(tc, walks_weigh_what_may_be_found, 0, 2);
	  tcase_add_loop_test(tc, turns_that_what_is_found_needs, 0, 2);
	  tcase_add_loop_test(tc, programs_look_up_through_local_maps, 0, 2);
	  tcase_add_loop_test(tc, coherent_maps_change_with_generations, 0, 2);
	  tcase_add_loop_test(tc, only_maps_like_the_inner_definition_go_in, 0,
			      2);
	  tcase_add_loop_test(tc, images_with_bad_inner_maps_are_refused, 0, 2);
	  tcase_add_loop_test(tc, what_is_found_is_tested_first, 0, 2);)
