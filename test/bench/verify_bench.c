// SPDX-License-Identifier: MIT
// verify_bench POLICY...: what a verdict costs, for each program of each policy
// and for programs made here (test/bench/verify_made.c), beside the kernel's
// BPF_PROG_LOAD of the same slots (verify_kernel.h) where bpf() is permitted.
// The kernel knows no coherence and compiles what it takes, so the ratio is to
// our verdict with coherence off plus our compiling. All take turns in short
// rounds, in CPU time of the thread, which other work of the machine does not
// lengthen; medians are printed, and a verdict: "ok" is not slower than the
// kernel. Fails where we are, or refuse what the kernel takes; but where
// $BENCH_ROWS wants rows, its table is what judges.
//   VERIFY_ROUNDS=N   rounds (default 51), fewer for slow programs
//   VERIFY_MADE=no    policies alone
//   VERIFY_MADE=few   three shapes of 1,000 and 10,000 slots
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/bpf/exec/run/code.h"
#include "core/bpf/generation/policy.h"
#include "core/bpf/verify/verify.h"
#include "test/bench/bench.h"
#include "test/bench/verify_kernel.h"
#include "test/bench/verify_made.h"
#include "test/unit/compile_one.h"

enum {
	ROUNDS = 501,
	MAX_ROWS = 96,
	LEAST = 3,
	PATIENCE = 1000000, /* microseconds for a row's rounds... */
	FEW_PATIENCE = 250000,
	MOST_PATIENCE = 5000000,
	QUICK = 5000
};

enum column { OURS, COHERENT, COMPILED, KERNEL, NCOLUMNS };

struct row {
	struct nb_image *img; /* NULL: @made's */
	struct made made;
	const char *name;
	const struct nb_prog *prog;
	const struct nb_image *of;
	struct nb_verify_stats stats;
	struct kernel_prog k;
	int kernel; /* 0: it takes it */
	bool accepted;
	char why[100];
	int rounds;
	double spent; /* microseconds, in all */
	double took[NCOLUMNS][ROUNDS];
};

static struct row rows[MAX_ROWS];
static int nrows;
static double patience = PATIENCE;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "verify_bench: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- ours ---- */

static struct nb_verdict *verify(const struct row *r, bool coherence)
{
	struct nb_verify_opts o = { .coherence_off = !coherence };
	uint32_t prog = (uint32_t)(r->prog - r->of->progs);
	struct nb_verdict *v;
	struct nb_err err;

	if (nb_verify(&v, r->of, prog, &o, &err))
		die(r->name, err.text);
	return v;
}

/* The maps are there before, as the kernel's are. */
static void make_maps(const struct row *r, struct nb_map **maps)
{
	struct nb_err err;

	for (uint32_t i = 0; i < r->of->nmaps; i++)
		if (nb_policy_map_new(&maps[i], r->of, i, &err))
			die(r->name, err.text);
}

static struct nb_exec *compile(const struct row *r, struct nb_map **maps,
			       const struct nb_verdict *v)
{
	uint32_t prog = (uint32_t)(r->prog - r->of->progs);
	struct nb_exec *x;
	struct nb_err err;

	if (nb_exec_new(&x, r->of, prog, maps, NULL, &err) || compile_one(x, v->aux, &err))
		die(r->name, err.text);
	return x;
}

static void open_row(struct row *r)
{
	struct nb_verdict *v = verify(r, true);

	nb_verdict_free(v);
	v = verify(r, false);
	r->stats = v->stats;
	r->accepted = v->accepted;
	if (!v->accepted)
		snprintf(r->why, sizeof(r->why), "%s", v->finding.known);
	nb_verdict_free(v);
	r->kernel = kernel_prog_open(&r->k, r->of, r->prog);
}

/* ---- rows ---- */

static struct row *new_row(void)
{
	if (nrows == MAX_ROWS)
		die("verify_bench", "too many programs");
	return &rows[nrows++];
}

static struct nb_image *read_policy(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct nb_image *img;
	unsigned char *bytes;
	struct nb_err err;
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die(path, "cannot be read");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes || fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die(path, "cannot be read");
	fclose(f);
	if (nb_image_read(&img, bytes, (size_t)st.st_size, &err))
		die(path, err.text);
	free(bytes);
	return img;
}

/* A row for each of its programs; the first one owns the image. */
static void add_policy(const char *path)
{
	struct nb_image *img = read_policy(path);

	for (uint32_t i = 0; i < img->nprogs; i++) {
		struct row *r = new_row();

		if (!i)
			r->img = img;
		r->of = img;
		r->prog = &img->progs[i];
		r->name = r->prog->name;
		open_row(r);
	}
}

static void add_made(unsigned shape, uint32_t size)
{
	struct row *r = new_row();

	if (!made_program(&r->made, shape, size))
		die("verify_bench", "no memory");
	r->of = &r->made.img;
	r->prog = r->made.img.progs;
	r->name = r->prog->name;
	open_row(r);
}

static void add_all_made(bool few)
{
	static const uint32_t sizes[] = { 1000, 10000, 100000 };

	for (unsigned shape = 0; shape < (few ? MADE_FEW : MADE_SHAPES); shape++)
		for (unsigned i = 0; i < (few ? 2 : 3); i++)
			add_made(shape, sizes[i]);
}

/* ---- time ---- */

/* Everything about @r once. */
static void measure(struct row *r)
{
	struct nb_map *maps[NB_IMAGE_MAX_MAPS] = { NULL };
	struct nb_exec *x = NULL;
	int round = r->rounds, fd;
	struct nb_verdict *v;
	double at;

	make_maps(r, maps);
	at = now_us();
	v = verify(r, false);
	r->took[OURS][round] = now_us() - at;
	if (v->accepted)
		x = compile(r, maps, v);
	r->took[COMPILED][round] = now_us() - at;
	nb_exec_free(x);
	nb_verdict_free(v);
	for (uint32_t i = 0; i < r->of->nmaps; i++)
		nb_map_put(maps[i]);
	at = now_us();
	nb_verdict_free(verify(r, true));
	r->took[COHERENT][round] = now_us() - at;
	at = now_us();
	if (!r->kernel && (fd = kernel_prog_load(&r->k)) >= 0) {
		r->took[KERNEL][round] = now_us() - at;
		close(fd);
	}
}

/*
 * Slow ones have fewer rounds. Quick ones are done twice: what was measured
 * before has left other things in the caches.
 */
static void round_of(struct row *r)
{
	double start = now_us(), first;

	if (r->spent > (r->rounds < LEAST ? MOST_PATIENCE : patience))
		return;
	measure(r);
	first = now_us() - start;
	if (first < QUICK)
		measure(r);
	r->spent += now_us() - start;
	r->rounds++;
}

/* What we are worse in than the kernel, or NULL. */
static const char *worse(const struct row *r, double ratio)
{
	if (r->kernel)
		return NULL;
	return !r->accepted ? "REFUSED" : ratio > 1 ? "SLOWER" : NULL;
}

/* false: worse than the kernel. */
static bool print_row(struct row *r)
{
	const char *bad;
	double m[NCOLUMNS];

	for (int c = 0; c < NCOLUMNS; c++)
		m[c] = bench_median(r->took[c], r->rounds);
	bad = worse(r, m[COMPILED] / m[KERNEL]);
	printf("%-18s %6u %8u %6u %7zu %9.1f %9.1f %9.1f ", r->name, r->prog->nslots,
	       r->stats.insns_walked, r->stats.states_peak, r->stats.memory >> 10, m[OURS],
	       m[COHERENT], m[COMPILED]);
	if (!r->kernel && r->accepted)
		printf("%9.1f %6.2f %6.2f %s\n", m[KERNEL], m[OURS] / m[KERNEL],
		       m[COMPILED] / m[KERNEL], bad ? bad : "ok");
	else if (!r->kernel)
		printf("%9.1f %6s %6s %s: %s\n", m[KERNEL], "-", "-", bad, r->why);
	else
		printf("%9s %6s %6s kernel: %s%s%s\n", "-", "-", "-", r->k.why,
		       r->accepted ? "" : "; ours: ", r->why);
	return !bad;
}

/* Where there is no kernel to compare with, this stands. */
static void time_row(struct row *r)
{
	bench_row("load.us", "slo_enforcer, verify + machine code",
		  bench_median(r->took[COMPILED], r->rounds), "us", 300);
}

/* The table's: a program beside the kernel. */
static void table_row(struct row *r)
{
	bool made = r->of == &r->made.img;
	char key[64], text[160];

	if (!r->accepted)
		return;
	snprintf(key, sizeof(key), "%s.%s", made ? "verify" : "load", made ? r->made.key : r->name);
	snprintf(text, sizeof(text), "%s, verify + machine code / the kernel's load%s", r->name,
		 r->k.stand_ins ? " with get_prandom_u32 for helpers of ours" : "");
	if (r->kernel)
		bench_skip(key, text, r->k.why);
	else
		bench_row(key, text,
			  bench_median(r->took[COMPILED], r->rounds) /
				  bench_median(r->took[KERNEL], r->rounds),
			  "x", 1);
	if (!strcmp(r->name, "slo_enforcer"))
		time_row(r);
}

static int rounds(void)
{
	const char *s = getenv("VERIFY_ROUNDS");
	int n = s ? atoi(s) : 51;

	return n < 1 ? 1 : n > ROUNDS ? ROUNDS : n;
}

int main(int argc, char **argv)
{
	const char *wanted = getenv("VERIFY_MADE");
	bool few = wanted && !strcmp(wanted, "few"), good = true;
	int n = rounds();

	for (int i = 1; i < argc; i++)
		add_policy(argv[i]);
	if (!wanted || strcmp(wanted, "no") != 0)
		add_all_made(few);
	if (few)
		patience = FEW_PATIENCE;
	for (int round = 0; round < n; round++) {
		bench_yardstick();
		for (int i = 0; i < nrows; i++)
			round_of(&rows[i]);
	}
	printf("%-18s %6s %8s %6s %7s %9s %9s %9s %9s %6s %6s verdict\n", "median, us", "slots",
	       "walked", "states", "KiB", "ours", "coherent", "compiled", "kernel", "o/k", "c/k");
	for (int i = 0; i < nrows; i++) {
		good &= print_row(&rows[i]);
		table_row(&rows[i]);
		kernel_prog_close(&rows[i].k);
		made_free(&rows[i].made);
	}
	for (int i = 0; i < nrows; i++)
		nb_image_free(rows[i].img);
	return !good && !getenv("BENCH_ROWS");
}
