// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A host whose heap lies at low addresses, like that of a program that is not
// position-independent: there a pointer minus its own low half is NULL. The
// verifier must not take that branch for impossible, and both engines must take
// it. The main function starts the program again until its heap lies low.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/interp.h"
#include "core/bpf/generation/policy.h"
#include "test/unit/verify_image.h"
#include "test/unit/compile_one.h"

/* A pointer may move by less than this. */
enum { MAX_MOVE = 1 << 29 };

/* The kernel adds up to 1 GiB to the start of the heap, so that half of all
 * starts are good. */
enum { MOST_STARTS = 60 };

/* What a program returns. */
enum { NOT_NULL = 1, IS_NULL, TOO_HIGH, NO_POINTER };

/* Move the pointer in r6 down by its low half, and test whether it is NULL. */
#define MINUS_ITSELF                  \
	"mov32 %r7, %r6\n"            \
	"mov %r0, 3\n"                \
	"jgt %r7, 0x1ffffffe, done\n" \
	"sub %r6, %r7\n"              \
	"mov %r0, 2\n"                \
	"jeq %r6, 0, done\n"          \
	"mov %r0, 1\n"                \
	"done:\n"

#define PUT_INTO_SEEN           \
	"stdw [%r10-8], 7\n"    \
	"stdw [%r10-24], 7\n"   \
	"stdw [%r10-16], 7\n"   \
	"lddw map %r1, @seen\n" \
	"mov %r2, %r10\n"       \
	"add %r2, -8\n"         \
	"mov %r3, %r10\n"       \
	"add %r3, -24\n"        \
	"mov %r4, 0\n"          \
	"call 2\n"

static const struct {
	const char *name, *text;
} programs[] = {
	{ "value of an array", "stw [%r10-4], 1\n"
			       "mov %r2, %r10\n"
			       "add %r2, -4\n"
			       "lddw map %r1, @counts\n"
			       "call 1\n"
			       "mov %r6, %r0\n"
			       "mov %r0, 4\n"
			       "jeq %r6, 0, done\n" MINUS_ITSELF "exit\n" },
	{ "value at a constant address", "lddw map_value %r6, @bss, 8\n" MINUS_ITSELF "exit\n" },
	{ "spilled value of a hash", PUT_INTO_SEEN "lddw map %r1, @seen\n"
						   "mov %r2, %r10\n"
						   "add %r2, -8\n"
						   "call 1\n"
						   "mov %r6, %r0\n"
						   "mov %r0, 4\n"
						   "jeq %r6, 0, done\n"
						   "stxdw [%r10-16], %r6\n"
						   "ldxdw %r6, [%r10-16]\n" MINUS_ITSELF "exit\n" },
	{ "record of a ring buffer", "lddw map %r1, @ring\n"
				     "mov %r2, 16\n"
				     "mov %r3, 0\n"
				     "call 131\n"
				     "mov %r6, %r0\n"
				     "mov %r8, %r0\n"
				     "mov %r0, 4\n"
				     "jeq %r6, 0, out\n" MINUS_ITSELF "mov %r6, %r0\n"
				     "mov %r1, %r8\n"
				     "mov %r2, 0\n"
				     "call 133\n"
				     "mov %r0, %r6\n"
				     "out:\n"
				     "exit\n" },
	{ "key of a hash", PUT_INTO_SEEN "stdw [%r10-8], 4\n"
					 "lddw map %r1, @seen\n"
					 "lddw func %r2, key\n"
					 "mov %r3, %r10\n"
					 "add %r3, -8\n"
					 "mov %r4, 0\n"
					 "call 164\n"
					 "ldxdw %r0, [%r10-8]\n"
					 "exit\n"
					 "key:\n"
					 "mov %r6, %r2\n"
					 "mov %r8, %r4\n" MINUS_ITSELF "stxdw [%r8], %r0\n"
					 "mov %r0, 0\n"
					 "exit\n" },
};

enum { NPROGRAMS = sizeof(programs) / sizeof(programs[0]) };

static struct nb_map *maps[CASE_MAPS];
static struct case_image c;

static struct nb_verdict *accepted(const char *text)
{
	const struct nb_verify_opts o = { .coherence_off = true };
	struct nb_verdict *v = NULL;
	struct nb_err err = { 0 };
	struct nb_buf why;

	ck_assert_msg(!case_asm(&c, text, &err), "%s", err.text);
	ck_assert_msg(!nb_verify(&v, &c.img, 0, &o, &err), "%s", err.text);
	nb_buf_init(&why, 0);
	nb_verdict_text(v, &c.img, 0, &why);
	ck_assert_msg(v->accepted, "%s", nb_buf_text(&why));
	nb_buf_fini(&why);
	return v;
}

/* Both engines must return IS_NULL. */
static void both_find_null(const char *name, const char *text, void *ctx, size_t size)
{
	struct nb_verdict *v = accepted(text);
	struct nb_exec *x = NULL;
	struct nb_err err = { 0 };
	uint64_t r0;
	int rc;

	for (uint32_t i = 0; i < CASE_MAPS; i++)
		ck_assert_msg(!nb_policy_map_new(&maps[i], &c.img, i, &err), "%s", err.text);
	ck_assert_msg(!nb_exec_new(&x, &c.img, 0, maps, NULL, &err), "%s", err.text);
	r0 = nb_exec_interpret(x, ctx, size);
	ck_assert_msg(r0 == IS_NULL, "%s, interpreter: %d", name, (int)r0);
	rc = compile_one(x, v->aux, &err);
	ck_assert_msg(!rc || rc == NB_E_NOTSUP, "%s", err.text);
	r0 = nb_exec_run(x, ctx, size);
	ck_assert_msg(r0 == IS_NULL, "%s, machine code: %d", name, (int)r0);
	nb_exec_free(x);
	nb_verdict_free(v);
	for (uint32_t i = 0; i < CASE_MAPS; i++)
		nb_map_put(maps[i]);
}

TEST_EACH(memory_minus_its_address, 0, NPROGRAMS)
{
	uint64_t ctx[32] = { 0 };

	both_find_null(programs[_i].name, programs[_i].text, ctx, sizeof(ctx));
}

TEST(context_minus_its_address)
{
	void *ctx = calloc(1, 256);
	char text[256];

	ck_assert_uint_lt((uintptr_t)ctx, MAX_MOVE);
	snprintf(text, sizeof(text),
		 "add %%r1, -%u\n"
		 "mov %%r0, 2\n"
		 "jeq %%r1, 0, done\n"
		 "mov %%r0, 1\n"
		 "done:\n"
		 "exit\n",
		 (unsigned)(uintptr_t)ctx);
	both_find_null("context", text, ctx, 256);
	free(ctx);
}

/* Return whether the allocator takes memory of the size of a map from below
 * MAX_MOVE. */
static bool heap_lies_low(void)
{
	void *p = aligned_alloc(64, 64 << 10);
	bool low = p && (uintptr_t)p + (1 << 20) < MAX_MOVE;

	free(p);
	return low;
}

int main(int argc, char **argv)
{
	int starts = argc > 1 ? atoi(argv[1]) : 0;
	char next[16];

	if (heap_lies_low())
		return unit_run("low addresses", tcase_create("low addresses"), CK_FORK_GETENV);
	snprintf(next, sizeof(next), "%d", starts + 1);
	if (starts < MOST_STARTS)
		execl("/proc/self/exe", argv[0], next, (char *)NULL);
	printf("1..0 # SKIP low addresses: the heap of %d starts lies above 512 MiB\n", starts + 1);
	return EXIT_SUCCESS;
}
