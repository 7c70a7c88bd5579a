// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What is seen of operations without a program: counts and times of each
// context and peer, and spans in the ring of the collectives' trace.
#include "test/unit/gin_pair.h"

#include <stdlib.h>

#include "plugin/abi/profiler_abi.h"
#include "plugin/gin/list.h"
#include "plugin/gin/observe.h"
#include "plugin/profiler/mask.h"
#include "test/fakes/host/prof.h"

static void set_up(void)
{
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_gin_observe", 1);
	setenv("NCCLBPF_GIN", "on", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	pair_open();
}

static bool find_rank_0(const struct nb_gin_coll *c, void *arg)
{
	if (c->rank == 0)
		*(const struct nb_gin_coll **)arg = c;
	return true;
}

static const struct nb_gin_coll *coll_0(void)
{
	const struct nb_gin_coll *c = NULL;

	nb_gin_list_each(find_rank_0, &c);
	ck_assert_ptr_nonnull(c);
	return c;
}

/* The first context object of rank 0's collComm. */
static const struct nb_gin_counts *counts(uint32_t context, uint32_t peer)
{
	const struct nb_gin_context *x = coll_0()->context[0];

	return &x->lane[nb_gin_lane_index(x, context, peer)].counts;
}

static const struct nb_tel_time *times(uint32_t context, uint32_t peer, enum nb_gin_time kind)
{
	const struct nb_gin_context *x = coll_0()->context[0];

	return &x->times[nb_gin_lane_index(x, context, peer)].of[kind];
}

static void get_one(int context, uint32_t from, size_t size)
{
	void *req = NULL;

	ck_assert_int_eq(rma->iget.rma_v15(pair[0].ctx, context, 0, pair[0].window, size, 30000,
					   pair[0].window, from, 0, &req),
			 0);
	pair_finish(req);
}

static void some_traffic(void)
{
	for (int i = 0; i < 5; i++)
		pair_finish(pair_put(0, 1, 1000, 0, 5000, 0, 0, 0));
	for (int i = 0; i < 3; i++)
		pair_finish(pair_put(1, 1, 50, 0, 5000, 2, 2, 5));
	pair_finish(pair_put(1, 0, 8, 0, 4000, 1, 1, 0));
	get_one(1, 1, 64);
}

TEST(counts_are_kept_by_context_and_peer)
{
	const struct nb_gin_counts *n;
	void *open;

	set_up();
	some_traffic();
	n = counts(0, 1);
	ck_assert_uint_eq(n->puts, 5);
	ck_assert_uint_eq(n->signals, 0);
	ck_assert_uint_eq(n->bytes, 5000);
	n = counts(1, 1);
	ck_assert_uint_eq(n->puts, 3);
	ck_assert_uint_eq(n->signals, 3);
	ck_assert_uint_eq(n->gets, 1);
	ck_assert_uint_eq(n->bytes, 150 + 64);
	n = counts(1, 0);
	ck_assert_uint_eq(n->puts, 1);
	ck_assert_uint_eq(counts(0, 0)->puts, 0);
	/* the peer's counts are the sum */
	ck_assert_uint_eq(coll_0()->peer[1].puts, 8);
	ck_assert_uint_eq(coll_0()->peer[1].bytes, 5000 + 150 + 64);
	open = pair_put(1, 1, 8, 0, 4000, 1, 1, 0);
	ck_assert_uint_eq(counts(1, 1)->outstanding, 1);
	ck_assert_uint_eq(counts(0, 1)->outstanding, 0);
	pair_finish(open);
	ck_assert_uint_eq(counts(1, 1)->outstanding, 0);
	pair_close();
}

TEST(times_are_taken_while_telemetry_is_on)
{
	struct nb_tel_time sum = { .count = 0 };
	uint64_t n = 0;

	set_up();
	some_traffic();
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_PUT)->count, 0);
	nb_events_telemetry(NB_TEL_ON);
	some_traffic();
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_PUT)->count, 5);
	ck_assert_uint_eq(times(1, 1, NB_GIN_TIME_PUT)->count, 3);
	ck_assert_uint_eq(times(1, 1, NB_GIN_TIME_GET)->count, 1);
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_GET)->count, 0);
	ck_assert_uint_gt(times(0, 1, NB_GIN_TIME_PUT)->max_ns, 0);
	nb_gin_time_sum(&sum, times(0, 1, NB_GIN_TIME_PUT));
	nb_gin_time_sum(&sum, times(1, 1, NB_GIN_TIME_PUT));
	ck_assert_uint_eq(sum.count, 8);
	ck_assert_uint_ge(sum.sum_ns, sum.max_ns);
	for (int i = 0; i < NB_HIST_BUCKETS; i++)
		n += sum.hist[i];
	ck_assert_uint_eq(n, 8);
	nb_gin_times_clear();
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_PUT)->count, 0);
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_PUT)->max_ns, 0);
	ck_assert_uint_eq(counts(0, 1)->puts, 10);
	nb_events_telemetry(0);
	some_traffic();
	ck_assert_uint_eq(times(0, 1, NB_GIN_TIME_PUT)->count, 0);
	pair_close();
}

/* The next span of the event from *@at on, which is moved behind it. */
static struct nb_trace_span span(uint64_t *at, unsigned event)
{
	struct nb_trace_span s;

	while (*at < nb_trace_ring_next()) {
		ck_assert(nb_trace_ring_read((*at)++, &s));
		if ((s.word[NB_SPAN_WHAT] & 255) == event)
			return s;
	}
	ck_abort_msg("no span of event %u", event);
}

static uint64_t count_spans(uint64_t from)
{
	return nb_trace_ring_next() - from;
}

/* A put, a collective and a put with a signal, one after the other: their spans
 * lie in one ring and do not overlap. */
TEST(puts_and_collectives_are_in_one_trace)
{
	static int mask;
	struct host_prof c = { .p = (const struct host_profiler *)(const void *)&ncclProfiler_v5,
			       .abi = 5,
			       .mask = &mask,
			       .name = "world",
			       .id = 77,
			       .nodes = 1,
			       .ranks = 2 };
	struct host_coll k = {
		.func = 4, .datatype = 7, .channels = 1, .ops = 1, .steps = 1, .count = 1024
	};
	uint32_t events = NB_EVENT_BIT(COLL) | NB_TRACE_GIN;
	struct nb_trace_span first, coll, second, signal;
	uint64_t from, at;

	set_up();
	ck_assert_int_eq(host_prof_init(&c, NULL), 0);
	from = at = nb_trace_ring_next();
	pair_finish(pair_put(0, 1, 1000, 0, 5000, 0, 0, 0));
	ck_assert_uint_eq(count_spans(from), 0); /* nobody wants it */
	ck_assert_int_eq(nb_trace_ring_open(events, NULL), 0);
	nb_events_ask();
	/* NCCL is asked for its own events alone */
	ck_assert_int_eq(mask, HOST_COLL);
	pair_finish(pair_put(0, 1, 1000, 0, 5000, 0, 0, 0));
	host_prof_coll(&c, &k);
	pair_finish(pair_put(1, 1, 50, 0, 5000, 2, 2, 9));
	while (!__atomic_load_n(&pair[1].signal[2], __ATOMIC_ACQUIRE))
		pair_tick();
	nb_trace_ring_close(events);
	first = span(&at, NB_TRACE_GIN_PUT);
	coll = span(&at, NB_EVENT_COLL);
	signal = span(&(uint64_t){ at }, NB_TRACE_GIN_SIGNAL);
	second = span(&at, NB_TRACE_GIN_PUT);
	ck_assert_uint_eq(first.word[NB_SPAN_COMM], 77);
	ck_assert_uint_eq(first.word[NB_SPAN_WHO], UINT64_C(1) << 32);
	ck_assert_uint_eq(first.word[NB_SPAN_BYTES], 1000);
	ck_assert_uint_eq(first.word[NB_SPAN_GIN + 1], 0);
	ck_assert_uint_eq(second.word[NB_SPAN_WHAT] >> NB_SPAN_AT_CHANNELS & 255, 1);
	ck_assert_uint_eq(second.word[NB_SPAN_GIN + 1], 2);
	ck_assert_uint_eq(second.word[NB_SPAN_GIN + 2], 2);
	ck_assert_uint_eq(second.word[NB_SPAN_GIN + 3], 9);
	ck_assert_uint_lt(first.word[NB_SPAN_START], first.word[NB_SPAN_END]);
	ck_assert_uint_le(first.word[NB_SPAN_END], coll.word[NB_SPAN_START]);
	ck_assert_uint_le(coll.word[NB_SPAN_END], second.word[NB_SPAN_START]);
	/* at rank 1: the signal came after its put began */
	ck_assert_uint_eq(signal.word[NB_SPAN_WHO], 1);
	ck_assert_uint_eq(signal.word[NB_SPAN_BYTES], 2050);
	ck_assert_uint_eq(signal.word[NB_SPAN_GIN], 3);
	ck_assert_uint_eq(signal.word[NB_SPAN_GIN + 2], 2);
	ck_assert_uint_eq(signal.word[NB_SPAN_GIN + 3], 9);
	ck_assert_uint_ge(signal.word[NB_SPAN_START], second.word[NB_SPAN_START]);
	ck_assert_uint_ne(first.word[NB_SPAN_ID], second.word[NB_SPAN_ID]);
	from = nb_trace_ring_next();
	pair_finish(pair_put(0, 1, 1000, 0, 5000, 0, 0, 0));
	ck_assert_uint_eq(count_spans(from), 0);
	host_prof_fini(&c);
	pair_close();
}

/* Rank 1 goes away while puts to it wait: NCCL may test a failed request again,
 * and one that failed late counts as well. */
TEST(a_failure_is_counted_once)
{
	enum { N = 64 };
	void *req[N];
	int done, rc;
	uint64_t failed = 0;
	uint64_t from;

	set_up();
	ck_assert_int_eq(nb_trace_ring_open(NB_TRACE_GIN, NULL), 0);
	from = nb_trace_ring_next();
	/* more than the sockets' buffers hold, and rank 1 takes nothing */
	for (int i = 0; i < N; i++)
		req[i] = NULL;
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(rma->iput.rma_v15(pair[0].ctx, 0, 0, pair[0].window, PAIR_BYTES, 0,
						   pair[0].window, 1, 0, &req[i]),
				 0);
		for (int t = 0; t < 3; t++)
			rma->test(pair[0].coll, req[i], &done);
	}
	ck_assert_int_eq(rma->destroy_context(pair[1].ctx), 0);
	ck_assert_int_eq(rma->close_coll(pair[1].coll), 0);
	for (int i = 0; i < N; i++)
		do {
			rma->progress(pair[0].ctx);
			rc = rma->test(pair[0].coll, req[i], &done);
			failed += rc != 0;
			if (rc) /* and again */
				ck_assert_int_eq(rma->test(pair[0].coll, req[i], &done), rc);
		} while (!rc && !done);
	ck_assert_uint_gt(failed, 0);
	ck_assert_uint_eq(counts(0, 1)->errors, failed);
	ck_assert_uint_eq(coll_0()->peer[1].errors, failed);
	ck_assert_uint_eq(count_spans(from), N);
	nb_trace_ring_close(NB_TRACE_GIN);
	ck_assert_int_eq(rma->destroy_context(pair[0].ctx), 0);
	ck_assert_int_eq(rma->close_coll(pair[0].coll), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(rma->close_listen(pair[i].listener), 0);
		ck_assert_int_eq(rma->finalize(pair[i].instance), 0);
	}
}

// clang-format off
UNIT_MAIN("gin_observe")
