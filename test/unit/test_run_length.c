// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A run ends within NB_RUN_MAX instructions, whatever is accepted: the worst
// programs that loops, iterators, may_goto, callbacks and functions make. Each
// adds up in a map how many instructions it ran, not all of them, and both
// engines have to come to the same number.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/bpf/exec/run/exec.h"
#include "core/bpf/image/image.h"
#include "core/bpf/map/ops.h"
#include "core/bpf/verify/verify.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { SLOTS = 1024, FUNCS = 10, MAPS = 3, ELEMS = 1 << 16 };
enum { COUNT, MANY, TEXT };
enum { LONG_TEXT = 3000 };

static unsigned char letters[LONG_TEXT + 1]; /* filled before the tests */

static const struct nb_map_spec spec[MAPS] = {
	[COUNT] = { .name = "count",
		    .type = NB_MAP_ARRAY,
		    .key_size = 4,
		    .value_size = 8,
		    .max_entries = 1,
		    .flags = NB_F_MMAPABLE,
		    .origin = NB_ORIGIN_BSS },
	[MANY] = MAP_SPEC("many", ARRAY, 4, 8, ELEMS, 0),
	[TEXT] = { .name = ".rodata",
		   .type = NB_MAP_ARRAY,
		   .key_size = 4,
		   .value_size = sizeof(letters),
		   .max_entries = 1,
		   .flags = NB_F_MMAPABLE | NB_F_RDONLY_PROG,
		   .origin = NB_ORIGIN_RODATA,
		   .init = letters },
};

/* ---- programs as text ---- */

static char text[1 << 14];
static size_t used;

static void begin(void)
{
	used = 0;
	*text = '\0';
}

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text + used, sizeof(text) - used, format, args);
	va_end(args);
	ck_assert(n >= 0 && (size_t)n < sizeof(text) - used);
	used += (size_t)n;
}

/* @n instructions ran. */
static void count(unsigned n)
{
	put("lddw map_value %%r1, 0, 0\nmov %%r0, %u\nlock add [%%r1], %%r0\n", n);
}

static void loop(unsigned turns, const char *name, unsigned number)
{
	put("mov %%r1, %u\nlddw func %%r2, %s%u\nmov %%r3, 0\nmov %%r4, 0\n"
	    "call 181\n",
	    turns, name, number);
}

static void end(void)
{
	put("mov %%r0, 0\nexit\n");
}

/* A loop that is walked iteration by iteration. */
static void plain(unsigned iterations, unsigned label)
{
	count(2 * iterations);
	put("mov %%r5, 0\nplain%u:\nadd %%r5, 1\njne %%r5, %u, plain%u\n", label, iterations,
	    label);
}

/* An iterator at r10-8 * (@n + 1); what it goes around comes in between. */
static void iterate(unsigned n, unsigned numbers)
{
	put("mov %%r1, %%r10\nadd %%r1, -%u\nmov %%r2, 0\nmov %%r3, %u\n"
	    "call 0x10001\nnext%u:\nmov %%r1, %%r10\nadd %%r1, -%u\n"
	    "call 0x10002\njeq %%r0, 0, end%u\n",
	    8 * (n + 1), numbers, n, 8 * (n + 1), n);
}

static void iterated(unsigned n)
{
	put("ja next%u\nend%u:\nmov %%r1, %%r10\nadd %%r1, -%u\n"
	    "call 0x10003\n",
	    n, n, 8 * (n + 1));
}

/* ---- running them ---- */

struct image {
	struct nb_slot slots[SLOTS];
	struct nb_func func[FUNCS];
	struct nb_prog prog;
	struct nb_image img;
	struct nb_map *maps[MAPS];
	struct nb_verdict *verdict;
};

static struct image im;

/* Functions begin where calls and addresses of callbacks lead. */
static void functions(size_t n)
{
	static struct nb_insn in[SLOTS];
	struct nb_func *f = im.func;
	uint8_t starts[SLOTS] = { 1 };
	uint32_t k = 0;
	struct nb_err err;

	ck_assert(!nb_decode(in, im.slots, n, &err));
	for (size_t pc = 0; pc < n; pc++)
		if (in[pc].op == NB_OP_CALL_LOCAL || in[pc].op == NB_OP_LDDW_FUNC)
			starts[(int64_t)pc + 1 + in[pc].off] = 1;
	for (uint32_t pc = 0; pc < n; pc++) {
		if (starts[pc])
			f[k++] = (struct nb_func){ .name = "f", .start = pc };
		f[k - 1].end = pc + 1;
	}
	im.prog.nfuncs = k;
}

static void make_maps(void)
{
	struct nb_err err;

	for (uint32_t i = 0; i < MAPS; i++) {
		const struct nb_map_spec *s = &spec[i];
		const struct nb_map_def def = { s->name,       s->type,	       s->key_size,
						s->value_size, s->max_entries, s->flags };

		ck_assert_msg(!nb_map_new(&im.maps[i], &def, &err), "%s", err.text);
	}
	ck_assert(!nb_map_write(im.maps[TEXT], &(uint32_t){ 0 }, letters, 0, &err));
}

static void judge(void)
{
	const struct nb_verify_opts o = { .coherence_off = true };
	struct nb_verdict *v;
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(im.slots, SLOTS, &n, text, &err), "%s", err.text);
	im.prog = (struct nb_prog){ .name = "f",
				    .section = "tuner",
				    .slots = im.slots,
				    .nslots = (uint32_t)n,
				    .funcs = im.func };
	functions(n);
	im.img = (struct nb_image){
		.name = "long", .maps = spec, .nmaps = MAPS, .progs = &im.prog, .nprogs = 1
	};
	ck_assert_msg(!nb_verify(&v, &im.img, 0, &o, &err), "%s", err.text);
	ck_assert_msg(v->accepted, "slot %u: %s; %s", v->finding.pc, v->finding.required,
		      v->finding.known);
	ck_assert_uint_le(v->runs.iteration, NB_MAX_ITERATION_INSNS);
	ck_assert_uint_le(v->runs.first, NB_MAX_ITERATION_INSNS);
	im.verdict = v;
}

/* Instructions that one engine counts. */
static uint64_t length(bool compiled)
{
	struct nb_exec *x;
	struct nb_err err = { 0 };
	uint64_t ctx[32] = { 0 }, n;

	make_maps();
	ck_assert_msg(!nb_exec_new(&x, &im.img, 0, im.maps, NULL, &err), "%s", err.text);
	nb_exec_bound(x, im.verdict->runs.iteration, im.verdict->runs.iter_steps);
	ck_assert_msg(!compiled || !compile_one(x, im.verdict->aux, &err), "%s", err.text);
	nb_exec_run(x, ctx, sizeof(ctx));
	memcpy(&n, nb_map_lookup(im.maps[COUNT], &(uint32_t){ 0 }, 0), sizeof(n));
	nb_exec_free(x);
	for (unsigned i = 0; i < MAPS; i++)
		nb_map_put(im.maps[i]);
	return n;
}

/* They end in time, but not before a good part of it. */
static void ends(const char *what)
{
	uint64_t n;

	judge();
	n = length(false);
	if (jit_available())
		ck_assert_uint_eq(n, length(true));
	printf("# %s: iterations of %u instructions, %llu in a run\n", what,
	       im.verdict->runs.iteration, (unsigned long long)n);
	ck_assert_uint_le(n, NB_RUN_MAX);
	ck_assert_uint_gt(n, NB_RUN_BUDGET / 8);
	nb_verdict_free(im.verdict);
}

TEST(loops_in_loops)
{
	begin();
	loop(1 << 23, "f", 1);
	end();
	for (unsigned i = 1; i < 7; i++) {
		put("f%u:\n", i);
		if (i < 6)
			loop(1 << 23, "f", i + 1);
		else
			count(5);
		end();
	}
	ends("six loops in each other");
}

/* What is walked iteration by iteration in each turn weighs as much as it
 * takes. */
TEST(long_turns)
{
	begin();
	loop(1 << 23, "f", 0);
	end();
	put("f0:\n");
	plain(3000, 0);
	end();
	ends("turns of a long loop");
}

/* A format weighs what it takes to read it; the characters are counted. */
TEST(long_formats)
{
	begin();
	loop(1 << 23, "f", 0);
	end();
	put("f0:\n");
	count(LONG_TEXT);
	put("mov %%r1, %%r10\nadd %%r1, -8\nmov %%r2, 8\n"
	    "lddw map_value %%r3, %d, 0\nstdw [%%r10-16], 0\n"
	    "mov %%r4, %%r10\nadd %%r4, -16\nmov %%r5, 0\ncall 165\n",
	    TEXT);
	end();
	ends("turns of a long format");
}

/* Digits, likewise. */
TEST(long_numbers)
{
	begin();
	loop(1 << 23, "f", 0);
	end();
	put("f0:\n");
	count(LONG_TEXT);
	put("lddw map_value %%r1, %d, 0\nmov %%r2, %d\nmov %%r3, 16\n"
	    "mov %%r4, %%r10\nadd %%r4, -8\ncall 106\n",
	    TEXT, LONG_TEXT);
	end();
	ends("turns of a long number");
}

TEST(may_goto)
{
	begin();
	put("again:\nmay_goto out\n");
	plain(3000, 0);
	put("ja again\nout:\n");
	end();
	ends("may_goto around a long loop");
}

TEST(may_goto_in_may_goto)
{
	begin();
	put("again:\nmay_goto out\nagain2:\nmay_goto again\n");
	count(6);
	put("ja again2\nout:\n");
	end();
	ends("may_goto in may_goto");
}

TEST(iterators_in_iterators)
{
	begin();
	for (unsigned i = 0; i < 5; i++)
		iterate(i, 1 << 23);
	plain(200, 0);
	for (unsigned i = 5; i--;)
		iterated(i);
	end();
	ends("five iterators in each other");
}

/* Numbers that come for sure, and then all that may come. */
TEST(short_iterators_first)
{
	begin();
	for (unsigned i = 0; i < 4; i++) {
		iterate(i, 4000);
		plain(800, i);
		iterated(i);
	}
	for (unsigned i = 4; i < 7; i++)
		iterate(i, 1 << 23);
	plain(800, 4);
	for (unsigned i = 7; i-- > 4;)
		iterated(i);
	end();
	ends("short iterators, then three in each other");
}

TEST(everything_in_everything)
{
	begin();
	put("again:\nmay_goto out\n");
	iterate(0, 1 << 23);
	loop(1 << 23, "f", 1);
	iterated(0);
	put("ja again\nout:\n");
	end();
	put("f1:\nlddw map %%r1, 1\nlddw func %%r2, f2\nmov %%r3, 0\n"
	    "mov %%r4, 0\ncall 164\n");
	end();
	put("f2:\nmore:\nmay_goto done\n");
	count(6);
	put("ja more\ndone:\n");
	plain(100, 0);
	end();
	ends("all kinds in each other");
}

TEST(each_element_of_each)
{
	begin();
	for (unsigned i = 0; i < 4; i++) {
		if (i)
			put("f%u:\n", i);
		put("lddw map %%r1, 1\nlddw func %%r2, f%u\nmov %%r3, 0\n"
		    "mov %%r4, 0\ncall 164\n",
		    i + 1);
		end();
	}
	put("f4:\n");
	plain(50, 0);
	end();
	ends("each element of 65536, four deep");
}

/* Called again and again, by another one that is. */
TEST(long_functions)
{
	begin();
	put("again:\nmay_goto out\ncall local slow\nja again\nout:\n");
	end();
	put("slow:\nmov %%r6, 0\niteration:\ncall local inner\nadd %%r6, 1\n"
	    "jne %%r6, 40, iteration\n");
	end();
	put("inner:\n");
	plain(1000, 0);
	end();
	ends("long functions");
}

TEST(loops_in_functions)
{
	begin();
	loop(1 << 23, "f", 0);
	end();
	put("f0:\ncall local slow\n");
	end();
	put("slow:\n");
	plain(300, 0);
	loop(1 << 23, "f", 1);
	end();
	put("f1:\n");
	plain(300, 1);
	end();
	ends("loops in functions");
}

UNIT_MAIN_WITH("run length", memset(letters, 'a', LONG_TEXT);)
