// SPDX-License-Identifier: MIT
// plugin_bench A.policy B.policy SLO.policy: what a caller sees of parts of the
// plugin, which is linked in here: the fence check and the writing down of a
// decision by themselves (the inlined functions of plugin/tuner/decide.h), the
// decision that takes another generation, and the way from a file to a program
// that is ready to run.
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/bpf/generation/generation.h"
#include "core/ncclbpf.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/change/change.h"
#include "test/unit/stage_use.h"
#include "plugin/tuner/decide.h"
#include "test/bench/bench.h"
#include "plugin/runtime/lock.h"
#include "plugin/policies/held.h"
#include "plugin/comm/comm.h"
#include "test/unit/packed.h"

enum {
	EACH = 4096,
	ROUNDS = 501,
	SWITCHES = 1000,
	PER_SWITCH = 400,
	ALLREDUCE = 4,
	READY_ROUNDS = 201
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "plugin_bench: %s: %s\n", what, why);
	exit(1);
}

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static struct nb_comm *communicator(void)
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	void *c = NULL;

	if (ncclTunerPlugin_v5.init(&c, 1, 1, 1, quiet, &nvl, NULL) || !c)
		die("communicator", "init failed");
	return c;
}

static double ask(struct nb_comm *c, size_t size)
{
	float table[21];
	int channels = 0;
	double start;

	for (int e = 0; e < 21; e++)
		table[e] = 100.0f + (float)(e * 5 % 21);
	start = bench_now();
	ncclTunerPlugin_v5.get_coll_info(c, ALLREDUCE, size, 1, (float **)(void *)table, 7, 3, 0,
					 &channels);
	return bench_now() - start;
}

/* ---- the parts of a decision -------------------------------------------- */

typedef uint64_t part(struct nb_comm *c, uint64_t bytes);

static __attribute__((noinline)) uint64_t part_none(struct nb_comm *c, uint64_t bytes)
{
	__asm__ volatile("" : : "r"(c), "r"(bytes) : "memory");
	return bytes;
}

static __attribute__((noinline)) uint64_t part_fence(struct nb_comm *c, uint64_t bytes)
{
	return nb_fence_enter_usual(&c->fence) ? c->fence.seq - 1 : bytes;
}

static __attribute__((noinline)) uint64_t part_ring(struct nb_comm *c, uint64_t bytes)
{
	uint64_t k;

	if (!nb_fence_enter_usual(&c->fence))
		return bytes;
	k = c->fence.seq - 1;
	packed_store(&c->ring[k % NB_RING], k, bytes, c->fence.number, bytes, 0);
	return k;
}

static __attribute__((noinline)) uint64_t part_all(struct nb_comm *c, uint64_t bytes)
{
	const struct nb_seen *seen = nb_seen_slot(c->seen, bytes, ALLREDUCE);
	struct nb_outcome o = { bytes, 0, 0 };
	uint64_t k;

	if (!nb_fence_enter_usual(&c->fence))
		return bytes;
	k = c->fence.seq - 1;
	nb_decision_record(c, seen, k, bytes, 1, false, &o, nb_hash_step(bytes, bytes));
	return k;
}

static const struct {
	const char *key, *text;
	part *fn;
	double budget;
} parts[] = {
	{ "", "", part_none, 0 },
	{ "part.fence", "fence check, by itself", part_fence, 0 },
	{ "part.fence_ring", "fence check and ring, by themselves", part_ring, 4 },
	{ "part.all", "fence check, ring, latest of its size and agreement hash", part_all, 0 },
};
enum { NPARTS = sizeof(parts) / sizeof(parts[0]) };

static void measure_parts(struct nb_comm *c)
{
	static double took[NPARTS][ROUNDS];
	double none;

	for (int r = 0; r < ROUNDS; r++) {
		bench_yardstick();
		for (int p = 0; p < NPARTS; p++) {
			part *volatile fn = parts[p].fn;
			double start = bench_now();

			for (unsigned i = 0; i < EACH; i++)
				fn(c, (uint64_t)1024 << i % 18);
			took[p][r] = (bench_now() - start) / EACH;
		}
	}
	none = bench_median(took[0], ROUNDS);
	for (int p = 1; p < NPARTS; p++) {
		double ns = bench_median(took[p], ROUNDS) - none;

		printf("%-60s %8.2f ns\n", parts[p].text, ns);
		bench_row(parts[p].key, parts[p].text, ns, "ns", parts[p].budget);
	}
}

/* ---- from a file to a program that is ready ----------------------------- */

static size_t read_file(const char *path, unsigned char *to, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(to, 1, room, f) : 0;

	if (!n || n == room)
		die(path, "cannot be read");
	fclose(f);
	return n;
}

static unsigned char bytes[1 << 20];

static void measure_ready(const char *path)
{
	static double took[READY_ROUNDS];
	double us;

	for (int r = 0; r < READY_ROUNDS; r++) {
		double start = bench_now();
		size_t n = read_file(path, bytes, sizeof(bytes));
		struct nb_policy *p;
		struct nb_gen *g;
		struct nb_err err;

		if (nb_policy_new(&p, bytes, n, NULL, &err) || nb_gen_new(&g, &p, 1, NULL, &err))
			die(path, err.text);
		took[r] = (bench_now() - start) / 1000;
		nb_gen_put(g);
		nb_policy_put(p);
	}
	us = bench_median(took, READY_ROUNDS);
	printf("%-60s %8.1f us\n", "slo_enforcer, from its file to ready", us);
	bench_row("load.ready", "slo_enforcer, from its file to ready", us, "us", 1000);
}

/* ---- the decision that takes another generation ------------------------- */

static void hold(const char *path, const char **name)
{
	size_t n = read_file(path, bytes, sizeof(bytes));
	struct nb_held *held;
	struct nb_err err;

	nb_lock(NB_LOCK_STATE);
	if (nb_held_add(bytes, n, NULL, NB_SOURCE_SHELL, NULL, NULL, &held, &err))
		die(path, err.text);
	*name = strdup(held->policy->img->name);
	nb_unlock(NB_LOCK_STATE);
}

/* False: the communicator ran past every fence; as it was before. */
static bool change(const char *name, uint32_t *number)
{
	uint8_t digest[NB_SHA256_SIZE];
	static struct nb_change done;
	struct nb_err err;

	if (stage_use(&name, 1, digest, &err) ||
	    nb_change_commit(digest, NB_CHANGE_ANY, &done, &err))
		die(name, err.text);
	*number = (uint32_t)done.generation;
	return done.comm[0].state == NB_CHANGE_COMMITTED;
}

/* Times of one kind: the latest of them, and how many there were. */
struct times {
	double ns[SWITCHES];
	int n;
};

static void add(struct times *t, double ns)
{
	t->ns[t->n++ % SWITCHES] = ns;
}

static double median_of(struct times *t)
{
	return t->n ? bench_median(t->ns, t->n < SWITCHES ? t->n : SWITCHES) : 0;
}

/* Decisions: plain ones; those that see a fence ahead; those that take what is
 * committed. Those that waited for it as well are counted alone.
 */
static struct seen {
	struct times plain, ahead, moved;
	int waited;
	uint64_t made, lost;
} seen;

static struct {
	const char *name[2];
	unsigned done; /* atomic */
	/* atomic: switches that the deciding thread has seen. To watch its
	 * communicator instead would take that from under its hands. */
	unsigned taken __attribute__((aligned(64)));
} changes;

static void decide(struct nb_comm *c, struct seen *s)
{
	const struct nb_gen *before = c->gen;
	const uint64_t looks = c->fence.looks, waits = c->fence.waits;
	uint64_t k = nb_comm_decisions(c);
	struct nb_decision d;
	double ns = ask(c, (size_t)1024 << k % 18);

	if (c->gen != before) {
		if (c->fence.waits != waits)
			s->waited++;
		else
			add(&s->moved, ns);
		__atomic_store_n(&changes.taken, (unsigned)(s->moved.n + s->waited),
				 __ATOMIC_RELEASE);
	} else if (c->fence.looks != looks) {
		add(&s->ahead, ns);
	} else if (k % PER_SWITCH == 0) {
		add(&s->plain, ns);
	}
	s->made++;
	if (!nb_comm_decision(c, k, &d) || d.seq != k || d.generation != c->fence.number)
		s->lost++;
}

/* Another thread changes the policy, as the control thread would. */
static void *change_all(void *unused)
{
	for (unsigned n = 0; n < SWITCHES; n++) {
		uint32_t number;

		while (!change(changes.name[n % 2], &number))
			;
		while (__atomic_load_n(&changes.taken, __ATOMIC_ACQUIRE) <= n)
			sched_yield();
		__atomic_store_n(&changes.done, n + 1, __ATOMIC_RELEASE);
	}
	return unused;
}

static void switch_rows(struct seen *s)
{
	double plain = median_of(&s->plain);
	double ns = median_of(&s->moved) - plain;
	double ahead = median_of(&s->ahead) - plain;

	printf("%" PRIu64 " decisions, %d switches seen and %d waited for, %" PRIu64
	       " lost; ns over others: %.0f; %d saw a fence ahead: %.0f\n",
	       s->made, s->moved.n, s->waited, s->lost, ns, s->ahead.n, ahead);
	bench_row("switch.ns", "decision that takes another program, over others", ns, "ns", 100);
	bench_row("switch.ahead", "decision that sees a fence ahead, over others", ahead, "ns", 0);
	bench_row("switch.lost", "decisions lost, of 400000 or more across 1000 switches",
		  (double)s->lost + SWITCHES - s->moved.n - s->waited, "lost", 0.1);
}

static void measure_switch(struct nb_comm *c, const char *const paths[2])
{
	struct seen *s = &seen;
	pthread_t changer;

	for (int i = 0; i < 2; i++)
		hold(paths[i], &changes.name[i]);
	if (pthread_create(&changer, NULL, change_all, NULL))
		die("switch", "no thread");
	while (s->made < (uint64_t)SWITCHES * PER_SWITCH ||
	       __atomic_load_n(&changes.done, __ATOMIC_ACQUIRE) < SWITCHES || s->made % PER_SWITCH)
		decide(c, s);
	pthread_join(changer, NULL);
	switch_rows(s);
}

static void remove_dir(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char path[512];

	while (d && (e = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		remove(path);
	}
	if (d)
		closedir(d);
	remove(dir);
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/ncclbpf-bench-XXXXXX";
	struct nb_comm *c;

	if (argc != 4 || !mkdtemp(dir)) {
		fprintf(stderr, "usage: plugin_bench A B SLO\n");
		return 64;
	}
	unsetenv("NCCLBPF_POLICY");
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	c = communicator();
	for (uint64_t size = 1024; size <= (uint64_t)1024 << 18; size *= 2)
		ask(c, size); /* what comes first is rare */
	measure_parts(c);
	measure_ready(argv[3]);
	measure_switch(c, (const char *const *)argv + 1);
	ncclTunerPlugin_v5.finalize(c);
	remove_dir(dir);
	return 0;
}
