// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The profiler as NCCL calls it: every version, what is measured, and events
// that are late, missing, foreign or too many.
#include "test/unit/profiler_rank.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- histograms ---- */

TEST(a_bucket_is_as_exact_as_stated)
{
	for (uint64_t v = 0; v < UINT64_C(1) << 41; v += v / 97 + 1) {
		uint32_t i = nb_hist_index(v);
		uint64_t m = nb_hist_middle(i);
		uint64_t off = m > v ? m - v : v - m;

		ck_assert_uint_lt(i, NB_HIST_BUCKETS);
		if (v >> NB_HIST_TOP)
			continue;
		ck_assert_uint_le(nb_hist_from(i), v);
		ck_assert_uint_gt(nb_hist_from(i + 1), v);
		ck_assert_uint_le(off * 16, v);
	}
}

TEST(quantiles_are_where_they_belong)
{
	uint64_t h[NB_HIST_BUCKETS] = { 0 };

	ck_assert_uint_eq(nb_hist_quantile(h, 0.5), 0);
	for (uint64_t v = 1; v <= 1000; v++)
		h[nb_hist_index(v * 1000)]++;
	ck_assert_double_eq_tol((double)nb_hist_quantile(h, 0.5), 5e5, 4e4);
	ck_assert_double_eq_tol((double)nb_hist_quantile(h, 0.99), 9.9e5, 7e4);
	ck_assert_uint_eq(nb_hist_quantile(h, 1), nb_hist_quantile(h, 0.9999));
}

/* ---- every version ---- */

TEST_EACH(nobody_listens_the_mask_is_zero, 1, 8)
{
	struct host_prof c = open_rank(_i, 0);

	ck_assert_int_eq(mask, 0);
	nb_events_telemetry(NB_TEL_ON);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU | NB_TEL_PROXY);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P | HOST_PROXY_OP |
				       (_i >= 3 ? HOST_KERNEL_CH : 0) |
				       (_i >= 6 ? HOST_COLL_API : 0));
	nb_events_telemetry(0);
	ck_assert_int_eq(mask, 0);
	/* a communicator that comes while it is on */
	nb_events_telemetry(NB_TEL_ON);
	host_prof_fini(&c);
	mask = 0;
	c = open_rank(_i, 0);
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	nb_events_telemetry(0);
	ck_assert_int_eq(mask, 0);
	host_prof_fini(&c);
}

TEST_EACH(a_collective_is_measured, 1, 8)
{
	struct host_prof c = open_rank(_i, 3);
	const struct nb_tel_row *r;
	struct host_coll k = ring;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU | NB_TEL_PROXY);
	for (int i = 0; i < 5; i++) {
		k.seq = (uint64_t)i;
		host_prof_coll(&c, &k);
	}
	if (_i < 4) /* it is not told how many channels there are */
		nb_events_close(comm_of(&c));
	r = row_of(&c);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->key, nb_tel_key(4, 4 << 20, 1, 2));
	ck_assert_uint_eq(r->bytes_last, 4 << 20);
	ck_assert_uint_eq(r->channels_last, 4);
	ck_assert_uint_eq(r->time[NB_TEL_ENQUEUE].count, 5);
	ck_assert_uint_eq(r->time[NB_TEL_NETWORK].count, 5);
	ck_assert_uint_eq(r->time[NB_TEL_EXEC].count, 5);
	if (_i >= 4) {
		ck_assert_uint_eq(r->source, NB_SOURCE_GPU);
		ck_assert_uint_eq(r->time[NB_TEL_KERNEL].sum_ns, 5 * 50000);
		ck_assert_uint_eq(r->bytes_sum, 5 * (4 << 20));
	} else {
		ck_assert_uint_eq(r->source, _i == 3 ? NB_SOURCE_KERNEL_CPU : NB_SOURCE_PROXY);
	}
	ck_assert_uint_eq(comm_of(&c)->comm_id, 0xabc);
	ck_assert_int_eq(comm_of(&c)->rank, 3);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CUT), 0);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_STALE), 0);
	host_prof_fini(&c);
}

TEST_EACH(sends_are_measured, 1, 8)
{
	struct host_prof c = open_rank(_i, 0);
	const struct nb_tel_row *r;
	struct host_coll k = { .p2p = true,
			       .func = 6,
			       .datatype = 1, /* uint8: NCCL says "Unknown" */
			       .channels = 2,
			       .count = 3000,
			       .gpu_from = 5,
			       .gpu_to = 105 };

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	host_prof_coll(&c, &k);
	nb_events_close(comm_of(&c));
	r = row_of(&c);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->key, nb_tel_key(6, 3000, NB_WORD_NONE, NB_WORD_NONE));
	ck_assert_uint_eq(r->bytes_last, 3000);
	/* v4's number of channels is garbage and not believed */
	ck_assert_uint_eq(r->channels_last, _i >= 5 ? 2 : 0);
	host_prof_fini(&c);
}

TEST(sizes_are_those_of_the_whole_collective)
{
	struct host_prof c = open_rank(5, 0);
	struct host_coll k = { .func = 2, .datatype = 0, .count = 1 << 10 };

	nb_events_telemetry(NB_TEL_ON);
	host_prof_coll(&c, &k);
	ck_assert_uint_eq(row_of(&c)->bytes_last, 8 << 10);
	/* what does not fit is the most there is */
	nb_tel_clear(&comm_of(&c)->tel);
	k = (struct host_coll){ .func = 4, .datatype = 8, .count = SIZE_MAX };
	host_prof_coll(&c, &k);
	host_prof_fini(&c);
}

static void api_call(struct host_prof *c, int func, int root)
{
	struct host_event call = coll_event();

	call.type = HOST_COLL_API;
	call.func = func;
	call.peer = root;
	mask |= HOST_COLL_API; /* as where fences count calls */
	nb_prof.need |= HOST_COLL_API;
	host_prof_stop(c, host_prof_start(c, &call));
}

/* stats shows the difference: NCCL reports no collective for some calls */
TEST(calls_and_collectives_are_counted_while_telemetry_is_on)
{
	struct host_prof c = open_rank(6, 0);
	struct host_event task = coll_event();

	api_call(&c, 4, 0);
	nb_events_telemetry(NB_TEL_ON);
	for (int i = 0; i < 3; i++)
		api_call(&c, 4, 0);
	host_prof_stop(&c, host_prof_start(&c, &task));
	nb_events_telemetry(0);
	api_call(&c, 4, 0);
	ck_assert_uint_eq(comm_of(&c)->calls, 3);
	ck_assert_uint_eq(comm_of(&c)->tasks, 1);
	host_prof_fini(&c);
	c = open_rank(6, 0); /* in the same structure */
	ck_assert_uint_eq(comm_of(&c)->calls, 0);
	ck_assert_uint_eq(comm_of(&c)->tasks, 0);
	host_prof_fini(&c);
}

TEST_EACH(no_kernels_are_asked_for_after_broadcasts_of_several_roots, 5, 8)
{
	struct host_prof c = open_rank(_i, 0);

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	api_call(&c, 0, 1);
	api_call(&c, 4, 2); /* an AllReduce has no root */
	api_call(&c, 0, 1);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, HOST_KERNEL_CH);
	api_call(&c, 0, 2);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, _i < 6 ? HOST_KERNEL_CH : 0);
	nb_events_telemetry(0);
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	ck_assert_int_eq(mask & HOST_KERNEL_CH, _i < 6 ? HOST_KERNEL_CH : 0);
	host_prof_fini(&c);
}

TEST_EACH(every_event_type_gets_a_handle_and_may_end, 1, 8)
{
	struct host_prof c = open_rank(_i, 0);

	for (int on = 0; on < 2; on++) {
		nb_events_telemetry(on ? NB_TEL_ON | NB_TEL_GPU | NB_TEL_PROXY : 0);
		for (uint64_t t = 1; t <= HOST_LAST; t <<= 1) {
			struct host_event e = coll_event();
			void *h;

			if (host_prof_since(t) > _i)
				continue;
			e.type = t;
			h = host_prof_start(&c, &e);
			if (t == HOST_KERNEL_PHASE) { /* it is below all others */
				ck_assert_ptr_null(h);
				continue;
			}
			ck_assert_ptr_nonnull(h);
			ck_assert_ptr_ne(h, (void *)-1);
			for (int s = 0; s <= 31; s++) {
				host_prof_state(&c, h, s, 7);
				host_prof_state_null(&c, h, s);
			}
			host_prof_stop(&c, h);
			host_prof_stop(&c, h);
		}
	}
	host_prof_fini(&c);
}

/* ---- traps ---- */

TEST_EACH(null_everywhere, 1, 8)
{
	const struct nb_profiler *p = tables[_i];
	struct host_prof c = open_rank(_i, 0);
	char descr[136] = { 0 };
	void *h = (void *)-1;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU | NB_TEL_PROXY);
	ck_assert_int_eq(p->start_event(NULL, NULL, NULL), 0);
	ck_assert_int_eq(p->start_event(NULL, &h, NULL), 0);
	ck_assert_ptr_null(h);
	h = (void *)-1;
	ck_assert_int_eq(p->start_event(c.ctx, &h, NULL), 0);
	ck_assert_ptr_null(h);
	for (int type = 0; type < 256; type++) {
		descr[0] = (char)type;
		h = (void *)-1;
		ck_assert_int_eq(p->start_event(NULL, &h, descr), 0);
		ck_assert_ptr_null(h);
		ck_assert_int_eq(p->start_event(c.ctx, NULL, descr), 0);
		ck_assert_int_eq(p->start_event(c.ctx, &h, descr), 0);
		ck_assert_ptr_ne(h, (void *)-1);
		p->stop_event(h);
	}
	ck_assert_int_eq(p->stop_event(NULL), 0);
	ck_assert_int_eq(p->stop_event((void *)8), 0);
	ck_assert_int_eq(p->stop_event((void *)-1), 0);
	ck_assert_int_eq(p->record_event_state(NULL, 22, NULL), 0);
	ck_assert_int_eq(p->record_event_state((void *)-1, 22, descr), 0);
	ck_assert_int_eq(p->finalize(NULL), 0);
	ck_assert_int_eq(p->finalize((void *)-1), 0);
	host_prof_fini(&c);
	if (_i < 4)
		ck_assert_int_eq(p->init.v1(NULL, NULL), 0);
	else if (_i == 4)
		ck_assert_int_eq(p->init.v4(NULL, NULL, NULL, 0, 0, 0, 0, NULL), 0);
	else
		ck_assert_int_eq(p->init.v5(NULL, 0, NULL, NULL, 0, 0, 0, NULL), 0);
}

TEST(children_may_come_after_the_stop)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task, *a, *b;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	ck_assert_ptr_null(row_of(&c)); /* its kernels have yet to come */
	a = kernel(&c, task, 0, 100);
	host_prof_state(&c, a, 22, 300);
	host_prof_stop(&c, a);
	ck_assert_ptr_null(row_of(&c));
	b = kernel(&c, task, 1, 90);
	host_prof_state(&c, b, 22, 250);
	host_prof_stop(&c, b);
	ck_assert_ptr_nonnull(row_of(&c));
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].sum_ns, 200);
	host_prof_fini(&c);
}

TEST(children_may_end_before_the_stop)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task, *k[2];

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	task = host_prof_start(&c, &e);
	for (int i = 0; i < 2; i++) {
		k[i] = kernel(&c, task, i, 100);
		host_prof_state(&c, k[i], 22, 200);
		host_prof_stop(&c, k[i]);
	}
	ck_assert_ptr_null(row_of(&c));
	host_prof_stop(&c, task);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].sum_ns, 100);
	host_prof_fini(&c);
}

TEST(handles_are_dead_after_their_end)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task, *k;

	nb_events_telemetry(NB_TEL_ON);
	task = host_prof_start(&c, &e);
	for (int i = 0; i < 3; i++)
		host_prof_stop(&c, task);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 1);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_TWICE), 2);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_STALE), 0);
	host_prof_state(&c, task, 22, 1);
	/* a child of what is over: a graph's replay */
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	k = kernel(&c, task, 0, 5);
	host_prof_state(&c, k, 22, 50);
	host_prof_stop(&c, k);
	host_prof_stop(&c, k);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].count, 0);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_ORDER), 1);
	/* and of events long gone */
	nb_events_telemetry(NB_TEL_ON);
	for (int i = 0; i < 2 * NB_COLL_SLOTS; i++) {
		void *h = host_prof_start(&c, &e);

		host_prof_stop(&c, task);
		host_prof_stop(&c, h);
	}
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 1 + 2 * NB_COLL_SLOTS);
	ck_assert_uint_gt(nb_events_lost(NB_LOST_STALE), NB_COLL_SLOTS);
	host_prof_fini(&c);
}

static char said[4096]; /* what the log has of events */

static void hear(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	size_t at = strlen(said);
	char text[512];
	va_list ap;

	(void)flags, (void)file, (void)line;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strstr(text, "profiler: "))
		snprintf(said + at, sizeof(said) - at, "%d %s\n", level, text);
}

static int times(const char *text)
{
	int n = 0;

	for (const char *p = said; (p = strstr(p, text)); p++)
		n++;
	return n;
}

static void *unknown_thread(void *arg)
{
	struct host_prof *c = arg;
	struct host_event e = coll_event();

	host_prof_stop(c, host_prof_start(c, &e));
	return NULL;
}

/* Every way in which events can be wrong, once: counted as what it is, said
 * once however often it happens. */
TEST(what_is_wrong_is_counted_and_said_once)
{
	struct host_prof c = open_rank(5, 0), gone;
	struct host_event e = coll_event(), big = e;
	pthread_t t;
	void *task, *k;

	ck_assert(nb_process_ready(hear));
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	e.channels = 1;
	for (int i = 0; i < 3; i++) {
		/* twice, and parts of what is over */
		task = host_prof_start(&c, &e);
		k = kernel(&c, task, 0, 5);
		host_prof_stop(&c, task);
		host_prof_stop(&c, task);
		host_prof_state(&c, k, 22, 50);
		host_prof_stop(&c, k);
		host_prof_stop(&c, k);
		host_prof_state(&c, k, 22, 60);
		kernel(&c, task, 0, 5);
		/* sizes */
		big.count = i == 2 ? SIZE_MAX : (size_t)1 << (50 + i);
		host_prof_stop(&c, host_prof_start(&c, &big));
		/* a handle that nobody gave */
		host_prof_stop(&c, (char *)task + 77777);
		/* a communicator that is gone */
		gone = open_rank(5, 1);
		host_prof_fini(&gone);
		host_prof_start(&gone, &e);
		nb_events_tell();
	}
	/* threads that NCCL has never named are as good as any */
	nb_events_telemetry(NB_TEL_ON);
	c.p = (const struct host_profiler *)(const void *)tables[5];
	pthread_create(&t, NULL, unknown_thread, &c);
	pthread_join(t, NULL);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_TWICE), 6);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_ORDER), 6);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_SIZE), 3);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_STALE), 3);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CONTEXT), 3);
	/* never stopped: given up when the communicator ends */
	host_prof_start(&c, &e);
	host_prof_fini(&c);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CUT), 1);
	nb_events_tell();
	ck_assert_msg(times("(stats: stopped_twice)") == 1, "%s", said);
	ck_assert_msg(times("2 ncclbpf: profiler: 2 events stopped") == 1, "%s", said);
	ck_assert_int_eq(times("(stats: out_of_order)"), 1);
	ck_assert_int_eq(times("(stats: absurd_size)"), 1);
	ck_assert_int_eq(times("(stats: stale_handle)"), 1);
	ck_assert_int_eq(times("(stats: no_context)"), 1);
	ck_assert_int_eq(times("3 ncclbpf: profiler: 1 event that never ended"), 1);
	ck_assert_int_eq(times("profiler: "), 6);
}

/* NCCL has at most 64 channels, RCCL 128, and version 4 has room for 255. */
TEST_EACH(channels_beyond_nccls, 0, 3)
{
	static const int channels[] = { 65, 128, 255 };
	struct host_prof c = open_rank(4, 0);
	struct host_coll k = ring;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	k.channels = channels[_i];
	for (int n = 0; n < 20; n++)
		host_prof_coll(&c, &k);
	ck_assert_uint_eq(row_of(&c)->channels_last, (unsigned)k.channels);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].count, 20);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].max_ns, 50000);
	for (int why = 0; why < NB_NLOST; why++)
		ck_assert_uint_eq(nb_events_lost((enum nb_lost)why), 0);
	host_prof_fini(&c);
}

TEST(a_gpu_clock_may_be_absurd)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task, *k;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	e.channels = 1;
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	k = kernel(&c, task, 0, 1000); /* ends before it begins */
	host_prof_state(&c, k, 22, 10);
	host_prof_stop(&c, k);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CLOCK), 1);
	nb_events_close(comm_of(&c));
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_KERNEL].count, 0);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 1);
	/* its stop is never told */
	nb_tel_clear(&comm_of(&c)->tel);
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	k = kernel(&c, task, 0, 1000);
	host_prof_stop(&c, k);
	ck_assert_uint_eq(row_of(&c)->source, NB_SOURCE_KERNEL_CPU);
	/* or told after the end */
	host_prof_state(&c, k, 22, 3000);
	host_prof_fini(&c);
}

TEST(an_event_does_not_end_before_it_begins)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task;
	uint64_t n;

	nb_events_telemetry(NB_TEL_ON);
	task = host_prof_start(&c, &e);
	n = (uint64_t)(uintptr_t)task & NB_HANDLE_NUMBER;
	comm_of(&c)->coll[n % NB_COLL_SLOTS].start = UINT64_MAX - 1;
	host_prof_stop(&c, task);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 0);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CLOCK), 1);
	host_prof_fini(&c);
}

TEST(parents_of_other_processes_are_not_ours)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task, *op;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_PROXY);
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	/* PXN: the number would mean something here, but it is not ours */
	e = (struct host_event){ .type = HOST_PROXY_OP, .parent = task, .pid = getpid() + 1 };
	op = host_prof_start(&c, &e);
	ck_assert_ptr_nonnull(op);
	host_prof_stop(&c, op);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_FOREIGN), 1);
	e.parent = (void *)0x7fff12345678;
	op = host_prof_start(&c, &e);
	host_prof_stop(&c, op);
	/* a pointer that claims to be of this process */
	e.pid = getpid();
	op = host_prof_start(&c, &e);
	host_prof_stop(&c, op);
	nb_events_close(comm_of(&c));
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_NETWORK].count, 0);
	host_prof_fini(&c);
}

TEST(a_fork_has_other_handles)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	void *task;
	pid_t pid;
	int status;

	nb_events_telemetry(NB_TEL_ON);
	task = host_prof_start(&c, &e);
	pid = fork();
	if (!pid) {
		struct host_prof own;

		host_prof_stop(&c, task);
		host_prof_coll(&c, &ring);
		host_prof_fini(&c);
		own = open_rank(5, 0);
		host_prof_coll(&own, &ring);
		status = row_of(&own)->time[NB_TEL_ENQUEUE].count != 1;
		host_prof_fini(&own);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	host_prof_stop(&c, task);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 1);
	host_prof_fini(&c);
}

TEST(the_end_may_come_first)
{
	struct host_prof c = open_rank(5, 0), d;
	struct host_event e = coll_event();
	void *ctx = c.ctx, *task, *k;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	k = kernel(&c, task, 0, 1);
	host_prof_fini(&c);
	ck_assert_uint_ge(nb_events_lost(NB_LOST_CUT), 1);
	/* a progress thread that outlives its communicator */
	c.ctx = ctx;
	host_prof_state(&c, k, 22, 5);
	host_prof_stop(&c, k);
	ck_assert_ptr_null(host_prof_start(&c, &e));
	host_prof_stop(&c, task);
	c.p->finalize(ctx);
	/* the place has a new user: nothing of the old one's is his */
	d = open_rank(5, 1);
	host_prof_stop(&c, k);
	host_prof_stop(&c, task);
	k = kernel(&d, task, 0, 1);
	host_prof_stop(&d, k);
	ck_assert_ptr_null(host_prof_start(&c, &e));
	ck_assert_ptr_null(row_of(&d));
	c.p->finalize(ctx);
	ck_assert_ptr_nonnull(host_prof_start(&d, &e));
	host_prof_fini(&d);
}

TEST(slots_are_bounded)
{
	struct host_prof c = open_rank(5, 0);
	struct host_event e = coll_event();
	static void *h[NB_COLL_SLOTS + 10];

	nb_events_telemetry(NB_TEL_ON);
	for (int i = 0; i < NB_COLL_SLOTS + 10; i++) {
		h[i] = host_prof_start(&c, &e);
		ck_assert_ptr_nonnull(h[i]);
	}
	ck_assert_uint_eq(nb_events_lost(NB_LOST_FULL), 10);
	for (int i = 0; i < NB_COLL_SLOTS + 10; i++)
		host_prof_stop(&c, h[i]);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, NB_COLL_SLOTS);
	/* a collective whose children never end does not hold up the rest */
	nb_events_telemetry(NB_TEL_ON | NB_TEL_PROXY);
	for (int i = 0; i < 3 * NB_CHILD_SLOTS; i++) {
		struct host_event op = { .type = HOST_PROXY_OP, .parent = h[0], .pid = getpid() };

		ck_assert_ptr_nonnull(host_prof_start(&c, &op));
	}
	host_prof_fini(&c);
}

/* A thread is held up after it has read the clock, and finds an event in its
 * place that began later. */
TEST(what_began_later_is_not_given_up)
{
	struct host_prof c = open_rank(5, 0);
	struct nb_pcomm *pc = comm_of(&c);
	struct host_event e = coll_event();
	void *task, *k;
	uint64_t n;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	e.channels = 1;
	task = host_prof_start(&c, &e);
	n = (uint64_t)(uintptr_t)task & NB_HANDLE_NUMBER;
	pc->coll[n % NB_COLL_SLOTS].touched += 1000000000;
	pc->next_coll += NB_COLL_SLOTS - 1;
	/* the next place is free */
	ck_assert_uint_eq((uint64_t)(uintptr_t)host_prof_start(&c, &e) & NB_HANDLE_NUMBER,
			  n + NB_COLL_SLOTS + 1);
	k = kernel(&c, task, 0, 1000);
	n = (uint64_t)(uintptr_t)k & NB_HANDLE_NUMBER;
	pc->child[n % NB_CHILD_SLOTS].start += 1000000000;
	pc->next_child += NB_CHILD_SLOTS - 1;
	ck_assert_uint_eq((uint64_t)(uintptr_t)kernel(&c, task, 0, 1000) & NB_HANDLE_NUMBER,
			  n + NB_CHILD_SLOTS + 1);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_FULL), 0);
	host_prof_stop(&c, task);
	host_prof_state(&c, k, 22, 3000);
	host_prof_stop(&c, k);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_EXEC].count, 1);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CUT), 0);
	host_prof_fini(&c);
}

TEST(communicators_are_bounded)
{
	enum { MORE = NB_MAX_PCOMMS + 3 };
	static struct host_prof c[MORE];
	struct host_prof one_more;
	uint64_t lost;

	for (int i = 0; i < MORE; i++) {
		c[i] = open_rank(5, i);
		c[i].ranks = MORE;
	}
	nb_events_telemetry(NB_TEL_ON);
	for (int i = 0; i < MORE; i++)
		host_prof_coll(&c[i], &ring);
	/* NCCL has one mask: that of those that are seen stays */
	one_more = open_rank(5, MORE);
	lost = nb_events_lost(NB_LOST_CONTEXT);
	ck_assert_uint_gt(lost, 0);
	host_prof_coll(&one_more, &ring);
	ck_assert_uint_gt(nb_events_lost(NB_LOST_CONTEXT), lost);
	ck_assert_ptr_null(nb_pcomm_of((uint64_t)(uintptr_t)one_more.ctx));
	ck_assert_int_eq(mask, HOST_COLL | HOST_P2P);
	host_prof_fini(&one_more);
	for (int i = 0; i < MORE; i++)
		host_prof_fini(&c[i]);
	c[0] = open_rank(5, 0);
	host_prof_coll(&c[0], &ring);
	ck_assert_ptr_nonnull(row_of(&c[0]));
	host_prof_fini(&c[0]);
}

TEST(types_are_known_by_their_whole_name)
{
	static const struct {
		const char *text;
		uint32_t number;
	} good[] = {
#define PROF_TYPE(number, name, bytes) { name, number },
#include "core/defs/profiler.h"
		{ "Unknown", 1 }, /* NCCL's word for ncclUint8 */
	};
	static const char *const bad[] = {
		NULL,	       "",
		"n",	       "ncc",
		"nccl",	       "ncclF",
		"ncclFloat3",  "ncclFloat322",
		"NcclInt8",    "mcclFloat32",
		"ncclfloat32", "nccl Int8",
		"Unknow",      "Unknown1",
		"ncclUnknown", "Float32",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char copy[32];

		/* by what is there, not by where it is */
		snprintf(copy, sizeof(copy), "%s", good[i].text);
		ck_assert_uint_eq(nb_profiler_type(copy), good[i].number);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_uint_eq(nb_profiler_type(bad[i]), NB_WORD_NONE);
}

UNIT_MAIN("profiler")
