// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Watched runs: they do what runs do; fields of the context are followed
// through registers and the stack, and never taken for one when they are
// something else; jumps compare as the interpreter does.
#include "test/unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/explain/path.h"
#include "core/bpf/isa/insn.h"
#include "core/defs/ctx.h"
#include "test/unit/asm.h"

enum { MAX = 64, BYTES = 1, COLL = 3, ALGO = 14, PROTO = 15, CHANNELS = 16 };

static struct nb_exec *made(const char *text)
{
	struct nb_slot slots[MAX];
	struct nb_err err = { 0 };
	struct nb_exec *x;
	size_t n;

	ck_assert_msg(!nb_asm(slots, MAX, &n, text, &err), "%s", err.text);
	{
		const struct nb_func func = { .name = "f", .end = (uint32_t)n };
		const struct nb_prog prog = { .name = "f",
					      .section = "tuner",
					      .slots = slots,
					      .nslots = (uint32_t)n,
					      .funcs = &func,
					      .nfuncs = 1 };
		const struct nb_image img = { .name = "path", .progs = &prog, .nprogs = 1 };

		ck_assert_msg(!nb_exec_new(&x, &img, 0, NULL, NULL, &err), "%s", err.text);
	}
	nb_exec_bound(x, 100, 0);
	return x;
}

static struct ncclbpf_tuner context(uint64_t bytes)
{
	return (struct ncclbpf_tuner){
		.bytes = bytes, .coll = 4, .ranks = 8, .nodes = 1, .algo = -1, .proto = -1
	};
}

/* Watched, and not: the same. */
static const struct nb_path *followed(const char *text, uint64_t bytes)
{
	struct ncclbpf_tuner a = context(bytes), b = a;
	struct nb_exec *x = made(text);
	static struct nb_path w;
	uint64_t r;

	memset(&w, 0, sizeof(w));
	r = nb_exec_path(x, &a, sizeof(a), nb_spec_hook(NB_HOOK_TUNER), &w);
	ck_assert_uint_eq(r, nb_exec_run(x, &b, sizeof(b)));
	ck_assert_mem_eq(&a, &b, sizeof(a));
	nb_exec_free(x);
	return &w;
}

#define END "mov %r0, 0\nexit\n"

TEST(fields_are_where_they_are_said_to_be)
{
	const struct nb_hook_spec *h = nb_spec_hook(NB_HOOK_TUNER);

	ck_assert_str_eq(h->fields[BYTES].name, "bytes");
	ck_assert_str_eq(h->fields[COLL].name, "coll");
	ck_assert_str_eq(h->fields[ALGO].name, "algo");
	ck_assert_str_eq(h->fields[PROTO].name, "proto");
	ck_assert_str_eq(h->fields[CHANNELS].name, "channels");
	ck_assert_uint_le(h->nfields, NB_PATH_FIELDS);
}

TEST(a_comparison_and_a_store)
{
	static const char text[] = "ldxdw %r2, [%r1+8]\n"
				   "jgt %r2, 4096, +1\n"
				   "stw [%r1+68], 1\n" END;
	const struct nb_path *w = followed(text, 4096);

	ck_assert_uint_eq(w->nbranches, 1);
	ck_assert_uint_eq(w->branch[0].at.pc, 1);
	ck_assert_int_eq(w->branch[0].from_a.exact, BYTES);
	ck_assert_uint_eq(w->branch[0].a, 4096);
	ck_assert_uint_eq(w->branch[0].b, 4096);
	ck_assert(!w->branch[0].taken && !w->branch[0].from_b.fields);
	ck_assert(w->store[ALGO].done && !w->store[PROTO].done);
	ck_assert_uint_eq(w->store[ALGO].at.pc, 2);
	w = followed(text, 4097);
	ck_assert(w->branch[0].taken && !w->store[ALGO].done);
}

TEST(one_store_of_two_fields)
{
	const struct nb_path *w = followed("lddw %r2, 0x200000001\n"
					   "stxw [%r1+76], %r2\n"
					   "stxw [%r1+72], %r2\n"
					   "stxw [%r1+68], %r2\n" END,
					   1);

	ck_assert_uint_eq(w->store[CHANNELS].at.pc, 2);
	ck_assert_uint_eq(w->store[PROTO].at.pc, 3);
	w = followed("lddw %r2, 0x200000001\nmov %r3, %r1\nadd %r3, 64\n"
		     "stxdw [%r3+8], %r2\n" END,
		     1);
	ck_assert(w->store[PROTO].done && w->store[CHANNELS].done && !w->store[ALGO].done);
	ck_assert_uint_eq(w->store[PROTO].at.pc, 4);
}

/* "bytes - 4096 <= 100", as compilers make of a range. */
TEST(a_constant_that_was_added)
{
	const struct nb_path *w = followed("ldxdw %r2, [%r1+8]\nadd %r2, -4096\n"
					   "mov %r3, %r2\nsub %r3, 4\n"
					   "jle %r3, 100, +1\nmov %r0, 1\n" END,
					   4200);

	ck_assert_int_eq(w->branch[0].from_a.exact, BYTES);
	ck_assert_uint_eq(w->branch[0].from_a.add, (uint64_t)-4100);
	ck_assert_uint_eq(w->branch[0].a, 100);
	ck_assert(w->branch[0].taken);
}

TEST(through_the_stack)
{
	const struct nb_path *w = followed("ldxdw %r2, [%r1+8]\n"
					   "stxdw [%r10-8], %r2\n"
					   "ldxdw %r3, [%r10-8]\n"
					   "jeq %r3, 7, +0\n" END,
					   7);

	ck_assert_int_eq(w->branch[0].from_a.exact, BYTES);
	w = followed("ldxdw %r2, [%r1+8]\nstxdw [%r10-8], %r2\n"
		     "stb [%r10-5], 1\nldxdw %r3, [%r10-8]\n"
		     "jeq %r3, 7, +0\n" END,
		     7);
	ck_assert_uint_eq(w->nbranches, 0); /* it is another value now */
}

/* Where the upper half is lost it is another value. */
TEST(a_part_on_the_stack)
{
	static const char text[] = "ldxdw %r2, [%r1+8]\n"
				   "stxw [%r10-8], %r2\n"
				   "ldxw %r3, [%r10-8]\n"
				   "jeq %r3, 1, +0\n" END;
	const struct nb_path *w = followed(text, UINT64_C(0x100000001));

	ck_assert_uint_eq(w->nbranches, 1);
	ck_assert_uint_eq(w->branch[0].a, 1);
	ck_assert_int_eq(w->branch[0].from_a.exact, -1);
	ck_assert_uint_eq(w->branch[0].from_a.fields, 1u << BYTES);
	w = followed(text, 1);
	ck_assert_int_eq(w->branch[0].from_a.exact, BYTES);
	/* nor is what wrapped round */
	w = followed("ldxw %r2, [%r1+24]\nsub %r2, 9\n"
		     "stxw [%r10-8], %r2\nldxw %r3, [%r10-8]\n"
		     "jeq %r3, 7, +0\n" END,
		     1);
	ck_assert_uint_eq(w->nbranches, 1);
	ck_assert_int_eq(w->branch[0].from_a.exact, -1);
}

/* bpf_strtoul reads "5" into where bytes was. */
TEST(what_a_helper_writes_is_no_field)
{
	const struct nb_path *w = followed("ldxdw %r2, [%r1+8]\nstxdw [%r10-8], %r2\n"
					   "stdw [%r10-16], 0x35\n"
					   "mov %r1, %r10\nadd %r1, -16\nmov %r2, 1\n"
					   "mov %r3, 10\nmov %r4, %r10\nadd %r4, -8\n"
					   "call 106\nldxdw %r3, [%r10-8]\n"
					   "jeq %r3, 5, +0\n" END,
					   7);

	ck_assert_uint_eq(w->nbranches, 0);
}

TEST(what_is_made_of_a_field_is_not_the_field)
{
	static const char *const made_of[] = { "lsh %r2, 1\n",	 "and %r2, 15\n",  "mul %r2, 3\n",
					       "add32 %r2, 1\n", "add %r2, %r2\n", "neg %r2\n" };
	char text[256];

	for (size_t i = 0; i < sizeof(made_of) / sizeof(*made_of); i++) {
		const struct nb_path *w;

		snprintf(text, sizeof(text),
			 "ldxdw %%r2, [%%r1+8]\n%sjeq %%r2, 7, +0\n"
			 "mov %%r0, 0\nexit\n",
			 made_of[i]);
		w = followed(text, 7);
		ck_assert_uint_eq(w->nbranches, 1);
		ck_assert_int_eq(w->branch[0].from_a.exact, -1);
		ck_assert_uint_eq(w->branch[0].from_a.fields, 1u << BYTES);
	}
	/* the lower half is the field where the upper one is 0 */
	for (int big = 0; big < 2; big++) {
		const struct nb_path *w = followed("ldxdw %r2, [%r1+8]\n"
						   "mov32 %r3, %r2\n"
						   "jeq %r3, 7, +0\n" END,
						   big ? UINT64_C(7) << 32 : 7);

		ck_assert_int_eq(w->branch[0].from_a.exact, big ? -1 : BYTES);
	}
	/* a part of it, and a load beyond it */
	ck_assert_int_eq(
		followed("ldxw %r2, [%r1+8]\njeq %r2, 7, +0\n" END, 7)->branch[0].from_a.exact, -1);
	ck_assert_int_eq(
		followed("ldxdw %r2, [%r1+24]\njeq %r2, 7, +0\n" END, 7)->branch[0].from_a.exact,
		-1);
}

TEST(calls_forget_and_never_confuse)
{
	/* a local function has registers of its own */
	const struct nb_path *w =
		followed("ldxdw %r6, [%r1+8]\ncall local f\n"
			 "jeq %r6, 7, +0\n" END "f:\nmov %r6, 9\nmov %r0, 0\nexit\n",
			 7);

	for (uint32_t i = 0; i < w->nbranches; i++)
		ck_assert(w->branch[i].from_a.exact != BYTES || w->branch[i].a == 7);
	/* callbacks, many times */
	w = followed("ldxdw %r6, [%r1+8]\nmov %r1, 3\nlddw func %r2, g\n"
		     "mov %r3, 0\nmov %r4, 0\ncall 181\n"
		     "jeq %r6, 7, +0\n" END "g:\nmov %r6, 9\njgt %r1, 5, +0\nmov %r0, 0\nexit\n",
		     7);
	for (uint32_t i = 0; i < w->nbranches; i++)
		ck_assert(w->branch[i].from_a.exact != BYTES || w->branch[i].a == 7);
}

TEST(more_than_there_is_room_for_is_counted)
{
	const struct nb_path *w = followed("ldxdw %r2, [%r1+8]\nmov %r3, 0\n"
					   "again:\nadd %r3, 1\n"
					   "jlt %r3, %r2, again\n" END,
					   NB_PATH_BRANCHES + 10);

	ck_assert_uint_eq(w->nbranches, NB_PATH_BRANCHES);
	ck_assert_uint_eq(w->left_out, 10);
}

TEST(jumps_compare_as_the_interpreter_does)
{
	static const struct {
		const char *name;
		uint8_t fn;
	} jumps[] = { { "jeq", NB_FN_JEQ },   { "jne", NB_FN_JNE },   { "jgt", NB_FN_JGT },
		      { "jge", NB_FN_JGE },   { "jlt", NB_FN_JLT },   { "jle", NB_FN_JLE },
		      { "jset", NB_FN_JSET }, { "jsgt", NB_FN_JSGT }, { "jsge", NB_FN_JSGE },
		      { "jslt", NB_FN_JSLT }, { "jsle", NB_FN_JSLE } };
	static const uint64_t v[] = {
		0,	     1,		  2,	     0x7fffffff,	0x80000000, 0xffffffff,
		0x100000000, 0x100000001, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX
	};
	enum { N = sizeof(v) / sizeof(*v) };
	char text[256];

	for (size_t j = 0; j < 2 * sizeof(jumps) / sizeof(*jumps); j++) {
		uint8_t width = j & 1 ? 32 : 64;
		struct nb_exec *x;

		snprintf(text, sizeof(text),
			 "ldxdw %%r2, [%%r1]\nldxdw %%r3, [%%r1+8]\n"
			 "mov %%r0, 1\n%s%s %%r2, %%r3, +1\nmov %%r0, 0\n"
			 "exit\n",
			 jumps[j / 2].name, width == 32 ? "32" : "");
		x = made(text);
		for (size_t i = 0; i < (size_t)N * N; i++) {
			uint64_t two[2] = { v[i / N], v[i % N] };

			ck_assert_msg(nb_exec_run(x, two, sizeof(two)) ==
					      nb_jump_holds(jumps[j / 2].fn, width, two[0], two[1]),
				      "%s%u %" PRIx64 " %" PRIx64, jumps[j / 2].name, width, two[0],
				      two[1]);
		}
		nb_exec_free(x);
	}
}

UNIT_MAIN("path")
