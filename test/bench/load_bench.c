// SPDX-License-Identifier: MIT
// load_bench PLUGIN.so POLICY POLICIES: what a process pays once: the time
// from opening the plugin to its first decision with one policy and with all
// (as NCCLBPF_POLICY has them), and the memory that the process has more
// afterwards. Each time a process of its own.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/fakes/host/nccl.h"

enum { ROUNDS = 21 };

struct paid {
	double ms, mib;
};

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static double resident_mib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all = 0, pages = 0;

	if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2)
		_exit(1);
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static void child(const char *so, int to)
{
	struct host_nvl_domain_info nvl = { 1, 8, 8 };
	double constants[144] = { 0 }, before = resident_mib(), start;
	const struct host_tuner_v5 *tuner;
	float table[HOST_TABLE];
	struct paid p;
	int channels = 0;
	void *so_handle, *ctx = NULL;

	for (int i = 0; i < HOST_TABLE; i++)
		table[i] = 100.0f + (float)i;
	start = bench_now();
	so_handle = dlopen(so, RTLD_NOW | RTLD_LOCAL);
	tuner = so_handle ? dlsym(so_handle, "ncclTunerPlugin_v5") : NULL;
	if (!tuner || tuner->init(&ctx, 1, 8, 1, quiet, &nvl, constants) ||
	    tuner->get(ctx, 4, 1 << 20, 1, (float **)(void *)table, HOST_ALGOS, HOST_PROTOS, 0,
		       &channels))
		_exit(1);
	p.ms = (bench_now() - start) / 1e6;
	p.mib = resident_mib() - before;
	_exit(write(to, &p, sizeof(p)) != sizeof(p));
}

/* Each finds an empty directory, as the first process of a job does. */
static struct paid once(const char *so)
{
	char dir[] = "/tmp/ncclbpf-bench-XXXXXX", command[80];
	struct paid p;
	int fds[2];
	pid_t pid;

	if (!mkdtemp(dir) || pipe(fds)) {
		perror("load_bench");
		exit(1);
	}
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	fflush(NULL);
	pid = fork();
	if (!pid)
		child(so, fds[1]);
	close(fds[1]);
	if (pid < 0 || read(fds[0], &p, sizeof(p)) != sizeof(p)) {
		fprintf(stderr, "load_bench: %s: no decision\n", so);
		exit(1);
	}
	close(fds[0]);
	waitpid(pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		exit(1);
	return p;
}

/* Medians of processes with @policies. */
static struct paid pay(const char *so, const char *policies)
{
	double ms[ROUNDS], mib[ROUNDS];

	setenv("NCCLBPF_POLICY", policies, 1);
	for (int i = 0; i < ROUNDS; i++) {
		struct paid p = once(so);

		bench_yardstick();
		ms[i] = p.ms;
		mib[i] = p.mib;
	}
	return (struct paid){ bench_median(ms, ROUNDS), bench_median(mib, ROUNDS) };
}

int main(int argc, char **argv)
{
	struct paid one, all;

	if (argc != 4) {
		fprintf(stderr, "usage: load_bench PLUGIN.so POLICY "
				"POLICIES\n");
		return 64;
	}
	one = pay(argv[1], argv[2]);
	all = pay(argv[1], argv[3]);
	bench_row("once.load", "plugin opened to first decision, slo_enforcer", one.ms, "ms", 5);
	bench_row("once.load_all", "plugin opened to first decision, all policies", all.ms, "ms",
		  0);
	bench_row("once.memory", "memory added to a process, all policies", all.mib, "MiB", 4);
	printf("one policy: %.2f ms, %.2f MiB; all: %.2f ms, %.2f MiB\n", one.ms, one.mib, all.ms,
	       all.mib);
	return 0;
}
