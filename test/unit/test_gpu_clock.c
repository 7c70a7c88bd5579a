// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The length of a tick of the clock that stamps kernels, and what RCCL's kernels take.
#include "test/unit/profiler_rank.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/runtime/nccl.h"

static const uint64_t MS = 1000000;
/* the GPU has counted for a while, and the CPU longer */
static const uint64_t FROM = 5000000000, SINCE = 77000000000;

static struct nb_gpu_clock measured_clock(void)
{
	struct nb_gpu_clock c = { .tick = 7 };

	nb_gpu_clock_reset(&c, true);
	ck_assert_uint_eq(c.tick, 0);
	return c;
}

/* A kernel starts at @ns. The GPU counts ticks of @tick ns; the event comes @late ns later. */
static uint64_t start_at(struct nb_gpu_clock *c, uint64_t ns, uint64_t tick, uint64_t late)
{
	return nb_gpu_clock_tick(c, FROM + ns / tick, SINCE + ns + late);
}

static const uint64_t ticks[] = { 1, 10, 40 };

TEST_EACH(a_tick_is_measured, 0, 3)
{
	struct nb_gpu_clock c = measured_clock();
	uint64_t ns = 0;

	/* kernels each millisecond, each of which the CPU sees up to 9 ms late */
	for (; ns <= 100 * MS; ns += MS)
		ck_assert_uint_eq(start_at(&c, ns, ticks[_i], ns % (10 * MS)), 0);
	for (; ns < 300 * MS; ns += MS)
		start_at(&c, ns, ticks[_i], ns % (10 * MS));
	ck_assert_uint_eq(c.tick, ticks[_i]);
	ck_assert_uint_eq(nb_gpu_clock_measured(), ticks[_i]);
	/* an hour without a kernel, and a day with few */
	for (int i = 1; i < 24; i++)
		ck_assert_uint_eq(start_at(&c, (uint64_t)i * 3600000 * MS, ticks[_i], MS),
				  ticks[_i]);
	/* communicators that the process makes later begin with this tick */
	nb_gpu_clock_reset(&c, true);
	ck_assert_uint_eq(start_at(&c, ns, ticks[_i], 0), ticks[_i]);
}

TEST(ns_are_not_measured)
{
	struct nb_gpu_clock c;

	nb_gpu_clock_reset(&c, false);
	for (uint64_t ns = 0; ns < 1000 * MS; ns += 10 * MS)
		ck_assert_uint_eq(start_at(&c, ns, 10, 0), 1);
	ck_assert_uint_eq(nb_gpu_clock_measured(), 0);
}

/* The thread that reports the first kernel does not run for 450 ms, so that the
 * GPU's ticks look like nanoseconds. */
TEST(a_late_report_does_not_decide)
{
	struct nb_gpu_clock c = measured_clock();

	start_at(&c, 0, 10, 450 * MS);
	for (uint64_t ns = 500 * MS; ns < 1200 * MS; ns += MS)
		ck_assert_uint_ne(start_at(&c, ns, 10, 0), 1);
	ck_assert_uint_eq(c.tick, 10);
}

TEST(what_no_gpu_has_is_not_believed)
{
	struct nb_gpu_clock c = measured_clock();

	for (uint64_t ns = 0; ns < 1000 * MS; ns += MS)
		ck_assert_uint_eq(start_at(&c, ns, 3, 0), 0);
	/* it stands, it goes back, it is from somewhere else */
	for (uint64_t ns = 0; ns < 1000 * MS; ns += MS)
		ck_assert_uint_eq(nb_gpu_clock_tick(&c, FROM, SINCE + ns), 0);
	for (uint64_t ns = 0; ns < 1000 * MS; ns += MS)
		ck_assert_uint_eq(nb_gpu_clock_tick(&c, FROM - ns / 10, SINCE + ns), 0);
	for (uint64_t ns = 0; ns < 1000 * MS; ns += MS)
		ck_assert_uint_eq(nb_gpu_clock_tick(&c, UINT64_MAX * (ns / MS % 2), SINCE + ns), 0);
}

TEST(another_tick_takes_the_place_of_a_wrong_one)
{
	struct nb_gpu_clock c = measured_clock();
	uint64_t ns;

	for (ns = 0; ns < 300 * MS; ns += MS)
		start_at(&c, ns, 40, 0);
	ck_assert_uint_eq(c.tick, 40);
	for (ns = 0; ns < 1000 * MS; ns += MS)
		start_at(&c, ns, 10, 0);
	ck_assert_uint_eq(c.tick, 10);
}

/* The plugin is called by RCCL. */
static void by_rccl(void)
{
	const char *build = getenv("B") ? getenv("B") : "build/debug";
	char path[400];
	void *library;

	/* every RCCL has pools: a disk has room for them, a container's /dev/shm has not */
	nb_pools_dir = build;
	snprintf(path, sizeof(path), "%s/test/fakes/host/librccl.so.1", build);
	library = dlopen(path, RTLD_NOW);
	ck_assert_msg(library, "%s", dlerror());
	nb_nccl_find(dlsym(library, "rccl_log"));
	ck_assert(nb_nccl_is_rccl());
}

/* A collective of RCCL's whose kernels take 50 us, on a GPU with ticks of 10 ns. */
static struct host_coll of_rccl(void)
{
	struct host_coll k = ring;

	k.gpu_from = nb_clock_system() / 10;
	k.gpu_to = k.gpu_from + 5000;
	return k;
}

TEST(rccls_kernels_are_timed_by_the_cpu_and_then_by_ticks)
{
	const struct nb_tel_row *r;
	struct host_coll k;
	struct host_prof c;

	by_rccl();
	c = open_rank(4, 0);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	k = of_rccl();
	host_prof_coll(&c, &k);
	r = row_of(&c);
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].count, 1);
	ck_assert_uint_eq(r->source, NB_SOURCE_KERNEL_CPU);
	while (!comm_of(&c)->clock.tick) {
		usleep(1000);
		k = of_rccl();
		host_prof_coll(&c, &k);
	}
	ck_assert_uint_eq(comm_of(&c)->clock.tick, 10);
	nb_tel_clear(&comm_of(&c)->tel);
	k = of_rccl();
	host_prof_coll(&c, &k);
	ck_assert_uint_eq(r->source, NB_SOURCE_GPU);
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].sum_ns, 50000);
	host_prof_fini(&c);
}

/* A kernel that started before the tick was known is the CPU's to the end. */
TEST(a_kernel_has_one_clock)
{
	struct host_event e = coll_event();
	const struct nb_tel_row *r;
	struct host_prof c;
	void *task, *k;

	by_rccl();
	c = open_rank(4, 0);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	e.channels = 1;
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	k = kernel(&c, task, 0, 1000);
	comm_of(&c)->clock.tick = 10;
	host_prof_state(&c, k, 22, 3000);
	host_prof_stop(&c, k);
	r = row_of(&c);
	ck_assert_uint_eq(r->source, NB_SOURCE_KERNEL_CPU);
	ck_assert_uint_gt(r->time[NB_TEL_KERNEL].sum_ns, 0);
	host_prof_fini(&c);
}

/* Start and stop of a kernel are counted by the tick of its start. */
TEST(a_kernel_has_one_tick)
{
	struct host_event e = coll_event();
	struct host_prof c;
	void *task, *k;

	by_rccl();
	c = open_rank(4, 0);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	comm_of(&c)->clock.tick = 10;
	e.channels = 1;
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	k = kernel(&c, task, 0, 1000);
	comm_of(&c)->clock.tick = 40;
	host_prof_state(&c, k, 22, 3000);
	host_prof_stop(&c, k);
	ck_assert_uint_eq(row_of(&c)->source, NB_SOURCE_GPU);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].sum_ns, 20000);
	host_prof_fini(&c);
}

UNIT_MAIN("gpu_clock")
