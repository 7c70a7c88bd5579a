// SPDX-License-Identifier: MIT
// Profilers of others in the same run: each gets the events of a collective
// with one channel's kernel, in NCCL's order and with the handles of parents
// that it gave itself, through the newest version that it has. Ours gets the
// same through the same version, so that both have descriptors of one form.
#include "test/bench/event_peer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"
#include "test/bench/bench.h"
#include "test/fakes/host/prof.h"

enum { EACH = 200, ROUNDS = 301, NEWEST = 6, MAX_PEERS = 16 };

/* What NCCL would be asked for by one who wants execution times. */
enum { MASK = HOST_COLL | HOST_KERNEL_CH };

struct side {
	struct host_prof c;
	int mask;
	char name[64];
	double ns[ROUNDS];
};

static struct side peers[MAX_PEERS], ours[NEWEST + 1];
static int npeers;

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static void begin(struct side *s)
{
	s->c.mask = &s->mask;
	s->c.name = "world";
	s->c.id = 0xbe;
	s->c.nodes = 1;
	s->c.ranks = 8;
	if (host_prof_init(&s->c, quiet)) {
		fprintf(stderr, "event_bench: %s: init failed\n", s->name);
		exit(1);
	}
	s->mask = MASK;
}

static void begin_ours(int abi)
{
	static const struct nb_profiler *const tables[NEWEST + 1] = { NULL,
								      &ncclProfiler_v1,
								      &ncclProfiler_v2,
								      &ncclProfiler_v3,
								      &ncclProfiler_v4,
								      &ncclProfiler_v5,
								      &ncclProfiler_v6 };
	struct side *s = &ours[abi];

	if (s->c.p)
		return;
	s->c.p = (const struct host_profiler *)(const void *)tables[abi];
	s->c.abi = abi;
	snprintf(s->name, sizeof(s->name), "full_v%d", abi);
	begin(s);
}

static void add(const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct side *s = &peers[npeers];
	int abi = NEWEST;

	if (!so) {
		fprintf(stderr, "event_bench: %s: %s\n", path, dlerror());
		exit(1);
	}
	while (abi > 0 && !host_prof_open(&s->c, so, abi))
		abi--;
	if (!abi || npeers == MAX_PEERS - 1)
		return;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)strcspn(base, "."), base);
	begin(s);
	begin_ours(abi);
	npeers++;
}

static double batch(struct side *s, uint64_t round)
{
	struct host_coll k = { .func = 4,
			       .algo = 1,
			       .proto = 2,
			       .datatype = 7,
			       .channels = 1,
			       .count = 1 << 20,
			       .gpu_from = 1000,
			       .gpu_to = 51000 };
	double start = bench_now();

	for (int i = 0; i < EACH; i++) {
		k.seq = round * EACH + (uint64_t)i;
		host_prof_coll(&s->c, &k);
	}
	return (bench_now() - start) / EACH;
}

static void row(struct side *s, const char *who)
{
	double ns = bench_median(s->ns, ROUNDS);
	char key[80], text[160];

	snprintf(key, sizeof(key), "event.%s", s->name);
	snprintf(text, sizeof(text), "collective, its calls, group and kernel by interface v%d, %s",
		 s->c.abi, who);
	printf("%-60s %8.2f ns\n", text, ns);
	bench_row(key, text, ns, "ns", 0);
}

void event_peers(const char *list)
{
	char *all = list ? strdup(list) : NULL, *at = NULL;

	for (char *p = all ? strtok_r(all, ":", &at) : NULL; p; p = strtok_r(NULL, ":", &at))
		add(p);
	free(all);
	if (!npeers)
		return;
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	for (int r = 0; r < ROUNDS; r++) {
		bench_yardstick();
		for (int v = 1; v <= NEWEST; v++)
			if (ours[v].c.p)
				ours[v].ns[r] = batch(&ours[v], (uint64_t)r);
		for (int i = 0; i < npeers; i++)
			peers[i].ns[r] = batch(&peers[i], (uint64_t)r);
	}
	for (int v = 1; v <= NEWEST; v++)
		if (ours[v].c.p)
			row(&ours[v], "ncclbpf with telemetry");
	for (int i = 0; i < npeers; i++)
		row(&peers[i], peers[i].c.p->name ? peers[i].c.p->name : "?");
	for (int v = 1; v <= NEWEST; v++)
		if (ours[v].c.p)
			host_prof_fini(&ours[v].c);
	for (int i = 0; i < npeers; i++)
		host_prof_fini(&peers[i].c);
}
