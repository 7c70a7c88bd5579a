// SPDX-License-Identifier: MIT
// event_bench LATENCY.policy: what NCCL's threads pay for a profiler's events:
// of no interest, a collective with telemetry, a channel's kernel within it,
// and the same with a program on the hook. The plugin is linked in here.
// BENCH_PEER=path.so[:path.so]... measures other profilers beside
// (event_peer.h).
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ncclbpf.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"
#include "plugin/hooks/hooks.h"
#include "test/bench/bench.h"
#include "test/bench/event_peer.h"

enum { EACH = 1000, ROUNDS = 301, KERNEL_STOP = 22 };

static const struct nb_profiler *p = &ncclProfiler_v5;
static int mask;
static void *context;

/* A descriptor of v5. */
union descr {
	unsigned char byte[112];
	uint64_t align;
};

static void put(union descr *d, size_t off, const void *v, size_t size)
{
	memcpy(d->byte + off, v, size);
}

static void put_text(union descr *d, size_t off, const char *text)
{
	put(d, off, &text, sizeof(text));
}

static union descr coll(void)
{
	union descr d = { { 0 } };
	uint64_t type = 2, count = 1 << 20;
	uint8_t channels = 1;

	put(&d, 0, &type, 8);
	put_text(&d, 32, "AllReduce");
	put(&d, 56, &count, 8);
	put_text(&d, 72, "ncclFloat32");
	put(&d, 80, &channels, 1);
	put_text(&d, 88, "RING");
	put_text(&d, 96, "SIMPLE");
	return d;
}

static union descr other(uint64_t type)
{
	union descr d = { { 0 } };
	uint64_t timer = 1000;

	put(&d, 0, &type, 8);
	put(&d, 32, &timer, 8);
	return d;
}

/* ---- what is measured ---- */

static double pass(void)
{
	union descr d = other(256); /* GroupApi */
	double start = bench_now();

	for (int i = 0; i < EACH; i++) {
		void *h;

		p->start_event(context, &h, &d);
		p->stop_event(h);
	}
	return (bench_now() - start) / EACH;
}

static double task(void)
{
	union descr d = coll();
	double start = bench_now();

	for (int i = 0; i < EACH; i++) {
		void *h;

		p->start_event(context, &h, &d);
		p->stop_event(h);
	}
	return (bench_now() - start) / EACH;
}

/* Kernels of one collective that never is complete. */
static double kernels(void)
{
	union descr d = coll(), k = other(64);
	uint8_t many = 255;
	uint64_t to = 2000;
	double start, took;
	void *parent;

	put(&d, 80, &many, 1);
	p->start_event(context, &parent, &d);
	put(&k, 8, &parent, sizeof(parent));
	start = bench_now();
	for (int i = 0; i < EACH; i++) {
		void *h;

		p->start_event(context, &h, &k);
		p->record_event_state(h, KERNEL_STOP, &to);
		p->stop_event(h);
	}
	took = (bench_now() - start) / EACH;
	p->stop_event(parent);
	return took;
}

/* A collective of one channel from its start to its sample. */
static double whole(void)
{
	union descr d = coll(), k = other(64);
	uint64_t to = 2000;
	double start = bench_now();

	for (int i = 0; i < EACH; i++) {
		void *h, *c;

		p->start_event(context, &h, &d);
		p->stop_event(h);
		put(&k, 8, &h, sizeof(h));
		p->start_event(context, &c, &k);
		p->record_event_state(c, KERNEL_STOP, &to);
		p->stop_event(c);
	}
	return (bench_now() - start) / EACH;
}

static void measure(const char *key, const char *text, double (*fn)(void), unsigned telemetry,
		    double budget)
{
	static double took[ROUNDS];
	double ns;

	nb_events_telemetry(telemetry);
	for (int r = 0; r < ROUNDS; r++) {
		bench_yardstick();
		took[r] = fn();
	}
	ns = bench_median(took, ROUNDS);
	printf("%-60s %8.2f ns\n", text, ns);
	bench_row(key, text, ns, "ns", budget);
}

/* ---- with a program attached ---- */

/* One in which the same maps are used by the program alone. */
static double program_alone(struct nb_gen *g)
{
	struct ncclbpf_coll_done c = { .comm_id = 1,
				       .bytes = 4 << 20,
				       .coll = 4,
				       .ranks = 8,
				       .nodes = 1,
				       .channels = 1,
				       .gpu_ns = 1000,
				       .exec_ns = 1000 };
	const struct nb_gen_prog *prog = NULL;
	double start;

	for (uint32_t i = 0; i < g->nevents; i++)
		if (g->event[i].hook == NB_HOOK_COLL_DONE)
			prog = &g->event[i];
	if (!prog) {
		fprintf(stderr, "event_bench: no profiler/coll_done program\n");
		exit(1);
	}
	start = bench_now();
	for (int i = 0; i < EACH; i++)
		nb_exec_run(prog->exec, &c, sizeof(c));
	return (bench_now() - start) / EACH;
}

/*
 * What an attached program adds to a collective and its kernel, over what its
 * machine code takes by itself. They take turns.
 */
static void program_rows(struct nb_gen *g)
{
	static const char *const text[] = {
		"collective and its one kernel, telemetry and latency policy",
		"what an attached program adds, over its machine code alone",
	};
	static double with[ROUNDS], without[ROUNDS], alone[ROUNDS];
	double ns[3];

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	for (int r = 0; r < ROUNDS; r++) {
		bench_yardstick();
		nb_hooks_use(NULL);
		nb_events_ask();
		without[r] = whole();
		nb_hooks_use(g);
		nb_events_ask();
		with[r] = whole();
		alone[r] = program_alone(g);
	}
	ns[0] = bench_median(without, ROUNDS);
	ns[1] = bench_median(with, ROUNDS);
	ns[2] = bench_median(alone, ROUNDS);
	printf("%-60s %8.2f ns\n%-60s %8.2f ns\n", text[0], ns[1],
	       "of that, its machine code alone", ns[2]);
	bench_row("event.program", text[0], ns[1], "ns", 0);
	bench_row("event.attached", text[1], ns[1] - ns[0] - ns[2], "ns", 40);
}

static struct nb_gen *policy(const char *path)
{
	static unsigned char bytes[1 << 20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
	struct nb_policy *of;
	struct nb_gen *g;
	struct nb_err err;

	if (f)
		fclose(f);
	if (!n || nb_policy_new(&of, bytes, n, NULL, &err) || nb_gen_new(&g, &of, 1, NULL, &err)) {
		fprintf(stderr, "event_bench: %s cannot be had\n", path);
		exit(1);
	}
	return g;
}

int main(int argc, char **argv)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	if (argc != 2) {
		fprintf(stderr, "usage: event_bench LATENCY.policy\n");
		return 64;
	}
	p->init.v5(&context, 1, &mask, "bench", 1, 8, 0, NULL);
	printf("%-60s %8d\n", "activation mask while nobody listens", mask);
	bench_row("event.mask", "activation mask while nobody listens: events", mask, "asked", 0.1);
	measure("event.pass", "event of no interest, start and stop", pass, NB_TEL_ON, 40);
	measure("event.coll", "collective with telemetry, start and stop", task, NB_TEL_ON, 120);
	measure("event.kernel", "channel's kernel, start, GPU time and stop", kernels,
		NB_TEL_ON | NB_TEL_GPU, 40);
	measure("event.whole", "collective and its one kernel, telemetry", whole,
		NB_TEL_ON | NB_TEL_GPU, 0);
	event_peers(getenv("BENCH_PEER"));
	program_rows(policy(argv[1]));
	p->finalize(context);
	return 0;
}
