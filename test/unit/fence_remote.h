// SPDX-License-Identifier: MIT
#ifndef NB_TEST_FENCE_REMOTE_H
#define NB_TEST_FENCE_REMOTE_H

/*
 * test_fence.c's record: in a store that two hosts share. Ranks belong to the
 * hosts in turn. An agent on each host carries the store's word to its host's
 * copy and what its ranks have announced to the store: late, and often enough
 * not at all. Whatever else is asked of the store takes its time.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "plugin/job/fence.h"

#define BACK_END "fence_remote"
enum { SECONDS = 1, HOSTS = 2 };

static struct remote {
	uint64_t word, fallback;
	uint64_t asked; /* barriers */
	struct host {
		struct nb_seg_record copy;
		uint64_t answered; /* the barrier it has come to */
		struct nb_standing standing[NB_SEG_SLOTS];
	} host[HOSTS];
} * remote; /* shared with forked ranks, which have no agents */

static struct nb_seg_comm *remote_comm;
static pthread_t remote_agents[HOSTS];
static bool remote_over;
static pid_t remote_pid; /* of the process with the agents */
static pthread_mutex_t remote_joining = PTHREAD_MUTEX_INITIALIZER;
static bool remote_membarrier;
static struct nb_record remote_record; /* what ranks have */

#define REMOTE_GET(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define REMOTE_SET(p, v) __atomic_store_n(&(p), v, __ATOMIC_SEQ_CST)

static void remote_nap(long us)
{
	struct timespec ts = { 0, us * 1000 };

	nanosleep(&ts, NULL);
}

/* ---- an agent ---- */

/* The announcement first: who sees the mark finds what it was set with. */
static void remote_tell(struct nb_standing *to, const struct nb_seg_slot *slot)
{
	uint64_t waiting = REMOTE_GET(slot->waiting);
	uint64_t announced = REMOTE_GET(slot->announced);

	REMOTE_SET(to->announced, announced);
	REMOTE_SET(to->waiting, waiting);
	REMOTE_SET(to->generation, REMOTE_GET(slot->generation));
	REMOTE_SET(to->state, REMOTE_GET(slot->state));
}

static void remote_turn(struct host *h, uint32_t index, uint32_t luck)
{
	uint64_t asked = REMOTE_GET(remote->asked);
	const struct nb_seg_comm *comm = REMOTE_GET(remote_comm);

	if (luck % 8 == 0)
		return; /* the word was lost on its way */
	REMOTE_SET(h->copy.word, REMOTE_GET(remote->word));
	if (!comm || luck % 8 < 3)
		return; /* the answer was */
	if (REMOTE_GET(remote_membarrier) && !nb_segment_membarrier(NULL))
		return;
	pthread_mutex_lock(&remote_joining);
	for (uint32_t i = index; i < NB_SEG_SLOTS; i += HOSTS)
		remote_tell(&h->standing[i], &comm->slot[i]);
	pthread_mutex_unlock(&remote_joining);
	REMOTE_SET(h->answered, asked);
}

static void *remote_agent(void *arg)
{
	struct host *h = arg;
	uint32_t index = (uint32_t)(h - remote->host), luck = 7 + index;

	while (!REMOTE_GET(remote_over)) {
		luck = luck * 1664525 + 1013904223;
		remote_turn(h, index, luck >> 16);
		remote_nap(10 + (luck >> 24));
	}
	return NULL;
}

/* ---- the functions ---- */

static uint64_t remote_load(const struct nb_record *r)
{
	(void)r;
	remote_nap(20);
	return REMOTE_GET(remote->word);
}

static bool remote_swap(const struct nb_record *r, uint64_t from, uint64_t to)
{
	(void)r;
	remote_nap(20);
	return __atomic_compare_exchange_n(&remote->word, &from, to, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static uint64_t remote_fallback(const struct nb_record *r)
{
	(void)r;
	return REMOTE_GET(remote->fallback);
}

static void remote_set_fallback(const struct nb_record *r, uint64_t word)
{
	(void)r;
	REMOTE_SET(remote->fallback, word);
}

static bool remote_barrier(const struct nb_record *r)
{
	uint64_t n = __atomic_add_fetch(&remote->asked, 1, __ATOMIC_SEQ_CST);

	(void)r;
	for (long tries = 0; tries < 200000; tries++) {
		bool all = true;

		for (int h = 0; h < HOSTS; h++)
			all = all && REMOTE_GET(remote->host[h].answered) >= n;
		if (all)
			return true;
		remote_nap(50);
	}
	return false;
}

static void remote_standing(const struct nb_record *r, uint32_t rank,
			    struct nb_standing *out)
{
	struct nb_standing *s = &remote->host[rank % HOSTS].standing[rank];

	(void)r;
	out->waiting = REMOTE_GET(s->waiting);
	out->announced = REMOTE_GET(s->announced);
	out->generation = REMOTE_GET(s->generation);
	out->state = REMOTE_GET(s->state);
}

static void remote_publish(const struct nb_record *r)
{
	(void)r; /* the agent sees it in time */
}

static void remote_wait(const struct nb_record *r, unsigned turn)
{
	(void)r, (void)turn;
	remote_nap(50);
}

static const struct nb_record_ops remote_ops = {
	.load = remote_load,
	.swap = remote_swap,
	.fallback = remote_fallback,
	.set_fallback = remote_set_fallback,
	.barrier = remote_barrier,
	.standing = remote_standing,
	.publish = remote_publish,
	.wait = remote_wait,
};

/* ---- for the tests ---- */

static void back_end_open(void)
{
	remote = mmap(NULL, sizeof(*remote), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(remote, MAP_FAILED);
	remote_record = (struct nb_record){ .ops = &remote_ops };
	remote_pid = getpid();
	for (int h = 0; h < HOSTS; h++)
		ck_assert_int_eq(pthread_create(&remote_agents[h], NULL,
						remote_agent, &remote->host[h]),
				 0);
}

/* The agents read the segment, which is about to go. */
static void back_end_close(void)
{
	REMOTE_SET(remote_over, true);
	for (int h = 0; h < HOSTS; h++)
		pthread_join(remote_agents[h], NULL);
}

/*
 * An agent must not read a slot while it is taken and zeroed, which on two
 * hosts happens long before it is told of the rank. A forked child has no
 * agents, and the lock as it was when it was forked.
 */
static void back_end_begin_join(void)
{
	if (getpid() == remote_pid)
		pthread_mutex_lock(&remote_joining);
}

static void back_end_join(struct nb_fence_rank *f, const struct nb_segment *s,
			  struct nb_seg_comm *comm, uint32_t slot)
{
	REMOTE_SET(remote_membarrier, s->membarrier);
	REMOTE_SET(remote_comm, comm);
	if (getpid() == remote_pid)
		pthread_mutex_unlock(&remote_joining);
	f->record = &remote->host[slot % HOSTS].copy;
	f->store = &remote_record;
}

static void back_end_settle(const struct nb_record *r)
{
	ck_assert(remote_barrier(r));
}

static struct nb_record back_end_record(const struct nb_segment *s,
					struct nb_seg_comm *comm)
{
	REMOTE_SET(remote_membarrier, s->membarrier);
	REMOTE_SET(remote_comm, comm);
	remote_record.nranks = NB_SEG_SLOTS;
	return remote_record;
}

static uint64_t back_end_word(const struct nb_seg_comm *comm)
{
	(void)comm;
	return REMOTE_GET(remote->word);
}

static void back_end_force(struct nb_seg_comm *comm, uint64_t word,
			   uint64_t fallback)
{
	(void)comm;
	REMOTE_SET(remote->fallback, fallback);
	REMOTE_SET(remote->word, word);
	back_end_settle(&remote_record);
}

#endif
