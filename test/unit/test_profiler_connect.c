// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// NCCL is asked for kernels until it has connected the profiler channels of
// each communicator, so that telemetry can be enabled later without a pause.
#include "test/unit/profiler_rank.h"

#include <unistd.h>

#include "plugin/profiler/state.h"
#include "plugin/runtime/params.h"

enum { ON = 0, OFF = 1 };

/* A rank in a process that has a control socket, as jobs have. */
static struct host_prof connecting_rank(int abi, int rank)
{
	struct host_prof c = open_rank(abi, rank);

	nb_params.num[NB_P_CONTROL] = ON;
	host_prof_fini(&c);
	return open_rank(abi, rank);
}

/* What is asked for with kernels: since 2.29, the calls that tell of grouped broadcasts, too. */
static int kernels(int abi)
{
	return HOST_KERNEL_CH | (abi >= 6 ? HOST_COLL_API : 0);
}

/* NCCL reports a kernel of the communicator. */
static void kernel_seen(struct host_prof *c)
{
	struct host_event e = coll_event();
	void *task = host_prof_start(c, &e);
	void *k = kernel(c, task, 0, 1000);

	host_prof_stop(c, task);
	host_prof_stop(c, k);
}

TEST_EACH(kernels_are_asked_for_until_one_is_seen, 1, 8)
{
	struct host_prof c = connecting_rank(_i, 0);

	if (_i < 3) { /* the interface has no kernels */
		ck_assert_int_eq(mask, 0);
		ck_assert_uint_eq(nb_events_unconnected(), 0);
		host_prof_fini(&c);
		return;
	}
	ck_assert_int_eq(mask, kernels(_i));
	ck_assert_uint_eq(nb_events_unconnected(), 1);
	nb_events_tick();
	ck_assert_int_eq(mask, kernels(_i));
	kernel_seen(&c);
	ck_assert_uint_eq(nb_events_unconnected(), 0);
	nb_events_tick();
	ck_assert_int_eq(mask, 0);
	host_prof_fini(&c);
}

TEST(nothing_is_measured_meanwhile)
{
	struct host_prof c = connecting_rank(6, 0);

	kernel_seen(&c);
	ck_assert_ptr_null(row_of(&c));
	ck_assert_uint_eq(comm_of(&c)->next_coll, 0);
	for (int i = 0; i < NB_NLOST; i++)
		ck_assert_uint_eq(nb_events_lost((enum nb_lost)i), 0);
	host_prof_fini(&c);
}

TEST(each_communicator_is_waited_for)
{
	struct host_prof a = connecting_rank(6, 0), b = open_rank(6, 1);

	ck_assert_uint_eq(nb_events_unconnected(), 2);
	kernel_seen(&a);
	nb_events_tick();
	ck_assert_int_eq(mask, kernels(6));
	host_prof_fini(&b); /* it never had a collective */
	nb_events_tick();
	ck_assert_int_eq(mask, 0);
	b = open_rank(6, 1);
	ck_assert_int_eq(mask, kernels(6));
	host_prof_fini(&a);
	host_prof_fini(&b);
}

TEST(telemetry_connects_as_well)
{
	struct host_prof c = connecting_rank(6, 0);

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	kernel_seen(&c);
	nb_events_telemetry(0);
	ck_assert_int_eq(mask, 0);
	host_prof_fini(&c);
}

TEST(a_silent_communicator_is_given_up)
{
	struct host_prof busy = connecting_rank(6, 0), idle = open_rank(6, 1);

	for (int i = 0; i < 65536; i++)
		kernel_seen(&busy);
	nb_events_tick();
	ck_assert_int_eq(mask, 0);
	ck_assert_uint_eq(nb_events_unconnected(), 1);
	host_prof_fini(&busy);
	host_prof_fini(&idle);
}

TEST(the_user_may_disable_it)
{
	struct host_prof c = connecting_rank(6, 0);

	host_prof_fini(&c);
	nb_params.num[NB_P_PROFILER_CONNECT] = OFF;
	c = open_rank(6, 0);
	ck_assert_int_eq(mask, 0);
	ck_assert_uint_eq(nb_events_unconnected(), 1);
	host_prof_fini(&c);
	/* without a control socket nobody can enable telemetry */
	nb_params.num[NB_P_PROFILER_CONNECT] = ON;
	nb_params.num[NB_P_CONTROL] = OFF;
	c = open_rank(6, 0);
	ck_assert_int_eq(mask, 0);
	host_prof_fini(&c);
}

/*
 * NCCL would take a pool for a communicator that the profiler does not keep,
 * and nobody would have looked for its room. Communicators of one rank take
 * none.
 */
TEST(no_kernels_while_the_table_of_communicators_is_full)
{
	struct host_prof beside = open_rank(6, 0);

	host_prof_fini(&beside);
	for (int i = 0; i < NB_MAX_PCOMMS; i++) {
		struct host_prof one = beside;

		one.ranks = 1;
		ck_assert_int_eq(host_prof_init(&one, NULL), 0);
	}
	nb_pools_version(22809);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	ck_assert(mask & HOST_KERNEL_CH);
	ck_assert_int_eq(host_prof_init(&beside, NULL), 0);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, 0);
	nb_events_tick();
	ck_assert_int_eq(mask & HOST_KERNEL_CH, 0);
	host_prof_fini(&beside);
	ck_assert(mask & HOST_KERNEL_CH);
}

/* Other jobs may use the room of pools that NCCL is no longer asked to take. */
TEST(pools_are_announced_while_somebody_asks)
{
	struct host_prof c = open_rank(6, 0);
	char dir[] = "/tmp/nb_connect.XXXXXX";

	nb_pools_dir = mkdtemp(dir);
	ck_assert_ptr_nonnull(nb_pools_dir);
	nb_pools_version(22809);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	/* 0 where this machine has no room */
	ck_assert_uint_eq(nb_pools_announced(), mask & HOST_KERNEL_CH ? 1 : 0);
	nb_events_telemetry(0);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, 0);
	ck_assert_uint_eq(nb_events_unconnected(), 1);
	ck_assert_uint_eq(nb_pools_announced(), 0);
	host_prof_fini(&c);
	ck_assert_int_eq(rmdir(dir), 0);
}

UNIT_MAIN("profiler_connect")
