// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The ring behind `trace start`: what NCCL is asked for follows the traces that
// are open, what comes in is what NCCL told, and neither a crowd of writers nor
// a reader that sleeps ever makes a span of two.
#include "test/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/segment/format.h"
#include "core/job/segment/packed.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/profiler/events.h"
#include "plugin/profiler/mask.h"
#include "plugin/trace/ring.h"
#include "test/fakes/host/prof.h"
#include "test/unit/pools_room.h"
#include "plugin/policies/held.h"

static int mask = 0x55;

static const struct nb_profiler *const tables[8] = { NULL,
						     &ncclProfiler_v1,
						     &ncclProfiler_v2,
						     &ncclProfiler_v3,
						     &ncclProfiler_v4,
						     &ncclProfiler_v5,
						     &ncclProfiler_v6,
						     &ncclProfiler_v7 };

static struct host_prof open_rank(int abi)
{
	struct host_prof c = { .abi = abi,
			       .mask = &mask,
			       .name = "world",
			       .id = 0xabc,
			       .nodes = 1,
			       .ranks = 8,
			       .rank = 3 };

	pools_have_room();
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_JOB", "test_spans", 1);
	c.p = (const struct host_profiler *)(const void *)tables[abi];
	ck_assert_int_eq(host_prof_init(&c, NULL), 0);
	return c;
}

/* As the commands of a trace do: what is recorded, then what NCCL is asked for. */
static int trace_open(uint32_t events)
{
	int rc = nb_trace_ring_open(events, NULL);

	nb_events_ask();
	return rc;
}

static void trace_close(uint32_t events)
{
	nb_trace_ring_close(events);
	nb_events_ask();
}

static int trace_record(uint32_t events)
{
	int rc = nb_trace_ring_record(events, NULL);

	nb_events_ask();
	return rc;
}

TEST_EACH(the_mask_follows_the_traces, 1, 8)
{
	struct host_prof c = open_rank(_i);
	uint32_t tasks = HOST_COLL | HOST_P2P;
	uint32_t kernel = _i >= 3 ? HOST_KERNEL_CH : 0;
	uint32_t api = _i >= 5 ? HOST_COLL_API : 0;

	ck_assert_int_eq(mask, 0);
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(KERNEL_CH)), 0);
	/* with kernels since 2.29: the calls that tell of grouped broadcasts */
	ck_assert_int_eq(mask, (int)(tasks | kernel | (_i >= 6 ? api : 0)));
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL_API)), 0);
	ck_assert_int_eq(mask, (int)(tasks | kernel | api));
	ck_assert_uint_eq(nb_trace_ring_traces(), 2);
	trace_close(NB_EVENT_BIT(KERNEL_CH));
	ck_assert_int_eq(mask, (int)api);
	trace_close(NB_EVENT_BIT(COLL_API));
	ck_assert_int_eq(mask, 0);
	/* the one that lives by itself: one, whatever it is asked for */
	ck_assert_int_eq(trace_record(NB_EVENT_BIT(COLL)), 0);
	ck_assert_int_eq(trace_record(NB_EVENT_BIT(P2P)), 0);
	ck_assert_int_eq(mask, HOST_P2P);
	ck_assert_uint_eq(nb_trace_ring_traces(), 1);
	ck_assert_int_eq(trace_record(0), 0);
	ck_assert_int_eq(trace_record(0), 0);
	ck_assert_int_eq(mask, 0);
	ck_assert_uint_eq(nb_trace_ring_traces(), 0);
	host_prof_fini(&c);
}

static uint64_t event_of(const struct nb_trace_span *s)
{
	return s->word[NB_SPAN_WHAT] & 255;
}

TEST(a_collective_and_its_parts)
{
	struct host_prof c = open_rank(5);
	struct host_coll k = { .func = 4,
			       .algo = 1,
			       .proto = 2,
			       .datatype = 7,
			       .channels = 2,
			       .ops = 1,
			       .steps = 2,
			       .seq = 9,
			       .count = 1 << 20,
			       .gpu_from = 1000,
			       .gpu_to = 51000 };
	uint32_t n[NB_NEVENTS] = { 0 };
	uint64_t task = 0, from = nb_trace_ring_next();
	struct nb_trace_span s;

	ck_assert_int_eq(trace_open(0xfff), 0);
	host_prof_coll(&c, &k);
	trace_close(0xfff);
	host_prof_coll(&c, &k); /* nobody wants it */
	for (uint64_t i = from; i < nb_trace_ring_next(); i++) {
		ck_assert(nb_trace_ring_read(i, &s));
		n[event_of(&s)]++;
		ck_assert_uint_eq(s.word[NB_SPAN_COMM], 0xabc);
		ck_assert_uint_eq(s.word[NB_SPAN_WHO] & UINT32_MAX, 3);
		ck_assert_uint_le(s.word[NB_SPAN_START], s.word[NB_SPAN_END]);
		if (event_of(&s) != NB_EVENT_COLL)
			continue;
		task = s.word[NB_SPAN_ID];
		ck_assert_uint_eq(s.word[NB_SPAN_EXEC], 50001);
		ck_assert_uint_eq(s.word[NB_SPAN_SOURCE], NB_SOURCE_GPU);
		ck_assert_uint_eq(s.word[NB_SPAN_SEQ], 9);
		ck_assert_uint_eq(s.word[NB_SPAN_BYTES], 4 << 20);
		ck_assert_uint_ge(s.word[NB_SPAN_DONE], s.word[NB_SPAN_END]);
	}
	ck_assert_uint_eq(n[NB_EVENT_COLL], 1);
	ck_assert_uint_eq(n[NB_EVENT_KERNEL_CH], 2);
	ck_assert_uint_eq(n[NB_EVENT_PROXY_OP], 1);
	ck_assert_uint_eq(n[NB_EVENT_PROXY_STEP], 2);
	ck_assert_uint_eq(n[NB_EVENT_GROUP], 1);
	ck_assert_uint_eq(n[NB_EVENT_GROUP_API], 1);
	ck_assert_uint_eq(n[NB_EVENT_COLL_API], 1);
	for (uint64_t i = from; i < nb_trace_ring_next(); i++) {
		ck_assert(nb_trace_ring_read(i, &s));
		if (event_of(&s) == NB_EVENT_KERNEL_CH)
			ck_assert_uint_eq(s.word[NB_SPAN_PARENT], task);
	}
	host_prof_fini(&c);
}

TEST_EACH(span_of_a_task_has_the_tag_of_the_application, 6, 8)
{
	struct host_prof c = open_rank(_i);
	struct host_event e = {
		.type = HOST_COLL, .func = 4, .datatype = 7, .count = 1024, .tag = 1 << 20
	};
	uint64_t from = nb_trace_ring_next();
	struct nb_trace_span s;

	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P)), 0);
	host_prof_stop(&c, host_prof_start(&c, &e));
	e.type = HOST_P2P;
	e.func = 6;
	host_prof_stop(&c, host_prof_start(&c, &e));
	e.tag = 0;
	host_prof_stop(&c, host_prof_start(&c, &e));
	for (uint64_t i = 0; i < 3; i++) {
		ck_assert(nb_trace_ring_read(from + i, &s));
		ck_assert_uint_eq(s.word[NB_SPAN_TAG], _i >= 7 && i < 2 ? 1 << 20 : 0);
	}
	trace_close(NB_EVENT_BIT(COLL) | NB_EVENT_BIT(P2P));
	host_prof_fini(&c);
}

TEST(each_of_128_channels)
{
	struct host_prof c = open_rank(4);
	struct host_coll k = { .func = 4,
			       .datatype = 7,
			       .channels = 128,
			       .count = 1 << 20,
			       .gpu_from = 1000,
			       .gpu_to = 51000 };
	uint64_t from = nb_trace_ring_next(), seen[2] = { 0 };
	struct nb_trace_span s;

	ck_assert_int_eq(trace_open(NB_EVENT_BIT(KERNEL_CH)), 0);
	host_prof_coll(&c, &k);
	trace_close(NB_EVENT_BIT(KERNEL_CH));
	for (uint64_t i = from; i < nb_trace_ring_next(); i++) {
		uint64_t channel;

		ck_assert(nb_trace_ring_read(i, &s));
		if (event_of(&s) != NB_EVENT_KERNEL_CH)
			continue;
		channel = s.word[NB_SPAN_WHAT] >> NB_SPAN_AT_CHANNELS & 255;
		ck_assert_uint_lt(channel, 128);
		seen[channel / 64] |= UINT64_C(1) << channel % 64;
	}
	ck_assert_uint_eq(seen[0], UINT64_MAX);
	ck_assert_uint_eq(seen[1], UINT64_MAX);
	host_prof_fini(&c);
}

/* Decision @seq for an AllReduce of @bytes, by policy @by. */
static void decide(struct nb_packed *ring, uint64_t seq, uint64_t bytes, uint64_t by)
{
	uint64_t w[NB_PACKED_WORDS] = { bytes, 1,
					UINT64_C(4) << NB_PACKED_AT_COLL | by << NB_PACKED_AT_BY |
						UINT64_C(1) << NB_PACKED_AT_CHUNK };

	nb_seg_chunks(ring)[seq % NB_RING] = nb_packed_tag(seq) | (4096 + by);
	for (int i = 0; i < NB_PACKED_WORDS; i++)
		ring[seq % NB_RING].word[i] = w[i] | nb_packed_tag(seq);
}

/* A trace begins while a collective runs, and its reader is late: by then the
 * tuner's ring has lost the decision. */
TEST(a_collective_keeps_its_decision)
{
	static struct nb_seg_slot slot = { .announced = 7 };
	static uint64_t memory[NB_SEG_RING_SIZE / 8];
	struct nb_packed *ring = (void *)memory;
	struct host_prof c = open_rank(5);
	struct host_event coll = {
		.type = HOST_COLL, .func = 4, .datatype = 7, .channels = 1, .count = 1024
	};
	uint64_t from = nb_trace_ring_next();
	struct nb_packed packed;
	struct nb_trace_span s;
	struct nb_decision d;
	void *task;

	for (uint64_t k = 0; k < 4; k++)
		decide(ring, k, 1, 0);
	decide(ring, 4, 4096, 1);
	decide(ring, 5, 8192, 2);
	decide(ring, 6, 2048, 3);
	nb_events_tell_tuner(0xabc, NULL, &slot, ring);
	nb_events_telemetry(NB_TEL_ON);
	task = host_prof_start(&c, &coll);
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL)), 0);
	host_prof_stop(&c, task);
	decide(ring, 4 + NB_RING, 1, 0);
	trace_close(NB_EVENT_BIT(COLL));
	ck_assert_uint_eq(nb_trace_ring_next(), from + 1);
	ck_assert(nb_trace_ring_read(from, &s));
	ck_assert_uint_eq(event_of(&s), NB_EVENT_COLL);
	ck_assert_uint_eq(s.word[NB_SPAN_DECIDED], 5);
	memcpy(packed.word, &s.word[NB_SPAN_DECISION], sizeof(packed.word));
	ck_assert(nb_unpack(&packed, &s.word[NB_SPAN_CHUNK], 4, &d));
	ck_assert_int_eq(d.by, 1);
	ck_assert_uint_eq(d.chunk_size, 4097);
	/* one decision may be for several collectives that NCCL merges */
	decide(ring, 4, 4096, 1);
	coll.count = 2000;
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL)), 0);
	host_prof_stop(&c, host_prof_start(&c, &coll));
	ck_assert(nb_trace_ring_read(from + 1, &s));
	ck_assert_uint_eq(s.word[NB_SPAN_DECIDED], 6);
	coll.algo = 1; /* not what was decided: NCCL has not asked */
	host_prof_stop(&c, host_prof_start(&c, &coll));
	ck_assert(nb_trace_ring_read(from + 2, &s));
	ck_assert_uint_eq(s.word[NB_SPAN_DECIDED], 0);
	coll.algo = 0;
	/* a rank whose tuner has ended has no decisions */
	nb_events_untell(&slot);
	host_prof_stop(&c, host_prof_start(&c, &coll));
	trace_close(NB_EVENT_BIT(COLL));
	ck_assert(nb_trace_ring_read(from + 3, &s));
	ck_assert_uint_eq(s.word[NB_SPAN_DECIDED], 0);
	nb_events_telemetry(0);
	host_prof_fini(&c);
}

/* NCCL has decided for something else of this size. */
TEST(symmetric_kernel_has_no_decision)
{
	static struct nb_seg_slot slot = { .announced = 6 };
	static uint64_t memory[NB_SEG_RING_SIZE / 8];
	struct nb_packed *ring = (void *)memory;
	struct host_prof c = open_rank(7);
	struct host_event coll = { .type = HOST_COLL, .func = 4, .datatype = 7, .count = 1024 };
	uint64_t from = nb_trace_ring_next();
	struct nb_trace_span s;

	for (uint64_t k = 0; k < 6; k++)
		decide(ring, k, 4096, 1);
	nb_events_tell_tuner(0xabc, NULL, &slot, ring);
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL)), 0);
	for (int symmetric = 0; symmetric < 2; symmetric++) {
		coll.symmetric = symmetric;
		host_prof_stop(&c, host_prof_start(&c, &coll));
		ck_assert(nb_trace_ring_read(from + (uint64_t)symmetric, &s));
		ck_assert_uint_eq(s.word[NB_SPAN_DECIDED], symmetric ? 0 : 6);
		ck_assert_uint_eq(s.word[NB_SPAN_WHAT] >> NB_SPAN_AT_ALGO & 255,
				  symmetric ? NB_WORD_SYMMETRIC : 0);
	}
	nb_events_untell(&slot);
	trace_close(NB_EVENT_BIT(COLL));
	host_prof_fini(&c);
}

/* The decision of a collective, as its span tells it; 0: not known. */
static uint64_t decision_of(struct host_prof *c, uint64_t bytes, int algo)
{
	struct host_event coll = { .type = HOST_COLL,
				   .func = 4,
				   .datatype = 7,
				   .algo = algo,
				   .channels = 1,
				   .count = bytes / 4 };
	uint64_t at = nb_trace_ring_next();
	struct nb_trace_span s;

	host_prof_stop(c, host_prof_start(c, &coll));
	ck_assert(nb_trace_ring_read(at, &s));
	return s.word[NB_SPAN_DECIDED];
}

static uint64_t decided(struct host_prof *c, uint64_t bytes)
{
	return decision_of(c, bytes, 0);
}

static uint64_t ran_otherwise(struct host_prof *c, uint64_t bytes)
{
	return decision_of(c, bytes, 1);
}

/* NCCL decides for all collectives of a group before it starts the first one. */
TEST(only_decisions_of_the_group_are_searched)
{
	static struct nb_seg_slot slot = { .announced = 1 };
	static uint64_t memory[NB_SEG_RING_SIZE / 8];
	struct nb_packed *ring = (void *)memory;
	struct host_prof c = open_rank(5);

	decide(ring, 0, 4096, 1);
	nb_events_tell_tuner(0xabc, NULL, &slot, ring);
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL)), 0);
	ck_assert_uint_eq(decided(&c, 4096), 1);
	/* NCCL merges two collectives; an older decision of their size is not their own */
	decide(ring, 1, 8192, 2);
	slot.announced = 2;
	ck_assert_uint_eq(decided(&c, 4096), 2);
	ck_assert_uint_eq(decided(&c, 4096), 2);
	/* two of one size that the same policy decided alike, and one of another size */
	decide(ring, 2, 4096, 3);
	decide(ring, 3, 1024, 4);
	decide(ring, 4, 4096, 3);
	slot.announced = 5;
	ck_assert_uint_eq(decided(&c, 4096), 5);
	ck_assert_uint_eq(decided(&c, 1024), 4);
	ck_assert_uint_eq(decided(&c, 4096), 5);
	/* differently: nobody knows which of them ran as which */
	decide(ring, 5, 4096, 3);
	decide(ring, 6, 4096, 4);
	slot.announced = 7;
	ck_assert_uint_eq(decided(&c, 4096), 0);
	ck_assert_uint_eq(decided(&c, 4096), 0);
	/* not what was decided */
	decide(ring, 7, 4096, 3);
	slot.announced = 8;
	ck_assert_uint_eq(decided(&c, 4096), 8);
	ck_assert_uint_eq(ran_otherwise(&c, 4096), 0);
	/* the ring has lost a decision of the group */
	decide(ring, 8, 4096, 3);
	decide(ring, 9 + NB_RING, 4096, 3);
	slot.announced = 10;
	ck_assert_uint_eq(decided(&c, 4096), 0);
	/* a group of more decisions than are searched */
	for (uint64_t k = 10; k < 75; k++)
		decide(ring, k, 4096, 3);
	slot.announced = 75;
	ck_assert_uint_eq(decided(&c, 4096), 0);
	/* another thread has seen later ones */
	slot.announced = 74;
	ck_assert_uint_eq(decided(&c, 4096), 0);
	nb_events_untell(&slot);
	trace_close(NB_EVENT_BIT(COLL));
	host_prof_fini(&c);
	/* the next communicator in the same structure has decisions of its own */
	c = open_rank(5);
	decide(ring, 0, 4096, 1);
	slot.announced = 1;
	nb_events_tell_tuner(0xabc, NULL, &slot, ring);
	ck_assert_int_eq(trace_open(NB_EVENT_BIT(COLL)), 0);
	ck_assert_uint_eq(decided(&c, 4096), 1);
	nb_events_untell(&slot);
	trace_close(NB_EVENT_BIT(COLL));
	host_prof_fini(&c);
}

/* ---- crowds ---- */

enum { WRITERS = 4, EACH = TIMES(100000) };

static void *writer(void *arg)
{
	uint64_t who = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		struct nb_trace_span s;

		for (uint64_t w = 0; w < NB_SPAN_WORDS; w++)
			s.word[w] = who << 40 | i << 8 | w;
		nb_trace_ring_add(&s);
	}
	return NULL;
}

/* All words are of one writer's one span. */
static void whole(const struct nb_trace_span *s)
{
	for (uint64_t w = 0; w < NB_SPAN_WORDS; w++)
		ck_assert_uint_eq(s->word[w], (s->word[0] & ~255ull) | w);
}

TEST(a_span_is_never_of_two)
{
	uint64_t from = nb_trace_ring_next(), left = nb_trace_ring_left_out(), have = 0;
	pthread_t t[WRITERS];
	struct nb_trace_span s;

	ck_assert_int_eq(trace_open(1), 0);
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, writer, (void *)(i + 1));
	/* a reader that looks here and there, also where none is yet */
	for (int i = 0; i < TIMES(200000); i++)
		if (nb_trace_ring_read(from + (uint64_t)i * 7 % (2 * NB_SPANS), &s))
			whole(&s);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(nb_trace_ring_next() - from, WRITERS * EACH);
	for (uint64_t i = nb_trace_ring_next() - NB_SPANS; i < nb_trace_ring_next(); i++)
		if (nb_trace_ring_read(i, &s)) {
			whole(&s);
			have++;
		}
	/* what is not there was left out and counted, or written over by one
	 * that was */
	ck_assert_uint_le(NB_SPANS - have, nb_trace_ring_left_out() - left);
	ck_assert(!nb_trace_ring_read(nb_trace_ring_next() - NB_SPANS - 1, &s) ||
		  nb_trace_ring_left_out() > left);
	ck_assert(!nb_trace_ring_read(nb_trace_ring_next(), &s));
	trace_close(1);
}

UNIT_MAIN("spans")
