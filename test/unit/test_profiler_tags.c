// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What version 7 of the profiler interface adds: the application's tags, by
// which times are grouped, symmetric kernels, and events that older versions do not have.
#include "test/unit/profiler_rank.h"

#include <stdint.h>

static const struct nb_op_slot *slot_of(const struct host_prof *c, void *task)
{
	uint64_t n = (uint64_t)(uintptr_t)task & NB_HANDLE_NUMBER;

	ck_assert_uint_ne(n, 0);
	return &comm_of(c)->coll[n % NB_COLL_SLOTS];
}

TEST_EACH(tags_and_symmetric_kernels_are_told_from_v7_on, 5, 8)
{
	struct host_prof c = open_rank(_i, 0);
	struct host_event e = coll_event();
	const struct nb_op_slot *s;
	void *task;

	nb_events_telemetry(NB_TEL_ON);
	e.tag = INT64_MAX; /* the highest bit is NCCL's */
	for (int symmetric = 0; symmetric < 2; symmetric++) {
		e.symmetric = symmetric;
		task = host_prof_start(&c, &e);
		s = slot_of(&c, task);
		ck_assert_uint_eq(s->tag, _i >= 7 ? INT64_MAX : 0);
		ck_assert_uint_eq(s->what >> W_ALGO & 255,
				  _i >= 7 && symmetric ? NB_WORD_SYMMETRIC : 1);
		host_prof_stop(&c, task);
	}
	e.type = HOST_P2P;
	e.func = 6;
	e.tag = 77;
	task = host_prof_start(&c, &e);
	ck_assert_uint_eq(slot_of(&c, task)->tag, _i >= 7 ? 77 : 0);
	ck_assert_uint_eq(slot_of(&c, task)->what >> W_ALGO & 255, NB_WORD_NONE);
	host_prof_stop(&c, task);
	/* a slot keeps nothing of its last event */
	e.tag = 0;
	for (int i = 0; i < NB_COLL_SLOTS; i++) {
		task = host_prof_start(&c, &e);
		ck_assert_uint_eq(slot_of(&c, task)->tag, 0);
		host_prof_stop(&c, task);
	}
	host_prof_fini(&c);
}

TEST(symmetric_kernel_is_measured)
{
	struct host_prof c = open_rank(7, 0);
	const struct nb_tel_row *r;
	struct host_coll k = ring;

	k.symmetric = true;
	k.tag = 5;
	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	ck_assert_int_eq(mask & HOST_KERNEL_PHASE, 0);
	host_prof_coll(&c, &k);
	r = row_of(&c);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->key, nb_tel_key(4, 4 << 20, NB_WORD_SYMMETRIC, NB_WORD_NONE));
	ck_assert_str_eq(nb_tel_algo_word(NB_WORD_SYMMETRIC), "symmetric");
	ck_assert_ptr_null(nb_tel_algo_word(NB_WORD_NONE));
	ck_assert_ptr_null(nb_tel_algo_word(99));
	ck_assert_str_eq(nb_tel_algo_word(1), "ring");
	/* ranks are compared by it */
	ck_assert_uint_eq(comm_of(&c)->tel.next, 1);
	ck_assert_uint_eq(r->source, NB_SOURCE_GPU);
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].sum_ns, 50000);
	host_prof_fini(&c);
}

/*
 * NCCL reports a symmetric kernel at each replay of a CUDA graph, but not its
 * channels. The tasks neither wait for these nor keep others out.
 */
TEST(symmetric_kernels_of_a_graph_fill_no_slots)
{
	struct host_prof c = open_rank(7, 0);
	struct host_event e = coll_event();
	const struct nb_tel_row *r;
	void *task;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	e.symmetric = true;
	e.channels = 2;
	for (int i = 0; i < 2 * NB_COLL_SLOTS; i++)
		host_prof_stop(&c, host_prof_start(&c, &e));
	ck_assert_uint_eq(nb_events_lost(NB_LOST_FULL), 0);
	r = row_of(&c);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(r->time[NB_TEL_ENQUEUE].count, NB_COLL_SLOTS);
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].count, 0);
	/* one outside the graph ends with its kernels */
	task = host_prof_start(&c, &e);
	host_prof_stop(&c, task);
	for (int channel = 0; channel < 2; channel++) {
		void *k = kernel(&c, task, channel, 1000);

		ck_assert_uint_eq(r->time[NB_TEL_KERNEL].count, 0);
		host_prof_state(&c, k, 22, 3000);
		host_prof_stop(&c, k);
	}
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].count, 1);
	ck_assert_uint_eq(r->time[NB_TEL_KERNEL].sum_ns, 2000);
	ck_assert_uint_eq(nb_events_lost(NB_LOST_CUT), 0);
	host_prof_fini(&c);
}

/* The entry of a tag, or NULL. */
static const struct nb_tel_tagged *tagged(const struct host_prof *c, uint64_t tag)
{
	const struct nb_tel *t = &comm_of(c)->tel;
	const struct nb_tel_tagged *r = NULL;

	for (int i = 0; i < NB_TEL_TAGS; i++)
		if (t->tag[i] == tag) {
			ck_assert_ptr_null(r);
			r = &t->tagged[i];
		}
	return r;
}

TEST(times_are_grouped_by_tag)
{
	struct host_prof c = open_rank(7, 0);
	struct host_coll k = ring;

	nb_events_telemetry(NB_TEL_ON | NB_TEL_GPU);
	for (unsigned i = 0; i < 9; i++) {
		k.tag = i % 3 ? UINT64_C(1) << (i % 3 * 31) : 0;
		k.gpu_to = k.gpu_from + 1000 * (i % 3);
		host_prof_coll(&c, &k);
	}
	for (unsigned i = 1; i < 3; i++) {
		const struct nb_tel_tagged *r = tagged(&c, UINT64_C(1) << (i * 31));

		ck_assert_ptr_nonnull(r);
		ck_assert_uint_eq(r->enqueue.count, 3);
		ck_assert_uint_eq(r->exec.count, 3);
		ck_assert_uint_eq(r->exec.sum_ns, 3000 * i);
		ck_assert_uint_eq(r->bytes_sum, 3 * (4 << 20));
	}
	/* rows have all calls */
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_EXEC].count, 9);
	nb_tel_clear(&comm_of(&c)->tel);
	ck_assert_uint_eq(tagged(&c, UINT64_C(1) << 31)->exec.count, 0);
	ck_assert_uint_eq(tagged(&c, UINT64_C(1) << 31)->bytes_sum, 0);
	host_prof_fini(&c);
	c = open_rank(7, 0); /* in the same structure */
	ck_assert_ptr_null(tagged(&c, UINT64_C(1) << 31));
	ck_assert_ptr_null(row_of(&c));
	host_prof_fini(&c);
}

TEST(tags_of_nccl_take_no_room)
{
	struct host_prof c = open_rank(7, 0);
	struct host_event e = coll_event();

	nb_events_telemetry(NB_TEL_ON);
	for (uint64_t i = 0; i <= NB_TEL_TAGS; i++) {
		e.tag = UINT64_C(1) << 63 | i;
		host_prof_stop(&c, host_prof_start(&c, &e));
		ck_assert_ptr_null(tagged(&c, e.tag));
	}
	ck_assert_uint_eq(comm_of(&c)->tel.tags_full, 0);
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, NB_TEL_TAGS + 1);
	host_prof_fini(&c);
}

TEST(tags_are_bounded)
{
	struct host_prof c = open_rank(7, 0);
	struct host_event e = coll_event();

	nb_events_telemetry(NB_TEL_ON);
	for (int round = 0; round < 2; round++)
		for (e.tag = 1; e.tag <= NB_TEL_TAGS + 10; e.tag++)
			host_prof_stop(&c, host_prof_start(&c, &e));
	ck_assert_uint_eq(comm_of(&c)->tel.tags_full, 20);
	for (uint64_t tag = 1; tag <= NB_TEL_TAGS; tag++) {
		ck_assert_uint_eq(tagged(&c, tag)->enqueue.count, 2);
		/* also where nothing tells how long the calls took */
		ck_assert_uint_eq(tagged(&c, tag)->exec.count, 0);
		ck_assert_uint_eq(tagged(&c, tag)->bytes_sum, 2 * row_of(&c)->bytes_last);
	}
	ck_assert_ptr_null(tagged(&c, NB_TEL_TAGS + 1));
	ck_assert_uint_eq(row_of(&c)->time[NB_TEL_ENQUEUE].count, 2 * (NB_TEL_TAGS + 10));
	host_prof_fini(&c);
}

/* RCCL's v6 uses the bit of v7's kernel phases for another event. */
TEST_EACH(events_of_later_versions_are_unknown, 1, 8)
{
	uint64_t type[17] = { 0 };

	for (uint64_t t = 1; t <= HOST_LAST; t <<= 1) {
		uint32_t event = nb_profiler_event((const char *)type, _i);

		ck_assert_uint_eq(event, NB_NEVENTS);
		type[0] = t;
		event = nb_profiler_event((const char *)type, _i);
		if (host_prof_since(t) <= _i)
			ck_assert_uint_eq(event, (uint32_t)__builtin_ctzll(t));
		else
			ck_assert_uint_eq(event, NB_NEVENTS);
		type[0] = 0;
	}
	type[0] = HOST_LAST << 1;
	ck_assert_uint_eq(nb_profiler_event((const char *)type, _i), NB_NEVENTS);
}

UNIT_MAIN("profiler_tags")
