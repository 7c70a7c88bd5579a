// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Programs that are compiled together share their pages and not their budgets;
// and generations of several policies, compiled, interpreted or some of each,
// do what the interpreter does with one after another, and count which one
// changed the answer.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/run/code.h"
#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { MOST = 8, ROOM = 128 };

/* ---- programs in one piece of memory ---- */

enum how { COMPILED, MIXED, INTERPRETED };

static struct nb_exec *x[MOST];
static unsigned nx;

static void make(unsigned n, enum how how, const char *const text[])
{
	static struct nb_slot slots[ROOM];
	static struct nb_func func;
	struct nb_exec_item item[MOST];
	struct nb_err err = { 0 };
	unsigned nitems = 0;

	nx = n;
	for (unsigned i = 0; i < n; i++) {
		struct nb_prog prog = { .name = "f",
					.section = "tuner",
					.hook = NB_HOOK_TUNER,
					.slots = slots,
					.funcs = &func,
					.nfuncs = 1 };
		const struct nb_image img = { .name = "p", .progs = &prog, .nprogs = 1 };
		size_t size;

		ck_assert_msg(!nb_asm(slots, ROOM, &size, text[i], &err), "%s", err.text);
		prog.nslots = (uint32_t)size;
		ck_assert_msg(!nb_exec_new(&x[i], &img, 0, NULL, NULL, &err), "%s", err.text);
		if (how == COMPILED || (how == MIXED && i % 2 == 0))
			item[nitems++] = (struct nb_exec_item){ x[i], NULL };
	}
	if (!nitems)
		return;
	ck_assert_msg(!nb_exec_compile(item, nitems, &err), "%s", err.text);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(nb_exec_compiled(x[i]) != 0, how == COMPILED || i % 2 == 0);
}

static void drop(void)
{
	while (nx)
		nb_exec_free(x[--nx]);
}

/* r2 = the channels so far; then what the policy makes of them. */
#define SO_FAR "ldxw %r2, [%r1+76]\n"
#define END "mov %r0, 0\nexit\n"

static const char *const policies[] = {
	SO_FAR "and %r2, 0\nadd %r2, 4\nstxw [%r1+76], %r2\n" END,
	SO_FAR "and %r2, 15\nadd %r2, 1\nstxw [%r1+76], %r2\n" END,
	MADE_NOOP,
	SO_FAR "jgt %r2, 5, +1\nstw [%r1+68], 1\n" END,
	SO_FAR "jgt %r2, 4, +1\nja +2\nstw [%r1+68], 0\nstw [%r1+72], 2\n" END,
	SO_FAR "stw [%r1+76], 6\n" END,
	"ldxw %r2, [%r1+24]\njgt %r2, 2, +1\nstw [%r1+72], 1\n" END,
	"ldxw %r2, [%r1+72]\njne %r2, 1, +1\nstw [%r1+76], 9\n" END,
};

TEST(a_group_shares_its_pages)
{
	make(MOST, COMPILED, policies);
	for (unsigned i = 0; i < MOST; i++) {
		const struct nb_jit *j = x[i]->jit, *last = i ? x[i - 1]->jit : NULL;

		ck_assert(j->pages == x[0]->jit->pages);
		ck_assert_uint_eq((uintptr_t)j->code % 16, 0);
		ck_assert(!last || j->code >= last->code + last->size);
	}
	ck_assert_uint_eq(x[0]->jit->pages->refs, MOST);
	drop();
}

/* What one program uses up of a run's turns, the next one has again. */
TEST_EACH(turns_are_of_one_program, COMPILED, INTERPRETED + 1)
{
	static const char counts[] = "mov %r6, %r1\nmov %r7, 0\nmov %r8, 0\nagain:\n"
				     "mov %r1, %r10\nadd %r1, -8\nmov %r2, 0\n"
				     "mov %r3, 0x800000\ncall 0x10001\nnext:\n"
				     "mov %r1, %r10\nadd %r1, -8\ncall 0x10002\n"
				     "jeq %r0, 0, end\nadd %r7, 1\nja next\nend:\n"
				     "mov %r1, %r10\nadd %r1, -8\ncall 0x10003\n"
				     "add %r8, 1\njlt %r8, 5, again\n"
				     "ldxw %r1, [%r6+76]\nrsh %r7, 10\nadd %r1, %r7\n"
				     "stxw [%r6+76], %r1\nmov %r0, 0\nexit\n";
	struct ncclbpf_tuner ctx = { .algo = -1, .proto = -1 };

	make(2, (enum how)_i, (const char *const[]){ counts, counts });
	for (unsigned i = 0; i < 2; i++)
		nb_exec_run(x[i], &ctx, sizeof(ctx));
	ck_assert_uint_eq(ctx.channels, 2 * (NB_MAX_ITERATIONS >> 10));
	drop();
}

/* ---- generations ---- */

static struct nb_policy *policy_of(unsigned i, bool interpret)
{
	const struct nb_policy_opts opts = { .interpret = interpret };
	struct nb_err err = { 0 };
	struct nb_policy *p;
	struct nb_buf b;
	char name[16];

	snprintf(name, sizeof(name), "p%u", i);
	made_image(&b, name, policies[i], NULL, 0);
	ck_assert_msg(!nb_policy_new(&p, b.data, b.size, &opts, &err), "%s", err.text);
	nb_buf_fini(&b);
	return p;
}

/* @which: bit i: policy i's programs are interpreted. */
static struct nb_gen *gen_of(unsigned n, unsigned which)
{
	struct nb_policy *p[MOST] = { NULL };
	struct nb_err err = { 0 };
	struct nb_gen *g;

	for (unsigned i = 0; i < n; i++)
		p[i] = policy_of(i, which >> i & 1);
	ck_assert_msg(!nb_gen_new(&g, p, n, NULL, &err), "%s", err.text);
	for (unsigned i = 0; i < n; i++)
		nb_policy_put(p[i]);
	return g;
}

static int by_hand(const struct nb_gen *g, struct ncclbpf_tuner *ctx, uint64_t *overrides)
{
	int by = -1;

	for (unsigned i = 0; i < g->nprogs; i++) {
		const struct ncclbpf_tuner was = *ctx;

		nb_exec_interpret(g->prog[i].exec, ctx, sizeof(*ctx));
		if (was.algo == ctx->algo && was.proto == ctx->proto &&
		    was.channels == ctx->channels)
			continue;
		overrides[i]++;
		by = (int)i;
	}
	return by;
}

static void same_answers(const struct nb_gen *g)
{
	static struct nb_gen_count plain, timed; /* large */
	uint64_t overrides[MOST] = { 0 };

	memset(&plain, 0, sizeof(plain));
	memset(&timed, 0, sizeof(timed));
	for (uint32_t i = 0; i < 3 * NB_GEN_SAMPLE; i++) {
		struct ncclbpf_tuner ctx = { .coll = i % 5, .algo = -1, .proto = -1 };
		struct ncclbpf_tuner a = ctx, b = ctx;
		int by = by_hand(g, &ctx, overrides);

		ck_assert_int_eq(nb_gen_run_tuner(g, &a, &plain), by);
		ck_assert_int_eq(nb_gen_run_timed(g, &b, &timed), by);
		ck_assert(!memcmp(&a, &ctx, sizeof(ctx)));
		ck_assert(!memcmp(&b, &ctx, sizeof(ctx)));
	}
	ck_assert_uint_eq(plain.runs, timed.runs);
	ck_assert_uint_eq(timed.samples, 3);
	ck_assert_uint_eq(plain.samples, 0);
	for (unsigned i = 0; i < g->nprogs; i++) {
		ck_assert_uint_eq(plain.overrides[i], overrides[i]);
		ck_assert_uint_eq(timed.overrides[i], overrides[i]);
	}
}

TEST(generations_of_one_to_eight_policies)
{
	for (unsigned n = 0; n <= MOST; n++)
		for (unsigned how = 0; how < 3; how++) {
			unsigned which = how == 0 ? 0 : how == 1 ? 0xff : 1 + 37 * n % 254;
			struct nb_gen *g = gen_of(n, which);

			for (unsigned i = 0; i < n; i++)
				ck_assert_int_eq(nb_exec_compiled(g->prog[i].exec) != 0,
						 !(which >> i & 1));
			same_answers(g);
			nb_gen_put(g);
		}
}

static int no_compiler(void)
{
	puts("1..0 # SKIP compile_all: no compiler for this machine");
	return 0;
}

UNIT_MAIN_WITH("compile_all", if (!jit_available()) return no_compiler();)
