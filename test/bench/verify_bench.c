// SPDX-License-Identifier: MIT
// verify_bench POLICY...: what a verdict costs, for each policy and for
// programs made here (test/bench/verify_made.c), beside the kernel's
// BPF_PROG_LOAD of the same slots where bpf() is permitted. The kernel gets
// them as a SYSCALL program, whose context may be read and written as the
// tuner's; it knows no coherence and compiles what it takes, so the ratio is
// to our verdict with coherence off plus our compiling. All take turns in
// short rounds; medians are printed.
//   VERIFY_ROUNDS=N  rounds (default 51), fewer for slow programs
//   VERIFY_MADE=no   policies alone
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/exec/code.h"
#include "core/hook/policy.h"
#include "core/verify/verify.h"
#include "test/bench/bench.h"
#include "test/bench/verify_made.h"

enum { ROUNDS = 501, MAX_ROWS = 64, LEAST = 3, PATIENCE = 1000000 };

enum column { OURS, COHERENT, COMPILED, KERNEL, NCOLUMNS };

struct row {
	struct nb_image *img; /* NULL: @made's */
	struct made made;
	const char *name;
	const struct nb_prog *prog;
	const struct nb_image *of;
	struct nb_verify_stats stats;
	int fds[NB_IMAGE_MAX_MAPS]; /* the kernel's maps */
	struct nb_slot *slots;	    /* with them */
	int kernel;		    /* 0, or why it does not take it */
	bool accepted;
	char why[100];
	int rounds;
	double spent; /* microseconds, in all */
	double took[NCOLUMNS][ROUNDS];
};

static struct row rows[MAX_ROWS];
static int nrows;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "verify_bench: %s: %s\n", what, why);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the kernel ---- */

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	long rc = syscall(SYS_bpf, cmd, attr, sizeof(*attr));

	return rc < 0 ? -errno : (int)rc;
}

static int kernel_load(const struct row *r)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SYSCALL;
	a.prog_flags = BPF_F_SLEEPABLE;
	a.insns = (uintptr_t)r->slots;
	a.insn_cnt = r->prog->nslots;
	a.license = (uintptr_t) "GPL";
	return bpf(BPF_PROG_LOAD, &a);
}

static int kernel_map(const struct nb_map_spec *m)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = m->type;
	a.key_size = m->key_size;
	a.value_size = m->value_size;
	a.max_entries = m->max_entries;
	return bpf(BPF_MAP_CREATE, &a);
}

static int open_kernel(struct row *r)
{
	int fd;

	r->slots = malloc(r->prog->nslots * sizeof(*r->slots));
	if (!r->slots)
		die(r->name, "no memory");
	memcpy(r->slots, r->prog->slots, r->prog->nslots * sizeof(*r->slots));
	for (uint32_t i = 0; i < r->of->nmaps; i++)
		if ((r->fds[i] = kernel_map(&r->of->maps[i])) < 0)
			return r->fds[i];
	for (uint32_t pc = 0; pc < r->prog->nslots; pc++) {
		unsigned src = r->slots[pc].regs >> 4;

		if (r->slots[pc].opcode != 0x18)
			continue;
		if (src == 1 || src == 2)
			r->slots[pc].imm = r->fds[r->slots[pc].imm];
		pc++;
	}
	fd = kernel_load(r);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
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

	if (nb_exec_new(&x, r->of, prog, maps, NULL, &err) ||
	    nb_exec_compile(x, v->aux, &err))
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
	r->kernel = open_kernel(r);
}

/* ---- rows ---- */

static void add_policy(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct row *r = &rows[nrows++];
	unsigned char *bytes;
	struct nb_err err;
	struct stat st;

	if (!f || fstat(fileno(f), &st))
		die(path, "cannot be read");
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes ||
	    fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		die(path, "cannot be read");
	fclose(f);
	if (nb_image_read(&r->img, bytes, (size_t)st.st_size, &err))
		die(path, err.text);
	free(bytes);
	r->of = r->img;
	r->prog = &r->img->progs[0];
	r->name = r->prog->name;
	open_row(r);
}

static void add_made(unsigned shape, uint32_t size)
{
	struct row *r = &rows[nrows++];

	if (!made_program(&r->made, shape, size))
		die("verify_bench", "no memory");
	r->of = &r->made.img;
	r->prog = r->made.img.progs;
	r->name = r->prog->name;
	open_row(r);
}

/* ---- time ---- */

/* Slow ones have fewer rounds. */
static void round_of(struct row *r)
{
	struct nb_map *maps[NB_IMAGE_MAX_MAPS] = { NULL };
	double start = now_us(), at;
	struct nb_exec *x = NULL;
	int round = r->rounds, fd;
	struct nb_verdict *v;

	if (round >= LEAST && r->spent > PATIENCE)
		return;
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
	if (!r->kernel && (fd = kernel_load(r)) >= 0) {
		r->took[KERNEL][round] = now_us() - at;
		close(fd);
	}
	r->spent += now_us() - start;
	r->rounds++;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *took, int n)
{
	qsort(took, (size_t)n, sizeof(double), by_size);
	return took[n / 2];
}

static void print_row(struct row *r)
{
	double m[NCOLUMNS];

	for (int c = 0; c < NCOLUMNS; c++)
		m[c] = median(r->took[c], r->rounds);
	printf("%-18s %6u %8u %6u %7zu %9.1f %9.1f %9.1f ", r->name,
	       r->prog->nslots, r->stats.insns_walked, r->stats.states_peak,
	       r->stats.memory >> 10, m[OURS], m[COHERENT], m[COMPILED]);
	if (!r->accepted)
		printf("  refused: %s\n", r->why);
	else if (r->kernel)
		printf("%9s %s\n", "-", strerror(-r->kernel));
	else
		printf("%9.1f %6.2f %6.2f\n", m[KERNEL], m[OURS] / m[KERNEL],
		       m[COMPILED] / m[KERNEL]);
}

/* Where there is no kernel to compare with, this stands. */
static void time_row(struct row *r)
{
	bench_row("load.us", "slo_enforcer, verify + machine code",
		  bench_median(r->took[COMPILED], r->rounds), "us", 300);
}

/* The table's: a policy beside the kernel. */
static void table_row(struct row *r)
{
	char key[64], text[120];

	if (!r->img || !r->accepted)
		return;
	snprintf(key, sizeof(key), "load.%s", r->name);
	snprintf(text, sizeof(text),
		 "%s, verify + machine code / the kernel's load", r->name);
	if (r->kernel)
		bench_skip(key, text, strerror(-r->kernel));
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
	static const uint32_t sizes[] = { 1000, 10000, 60000 };
	const char *wanted = getenv("VERIFY_MADE");
	bool made = !wanted || strcmp(wanted, "no") != 0;
	int n = rounds();

	for (int i = 1; i < argc && i < MAX_ROWS / 2; i++)
		add_policy(argv[i]);
	for (unsigned shape = made ? 0 : MADE_SHAPES; shape < MADE_SHAPES;
	     shape++)
		for (unsigned i = 0; i < 3; i++)
			add_made(shape, sizes[i]);
	for (int round = 0; round < n; round++) {
		bench_yardstick();
		for (int i = 0; i < nrows; i++)
			round_of(&rows[i]);
	}
	printf("%-18s %6s %8s %6s %7s %9s %9s %9s %9s %6s %6s\n", "verdict, us",
	       "slots", "walked", "states", "KiB", "ours", "coherent",
	       "compiled", "kernel", "o/k", "c/k");
	for (int i = 0; i < nrows; i++) {
		print_row(&rows[i]);
		table_row(&rows[i]);
		nb_image_free(rows[i].img);
		free(rows[i].slots);
		made_free(&rows[i].made);
	}
	return 0;
}
