// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Profiler events, switches and ends on many threads at the same time.
#include "test/unit/profiler_rank.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- at the same time ---- */

enum { LOOPS = 3000 };

static void *one_rank(void *arg)
{
	struct host_prof *c = arg;
	struct host_coll k = ring;

	for (int i = 0; i < LOOPS; i++) {
		k.seq = (uint64_t)i;
		host_prof_coll(c, &k);
	}
	return NULL;
}

static uint64_t go_on; /* atomic */

static void look(struct nb_pcomm *pc, void *arg)
{
	uint64_t *sum = arg;

	for (int i = 0; i < NB_TEL_ROWS; i++)
		*sum += __atomic_load_n(&pc->tel.row[i].time[NB_TEL_ENQUEUE].count,
					__ATOMIC_RELAXED);
}

static void *switcher(void *arg)
{
	uint64_t sum = 0;

	(void)arg;
	for (unsigned i = 0; __atomic_load_n(&go_on, __ATOMIC_RELAXED); i++) {
		nb_events_telemetry(NB_TEL_ON | (i & 1 ? NB_TEL_GPU : 0) |
				    (i & 2 ? NB_TEL_PROXY : 0));
		nb_events_each(look, &sum);
		nb_events_tick();
	}
	return NULL;
}

static void *opener(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		struct host_prof c = open_rank(6, 7);

		host_prof_coll(&c, &ring);
		host_prof_fini(&c);
	}
	return NULL;
}

/* Sanitizers keep notes of what is read and allocated. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define MEMORY_IS_OURS
#endif

#if defined(MEMORY_IS_OURS)
/* Of this process, private and in use. */
static long anonymous_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];
	long kb = -1;

	while (f && kb < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RssAnon:", 8))
			kb = strtol(line + 8, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}
#endif

/* As long as nothing is measured. */
TEST(a_communicator_takes_little_memory)
{
#if defined(MEMORY_IS_OURS)
	struct host_prof c[16];
	long before;

	c[0] = open_rank(6, 0);
	before = anonymous_kb();
	for (int i = 1; i < 16; i++)
		c[i] = open_rank(6, i);
	if (before >= 0)
		ck_assert_int_lt(anonymous_kb() - before, 15 * 256);
	for (int i = 0; i < 16; i++)
		host_prof_fini(&c[i]);
#endif
}

TEST(threads_events_switches_and_ends)
{
	struct host_prof c[2] = { open_rank(5, 0), open_rank(5, 1) };
	uint64_t n = 0;
	pthread_t t[6];

	nb_events_telemetry(NB_TEL_ON);
	go_on = 1;
	for (int i = 0; i < 4; i++) /* two threads a communicator */
		pthread_create(&t[i], NULL, one_rank, &c[i % 2]);
	pthread_create(&t[4], NULL, switcher, NULL);
	pthread_create(&t[5], NULL, opener, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
	pthread_join(t[4], NULL);
	pthread_join(t[5], NULL);
	nb_events_close(comm_of(&c[0]));
	nb_events_close(comm_of(&c[1]));
	nb_events_each(look, &n);
	/* each was counted once, or there was no slot for it */
	ck_assert_uint_le(n, 4 * LOOPS);
	ck_assert_uint_ge(n + nb_events_lost(NB_LOST_FULL) + nb_events_lost(NB_LOST_CUT),
			  4 * LOOPS);
	host_prof_fini(&c[0]);
	host_prof_fini(&c[1]);
}

/* A progress thread that serves a communicator which may have ended, and whose
 * place another may have. */
static void *late_thread(void *arg)
{
	void *const *ctx = arg;
	struct host_prof c = { .abi = 5, .mask = &mask, .name = "late" };

	c.p = (const struct host_profiler *)(const void *)&ncclProfiler_v5;
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		c.ctx = __atomic_load_n(ctx, __ATOMIC_ACQUIRE);
		host_prof_coll(&c, &ring);
	}
	return NULL;
}

TEST(the_end_may_come_in_the_middle)
{
	struct host_prof last;
	uint64_t n = 0;
	void *ctx = NULL;
	pthread_t t[3];

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU | NB_TEL_PROXY);
	go_on = 1;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, late_thread, &ctx);
	for (int i = 0; i < 60; i++) {
		struct host_prof c = open_rank(5, i);

		__atomic_store_n(&ctx, c.ctx, __ATOMIC_RELEASE);
		host_prof_coll(&c, &ring);
		nb_events_tick();
		host_prof_fini(&c); /* the threads go on with it */
	}
	__atomic_store_n(&go_on, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	/* the next one in the place has nothing of theirs */
	last = open_rank(5, 1);
	host_prof_coll(&last, &ring);
	nb_events_close(comm_of(&last));
	nb_events_each(look, &n);
	ck_assert_uint_eq(n, 1);
	host_prof_fini(&last);
}

/* The same handle is stopped by two threads: one of them counts. */
static void *stopper(void *arg)
{
	void **shared = arg;

	for (int i = 0; i < LOOPS; i++)
		ncclProfiler_v5.stop_event(__atomic_load_n(shared, __ATOMIC_RELAXED));
	return NULL;
}

TEST(two_threads_stop_one_event)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *shared = NULL;
	pthread_t t;

	nb_events_telemetry(NB_TEL_ON);
	pthread_create(&t, NULL, stopper, &shared);
	for (int i = 0; i < LOOPS; i++) {
		void *h = host_prof_start(&c, &e);

		__atomic_store_n(&shared, h, __ATOMIC_RELAXED);
		host_prof_stop(&c, h);
	}
	pthread_join(t, NULL);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, LOOPS);
	host_prof_fini(&c);
}

UNIT_MAIN("profiler_threads")
