// SPDX-License-Identifier: MIT
// What one decision costs, through NCCL's own entry point: an empty native
// plugin, ours without a policy, and ours with each policy named. All are
// measured in turns in one run, so that the ratios hold on a noisy machine.
//
//	decision [-s BYTES] EMPTY.so PLUGIN.so IMAGE|TUNER.so...
//
// -s: whole calls with 18 random sizes below BYTES, for tables (the image is
// named after its rows); a native tuner beside them reads such rows one by one.
//
// BENCH_PEER=path.so[:path.so]... measures other tuner plugins (v5) beside; one
// that is a profiler alone is event_bench's.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/fakes/host/nccl.h"

enum { BATCH = 256, ROUNDS = 4000, MAX_VARIANTS = 16, ALLREDUCE = 4 };

struct variant {
	const char *name, *key;
	bool policy;
	const struct host_tuner_v5 *tuner;
	void *ctx;
	double ns[ROUNDS];
};

static struct variant variants[MAX_VARIANTS];
static int nvariants;
static char dir[] = "/tmp/ncclbpf-bench-XXXXXX";
static const struct host_comm shape = { .ranks = 8, .nodes = 1, .nvls = true };
static size_t sizes[BATCH], below;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "decision: %s: %s\n", what, why);
	exit(1);
}

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
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
	v->name = v->key = name;
	v->policy = policy;
	v->tuner = dlsym(open_copy(so), "ncclTunerPlugin_v5");
	if (!v->tuner)
		die(so, "no ncclTunerPlugin_v5");
	for (int i = 0; i < 8; i++) /* seven peers, which only exist */
		if (v->tuner->init(&v->ctx, 1 + (uint64_t)nvariants, 8, 1, quiet, &nvl, constants))
			die(name, "init failed");
	nvariants++;
}

/* NCCL hands over a fresh table each time; so does this, at equal cost. */
static double batch(struct variant *v, const float plain[HOST_TABLE])
{
	float table[HOST_TABLE];
	double start = bench_now();

	for (unsigned i = 0; i < BATCH; i++) {
		int channels = 0;

		memcpy(table, plain, sizeof(table));
		__asm__ volatile("" : : "r"(table) : "memory");
		v->tuner->get(v->ctx, ALLREDUCE, sizes[i], 1, (float **)(void *)table, HOST_ALGOS,
			      HOST_PROTOS, 0, &channels);
		__asm__ volatile("" : : "r"(table) : "memory");
	}
	return (bench_now() - start) / BATCH;
}

static const char *base(const char *path)
{
	char *name = strdup(strrchr(path, '/') ? strrchr(path, '/') + 1 : path);

	if (!name)
		die(path, "no memory");
	*strchrnul(name, '.') = '\0';
	return name;
}

/*
 * As many sizes as a job has, of which no two share an entry of the plugin's
 * 128 (nb_seen_slot): such decisions take a longer path.
 */
static void make_sizes(void)
{
	uint64_t seed = 10;

	for (unsigned i = 0; i < BATCH; i++) {
		seed = seed * 6364136223846793005 + 1442695040888963407;
		sizes[i] = !below   ? (size_t)1024 << (i % 18)
			   : i < 18 ? (size_t)(seed >> 33) % below
				    : sizes[i % 18];
	}
}

static void measure(void)
{
	float plain[HOST_TABLE];

	make_sizes();
	for (int i = 0; i < HOST_TABLE; i++)
		plain[i] = host_cost(&shape, ALLREDUCE, 1 << 20, i / HOST_PROTOS, i % HOST_PROTOS);
	for (int r = -200; r < ROUNDS; r++) {
		if (r >= 0)
			bench_yardstick();
		for (int i = 0; i < nvariants; i++) {
			double ns = batch(&variants[i], plain);

			if (r >= 0)
				variants[i].ns[r] = ns;
		}
	}
}

static void print(void)
{
	double empty;

	for (int i = 0; i < nvariants; i++)
		bench_median(variants[i].ns, ROUNDS);
	empty = variants[0].ns[ROUNDS / 2];
	printf("%-28s %10s %10s %12s %8s\n", "PLUGIN", "MEDIAN_NS", "P99_NS", "OVER_EMPTY_NS",
	       "RATIO");
	for (int i = 0; i < nvariants; i++) {
		const struct variant *v = &variants[i];
		double ns = v->ns[ROUNDS / 2];

		printf("%-28s %10.1f %10.1f %12.1f %8.2f\n", v->name, ns, v->ns[ROUNDS * 99 / 100],
		       ns - empty, ns / empty);
	}
}

/* Those with a budget, and peers, as rows of the table. */
static void rows(void)
{
	double empty = variants[0].ns[ROUNDS / 2];

	for (int i = 1; i < nvariants; i++) {
		const struct variant *v = &variants[i];
		double budget = !strcmp(v->name, "noop")	 ? 8
				: !strcmp(v->name, "size_aware") ? 15
								 : 0;
		char key[64], text[160];

		snprintf(key, sizeof(key), "decision.%s", v->key);
		snprintf(text, sizeof(text), "getCollInfo, %s, over an empty native plugin",
			 v->name);
		bench_row(key, text, v->ns[ROUNDS / 2] - empty, "ns", budget);
	}
}

/* Whole calls of tables, and of a native tuner beside the first of them. */
static void table_rows(void)
{
	const struct variant *first = &variants[2];
	char key[64], text[160];

	for (int i = 2; i < nvariants; i++) {
		const struct variant *v = &variants[i];
		double ns = v->ns[ROUNDS / 2];

		if (v->policy) {
			snprintf(key, sizeof(key), "table.call_%s", v->name);
			snprintf(text, sizeof(text), "getCollInfo, table of %s rows, a whole call",
				 v->name);
			bench_row(key, text, ns, "ns", strcmp(v->name, "200") != 0 ? 80 : 45);
		} else {
			snprintf(key, sizeof(key), "table.native_%s", first->name);
			snprintf(text, sizeof(text),
				 "table of %s rows / a native tuner that reads them one by one",
				 first->name);
			bench_row(key, text, first->ns[ROUNDS / 2] / ns, "x", 0.1);
		}
	}
}

static bool is_profiler_alone(const char *path)
{
	void *so = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	bool tuner, profiler = false;

	if (!so)
		die(path, dlerror());
	tuner = dlsym(so, "ncclTunerPlugin_v5");
	for (int v = 1; v <= 6; v++) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", v);
		profiler = profiler || dlsym(so, symbol);
	}
	dlclose(so);
	return profiler && !tuner;
}

/* Any other tuner plugin, in the environment that the user gave. */
static void add_peers(const char *list, const char *policy)
{
	char *all = strdup(list), *at, *path;

	for (path = strtok_r(all, ":", &at); path; path = strtok_r(NULL, ":", &at))
		if (!is_profiler_alone(path))
			add(base(path), path, policy);
}

int main(int argc, char **argv)
{
	const char *peers = getenv("BENCH_PEER");
	const char *policy = getenv("NCCLBPF_POLICY");
	char command[80];

	if (argc > 2 && !strcmp(argv[1], "-s")) {
		below = strtoull(argv[2], NULL, 10);
		argc -= 2;
		argv += 2;
	}
	policy = policy ? strdup(policy) : NULL;
	if (argc < 3 || argc > MAX_VARIANTS - 4) {
		fprintf(stderr,
			"usage: decision [-s BYTES] EMPTY.so PLUGIN.so IMAGE|TUNER.so...\n");
		return 64;
	}
	if (!mkdtemp(dir))
		die(dir, strerror(errno));
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	add("empty native plugin", argv[1], NULL);
	add("no policy", argv[2], NULL);
	variants[1].key = "none";
	for (int i = 3; i < argc; i++)
		if (strstr(argv[i], ".so"))
			add(base(argv[i]), argv[i], NULL);
		else
			add(base(argv[i]), argv[2], argv[i]);
	if (peers)
		add_peers(peers, policy);
	measure();
	print();
	if (below)
		table_rows();
	else
		rows();
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) != 0;
}
