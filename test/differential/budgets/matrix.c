// SPDX-License-Identifier: MIT
// Every way to spend a budget of the run, by every transfer of control, with
// everything that can be held meanwhile, crossed with every way to make an
// output of what is left. Budgets are small (NB_SMALL_BUDGETS). Policies that
// are accepted as coherent run on two ranks that differ in ctx->reg_buff
// alone: their answers must be equal, by both engines. No run has more
// instructions than the verifier says, and none of a generation more than its
// limit (NCCLBPF_MAX_RUN), of which the smallest is tried that it accepts.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/defs/ctx.h"
#include "core/bpf/exec/run/exec.h"
#include "core/bpf/exec/run/interp.h"
#include "core/ncclbpf.h"
#include "core/bpf/verify/verify.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum budget { PASSES, TURNS, ELEMENTS, NUMBERS, NBUDGETS };
enum via {
	INLINE,
	CALL,
	CALLBACK,
	NPLAIN,
	ITERATED = NPLAIN, /* in a loop over an iterator */
	ELEMENT,	   /* in a callback for the element of a map */
	CALL_CALLBACK,	   /* in a callback of a function */
	CALLBACK_CALL,	   /* in a function of a callback */
	NVIAS
};
enum held { NOTHING, RECORD, ITERATOR, NHELD };
enum { FOUR, RING, ONE, NMAPS };
enum { SLOTS = 512, FUNCS = 8, LOCAL = 64, COHERENT = 28 };

static const struct nb_map_spec specs[NMAPS] = {
	[FOUR] = MAP_SPEC("four", ARRAY, 4, 8, NB_LOOP_MAX, 0),
	[RING] = MAP_SPEC("ring", RINGBUF, 0, 0, 4096, 0),
	[ONE] = MAP_SPEC("one", ARRAY, 4, 8, 1, 0),
};

/* ---- the text of a program ---- */

static char text[16384], funcs[8192];
static size_t ntext, nfuncs;
static unsigned labels;
static struct nb_slot slots[SLOTS];
static struct nb_func func[FUNCS];
static struct nb_prog prog;

__attribute__((format(printf, 3, 4))) static void put(char *to, size_t *n, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*n += (size_t)vsnprintf(to + *n, 8192 - *n, fmt, ap);
	va_end(ap);
	ck_assert_uint_lt(*n, 8192);
}

/* An iterator from 0 to r3 on the stack; r7: numbers it gave. */
static void iterate(char *to, size_t *n)
{
	unsigned l = ++labels;

	put(to, n,
	    "mov %%r2, 0\nmov %%r1, %%r10\nadd %%r1, -16\ncall 0x10001\n"
	    "mov %%r7, 0\nn%u:\nmov %%r1, %%r10\nadd %%r1, -16\n"
	    "call 0x10002\njeq %%r0, 0, e%u\nadd %%r7, 1\nja n%u\ne%u:\n"
	    "mov %%r1, %%r10\nadd %%r1, -16\ncall 0x10003\n",
	    l, l, l, l);
}

static const char go_on[] = "mov %r0, 0\nexit\n";

/* Spend @b by the field at @field of the context in r6. */
static void spend(char *to, size_t *n, enum budget b, int field)
{
	unsigned l = ++labels;

	if (b == PASSES) {
		put(to, n, "ldxw %%r1, [%%r6+%d]\njeq %%r1, 0, s%u\n", field, l);
		for (int i = 0; i < NB_MAY_GOTO_PASSES; i++)
			put(to, n, "may_goto +0\n");
		put(to, n, "s%u:\n", l);
		return;
	}
	for (int i = 0; i < 3; i++) {
		put(to, n, "ldxw %%r3, [%%r6+%d]\nand %%r3, 1\nmul %%r3, %d\n", field, NB_LOOP_MAX);
		if (b == NUMBERS) {
			iterate(to, n);
			continue;
		}
		if (b == ELEMENTS)
			put(to, n, "jeq %%r3, 0, z%u\nlddw map %%r1, %d\n", ++labels, FOUR);
		else
			put(to, n, "mov %%r1, %%r3\n");
		put(to, n,
		    "lddw func %%r2, nothing\nmov %%r3, 0\nmov %%r4, 0\n"
		    "call %d\n",
		    b == ELEMENTS ? 164 : 181);
		if (b == ELEMENTS)
			put(to, n, "z%u:\n", labels);
	}
}

/* Make an output of what is left of @b. */
static void observe(char *to, size_t *n, enum budget b)
{
	unsigned l = ++labels;

	if (b == PASSES)
		put(to, n,
		    "mov %%r7, 0\no%u:\nmay_goto d%u\nadd %%r7, 1\nja o%u\n"
		    "d%u:\n",
		    l, l, l, l);
	else if (b == NUMBERS)
		put(to, n, "mov %%r3, %d\n", NB_MAX_COUNTED_RANGE);
	else
		put(to, n, b == TURNS ? "mov %%r1, %d\n" : "lddw map %%r1, %d\n",
		    b == TURNS ? NB_LOOP_MAX : FOUR);
	if (b == NUMBERS)
		iterate(to, n);
	else if (b != PASSES)
		put(to, n,
		    "lddw func %%r2, nothing\nmov %%r3, 0\nmov %%r4, 0\n"
		    "call %d\nmov %%r7, %%r0\n",
		    b == TURNS ? 181 : 164);
	put(to, n, "and %%r7, 0xff\nstxw [%%r6+76], %%r7\n");
}

static void part(char *to, size_t *n, bool spends, enum budget b, int field)
{
	if (spends)
		spend(to, n, b, field);
	else
		observe(to, n, b);
}

/* Once through an iterator of its own, at r10-32. */
static void part_in_iterator(bool spends, enum budget b, int field)
{
	unsigned l = ++labels;

	put(text, &ntext,
	    "mov %%r2, 0\nmov %%r3, 1\nmov %%r1, %%r10\nadd %%r1, -32\n"
	    "call 0x10001\ni%u:\nmov %%r1, %%r10\nadd %%r1, -32\n"
	    "call 0x10002\njeq %%r0, 0, j%u\n",
	    l, l);
	part(text, &ntext, spends, b, field);
	put(text, &ntext,
	    "ja i%u\nj%u:\nmov %%r1, %%r10\nadd %%r1, -32\n"
	    "call 0x10003\n",
	    l, l);
}

/* Call @name back once; its context is r6. */
static void call_back(char *to, size_t *n, bool element, const char *name)
{
	if (element)
		put(to, n, "lddw map %%r1, %d\n", ONE);
	else
		put(to, n, "mov %%r1, 1\n");
	put(to, n, "lddw func %%r2, %s\nmov %%r3, %%r6\nmov %%r4, 0\ncall %d\n", name,
	    element ? 164 : 181);
}

/* A function whose argument @arg goes to r6. */
static void begin_function(const char *name, int arg)
{
	put(funcs, &nfuncs, "%s:\nmov %%r6, %%r%d\n", name, arg);
}

/* Make the program reach the function @name, by way of @between if need be.
 * Return the number of the argument that is the context. */
static int reach(enum via via, const char *name, const char *between)
{
	if (via == CALLBACK || via == ELEMENT) {
		call_back(text, &ntext, via == ELEMENT, name);
		return via == ELEMENT ? 4 : 2;
	}
	if (via == CALL_CALLBACK) {
		put(text, &ntext, "mov %%r1, %%r6\ncall local %s\n", between);
		begin_function(between, 1);
		call_back(funcs, &nfuncs, false, name);
		put(funcs, &nfuncs, "%s", go_on);
		return 2;
	}
	if (via == CALLBACK_CALL) {
		call_back(text, &ntext, false, between);
		begin_function(between, 2);
		put(funcs, &nfuncs, "mov %%r1, %%r6\ncall local %s\n%s", name, go_on);
		return 1;
	}
	put(text, &ntext, "mov %%r1, %%r6\ncall local %s\n", name);
	return 1;
}

/* The part by a transfer of control. */
static void transfer(enum via via, bool spends, enum budget b, int field)
{
	const char *name = spends ? "spends" : "observes";

	if (via == INLINE) {
		part(text, &ntext, spends, b, field);
		return;
	}
	if (via == ITERATED) {
		part_in_iterator(spends, b, field);
		return;
	}
	begin_function(name, reach(via, name, spends ? "before_spends" : "before_observes"));
	part(funcs, &nfuncs, spends, b, field);
	put(funcs, &nfuncs, "%s", go_on);
}

static void hold(enum held h)
{
	static const char *const how[NHELD] = {
		[RECORD] = "lddw map %r1, 1\nmov %r2, 8\nmov %r3, 0\ncall 131\n"
			   "mov %r8, %r0\njeq %r8, 0, out\n",
		[ITERATOR] = "mov %r1, %r10\nadd %r1, -24\nmov %r2, 0\n"
			     "mov %r3, 2\ncall 0x10001\n",
	};

	if (how[h])
		put(text, &ntext, "%s", how[h]);
}

static void release(enum held h)
{
	static const char *const how[NHELD] = {
		[RECORD] = "mov %r1, %r8\nmov %r2, 0\ncall 133\n",
		[ITERATOR] = "mov %r1, %r10\nadd %r1, -24\ncall 0x10003\n",
	};

	if (how[h])
		put(text, &ntext, "%s", how[h]);
}

static int64_t target_of(const struct nb_slot *s, uint32_t pc)
{
	bool call = s->opcode == 0x85 && s->regs >> 4 == 1;
	bool address = s->opcode == 0x18 && s->regs >> 4 == 4;

	return call || address ? (int64_t)pc + 1 + s->imm : -1;
}

static void assemble(void)
{
	static const char *const func_names[FUNCS] = { "f0", "f1", "f2", "f3",
						       "f4", "f5", "f6", "f7" };
	bool starts[SLOTS] = { [0] = true };
	struct nb_err err = { 0 };
	unsigned k = 0;
	size_t n;

	put(text, &ntext, "%s%s", funcs,
	    strstr(text, "nothing") || strstr(funcs, "nothing") ? "nothing:\nmov %r0, 0\nexit\n"
								: "");
	ck_assert_msg(!nb_asm(slots, SLOTS, &n, text, &err), "%s\n%s", err.text, text);
	for (uint32_t pc = 0; pc < n; pc++) {
		int64_t to = target_of(&slots[pc], pc);

		if (to >= 0)
			starts[to] = true;
	}
	for (uint32_t pc = 0; pc < n; pc++) {
		if (starts[pc]) {
			func[k] = (struct nb_func){ .name = func_names[k], .start = pc };
			k++;
		}
		func[k - 1].end = pc + 1;
	}
	prog = (struct nb_prog){ .name = "main",
				 .section = "tuner",
				 .hook = NB_HOOK_TUNER,
				 .slots = slots,
				 .nslots = (uint32_t)n,
				 .funcs = func,
				 .nfuncs = k };
	ntext = nfuncs = 0;
	*text = *funcs = '\0';
}

/* ---- judged and run ---- */

static const struct nb_image img = {
	.name = "matrix", .maps = specs, .nmaps = NMAPS, .progs = &prog, .nprogs = 1
};
static struct nb_map *maps[NMAPS];
static struct nb_exec *exec;
static struct nb_run_bounds runs;

static void make_maps(void)
{
	struct nb_err err;

	for (uint32_t i = 0; i < NMAPS; i++) {
		const struct nb_map_def def = { .name = specs[i].name,
						.type = specs[i].type,
						.key_size = specs[i].key_size,
						.value_size = specs[i].value_size,
						.max_entries = specs[i].max_entries };

		ck_assert_msg(!nb_map_new(&maps[i], &def, &err), "%s", err.text);
	}
}

/* The program is, and is bound. */
static bool accepted(void)
{
	const struct nb_verify_opts opts = { .max_insns = 4000 };
	struct nb_verdict *v;
	struct nb_err err;
	bool yes;

	ck_assert(!nb_verify(&v, &img, 0, &opts, &err));
	yes = v->accepted;
	if (yes) {
		ck_assert(!nb_exec_new(&exec, &img, 0, maps, NULL, &err));
		nb_exec_bound(exec, v->runs.iteration, v->runs.iter_steps);
		runs = v->runs;
	}
	nb_verdict_free(v);
	return yes;
}

static uint64_t rank(uint32_t local, struct ncclbpf_tuner *ctx)
{
	memset(ctx, 0, sizeof(*ctx));
	ctx->ranks = 1;
	ctx->reg_buff = local;
	return nb_exec_run(exec, ctx, sizeof(*ctx));
}

static bool ranks_agree(void)
{
	struct ncclbpf_tuner a, b;
	uint64_t one = rank(0, &a), two = rank(1, &b);

	a.reg_buff = b.reg_buff;
	return one == two && !memcmp(&a, &b, sizeof(a));
}

/* ---- the length of runs ---- */

static unsigned programs, taken, taken_local, long_runs, longer_runs;

static void step(void *arg, const struct nb_code *ip, const uint64_t *r)
{
	(void)ip, (void)r;
	++*(uint64_t *)arg;
}

/* Instructions of a run, the longest of those that fields decide. */
static uint64_t longest(const struct nb_exec *x)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < 4; i++) {
		struct ncclbpf_tuner ctx = { .ranks = i & 1, .reg_buff = i >> 1 };
		uint64_t n = 0;

		nb_exec_watch(x, &ctx, sizeof(ctx), step, &n);
		most = n > most ? n : most;
	}
	return most;
}

/* What run_limit.c adds up for a chain of this policy alone. */
static uint64_t sure(uint64_t iteration)
{
	return nb_runs_path(&runs, iteration) + nb_runs_loops(&runs, iteration);
}

/* The error of a generation that may take @limit; 0, and the steps of its
 * longest run. */
static int in_generation(struct nb_buf *image, uint64_t limit, uint64_t *steps)
{
	const struct nb_policy_opts opts = { .interpret = true, .max_run = (uint32_t)limit };
	struct nb_err err = { 0 };
	struct nb_policy *p;
	struct nb_gen *g;
	int rc;

	ck_assert_msg(!nb_policy_new(&p, image->data, image->size, &opts, &err), "%s", err.text);
	rc = nb_gen_new(&g, &p, 1, NULL, &err);
	nb_policy_put(p);
	if (rc)
		return rc;
	*steps = longest(g->prog[0].exec);
	nb_gen_put(g);
	return 0;
}

/* No run takes longer than is said, whatever is left to its loops. */
static void check_length(void)
{
	static const uint64_t more[] = { 0, 50, 500 };
	uint32_t each = nb_exec_iteration(exec);
	uint64_t least = sure(each), steps = longest(exec), shortest = 0;
	uint64_t loops = (uint64_t)nb_loop_limit(each, NB_MAX_ITERATIONS) +
			 nb_loop_limit(each, NB_MAY_GOTO_PASSES);
	struct nb_err err = { 0 };
	struct nb_buf image;

	ck_assert_uint_le(steps, least + each * loops);
	nb_buf_init(&image, 0);
	ck_assert_msg(!nb_image_write(&image, &img, &err), "%s", err.text);
	ck_assert_int_eq(in_generation(&image, least - 1, &steps), NB_E_LIMIT);
	for (unsigned i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		uint64_t limit = least + more[i];

		ck_assert_int_eq(in_generation(&image, limit, &steps), 0);
		ck_assert_uint_le(steps, limit);
		long_runs += steps * 4 > limit;
		shortest = i ? shortest : steps;
	}
	longer_runs += steps > shortest;
	nb_buf_fini(&image);
}

static void cell(enum budget s, enum via by, enum budget o, enum via then, enum held h, int field)
{
	bool agree, yes;

	ntext = nfuncs = labels = 0;
	*text = *funcs = '\0';
	put(text, &ntext, "mov %%r6, %%r1\n");
	hold(h);
	transfer(by, true, s, field);
	release(h);
	transfer(then, false, o, field);
	put(text, &ntext, "%s%s", h == RECORD ? "out:\n" : "", go_on);
	assemble();
	exec = NULL;
	yes = accepted();
	programs++;
	if (yes)
		check_length();
	taken += yes;
	taken_local += yes && field == LOCAL;
	for (int jit = 0; yes && jit < (jit_available() ? 2 : 1); jit++) {
		ck_assert(!jit || !compile_one(exec, NULL, NULL));
		agree = ranks_agree();
		ck_assert_msg(agree,
			      "ranks disagree (engine %d): spends %d by %d, "
			      "observes %d by %d, holds %d, field %d",
			      jit, s, by, o, then, h, field);
	}
	nb_exec_free(exec);
}

/* With nothing held by local and by coherent data, else by one of them. */
static void spend_and_observe(enum budget s, enum via by, enum budget o, enum via then)
{
	static const int fields[] = { LOCAL, COHERENT };

	cell(s, by, o, then, NOTHING, COHERENT);
	cell(s, by, o, then, NOTHING, LOCAL);
	if (by >= NPLAIN || then >= NPLAIN)
		return;
	for (unsigned h = NOTHING + 1; h < NHELD; h++)
		cell(s, by, o, then, (enum held)h, fields[((unsigned)s + by + o + then + h) & 1]);
}

TEST(every_feature_with_every_other)
{
	make_maps();
	for (unsigned i = 0; i < NBUDGETS * NVIAS * NBUDGETS * NVIAS; i++)
		spend_and_observe(i % NBUDGETS, i / NBUDGETS % NVIAS,
				  i / (NBUDGETS * NVIAS) % NBUDGETS,
				  i / (NBUDGETS * NVIAS * NBUDGETS));
	for (uint32_t i = 0; i < NMAPS; i++)
		nb_map_put(maps[i]);
	printf("# %u policies, %u accepted, %u of these spend by local data; "
	       "%u runs took over a quarter of their limit, %u more where "
	       "they had more\n",
	       programs, taken, taken_local, long_runs, longer_runs);
	ck_assert_uint_gt(taken * 8, programs);
	ck_assert_uint_gt(taken_local, 100);
	ck_assert_uint_gt(long_runs, 100);
	ck_assert_uint_gt(longer_runs, 100);
}

UNIT_MAIN("budget matrix")
