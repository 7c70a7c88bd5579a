// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The fence protocol where ranks count calls of NCCL's API: each is asked after
// calls of its own choice, and all of them change at the same call.
#include "test/unit/fence_ranks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Ranks whose clock counts calls of NCCL's API: each is asked after calls of
 * its own choice, more than one of them at a time, or again after the same.
 */
static void *run_by_calls(void *arg)
{
	struct rank *r = arg;
	uint64_t calls = 1, x = r->index + 1;

	__atomic_fetch_add(&r->court->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST)) {
		x = x * UINT64_C(6364136223846793005) + 1;
		calls += (x >> 40) % 4;
		__atomic_store_n(&r->f.slot->calls, calls, __ATOMIC_RELEASE);
		while (calls > slowest(r->court, r->n) + DRIFT &&
		       !__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST))
			sched_yield();
		decide(r);
	}
	return NULL;
}

static void *decide_once(void *arg)
{
	decide(arg);
	return NULL;
}

/* A call that the rank announces before NCCL asks for it, or without being asked. */
static void call(struct rank *r)
{
	bool timed_out;

	__atomic_store_n(&r->f.slot->calls, r->f.slot->calls + 1, __ATOMIC_RELEASE);
	if (!nb_fence_call(&r->f))
		nb_fence_adopt(&r->f, nb_fence_look(&r->f, r->f.clock, &timed_out));
	testify(r->court, r->f.clock, r->f.number);
}

/*
 * Ranks that look at the record at each call, as they do for replicated maps, and
 * whose tuners are asked now and then: each call has one generation on all ranks,
 * also if a rank is not asked, and decisions have that of the last call.
 */
static void *run_each_call(void *arg)
{
	struct rank *r = arg;
	uint64_t x = r->index + 1;

	__atomic_fetch_add(&r->court->ready, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST)) {
		x = x * UINT64_C(6364136223846793005) + 1;
		while (r->f.clock > slowest(r->court, r->n) + DRIFT &&
		       !__atomic_load_n(&r->court->stop, __ATOMIC_SEQ_CST))
			sched_yield();
		call(r);
		for (uint64_t i = (x >> 40) % 3; i > 0; i--)
			decide(r);
		__atomic_store_n(&r->court->at[r->index], r->f.clock + 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void threads_agree_by_calls(bool membarrier, void *(*ranks)(void *))
{
	static uint32_t clocks[RANKS][NB_RING];
	struct nb_segment *s = attach(membarrier);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[RANKS];
	pthread_t t[RANKS];
	unsigned done;

	for (uint32_t i = 0; i < RANKS; i++) {
		join(&r[i], s, court, i, RANKS, &comm);
		r[i].f.slot->calls = 1;
	}
	comm->clock = NB_CLOCK_CALLS;
	for (int i = 0; i < RANKS; i++) {
		nb_fence_by_calls(&r[i].f, clocks[i]);
		ck_assert_int_eq(pthread_create(&t[i], NULL, ranks, &r[i]), 0);
	}
	done = coordinate(s, comm, 1, 20);
	while (slowest(court, RANKS) < 10000)
		usleep(1000);
	stop(court);
	for (int i = 0; i < RANKS; i++) {
		pthread_join(t[i], NULL);
		ck_assert_uint_eq(r[i].f.slot->decisions, r[i].f.seq);
		/* a call may follow the last decision */
		ck_assert_uint_le((uint32_t)r[i].f.clock - clocks[i][(r[i].f.seq - 1) % NB_RING],
				  ranks == run_each_call ? DRIFT : 0);
	}
	printf("# %u commits over %llu calls\n", done, (unsigned long long)court->at[0]);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
}

TEST(eight_threads_agree_by_calls)
{
	threads_agree_by_calls(true, run_by_calls);
	threads_agree_by_calls(false, run_by_calls);
}

TEST(eight_threads_agree_at_each_call)
{
	threads_agree_by_calls(true, run_each_call);
	threads_agree_by_calls(false, run_each_call);
}

/* A rank that has announced a call at its fence is past it, also at its first decision. */
TEST(rank_that_announced_a_call_does_not_wait_there_at_its_first_decision)
{
	static uint32_t clocks[NB_RING];
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t armed;
	pthread_t t;

	join(&r[0], s, court, 0, 1, &comm);
	comm->clock = NB_CLOCK_CALLS;
	r[0].f.slot->calls = 1;
	nb_fence_by_calls(&r[0].f, clocks);
	call(&r[0]);
	ck_assert_uint_eq(r[0].f.slot->announced, 2);
	armed = nb_fence_word(NB_FENCE_ARMED, fresh(s), 1);
	force_record(comm, armed, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, decide_once, &r[0]), 0);
	while (load(&r[0].f.slot->decisions) != 1)
		usleep(1000);
	ck_assert_int_eq(nb_fence_decide(comm, armed, s->membarrier), NB_FENCE_OVERRUN);
	pthread_join(t, NULL);
	ck_assert_uint_eq(r[0].f.number, 0);
	detach(s);
}

/* It stands at the fence for the first time, with a call beyond it. */
TEST(rank_that_waits_calls_past_the_fence_does_not_abort_it)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t word;

	join(&r[0], s, court, 0, 1, &comm);
	comm->clock = NB_CLOCK_CALLS;
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 3, &word), NB_FENCE_COMMITTED);
	__atomic_store_n(&r[0].f.slot->announced, 9, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r[0].f.slot->waiting, word, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_COMMITTED);
	/* and where it says nothing it is past it */
	r[0].f.slot->generation = nb_fence_word_gen(word);
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 3, &word), NB_FENCE_COMMITTED);
	__atomic_store_n(&r[0].f.slot->announced, 19, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_OVERRUN);
	detach(s);
}

/* One that decided past the fence before it was armed waits, but does not say
 * so: it is past it. */
TEST(rank_that_decided_past_the_fence_does_not_say_that_it_waits)
{
	static uint32_t clocks[NB_RING];
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t armed;
	pthread_t t;

	join(&r[0], s, court, 0, 1, &comm);
	comm->clock = NB_CLOCK_CALLS;
	r[0].f.slot->calls = 1 + 20;
	nb_fence_by_calls(&r[0].f, clocks);
	ck_assert_uint_eq(r[0].f.slot->announced, 21);
	decide(&r[0]);
	r[0].f.slot->calls = 1 + 22;
	armed = nb_fence_word(NB_FENCE_ARMED, fresh(s), 18);
	force_record(comm, armed, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, decide_once, &r[0]), 0);
	while (load(&r[0].f.slot->announced) != 23)
		usleep(1000);
	usleep(5000);
	{

		ck_assert_int_eq(nb_fence_decide(comm, armed, s->membarrier), NB_FENCE_OVERRUN);
	}
	pthread_join(t, NULL);
	ck_assert_uint_eq(record_word(comm), 0);
	detach(s);
}

/* Somebody has switched off the calls while the coordinator asks the ranks. */
TEST(a_clock_that_ends_rolls_the_fence_back)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t word;

	join(&r[0], s, court, 0, 1, &comm);
	comm->clock = NB_CLOCK_CALLS;
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 3, &word), NB_FENCE_COMMITTED);
	comm->clock = NB_CLOCK_NONE;
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_OVERRUN);
	ck_assert_uint_eq(record_word(comm), 0);
	detach(s);
}

UNIT_MAIN("fence_calls")
