// SPDX-License-Identifier: MIT
// inline_bench: what machine code has in line. A record reserved and
// submitted: over the same by C functions called directly.
// And one more program of a generation. All take turns in short rounds;
// medians.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/isa/insn.h"
#include "core/bpf/generation/run.h"
#include "core/bpf/map/ringbuf.h"
#include "test/bench/bench.h"
#include "test/unit/asm.h"
#include "test/unit/compile_one.h"

enum { EACH = 2000, ROUNDS = 201, RING = 1 << 17, SLOTS = 32, MANY = 8 };
enum { EMPTY, RECORD, NPROGS };

static const char *const text[NPROGS] = {
	"mov %r6, %r1\nmov %r0, 0\nexit",
	"mov %r6, %r1\nlddw map %r1, 0\nmov %r2, 16\nmov %r3, 0\ncall 131\n"
	"jeq %r0, 0, out\nstxdw [%r0], %r6\nmov %r1, %r0\nmov %r2, 0\n"
	"call 132\nout:\nmov %r0, 0\nexit",
};

/* What natively stands beside each. */
static struct nb_map *ring;

static void die(const char *why)
{
	fprintf(stderr, "inline_bench: %s\n", why);
	exit(1);
}

static struct nb_exec *make(const char *program, bool compile)
{
	static const struct nb_map_spec spec;
	static struct nb_slot slots[SLOTS];
	const struct nb_func func = { .name = "f" };
	struct nb_prog prog = {
		.name = "f", .section = "tuner", .slots = slots, .funcs = &func, .nfuncs = 1
	};
	const struct nb_image img = {
		.name = "p", .maps = &spec, .nmaps = 1, .progs = &prog, .nprogs = 1
	};
	struct nb_exec *x;
	struct nb_err err;
	size_t n;

	if (nb_asm(slots, SLOTS, &n, program, &err))
		die(err.text);
	prog.nslots = (uint32_t)n;
	if (nb_exec_new(&x, &img, 0, &ring, NULL, &err) || (compile && compile_one(x, NULL, &err)))
		die(err.text);
	return x;
}

/* ---- natively ---- */

static __attribute__((noinline)) uint64_t native_empty(void *ctx)
{
	__asm__ volatile("" : : "r"(ctx) : "memory");
	return 0;
}

static __attribute__((noinline)) uint64_t native_record(void *ctx)
{
	uint64_t *r = nb_ringbuf_reserve(ring, 16);

	if (r) {
		r[0] = (uintptr_t)ctx;
		nb_ringbuf_submit(r, 0);
	}
	return 0;
}

static uint64_t (*volatile natives[NPROGS])(void *) = { native_empty, native_record };

/* ---- time ---- */

static uint64_t word[2];

static void drain(void)
{
	unsigned char to[64];
	size_t size;

	while (!nb_ringbuf_read(ring, to, sizeof(to), &size))
		;
}

static double native_round(int i)
{
	double start = bench_now();

	for (int k = 0; k < EACH; k++)
		natives[i](word);
	return (bench_now() - start) / EACH;
}

static double code_round(const struct nb_exec *x)
{
	double start = bench_now();

	for (int k = 0; k < EACH; k++)
		nb_exec_run(x, word, 0);
	return (bench_now() - start) / EACH;
}

static double gen_round(const struct nb_gen *g)
{
	static struct ncclbpf_tuner ctx;
	static struct nb_gen_count count;
	double start = bench_now();

	for (int k = 0; k < EACH; k++)
		nb_gen_run_tuner(g, &ctx, &count);
	return (bench_now() - start) / EACH;
}

/* Only what a run reads of a generation. */
static struct nb_gen *make_gen(uint32_t n)
{
	struct nb_gen *g = calloc(1, sizeof(*g));

	if (!g)
		die("no memory");
	for (g->nprogs = 0; g->nprogs < n; g->nprogs++)
		g->prog[g->nprogs].exec = make(text[EMPTY], true);
	return g;
}

static double native[NPROGS][ROUNDS], code[NPROGS][ROUNDS];
static double gen[2][ROUNDS];

static void measure(void)
{
	const struct nb_gen *g[2] = { make_gen(2), make_gen(MANY) };
	struct nb_exec *x[NPROGS];

	for (int i = 0; i < NPROGS; i++)
		x[i] = make(text[i], true);
	for (int round = -5; round < ROUNDS; round++) {
		int at = round < 0 ? 0 : round;

		bench_yardstick();
		for (int i = 0; i < NPROGS; i++) {
			native[i][at] = native_round(i);
			drain();
			code[i][at] = code_round(x[i]);
			drain();
		}
		for (int i = 0; i < 2; i++)
			gen[i][at] = gen_round(g[i]);
	}
}

/* Beyond what an empty one of its kind takes. */
static double more(double took[][ROUNDS], int i)
{
	return bench_median(took[i], ROUNDS) - bench_median(took[EMPTY], ROUNDS);
}

int main(void)
{
	const struct nb_map_def def = { "r", NB_MAP_RINGBUF, 0, 0, RING, 0 };
	double record, more_programs;
	struct nb_err err;

	if (nb_map_new(&ring, &def, &err))
		die(err.text);
	measure();
	record = more(code, RECORD);
	more_programs = (bench_median(gen[1], ROUNDS) - bench_median(gen[0], ROUNDS)) / (MANY - 2);
	printf("%-44s %8s %8s\n", "ns", "code", "native");
	printf("%-44s %8.2f %8.2f\n", "reserve + submit, 16 bytes", record, more(native, RECORD));
	printf("%-44s %8.2f\n", "one more program of a generation", more_programs);
	bench_row("jit.ringbuf", "reserve and submit, machine code over the same C natively",
		  record - more(native, RECORD), "ns", 2);
	bench_row("gen.program", "one more program of a generation", more_programs, "ns", 2);
	return 0;
}
