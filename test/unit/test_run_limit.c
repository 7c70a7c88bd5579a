// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// How long one decision may take: all programs on a hook together, in weighted
// instructions. Turns are counted in a map, never timed.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/bpf/generation/run_limit.h"
#include "core/bpf/map/ops.h"
#include "core/ncclbpf.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

/* The image of @text: the main function, and a callback if one is named. */
static void image_of(struct nb_buf *out, const char *name, const char *text)
{
	struct nb_slot slots[MADE_SLOTS];
	struct nb_insn insns[MADE_SLOTS];
	struct nb_func funcs[2] = { { .name = "f" }, { .name = "cb" } };
	struct nb_err err = { 0 };
	uint32_t nfuncs = 1;
	size_t n;

	ck_assert_msg(!nb_asm(slots, MADE_SLOTS, &n, text, &err), "%s", err.text);
	made_maps(slots, n);
	ck_assert(!nb_decode(insns, slots, n, &err));
	funcs[0].end = (uint32_t)n;
	for (uint32_t pc = 0; pc < n; pc++)
		if (insns[pc].op == NB_OP_LDDW_FUNC) {
			funcs[0].end = pc + 1 + (uint32_t)insns[pc].off;
			funcs[1].start = funcs[0].end;
			funcs[1].end = (uint32_t)n;
			nfuncs = 2;
		}
	{
		const struct nb_prog prog = { .name = "f",
					      .section = "tuner",
					      .hook = NB_HOOK_TUNER,
					      .slots = slots,
					      .nslots = (uint32_t)n,
					      .funcs = funcs,
					      .nfuncs = nfuncs };
		const struct nb_image img = {
			.name = name, .maps = &made_local, .nmaps = 1, .progs = &prog, .nprogs = 1
		};

		nb_buf_init(out, 0);
		ck_assert_msg(!nb_image_write(out, &img, &err), "%s", err.text);
	}
}

/* Policy "p@number"; none may be in a generation twice. */
static struct nb_policy *policy_of(const char *text, uint32_t max_run, uint32_t number)
{
	struct nb_policy_opts opts = { .max_run = max_run };
	struct nb_policy *p;
	struct nb_err err = { 0 };
	struct nb_buf b;
	char name[32];

	snprintf(name, sizeof(name), "p%u", number);
	image_of(&b, name, text);
	ck_assert_msg(!nb_policy_new(&p, b.data, b.size, &opts, &err), "%s; %s", err.text,
		      err.hint);
	nb_buf_fini(&b);
	return p;
}

/* A generation of @n such policies: its error, 0. */
static int chain(struct nb_gen **g, const char *text, uint32_t max_run, uint32_t n,
		 struct nb_err *err)
{
	struct nb_policy *p[8];
	int rc;

	ck_assert_uint_le(n, 8);
	for (uint32_t i = 0; i < n; i++)
		p[i] = policy_of(text, max_run, i);
	rc = nb_gen_new(g, p, n, NULL, err);
	for (uint32_t i = 0; i < n; i++)
		nb_policy_put(p[i]);
	return rc;
}

/* One decision; what the programs have counted in their own maps together. */
static uint64_t counted(struct nb_gen *g)
{
	struct ncclbpf_tuner ctx = { .bytes = 1024, .ranks = 8 };
	struct nb_gen_count count = { 0 };
	uint64_t sum = 0;

	nb_gen_run_tuner(g, &ctx, &count);
	for (uint32_t i = 0; i < g->npolicies; i++) {
		uint32_t n;

		memcpy(&n, nb_map_lookup(g->policy[i].maps[0], &(uint32_t){ 0 }, 0), sizeof(n));
		sum += n;
	}
	return sum;
}

/* What bpf_loop answered. */
static uint32_t turns(struct nb_gen *g)
{
	struct ncclbpf_tuner ctx = { .bytes = 1024, .ranks = 8 };
	struct nb_gen_count count = { 0 };

	nb_gen_run_tuner(g, &ctx, &count);
	return ctx.channels;
}

/* may_goto as long as it goes; each pass counts its 9 instructions. */
#define PASSES               \
	"stw [%r10-4], 0\n"  \
	"mov %r2, %r10\n"    \
	"add %r2, -4\n"      \
	"lddw %r1, 0x7000\n" \
	"call 1\n"           \
	"jne %r0, 0, +2\n"   \
	"mov %r0, 0\n"       \
	"exit\n"             \
	"mov %r6, %r0\n"     \
	"again:\n"           \
	"may_goto out\n"     \
	"ldxw %r1, [%r6]\n"  \
	"add %r1, 4\n"       \
	"stxw [%r6], %r1\n"  \
	"ja again\n"         \
	"out:\n"             \
	"mov %r0, 0\n"       \
	"exit\n"

/* A loop whose number of turns is a constant. */
#define TURNS(n)               \
	"mov %r6, %r1\n"       \
	"mov %r1, " #n "\n"    \
	"lddw func %r2, cb\n"  \
	"mov %r3, 0\n"         \
	"mov %r4, 0\n"         \
	"call 181\n"           \
	"stxw [%r6+76], %r0\n" \
	"mov %r0, 0\n"         \
	"exit\n"               \
	"cb:\n"                \
	"mov %r0, 0\n"         \
	"exit\n"

/* Loops share what a decision has, however many policies there are. */
TEST_EACH(loops_share_a_decision, 0, 3)
{
	static const uint32_t limits[] = { 4096, 65536, 0 };
	uint32_t limit = limits[_i];
	uint64_t alone, together;
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_msg(!chain(&g, PASSES, limit, 1, &err), "%s", err.text);
	alone = counted(g);
	nb_gen_put(g);
	ck_assert_msg(!chain(&g, PASSES, limit, 4, &err), "%s", err.text);
	together = counted(g);
	nb_gen_put(g);
	limit = limit ? limit : NB_RUN_LIMIT;
	printf("# of %u: %llu alone, %llu by four\n", limit, (unsigned long long)alone,
	       (unsigned long long)together);
	ck_assert_uint_le(alone, limit);
	ck_assert_uint_gt(alone, limit / 2);
	ck_assert_uint_le(together, limit);
	ck_assert_uint_gt(together, limit / 2);
}

/* What loops take for sure must fit: three of four such policies do. */
TEST(a_chain_has_its_limit)
{
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_msg(!chain(&g, TURNS(100000), 0, 3, &err), "%s", err.text);
	nb_gen_put(g);
	ck_assert_int_eq(chain(&g, TURNS(100000), 0, 4, &err), NB_E_LIMIT);
	ck_assert_msg(strstr(err.text, "hook tuner") && strstr(err.text, "at most 1048576") &&
			      strstr(err.text, "policy p0, program f") &&
			      strstr(err.text, "costliest loop, at slot"),
		      "%s", err.text);
	ck_assert_msg(strstr(err.hint, "NCCLBPF_MAX_RUN"), "%s", err.hint);
	/* the operator allows more */
	ck_assert_msg(!chain(&g, TURNS(100000), 1 << 21, 4, &err), "%s", err.text);
	nb_gen_put(g);
}

/* A constant number of turns is kept to, or refused; never cut short. */
TEST(constant_loops_are_not_cut_short)
{
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_msg(!chain(&g, TURNS(900), 4096, 1, &err), "%s", err.text);
	ck_assert_uint_eq(turns(g), 900);
	nb_gen_put(g);
	ck_assert_int_eq(chain(&g, TURNS(9000), 4096, 1, &err), NB_E_LIMIT);
	ck_assert_msg(!chain(&g, TURNS(9000), 0, 1, &err), "%s", err.text);
	ck_assert_uint_eq(turns(g), 9000);
	nb_gen_put(g);
}

#define CALLBACK              \
	"lddw func %r2, cb\n" \
	"mov %r3, 0\n"        \
	"mov %r4, 0\n"        \
	"call 181\n"          \
	"add %r7, %r0\n"
#define STORE_SUM              \
	"stxw [%r6+76], %r7\n" \
	"mov %r0, 0\n"         \
	"exit\n"               \
	"cb:\n"                \
	"mov %r0, 0\n"         \
	"exit\n"

/* 4 times 900 iterations: in a plain loop, and in an iterator's. */
static const char *const nested[] = {
	"mov %r6, %r1\n"
	"mov %r7, 0\n"
	"mov %r8, 0\n"
	"plain:\n"
	"mov %r1, 900\n" CALLBACK "add %r8, 1\n"
	"jne %r8, 4, plain\n" STORE_SUM,
	"mov %r6, %r1\n"
	"mov %r7, 0\n"
	"mov %r1, %r10\n"
	"add %r1, -8\n"
	"mov %r2, 0\n"
	"mov %r3, 4\n"
	"call 0x10001\n"
	"next:\n"
	"mov %r1, %r10\n"
	"add %r1, -8\n"
	"call 0x10002\n"
	"jeq %r0, 0, end\n"
	"mov %r1, 900\n" CALLBACK "ja next\n"
	"end:\n"
	"mov %r1, %r10\n"
	"add %r1, -8\n"
	"call 0x10003\n" STORE_SUM,
};

/* They are kept to as one loop of 3,600 is, or refused. */
TEST_EACH(nested_loops_multiply, 0, 2)
{
	struct nb_err err = { 0 };
	struct nb_gen *g;

	ck_assert_int_eq(chain(&g, nested[_i], 16384, 1, &err), NB_E_LIMIT);
	ck_assert_msg(strstr(err.text, ": 3600 iterations of "), "%s", err.text);
	ck_assert_msg(!chain(&g, nested[_i], 131072, 1, &err), "%s", err.text);
	ck_assert_uint_eq(turns(g), 3600);
	nb_gen_put(g);
}

/* Programs without loops count with their longest path. */
TEST(paths_add_up)
{
	static char text[1 << 12];
	struct nb_err err = { 0 };
	struct nb_gen *g;

	/* 3,000 instructions */
	snprintf(text, sizeof(text),
		 "mov %%r5, 0\nplain:\nadd %%r5, 1\njne %%r5, 1500, plain\n"
		 "mov %%r0, 0\nexit\n");
	ck_assert_msg(!chain(&g, text, 4096, 1, &err), "%s", err.text);
	nb_gen_put(g);
	ck_assert_int_eq(chain(&g, text, 4096, 2, &err), NB_E_LIMIT);
	ck_assert_msg(!chain(&g, text, 8192, 2, &err), "%s", err.text);
	nb_gen_put(g);
}

UNIT_MAIN("run limit")
