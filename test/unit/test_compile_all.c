// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Programs that are compiled together do what the interpreter does with them
// one after another; and generations of several policies count which one
// changed the answer (GROUP_SEED=N, GROUP_COUNT=N; the seed is printed).
#include "test/unit/unit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/jit/compile.h"
#include "core/bpf/exec/run/code.h"
#include "core/bpf/exec/jit/jit.h"
#include "core/ncclbpf.h"
#include "core/defs/ctx.h"
#include "test/unit/made.h"
#include "test/unit/asm.h"

enum { MOST = 8, ROOM = 128, RUNS = 6 };

static uint64_t seed = 0x9e3779b97f4a7c15;

static uint64_t rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 0x2545f4914f6cdd1d;
}

static unsigned pick(unsigned n)
{
	return (unsigned)(rnd() >> 33) % n;
}

/* ---- programs that read the answer so far and may change it ---- */

static char text[4096];
static size_t used;

__attribute__((format(printf, 1, 2))) static void put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used += (size_t)vsnprintf(text + used, sizeof(text) - used, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(used, sizeof(text));
}

/* One instruction of r7 to r9, which hold the answer. */
static void put_simple(void)
{
	static const char *const op[] = { "add", "sub", "xor", "or", "and", "mul" };
	unsigned dst = 7 + pick(3);

	if (pick(2))
		put("%s %%r%u, %u\n", op[pick(6)], dst, pick(9));
	else
		put("%s %%r%u, %%r%u\n", op[pick(6)], dst, 7 + pick(3));
}

static void put_item(bool function)
{
	switch (pick(8)) {
	case 0:
		put("ldxdw %%r%u, [%%r6+%u]\n", 7 + pick(3), 8 * pick(3));
		break;
	case 1:
		put("stxdw [%%r10-16], %%r%u\nldxdw %%r%u, [%%r10-16]\n", 7 + pick(3), 7 + pick(3));
		break;
	case 2:
		put("j%s %%r%u, %u, +1\n", pick(2) ? "gt" : "eq", 7 + pick(3), pick(5));
		put_simple();
		break;
	case 3: /* counts in the program's own map */
		put("stw [%%r10-4], %u\nmov %%r2, %%r10\nadd %%r2, -4\n"
		    "lddw %%r1, 0x7000\ncall 1\njeq %%r0, 0, +3\n"
		    "ldxw %%r1, [%%r0]\nadd %%r1, 1\nstxw [%%r0], %%r1\n",
		    pick(3));
		break;
	case 4:
		if (function) {
			put("mov %%r1, %%r%u\ncall local f\nadd %%r%u, %%r0\n", 7 + pick(3),
			    7 + pick(3));
			break;
		}
		put("jeq %%r%u, %u, +2\nmov %%r0, 0\nexit\n", 7 + pick(3), pick(4));
		break;
	default:
		put_simple();
	}
}

static void generate(void)
{
	bool function = pick(3) == 0;
	unsigned n = pick(12);

	used = 0;
	put("mov %%r6, %%r1\nldxw %%r7, [%%r6+68]\nldxw %%r8, [%%r6+72]\n"
	    "ldxw %%r9, [%%r6+76]\n");
	for (unsigned i = 0; i < n; i++)
		put_item(function);
	for (unsigned i = 0; i < 3; i++)
		if (pick(3) == 0)
			put("stxw [%%r6+%u], %%r%u\n", 68 + 4 * i, 7 + i);
	put("mov %%r0, %u\nexit\n", pick(9));
	if (function)
		put("f:\nmov %%r0, %%r1\nrsh %%r0, 1\nexit\n");
}

/* ---- groups of them, made four times over ---- */

enum how { COMPILED, MIXED, INTERPRETED, BY_HAND, NHOW };

struct side {
	struct nb_map *map[MOST];
	struct nb_exec *x[MOST];
	enum how how;
	uint64_t overrides[MOST];
};

static struct nb_slot slots[MOST][ROOM];
static struct nb_prog prog[MOST];
static struct nb_func funcs[2];
static struct nb_image img[MOST];

static void assemble(unsigned i)
{
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(slots[i], ROOM, &n, text, &err), "%s\n%s", err.text, text);
	for (size_t s = 0; s < n; s++)
		if (slots[i][s].opcode == 0x18 && slots[i][s].imm >= MADE_MAP) {
			slots[i][s].regs |= 1 << 4;
			slots[i][s].imm -= MADE_MAP;
		}
	prog[i] = (struct nb_prog){ .name = "f",
				    .section = "tuner",
				    .hook = NB_HOOK_TUNER,
				    .slots = slots[i],
				    .nslots = (uint32_t)n,
				    .funcs = funcs,
				    .nfuncs = 1 };
	img[i] = (struct nb_image){
		.name = "p", .maps = &made_local, .nmaps = 1, .progs = &prog[i], .nprogs = 1
	};
}

static struct nb_map *map_new(void)
{
	const struct nb_map_def def = {
		.name = "m", .type = NB_MAP_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 2
	};
	struct nb_err err = { 0 };
	struct nb_map *m;

	ck_assert_msg(!nb_map_new(&m, &def, &err), "%s", err.text);
	return m;
}

static void make(struct side *s, unsigned n, enum how how)
{
	struct nb_exec_item item[MOST];
	struct nb_err err = { 0 };
	unsigned nitems = 0;

	memset(s, 0, sizeof(*s));
	s->how = how;
	for (unsigned i = 0; i < n; i++) {
		s->map[i] = map_new();
		ck_assert_msg(!nb_exec_new(&s->x[i], &img[i], 0, &s->map[i], NULL, &err), "%s",
			      err.text);
		if (how == COMPILED || (how == MIXED && i % 2 == 0))
			item[nitems++] = (struct nb_exec_item){ s->x[i], NULL };
	}
	if (!nitems)
		return;
	ck_assert_msg(!nb_exec_compile_all(item, nitems, &err), "%s", err.text);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(nb_exec_compiled(s->x[i]) != 0, how == COMPILED || i % 2 == 0);
}

static void drop(struct side *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		nb_exec_free(s->x[i]);
		nb_map_put(s->map[i]);
	}
}

/* The programs in order, and whose turn changed the answer. */
static int run(struct side *s, unsigned n, struct ncclbpf_tuner *ctx)
{
	int by = -1;

	for (unsigned i = 0; i < n; i++) {
		const struct ncclbpf_tuner before = *ctx;

		if (s->how == BY_HAND)
			nb_exec_interpret(s->x[i], ctx, sizeof(*ctx));
		else
			nb_exec_run(s->x[i], ctx, sizeof(*ctx));
		if (before.algo == ctx->algo && before.proto == ctx->proto &&
		    before.channels == ctx->channels)
			continue;
		s->overrides[i]++;
		by = (int)i;
	}
	return by;
}

static void random_context(struct ncclbpf_tuner *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->comm_id = rnd();
	ctx->bytes = rnd() >> pick(64);
	ctx->seq = pick(4);
	ctx->algo = pick(4) ? -1 : (int32_t)pick(7);
	ctx->proto = pick(4) ? -1 : (int32_t)pick(3);
	ctx->channels = pick(4) ? 0 : (uint32_t)rnd();
}

static void same(const struct side *a, const struct side *b, unsigned n, uint64_t of)
{
	for (unsigned i = 0; i < n; i++)
		for (uint32_t key = 0; key < 2; key++) {
			uint64_t va, vb;

			ck_assert(!nb_map_read(a->map[i], &key, &va, NULL));
			ck_assert(!nb_map_read(b->map[i], &key, &vb, NULL));
			ck_assert_msg(va == vb && a->overrides[i] == b->overrides[i],
				      "GROUP_SEED=%#" PRIx64 ": program %u of %u", of, i, n);
		}
}

static uint64_t changed; /* answers, so that the test tests something */

static void one_group(void)
{
	unsigned n = 1 + pick(MOST);
	struct side side[NHOW];
	uint64_t of = seed;

	for (unsigned i = 0; i < n; i++) {
		generate();
		assemble(i);
	}
	for (enum how how = 0; how < NHOW; how++)
		make(&side[how], n, how);
	for (int r = 0; r < RUNS; r++) {
		struct ncclbpf_tuner first, ctx[NHOW];
		int by[NHOW];

		random_context(&first);
		for (enum how how = 0; how < NHOW; how++) {
			ctx[how] = first;
			by[how] = run(&side[how], n, &ctx[how]);
			ck_assert_msg(by[how] == by[0] &&
					      !memcmp(&ctx[how], &ctx[0], sizeof(first)),
				      "GROUP_SEED=%#" PRIx64 ": %u programs, way %d: %d and %d", of,
				      n, how, by[how], by[0]);
		}
		changed += by[0] >= 0;
	}
	for (enum how how = 1; how < NHOW; how++)
		same(&side[how], &side[0], n, of);
	for (enum how how = 0; how < NHOW; how++)
		drop(&side[how], n);
}

TEST(compiled_groups_act_as_the_interpreter)
{
	const char *n = getenv("GROUP_COUNT"), *s = getenv("GROUP_SEED");
	unsigned long groups = n ? strtoul(n, NULL, 0) : s ? 1 : 1000;

	if (s)
		seed = strtoull(s, NULL, 0);
	printf("# GROUP_SEED=%#" PRIx64 "\n", seed);
	fflush(stdout);
	for (unsigned long i = 0; i < groups; i++)
		one_group();
	printf("# %lu groups, %" PRIu64 " of %lu runs changed the answer\n", groups, changed,
	       groups * RUNS);
	fflush(stdout);
	ck_assert(s || changed > groups);
}

TEST(a_group_shares_its_pages)
{
	struct side s;

	for (unsigned i = 0; i < MOST; i++) {
		generate();
		assemble(i);
	}
	make(&s, MOST, COMPILED);
	for (unsigned i = 0; i < MOST; i++) {
		const struct nb_jit *j = s.x[i]->jit;
		const struct nb_jit *last = i ? s.x[i - 1]->jit : NULL;

		ck_assert(j->pages == s.x[0]->jit->pages);
		ck_assert_uint_eq((uintptr_t)j->code % 16, 0);
		ck_assert(!last || j->code >= last->code + last->size);
	}
	ck_assert_uint_eq(s.x[0]->jit->pages->refs, MOST);
	drop(&s, MOST);
}

/* ---- generations ---- */

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
			unsigned which = how == 0 ? 0 : how == 1 ? 0xff : 1 + pick(254);
			struct nb_gen *g = gen_of(n, which);

			for (unsigned i = 0; i < n; i++)
				ck_assert_int_eq(nb_exec_compiled(g->prog[i].exec) != 0,
						 !(which >> i & 1));
			same_answers(g);
			nb_gen_put(g);
		}
}

/* What one program uses up of a run's turns, the next one has again. */
TEST(turns_are_of_one_program)
{
	for (unsigned how = COMPILED; how <= INTERPRETED; how++) {
		struct ncclbpf_tuner ctx = { .algo = -1, .proto = -1 };
		struct side s;

		used = 0;
		put("mov %%r6, %%r1\nmov %%r7, 0\nmov %%r8, 0\nagain:\n"
		    "mov %%r1, %%r10\nadd %%r1, -8\nmov %%r2, 0\n"
		    "mov %%r3, 0x800000\ncall 0x10001\nnext:\n"
		    "mov %%r1, %%r10\nadd %%r1, -8\ncall 0x10002\n"
		    "jeq %%r0, 0, end\nadd %%r7, 1\nja next\nend:\n"
		    "mov %%r1, %%r10\nadd %%r1, -8\ncall 0x10003\n"
		    "add %%r8, 1\njlt %%r8, 5, again\n"
		    "ldxw %%r1, [%%r6+76]\nrsh %%r7, 10\nadd %%r1, %%r7\n"
		    "stxw [%%r6+76], %%r1\nmov %%r0, 0\nexit\n");
		assemble(0);
		assemble(1);
		make(&s, 2, how);
		run(&s, 2, &ctx);
		ck_assert_uint_eq(ctx.channels, 2 * (NB_MAX_ITERATIONS >> 10));
		drop(&s, 2);
	}
}

static int no_compiler(void)
{
	puts("1..0 # SKIP compile_all: no compiler for this machine");
	return 0;
}

UNIT_MAIN_WITH("compile_all", if (!nb_jit_available()) return no_compiler();)
