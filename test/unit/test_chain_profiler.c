// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A displaced profiler beside ours: two masks, two handles an event, and what
// NCCL may do with handles that mean nothing any more. What it is told is
// compared, version by version, in test/integration/chain.t.
#include "test/unit/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/event_pairs.h"
#include "plugin/profiler/events.h"
#include "test/fakes/host/prof.h"
#include "test/unit/pools_room.h"
#include "plugin/wrap/wrapped.h"

static int mask = 0x55;
static void *peer;

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static struct host_prof open_rank(int rank)
{
	const char *build = getenv("B");
	struct host_prof c = { .abi = 6,
			       .mask = &mask,
			       .name = "world",
			       .id = 0xabc,
			       .nodes = 1,
			       .ranks = 8,
			       .rank = rank };
	char path[400];

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/profiler_v6.so",
		 build ? build : "build/debug");
	pools_have_room();
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "chain_profiler", 1);
	setenv("NCCLBPF_CHAIN_PROFILER", path, 1);
	c.p = (const struct host_profiler *)(const void *)&ncclProfiler_v6;
	ck_assert_int_eq(host_prof_init(&c, quiet), 0);
	ck_assert_ptr_nonnull(c.ctx);
	peer = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(peer);
	return c;
}

static unsigned its(const char *counter)
{
	return __atomic_load_n((unsigned *)dlsym(peer, counter), __ATOMIC_RELAXED);
}

static uint64_t refused(void)
{
	return nb_wrapped[NB_WRAPPED_PROFILER].refused;
}

static void *begin(struct host_prof *c, uint64_t type, void *parent)
{
	return host_prof_start(c, &(struct host_event){ .type = type,
							.parent = parent,
							.pid = getpid(),
							.func = 4,
							.channels = 1 });
}

TEST(masks_are_merged)
{
	struct host_prof c = open_rank(0);

	ck_assert_int_eq(mask, 16 | 64); /* its own; we need nothing */
	nb_events_telemetry(NB_TEL_ON);
	ck_assert_int_eq(mask, 2 | 4 | 16 | 64);
	nb_events_telemetry(0);
	ck_assert_int_eq(mask, 16 | 64);
	ck_assert_uint_eq(nb_events_mask(), 16 | 64);
	/* it may want something else at any time */
	__atomic_store_n(&nb_prof.chained_mask, 2, __ATOMIC_RELAXED);
	nb_events_tick();
	ck_assert_int_eq(mask, 2);
	__atomic_store_n(&nb_prof.chained_mask, 8, __ATOMIC_RELAXED);
	c.p->stop(begin(&c, HOST_GROUP, NULL));
	ck_assert_int_eq(mask, 8);
	/* bits that this NCCL does not have */
	__atomic_store_n(&nb_prof.chained_mask, -1, __ATOMIC_RELAXED);
	nb_events_tick();
	ck_assert_int_eq(mask, 0x7fff);
	host_prof_fini(&c);
}

TEST(an_event_ends_once)
{
	struct host_prof c = open_rank(0);
	void *group = begin(&c, HOST_GROUP_API, NULL);
	void *api = begin(&c, HOST_COLL_API, group);
	uint64_t stale;

	ck_assert_uint_eq(its("peer_started"), 2);
	host_prof_state_null(&c, group, 23);
	host_prof_stop(&c, group);
	ck_assert_uint_eq(its("peer_states"), 1);
	stale = nb_events_lost(NB_LOST_STALE);
	host_prof_stop(&c, group);
	host_prof_state_null(&c, group, 24); /* #1992 */
	ck_assert_uint_eq(its("peer_stopped"), 1);
	ck_assert_uint_eq(its("peer_states"), 1);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_STALE), stale + 2);
	host_prof_stop(&c, api);
	/* made up, ours, NULL, and the next pair's */
	host_prof_stop(&c, (char *)api + 1);
	host_prof_stop(&c, (char *)api + 65536);
	host_prof_stop(&c, NULL);
	host_prof_state(&c, (void *)-1, 22, 1);
	host_prof_state(&c, &c, 22, 1);
	host_prof_stop(&c, c.ctx);
	ck_assert_uint_eq(its("peer_stopped"), 2);
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&c);
}

TEST(nothing_reaches_it_after_finalize)
{
	struct host_prof c = open_rank(0), d = open_rank(1);
	void *group = begin(&c, HOST_GROUP_API, NULL), *h;
	void *old = c.ctx;

	host_prof_fini(&c);
	host_prof_stop(&c, group);
	c.ctx = old;
	ck_assert_uint_eq(its("peer_started"), 1);
	h = begin(&c, HOST_GROUP_API, NULL);
	host_prof_stop(&c, h);
	ck_assert_uint_eq(its("peer_started"), 1);
	ck_assert_uint_eq(its("peer_stopped"), 0);
	/* a parent of a communicator that is gone is none */
	host_prof_stop(&d, begin(&d, HOST_COLL_API, group));
	ck_assert_uint_eq(its("peer_started"), 2);
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&c); /* twice */
	host_prof_fini(&d);
}

TEST(parents_may_have_ended_long_ago)
{
	struct host_prof c = open_rank(0);
	void *api = begin(&c, HOST_COLL_API, NULL);
	void *coll = begin(&c, HOST_COLL, api), *op;

	host_prof_stop(&c, api);
	host_prof_stop(&c, coll);
	/* as many as there are places less some: it is still known */
	for (int i = 0; i < NB_EVENT_PAIRS - 10; i++)
		host_prof_stop(&c, begin(&c, HOST_GROUP, NULL));
	op = begin(&c, HOST_PROXY_OP, coll);
	host_prof_stop(&c, op);
	ck_assert_uint_eq(its("peer_bad"), 0);
	for (int i = 0; i < NB_EVENT_PAIRS; i++)
		host_prof_stop(&c, begin(&c, HOST_GROUP, NULL));
	/* now it means nothing, and is never another's */
	op = begin(&c, HOST_PROXY_OP, coll);
	host_prof_stop(&c, op);
	ck_assert_uint_eq(its("peer_bad"), 0);
	ck_assert_uint_eq(refused(), 0);
	host_prof_fini(&c);
}

TEST(events_that_never_stop_are_bounded)
{
	struct host_prof c = open_rank(0);
	void *first = begin(&c, HOST_GROUP_API, NULL), *last = NULL;

	for (int i = 1; i < NB_EVENT_PAIRS; i++)
		begin(&c, HOST_GROUP, NULL);
	ck_assert_uint_eq(refused(), 0);
	for (int i = 0; i < 1000; i++)
		last = begin(&c, HOST_GROUP, NULL);
	ck_assert_uint_eq(refused(), 1000);
	ck_assert_uint_eq(its("peer_started"), NB_EVENT_PAIRS + 1000);
	/* the first has lost its place, the last has it */
	host_prof_stop(&c, first);
	ck_assert_uint_eq(its("peer_stopped"), 0);
	host_prof_stop(&c, last);
	ck_assert_uint_eq(its("peer_stopped"), 1);
	begin(&c, HOST_GROUP, NULL);
	ck_assert_uint_eq(refused(), 1000);
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&c);
}

TEST(a_fork_has_no_pairs)
{
	struct host_prof c = open_rank(0);
	void *group = begin(&c, HOST_GROUP_API, NULL);
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		host_prof_stop(&c, group);
		host_prof_stop(&c, begin(&c, HOST_GROUP_API, group));
		_exit(its("peer_stopped") || its("peer_started") != 1 || its("peer_bad"));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	host_prof_stop(&c, group);
	ck_assert_uint_eq(its("peer_stopped"), 1);
	host_prof_fini(&c);
}

static struct host_prof shared[2];

static void *many(void *arg)
{
	struct host_prof *c = arg;

	for (int i = 0; i < 20000; i++) {
		void *api = begin(c, HOST_COLL_API, NULL);
		void *coll = begin(c, HOST_COLL, api), *op;

		host_prof_stop(c, api);
		host_prof_stop(c, coll);
		op = begin(c, HOST_PROXY_OP, coll);
		host_prof_state(c, op, 19, 0);
		host_prof_stop(c, op);
		if (i % 64 == 0)
			host_prof_stop(c, coll); /* twice */
	}
	return NULL;
}

TEST(threads_share_the_places)
{
	pthread_t t[4];

	shared[0] = open_rank(0);
	shared[1] = open_rank(1);
	nb_events_telemetry(NB_TEL_ON);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, many, &shared[i % 2]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(its("peer_started"), 4 * 20000 * 3);
	ck_assert_uint_eq(its("peer_stopped"), 4 * 20000 * 3);
	ck_assert_uint_eq(its("peer_bad"), 0);
	ck_assert_uint_eq(refused(), 0);
	host_prof_fini(&shared[0]);
	host_prof_fini(&shared[1]);
}

UNIT_MAIN("chain_profiler")
