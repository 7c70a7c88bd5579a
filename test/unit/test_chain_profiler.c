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

/* NCCL calls our @abi, and the wrapped profiler has @version. */
static struct host_prof open_as(int abi, int version, int rank)
{
	const char *build = getenv("B");
	struct host_prof c = { .abi = abi,
			       .mask = &mask,
			       .name = "world",
			       .id = 0xabc,
			       .nodes = 1,
			       .ranks = 8,
			       .rank = rank };
	char path[400];

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/profiler_v%d.so",
		 build ? build : "build/debug", version);
	pools_have_room();
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "chain_profiler", 1);
	setenv("NCCLBPF_CHAIN_PROFILER", path, 1);
	c.p = (const struct host_profiler *)(const void *)(abi == 6 ? &ncclProfiler_v6
								    : &ncclProfiler_v7);
	ck_assert_int_eq(host_prof_init(&c, quiet), 0);
	ck_assert_ptr_nonnull(c.ctx);
	peer = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(peer);
	return c;
}

static struct host_prof open_rank(int rank)
{
	return open_as(7, 7, rank);
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

	ck_assert_int_eq(mask, 16 | 64 | 512);
	/* calls: they tell of grouped broadcasts */ /* its own; we need nothing */
	nb_events_telemetry(NB_TEL_ON);
	ck_assert_int_eq(mask, 2 | 4 | 16 | 64 | 512);
	nb_events_telemetry(0);
	ck_assert_int_eq(mask, 16 | 64 | 512);
	ck_assert_uint_eq(nb_events_mask(), 16 | 64 | 512);
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
	ck_assert_int_eq(mask, 0xffff);
	host_prof_fini(&c);
}

static const struct host_coll symmetric = { .func = 4,
					    .algo = 1,
					    .proto = 2,
					    .datatype = 7,
					    .channels = 2,
					    .count = 256,
					    .tag = 5,
					    .symmetric = true,
					    .gpu_from = 1000,
					    .gpu_to = 4000 };

static void its_mask(int wanted)
{
	__atomic_store_n(&nb_prof.chained_mask, wanted, __ATOMIC_RELAXED);
	nb_events_tick();
}

TEST(phases_of_kernels_bring_the_kernels)
{
	enum { PARENTS = 4, KERNELS = 2, PHASES = 6 };
	struct host_prof c = open_rank(0);

	its_mask(HOST_KERNEL_PHASE);
	ck_assert_int_eq(mask, HOST_KERNEL_PHASE | HOST_KERNEL_CH | HOST_COLL_API);
	host_prof_coll(&c, &symmetric);
	ck_assert_uint_eq(its("peer_phases"), PHASES);
	ck_assert_uint_eq(its("peer_started"), PARENTS + KERNELS + PHASES);
	ck_assert_uint_eq(its("peer_stopped"), PARENTS + KERNELS + PHASES);
	ck_assert_uint_eq(its("peer_states"), KERNELS + PHASES);
	ck_assert_uint_eq(its("peer_bad"), 0);
	/* one that asks for kernels alone hears of no phases */
	its_mask(HOST_KERNEL_CH);
	host_prof_coll(&c, &symmetric);
	ck_assert_uint_eq(its("peer_phases"), PHASES);
	/* where NCCL is asked for no kernels, phases would bring them back */
	__atomic_store_n(&nb_prof.batched, 1, __ATOMIC_RELAXED);
	its_mask(HOST_KERNEL_PHASE);
	ck_assert_int_eq(mask & (HOST_KERNEL_PHASE | HOST_KERNEL_CH), 0);
	host_prof_fini(&c);
}

/* It gets NCCL's descriptors, of which its own are the beginning. */
TEST_EACH(older_profiler_hears_what_its_version_has, 5, 7)
{
	struct host_prof c = open_as(7, _i, 0);
	void *api, *coll, *kernel, *phase;

	its_mask(-1);
	ck_assert_int_eq(mask, _i == 5 ? 0xfff : 0x7fff);
	host_prof_coll(&c, &symmetric);
	ck_assert_uint_eq(its("peer_started"), 6);
	ck_assert_uint_eq(its("peer_stopped"), 6);
	/* NCCL may tell of phases and copy engines nevertheless: others ask for them */
	api = begin(&c, HOST_COLL_API, NULL);
	coll = begin(&c, HOST_COLL, api);
	kernel = begin(&c, HOST_KERNEL_CH, coll);
	ck_assert_uint_eq(its("peer_started"), 9);
	phase = begin(&c, HOST_KERNEL_PHASE, kernel);
	ck_assert_ptr_null(phase);
	host_prof_stop(&c, begin(&c, HOST_CE_COLL, api));
	ck_assert_uint_eq(its("peer_started"), _i == 5 ? 9 : 10);
	host_prof_stop(&c, kernel);
	host_prof_stop(&c, coll);
	host_prof_stop(&c, api);
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&c);
}

TEST(older_nccl_calls_no_newer_profiler)
{
	struct host_prof c = open_as(6, 7, 0);

	ck_assert_int_eq(nb_wrapped[NB_WRAPPED_PROFILER].state, NB_WRAPPED_LEFT_OUT);
	ck_assert_str_eq(nb_wrapped[NB_WRAPPED_PROFILER].why.text,
			 "the plugin has interface v7, and this NCCL calls v6 and older");
	host_prof_fini(&c);
}

/* Two NCCLs of one process: the one that came first keeps the plugin. */
TEST(one_version_of_it_is_called)
{
	struct host_prof first = open_as(6, 67, 0), second;
	void *e;

	its_mask(-1);
	e = begin(&first, HOST_GROUP, NULL);
	ck_assert_uint_eq(its("peer_started"), 1);
	second = open_as(7, 67, 1);
	ck_assert_int_eq(nb_wrapped[NB_WRAPPED_PROFILER].state, NB_WRAPPED_LEFT_OUT);
	ck_assert_str_eq(nb_wrapped[NB_WRAPPED_PROFILER].why.text,
			 "another NCCL of this process calls a version of its interface other "
			 "than v7");
	host_prof_stop(&second, begin(&second, HOST_GROUP, NULL));
	ck_assert_uint_eq(its("peer_started"), 1);
	host_prof_stop(&first, e);
	host_prof_stop(&first, begin(&first, HOST_GROUP, NULL));
	ck_assert_uint_eq(its("peer_started"), 2);
	ck_assert_uint_eq(its("peer_stopped"), 2);
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&second);
	host_prof_fini(&first);
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
	ck_assert_uint_eq(its("peer_bad"), 0);
	host_prof_fini(&c);
}

/*
 * However many they are, NCCL's thread looks at few entries for one event, and one event takes
 * the place of another only because of many in a row, once.
 */
TEST(events_that_never_stop_cost_the_others_little)
{
	enum { OPEN = 600 };
	struct host_prof c = open_rank(0);

	for (int i = 0; i < OPEN; i++)
		begin(&c, HOST_GROUP, NULL);
	for (int i = OPEN; i < NB_EVENT_PAIRS; i++)
		host_prof_stop(&c, begin(&c, HOST_GROUP, NULL));
	ck_assert_uint_eq(refused(), 0);
	for (int i = 0; i < OPEN; i++)
		host_prof_stop(&c, begin(&c, HOST_GROUP, NULL));
	ck_assert_uint_eq(refused(), 1);
	ck_assert_uint_eq(its("peer_started"), NB_EVENT_PAIRS + OPEN);
	ck_assert_uint_eq(its("peer_stopped"), NB_EVENT_PAIRS);
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
