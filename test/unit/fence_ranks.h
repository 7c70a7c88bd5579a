// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_FENCE_RANKS_H
#define NB_TEST_UNIT_FENCE_RANKS_H

/*
 * Ranks that decide by generations, what they decided, and a coordinator that
 * commits.
 */
#include "test/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "plugin/job/fence.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"
#include "plugin/job/registry.h"

enum {
	RANKS = 8,
	PROCS = 4,
	DRIFT = 2048,	/* how far ranks may run ahead of the last one */
	SEEN = 1 << 14, /* decisions remembered for comparison */
	COMM = 77
};

/* What is compared: shared by all ranks. */
struct court {
	uint64_t seen[SEEN]; /* decision + 1 in the high, generation low 22 */
	uint64_t at[RANKS];  /* progress of each rank */
	uint64_t divergent;
	uint32_t stop, ready;
};

static inline struct court *court_new(void)
{
	struct court *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(c, MAP_FAILED);
	return c;
}

static inline uint64_t load(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_SEQ_CST);
}

static inline double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Rank says that it made decision @k with @number. */
static inline void testify(struct court *c, uint64_t k, uint32_t number)
{
	uint64_t *cell = &c->seen[k % SEEN], was = load(cell);
	uint64_t mine = (k + 1) << 22 | number;

	while (was >> 22 < k + 1)
		if (__atomic_compare_exchange_n(cell, &was, mine, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return;
	if (was >> 22 == k + 1 && was != mine)
		__atomic_fetch_add(&c->divergent, 1, __ATOMIC_SEQ_CST);
}

static inline uint64_t slowest(const struct court *c, uint32_t n)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < n; i++)
		if (load(&c->at[i]) < least)
			least = load(&c->at[i]);
	return least;
}

struct rank {
	struct nb_fence_rank f;
	struct court *court;
	uint32_t index, n;
	uint32_t timeouts;
};

static inline uint32_t decide(struct rank *r)
{
	bool timed_out = false;
	uint64_t k;

	if (!nb_fence_enter(&r->f, &k))
		nb_fence_adopt(&r->f, nb_fence_look(&r->f, k, &timed_out));
	__atomic_fetch_add(&r->timeouts, timed_out, __ATOMIC_SEQ_CST);
	testify(r->court, k, r->f.number);
	__atomic_store_n(&r->court->at[r->index], k + 1, __ATOMIC_SEQ_CST);
	return r->f.number;
}

static inline void run(struct rank *r)
{
	__atomic_fetch_add(&r->court->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST)) {
		if (r->f.seq % 64 == 0)
			while (r->f.seq > slowest(r->court, r->n) + DRIFT &&
			       !__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST))
				sched_yield();
		decide(r);
	}
}

static inline void *run_thread(void *arg)
{
	run(arg);
	return NULL;
}

static inline uint64_t record_word(const struct nb_seg_comm *comm)
{
	return __atomic_load_n(&comm->record.word, __ATOMIC_SEQ_CST);
}

/* What no protocol would write. */
static inline void force_record(struct nb_seg_comm *comm, uint64_t word, uint64_t fallback)
{
	__atomic_store_n(&comm->record.fallback, fallback, __ATOMIC_SEQ_CST);
	__atomic_store_n(&comm->record.word, word, __ATOMIC_SEQ_CST);
}

static inline void join(struct rank *r, struct nb_segment *s, struct court *court, uint32_t index,
			uint32_t n, struct nb_seg_comm **comm)
{
	uint32_t slot;

	memset(r, 0, sizeof(*r));
	ck_assert_int_eq(nb_segment_lock(s, 5000, NULL), 0);
	ck_assert_int_eq(nb_segment_join(s,
					 &(struct nb_joining){ .has_id = true,
							       .comm_id = COMM,
							       .nranks = n,
							       .nnodes = 1,
							       .first = 0 },
					 comm, &slot, NULL),
			 0);
	nb_segment_unlock(s);
	r->f.slot = &(*comm)->slot[slot];
	r->f.record = &(*comm)->record;
	r->f.timeout_ms = 5000;
	r->f.odd = s->membarrier ? 0 : NB_FENCE_FULL;
	r->court = court;
	r->index = index;
	r->n = n;
}

static inline struct nb_segment *attach(bool membarrier)
{
	struct nb_segment *s;

	ck_assert_int_eq(nb_segment_attach(&s, -1, "t", 0, membarrier, NULL), 0);
	return s;
}

static inline void detach(struct nb_segment *s)
{
	nb_segment_detach(s);
}

static inline uint32_t fresh(struct nb_segment *s)
{
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t number;

	memset(digest, (int)s->mem->next_gen & 0xff, sizeof(digest));
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &number, NULL), 0);
	return number;
}

/* Commit without a pause: @least times, and at most until @seconds have passed, MOST_COMMITS. */
enum { MOST_COMMITS = TIMES(30000) };

static inline unsigned coordinate(struct nb_segment *s, struct nb_seg_comm *comm, double seconds,
				  unsigned least)
{
	struct nb_fence_opts opts = { .margin = 64,
				      .timeout_ms = 2000,
				      .membarrier = s->membarrier };
	double end = now() + seconds;
	unsigned done = 0;

	while (done < least || (done < MOST_COMMITS && now() < end)) {
		struct nb_fence_result r;

		ck_assert_int_eq(nb_segment_lock(s, 5000, NULL), 0);
		done += nb_fence_commit(comm, fresh(s), &opts, &r) == NB_FENCE_COMMITTED;
		nb_segment_unlock(s);
	}
	return done;
}

/* How long ranks decide under changes: FENCE_SECONDS, or 1. */
static inline double hunt_seconds(void)
{
	const char *s = getenv("FENCE_SECONDS");

	return s ? strtod(s, NULL) : 1;
}

static inline void stop(struct court *court)
{
	__atomic_store_n(&court->stop, 1, __ATOMIC_SEQ_CST);
}

static inline void threads_agree(bool membarrier)
{
	struct nb_segment *s = attach(membarrier);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[RANKS];
	pthread_t t[RANKS];
	unsigned done;

	for (uint32_t i = 0; i < RANKS; i++)
		join(&r[i], s, court, i, RANKS, &comm);
	for (int i = 0; i < RANKS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, run_thread, &r[i]), 0);
	done = coordinate(s, comm, hunt_seconds(), 20);
	while (slowest(court, RANKS) < 10000)
		usleep(1000);
	stop(court);
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	printf("# %u commits over %llu decisions\n", done, (unsigned long long)court->at[0]);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
}

#endif
