// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// A million events a second for as long as EVENT_SOAK= says (seconds; 1):
// memory stays what it was, and what was made is what was seen and what was
// counted as lost, to the last event. The rate is printed, and no rate is
// needed: what a loaded machine does not reach is not what is tested.
#include "test/unit/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/runtime/clock.h"
#include "plugin/profiler/events.h"
#include "plugin/trace/ring.h"
#include "test/fakes/host/prof.h"

enum { WRITERS = 2, RATE = 1000000, BATCH = 500, WARM = 60000 };

/* What a writer has made, and what became of it by its handles. */
struct made {
	uint64_t colls, refused, open; /* open: never stopped */
	uint64_t kernels, kernels_refused, twice;
};

static struct host_prof comm;
static int mask;
static bool stop;	  /* atomic */
static uint64_t warm, go; /* atomic */
static struct made made[WRITERS];

static bool taken(void *handle)
{
	return (uint64_t)(uintptr_t)handle & NB_HANDLE_NUMBER;
}

/* A collective of one channel: started, enqueued, its kernel told. */
static void one(struct made *m, const struct host_event *coll, bool bad)
{
	struct host_event k = { .type = HOST_KERNEL_CH, .timer = 1000 };
	void *task = host_prof_start(&comm, coll), *kernel;

	m->colls++;
	if (!taken(task)) {
		m->refused++;
		return;
	}
	if (bad && !(m->colls & 1)) { /* nobody ever stops it */
		m->open++;
		return;
	}
	host_prof_stop(&comm, task);
	k.parent = task;
	kernel = host_prof_start(&comm, &k);
	if (!taken(kernel)) {
		m->kernels_refused++;
		return;
	}
	m->kernels++;
	host_prof_state(&comm, kernel, 22, 51000);
	host_prof_stop(&comm, kernel);
	if (bad) {
		m->twice++;
		host_prof_stop(&comm, task);
	}
}

static void *writer(void *arg)
{
	struct made *m = arg;
	struct host_event coll = { .type = HOST_COLL,
				   .func = 4,
				   .algo = 1,
				   .proto = 2,
				   .datatype = 7,
				   .channels = 1,
				   .count = 256 };
	uint64_t begin, n = 0;

	while (n++ < WARM)
		one(m, &coll, false);
	__atomic_fetch_add(&warm, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		usleep(1000);
	begin = nb_clock_system();
	for (n = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED);) {
		uint64_t due;

		coll.count = (size_t)1 << (n / BATCH % 24);
		for (int i = 0; i < BATCH; i++)
			one(m, &coll, !(++n % 100000) || n % 1024 == 7);
		/* two events each */
		due = begin + n * 2 * WRITERS * 1000000000 / RATE;
		while (nb_clock_system() < due)
			usleep(500);
	}
	return NULL;
}

/* Reads the trace as a shell does that is too slow now and then. */
struct reader {
	uint64_t next, given, lost;
};

static void read_on(struct reader *r)
{
	uint64_t end = nb_trace_ring_next();
	struct nb_trace_span s;

	if (end - r->next > NB_SPANS) {
		r->lost += end - NB_SPANS - r->next;
		r->next = end - NB_SPANS;
	}
	for (; r->next < end; r->next++)
		*(nb_trace_ring_read(r->next, &s) ? &r->given : &r->lost) += 1;
}

static uint64_t resident(void)
{
	unsigned long long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f) {
		ck_assert_int_eq(fscanf(f, "%llu %llu", &size, &pages), 2);
		fclose(f);
	}
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t measured(const struct nb_tel *t, enum nb_tel_kind kind)
{
	uint64_t n = 0;

	for (int i = 0; i < NB_TEL_ROWS; i++) {
		uint64_t all = 0;

		n += t->row[i].time[kind].count;
		for (uint32_t b = 0; b < NB_HIST_BUCKETS; b++)
			all += t->row[i].time[kind].hist[b];
		ck_assert_uint_eq(all, t->row[i].time[kind].count);
	}
	return n;
}

static struct made sum(void)
{
	struct made s = { .colls = 0 };

	for (int i = 0; i < WRITERS; i++) {
		s.colls += made[i].colls;
		s.refused += made[i].refused;
		s.open += made[i].open;
		s.kernels += made[i].kernels;
		s.kernels_refused += made[i].kernels_refused;
		s.twice += made[i].twice;
	}
	return s;
}

static void open_comm(void)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_event_soak", 1);
	comm = (struct host_prof){
		.abi = 5, .mask = &mask, .name = "world", .id = 0xabc, .nodes = 1, .ranks = 8
	};
	comm.p = (const struct host_profiler *)(const void *)&ncclProfiler_v5;
	ck_assert_int_eq(host_prof_init(&comm, NULL), 0);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	ck_assert_int_eq(nb_trace_ring_open(NB_EVENT_BIT(COLL) | NB_EVENT_BIT(KERNEL_CH), NULL), 0);
	nb_events_ask();
}

/* What was made is what was seen and what was counted. */
static void check_all(const struct nb_tel *t, const struct reader *r)
{
	struct made m = sum();
	uint64_t whole = m.colls - m.refused - m.open;

	ck_assert_uint_eq(nb_events_lost(NB_LOST_CLOCK), 0);
	ck_assert_uint_eq(measured(t, NB_TEL_ENQUEUE), whole);
	ck_assert_uint_eq(measured(t, NB_TEL_EXEC), whole - m.kernels_refused);
	ck_assert_uint_eq(m.kernels, whole - m.kernels_refused);
	ck_assert_uint_eq(t->full, 0);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_FULL) + nb_events_lost(NB_LOST_ORDER),
			  m.refused + m.kernels_refused);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CUT), m.open + m.kernels_refused);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_TWICE) + nb_events_lost(NB_LOST_STALE), m.twice);
	/* a slot that is not given back keeps nobody from the others */
	ck_assert_uint_le(m.refused + m.kernels_refused, m.colls / 1000);
	/* the trace: each collective and each kernel is in it, or lost */
	ck_assert_uint_eq(r->given + r->lost, whole + m.kernels);
	ck_assert_uint_le(nb_trace_ring_left_out(), r->lost);
}

TEST(a_million_events_a_second)
{
	const char *text = getenv("EVENT_SOAK");
	double seconds = text ? atof(text) : 1, took;
	struct reader r = { .next = nb_trace_ring_next() };
	uint64_t began, before, after, warmed;
	pthread_t t[WRITERS];
	struct nb_pcomm *pc;
	struct made m;

	open_comm();
	pc = nb_pcomm_of((uint64_t)(uintptr_t)comm.ctx);
	for (int i = 0; i < WRITERS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, writer, &made[i]), 0);
	while (__atomic_load_n(&warm, __ATOMIC_ACQUIRE) < WRITERS)
		usleep(1000);
	read_on(&r);
	m = sum();
	warmed = m.colls + m.kernels;
	before = resident();
	began = nb_clock_system();
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	do {
		usleep(100000); /* the ring is over by then, at full speed */
		read_on(&r);
		nb_events_tick();
		took = (double)(nb_clock_system() - began) / 1e9;
	} while (took < seconds);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	took = (double)(nb_clock_system() - began) / 1e9;
	after = resident();
	host_prof_fini(&comm); /* gives up what is open */
	read_on(&r);
	m = sum();
	printf("# %.0f events/s for %.1f s: %llu made, %llu refused and "
	       "counted, %llu never stopped, trace %llu read and %llu lost, "
	       "memory %+.1f MiB\n",
	       (double)(m.colls + m.kernels - warmed) / took, took,
	       (unsigned long long)(m.colls + m.kernels),
	       (unsigned long long)(m.refused + m.kernels_refused), (unsigned long long)m.open,
	       (unsigned long long)r.given, (unsigned long long)r.lost,
	       ((double)after - (double)before) / (1 << 20));
	fflush(stdout);
	check_all(&pc->tel, &r);
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	ck_assert_uint_lt(after, before + (4 << 20));
#endif
}

UNIT_MAIN("event soak")
