// SPDX-License-Identifier: MIT
// What one decision costs, through NCCL's own entry point: an empty native
// plugin, ours without a policy, and ours with each policy named. All are
// measured in turns in one run, so that the ratios hold on a noisy machine.
//
//	decision EMPTY.so PLUGIN.so IMAGE...
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "test/host/nccl.h"

enum { BATCH = 256, ROUNDS = 4000, MAX_VARIANTS = 16, ALLREDUCE = 4 };

struct variant {
	const char *name;
	const struct host_tuner_v5 *tuner;
	void *ctx;
	double ns[ROUNDS];
};

static struct variant variants[MAX_VARIANTS];
static int nvariants;
static char dir[] = "/tmp/ncclbpf-bench-XXXXXX";
static const struct host_comm shape = { .ranks = 8, .nodes = 1, .nvls = true };

static void die(const char *what, const char *why)
{
	fprintf(stderr, "decision: %s: %s\n", what, why);
	exit(1);
}

static void quiet(int level, unsigned long flags, const char *file, int line,
		  const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

/* A copy has an inode of its own, hence globals of its own. */
static void *open_copy(const char *path)
{
	char copy[64];
	struct stat st;
	int in = open(path, O_RDONLY), out;
	void *handle;

	snprintf(copy, sizeof(copy), "%s/%d.so", dir, nvariants);
	out = open(copy, O_WRONLY | O_CREAT, 0700);
	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, (size_t)st.st_size) != st.st_size)
		die(path, strerror(errno));
	close(in);
	close(out);
	handle = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		die(path, dlerror());
	return handle;
}

static void add(const char *name, const char *so, const char *policy)
{
	struct variant *v = &variants[nvariants];
	struct host_nvl_domain_info nvl = { 1, 8, 8 };
	double constants[144] = { 0 };

	if (policy)
		setenv("NCCLBPF_POLICY", policy, 1);
	else
		unsetenv("NCCLBPF_POLICY");
	v->name = name;
	v->tuner = dlsym(open_copy(so), "ncclTunerPlugin_v5");
	if (!v->tuner)
		die(so, "no ncclTunerPlugin_v5");
	if (v->tuner->init(&v->ctx, 1 + (uint64_t)nvariants, 8, 1, quiet, &nvl,
			   constants))
		die(name, "init failed");
	nvariants++;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* NCCL hands over a fresh table each time; so does this, at equal cost. */
static double batch(struct variant *v, const float plain[HOST_TABLE])
{
	float table[HOST_TABLE];
	double start = now_ns();

	for (unsigned i = 0; i < BATCH; i++) {
		int channels = 0;

		memcpy(table, plain, sizeof(table));
		__asm__ volatile("" : : "r"(table) : "memory");
		v->tuner->get(v->ctx, ALLREDUCE, (size_t)1024 << (i % 18), 1,
			      (float **)(void *)table, HOST_ALGOS, HOST_PROTOS,
			      0, &channels);
		__asm__ volatile("" : : "r"(table) : "memory");
	}
	return (now_ns() - start) / BATCH;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static const char *base(const char *path)
{
	char *name = strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);

	if (!name)
		die(path, "no memory");
	*strchrnul(name, '.') = '\0';
	return name;
}

static void measure(void)
{
	float plain[HOST_TABLE];

	for (int i = 0; i < HOST_TABLE; i++)
		plain[i] = host_cost(&shape, ALLREDUCE, 1 << 20,
				     i / HOST_PROTOS, i % HOST_PROTOS);
	for (int r = -200; r < ROUNDS; r++)
		for (int i = 0; i < nvariants; i++) {
			double ns = batch(&variants[i], plain);

			if (r >= 0)
				variants[i].ns[r] = ns;
		}
}

static void print(void)
{
	double empty;

	for (int i = 0; i < nvariants; i++)
		qsort(variants[i].ns, ROUNDS, sizeof(double), ascending);
	empty = variants[0].ns[ROUNDS / 2];
	printf("%-28s %10s %10s %12s %8s\n", "PLUGIN", "MEDIAN_NS", "P99_NS",
	       "OVER_EMPTY_NS", "RATIO");
	for (int i = 0; i < nvariants; i++) {
		const struct variant *v = &variants[i];
		double ns = v->ns[ROUNDS / 2];

		printf("%-28s %10.1f %10.1f %12.1f %8.2f\n", v->name, ns,
		       v->ns[ROUNDS * 99 / 100], ns - empty, ns / empty);
	}
}

int main(int argc, char **argv)
{
	char command[80];

	if (argc < 3 || argc > MAX_VARIANTS + 1) {
		fprintf(stderr,
			"usage: decision EMPTY.so PLUGIN.so IMAGE...\n");
		return 64;
	}
	if (!mkdtemp(dir))
		die(dir, strerror(errno));
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	add("empty native plugin", argv[1], NULL);
	add("ncclbpf, no policy", argv[2], NULL);
	for (int i = 3; i < argc; i++)
		add(base(argv[i]), argv[2], argv[i]);
	measure();
	print();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0;
}
