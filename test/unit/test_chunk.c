// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Chunk sizes: which ones are let through, and which decision a part of a
// collective gets its size from.
#include "test/unit/tuner_job.h"

#include <string.h>

#include "plugin/tuner/chunk.h"
#include "plugin/wrap/wrapped.h"

enum { ALLGATHER = NCCL_COLL_ALL_GATHER, ALLREDUCE = NCCL_COLL_ALL_REDUCE };
enum { LL128 = NCCL_PROTO_LL128, NVLS = NCCL_ALGO_NVLS, OWN = 512 << 10 };

#define END "mov %r0, 0\nexit\n"
/* a sixteenth of the collective */
#define SIXTEENTH "ldxdw %r2, [%r1+8]\nrsh %r2, 4\nstxw [%r1+80], %r2\n" END
#define RING_SIMPLE "stw [%r1+68], 1\nstw [%r1+72], 2\n"

static struct nb_comm *rank_v6(uint64_t id)
{
	void *ctx = NULL;
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	double constants[144];

	/* the wrapped tuner wants them, and as NCCL's stand-in numbers them */
	for (int i = 0; i < 144; i++)
		constants[i] = 1.0 + i;
	ck_assert_int_eq(ncclTunerPlugin_v6.init(&ctx, id, 1, 1, logger, &nvl, (void *)constants),
			 0);
	return ctx;
}

static size_t part(struct nb_comm *c, int coll, int algo, int proto, size_t own)
{
	size_t chunk = own;

	ck_assert_int_eq(ncclTunerPlugin_v6.get_chunk_size(c, coll, 12345, algo, proto, 1, &chunk),
			 0);
	return chunk;
}

TEST(chunk_sizes_in_range_are_let_through)
{
	static const struct {
		uint32_t wanted, channels;
		bool offered;
		enum nb_refused why;
		uint32_t got;
	} c[] = {
		{ 0, 0, true, NB_REFUSED_NONE, 0 },
		{ 0, 0, false, NB_REFUSED_NONE, 0 },
		{ 1, 0, true, NB_REFUSED_CHUNK_RANGE, 0 },
		{ NCCL_CHUNK_LEAST - 1, 0, true, NB_REFUSED_CHUNK_RANGE, 0 },
		{ NCCL_CHUNK_LEAST, 0, true, NB_REFUSED_NONE, NCCL_CHUNK_LEAST },
		{ 288000, 0, true, NB_REFUSED_NONE, 288000 },
		{ NCCL_CHUNK_MOST, 0, true, NB_REFUSED_NONE, NCCL_CHUNK_MOST },
		{ NCCL_CHUNK_MOST + 1u, 0, true, NB_REFUSED_CHUNK_RANGE, 0 },
		{ UINT32_MAX, 0, true, NB_REFUSED_CHUNK_RANGE, 0 },
		{ 65536, 0, false, NB_REFUSED_CHUNK_OFFER, 0 },
		/* the channels are dropped, and the first reason is told */
		{ 65536, 33, true, NB_REFUSED_CHANNELS_RANGE, 65536 },
		{ 1, 33, true, NB_REFUSED_CHANNELS_RANGE, 0 },
	};
	struct nb_costs costs;
	float t[21];

	table(t);
	nb_costs_read(t, 7, 3, &costs);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		const struct nb_limits limits = { 32, c[i].offered };
		struct ncclbpf_tuner ctx = { .nodes = 1,
					     .algo = 1,
					     .proto = 2,
					     .channels = c[i].channels,
					     .chunk_size = c[i].wanted };
		struct nb_checked got;

		ck_assert_msg(nb_tuner_check(&ctx, &costs, t, &limits, &got) == c[i].why,
			      "case %zu", i);
		ck_assert_msg(got.chunk_size == c[i].got, "case %zu: %u", i, got.chunk_size);
		ck_assert_uint_eq(got.index, 5);
	}
}

TEST(a_dropped_choice_takes_its_chunk_size_along)
{
	const struct nb_limits limits = { 32, true };
	struct ncclbpf_tuner ctx = { .nodes = 1, .algo = 9, .proto = 2, .chunk_size = 65536 };
	struct nb_checked got;
	struct nb_costs costs;
	float t[21];

	table(t);
	nb_costs_read(t, 7, 3, &costs);
	ck_assert_int_eq(nb_tuner_check(&ctx, &costs, t, &limits, &got), NB_REFUSED_ALGO_RANGE);
	ck_assert_uint_eq(got.chunk_size, 0);
}

/* NCCL's limit is the size of the protocol's buffers, and NVLS has smaller ones. */
TEST(larger_chunks_than_ncclis_only_where_its_limit_holds)
{
	for (int algo = -1; algo < 9; algo++) {
		bool holds =
			algo == NCCL_ALGO_TREE || algo == NCCL_ALGO_RING || algo == NCCL_ALGO_PAT;

		ck_assert(nb_chunk_fits(algo, 16384, 16384));
		ck_assert(nb_chunk_fits(algo, 16384, NCCL_CHUNK_LEAST));
		ck_assert(!nb_chunk_fits(algo, 16384, NCCL_CHUNK_LEAST - 1));
		ck_assert(!nb_chunk_fits(algo, 16384, 0));
		ck_assert(nb_chunk_fits(algo, 16384, 16385) == holds);
		ck_assert(nb_chunk_fits(algo, 1920, 1920));
	}
}

TEST(all_parts_get_the_size_of_their_decision)
{
	struct nb_decision d;
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\n" RING_SIMPLE END);
	c = rank_v6(1);
	/* NCCL never asks for the parts first; if it did, it would keep its own */
	ck_assert_uint_eq(part(c, ALLREDUCE, RING, SIMPLE, OWN), OWN);
	ck_assert_int_eq(ask(c, ALLREDUCE, 1 << 20).index, 5);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(part(c, ALLREDUCE, RING, SIMPLE, OWN), 65536);
	/* no decision chose these */
	ck_assert_uint_eq(part(c, ALLREDUCE, RING, LL, OWN), OWN);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, SIMPLE, OWN), OWN);
	ck_assert_uint_eq(part(c, ALLGATHER, RING, SIMPLE, OWN), OWN);
	nb_lock(NB_LOCK_STATE);
	ck_assert(nb_comm_decision(c, 0, &d));
	ck_assert_uint_eq(d.chunk_size, 65536);
	ck_assert(nb_comm_latest(c, ALLREDUCE, 20, &d));
	ck_assert_uint_eq(d.chunk_size, 65536);
	nb_unlock(NB_LOCK_STATE);
	for (int why = 1; why < NB_NREFUSED; why++)
		ck_assert_uint_eq(refused((enum nb_refused)why), 0);
	nb_comm_free(c);
}

/* In a group, NCCL decides about all windows before it asks for parts. */
TEST(the_latest_decision_for_an_algorithm_counts)
{
	struct nb_comm *c;

	begin_with(SIXTEENTH);
	c = rank_v6(1);
	/* the table of this test makes NCCL choose tree/ll */
	ask(c, ALLREDUCE, 1 << 20);
	ask(c, ALLREDUCE, 4 << 20);
	ask(c, ALLGATHER, 2 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), (4 << 20) / 16);
	ck_assert_uint_eq(part(c, ALLGATHER, TREE, LL, OWN), (2 << 20) / 16);
	/* its own decision kept NCCL's, which refused the size */
	ask(c, ALLREDUCE, 1 << 10);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), OWN);
	ck_assert_uint_eq(refused(NB_REFUSED_CHUNK_RANGE), 1);
	ck_assert_uint_eq(part(c, ALLGATHER, TREE, LL, OWN), (2 << 20) / 16);
	nb_comm_free(c);
}

/* 2.29 and later may ask one rank alone, before they ask all about the group. */
TEST(an_extra_question_of_one_rank_changes_nothing)
{
	struct nb_comm *c[2];

	begin_with(SIXTEENTH);
	for (int i = 0; i < 2; i++)
		c[i] = rank_v6((uint64_t)(1 + i));
	for (size_t group = 0; group < 50; group++) {
		size_t bytes = (size_t)1 << (17 + group % 9);

		if (group % 3)
			ask(c[0], ALLREDUCE, bytes * (1 + group % 7));
		for (int i = 0; i < 2; i++)
			ask(c[i], ALLREDUCE, bytes);
		for (int i = 0; i < 2; i++)
			ck_assert_uint_eq(part(c[i], ALLREDUCE, TREE, LL, OWN), bytes / 16);
	}
	nb_comm_free(c[0]);
	nb_comm_free(c[1]);
}

TEST(policies_that_leave_the_answer_leave_the_size)
{
	struct nb_comm *c;

	/* only above 1 MiB */
	begin_with("ldxdw %r2, [%r1+8]\njle %r2, 1048576, +1\nstw [%r1+80], 65536\n" END);
	c = rank_v6(1);
	ask(c, ALLREDUCE, 2 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), 65536);
	for (int i = 0; i < 3; i++) {
		ask(c, ALLREDUCE, 1 << 20);
		ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), OWN);
	}
	ask(c, ALLREDUCE, 2 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), 65536);
	nb_comm_free(c);
}

TEST(a_change_takes_effect_with_its_first_decision)
{
	struct nb_comm *c = rank_v6(1);

	hold("chunks", "stw [%r1+80], 65536\n" END, NULL, 0);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("chunks");
	ask(c, ALLREDUCE, 1 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), 65536);
	use("ring");
	/* parts of a collective that is decided already */
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), 65536);
	ck_assert_int_eq(ask(c, ALLREDUCE, 1 << 20).index, 5);
	ck_assert_uint_eq(part(c, ALLREDUCE, RING, SIMPLE, OWN), OWN);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), OWN);
	use(NULL);
	ask(c, ALLREDUCE, 1 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), OWN);
	nb_comm_free(c);
}

TEST(nccl_before_2_30_is_not_asked_by_itself)
{
	struct nb_decision d;
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\n" RING_SIMPLE END);
	c = rank_of(1, 1); /* v5 */
	ck_assert_int_eq(ask(c, ALLREDUCE, 1 << 20).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_CHUNK_OFFER), 1);
	nb_lock(NB_LOCK_STATE);
	ck_assert(nb_comm_decision(c, 0, &d));
	ck_assert_uint_eq(d.chunk_size, 0);
	ck_assert_int_eq(d.refused, NB_REFUSED_CHUNK_OFFER);
	ck_assert_int_eq(d.algo, RING);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

TEST(ranks_that_started_differently_keep_nccls_sizes)
{
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\n" END);
	c = rank_v6(1);
	ask(c, ALLREDUCE, 1 << 20);
	__atomic_store_n(&c->mismatch, true, __ATOMIC_RELAXED);
	ck_assert_uint_eq(part(c, ALLREDUCE, TREE, LL, OWN), OWN);
	nb_comm_free(c);
}

/* The wrapped tuner of this test answers 65536 to all. */
TEST(a_policy_has_the_last_word_on_a_wrapped_tuners_size)
{
	const char *build = getenv("B");
	struct nb_comm *c;
	char path[400];

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/tuner_v6.so",
		 build ? build : "build/debug");
	setenv("NCCLBPF_CHAIN_TUNER", path, 1);
	setenv("CHAIN_DOES", "ring", 1);
	begin_with("ldxdw %r2, [%r1+8]\njle %r2, 1048576, +1\nstw [%r1+80], 8192\n" END);
	c = rank_v6(1);
	ck_assert_int_eq(ask(c, ALLREDUCE, 1 << 20).index, 3);
	ck_assert_uint_eq(part(c, ALLREDUCE, RING, LL, OWN), 65536);
	ck_assert_uint_eq(nb_wrapped[NB_WRAPPED_TUNER].refused, 0);
	/* as large as NVLS' buffers, and not larger */
	ck_assert_uint_eq(part(c, ALLREDUCE, NVLS, SIMPLE, OWN), 65536);
	ck_assert_uint_eq(part(c, ALLREDUCE, NVLS, SIMPLE, 16384), 16384);
	ck_assert_uint_eq(nb_wrapped[NB_WRAPPED_TUNER].refused, 1);
	ask(c, ALLREDUCE, 2 << 20);
	ck_assert_uint_eq(part(c, ALLREDUCE, RING, LL, OWN), 8192);
	nb_comm_free(c);
}

TEST(nvls_keeps_its_own_size_where_a_policy_wants_more)
{
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\nstw [%r1+68], 4\nstw [%r1+72], 2\n" END);
	c = rank_v6(1);
	ck_assert_int_eq(ask(c, ALLREDUCE, 1 << 20).index, NVLS * 3 + SIMPLE);
	ck_assert_uint_eq(part(c, ALLREDUCE, NVLS, SIMPLE, 131072), 65536);
	ck_assert_uint_eq(refused(NB_REFUSED_CHUNK_ALGO), 0);
	ck_assert_uint_eq(part(c, ALLREDUCE, NVLS, SIMPLE, 16384), 16384);
	ck_assert_uint_eq(refused(NB_REFUSED_CHUNK_ALGO), 1);
	nb_comm_free(c);
}

TEST(nothing_that_nccl_passes_is_out_of_bounds)
{
	static const int odd[] = { INT32_MIN, -1, 0, 4, 5, 6, 7, 21, INT32_MAX };
	const int n = sizeof(odd) / sizeof(odd[0]);
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\n" RING_SIMPLE END);
	c = rank_v6(1);
	ask(c, ALLREDUCE, 1 << 20);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < n; k++)
			for (int m = 0; m < n; m++)
				ck_assert_uint_eq(part(c, odd[i], odd[k], odd[m], OWN), OWN);
	ck_assert_int_eq(ncclTunerPlugin_v6.get_chunk_size(c, 4, 1, 1, 2, 1, NULL), 0);
	ck_assert_uint_eq(part(NULL, ALLREDUCE, RING, SIMPLE, OWN), OWN);
	nb_comm_free(c);
}

TEST(explain_tells_the_size)
{
	static struct nb_explain ex;
	struct nb_comm *c;

	begin_with("stw [%r1+80], 65536\n" END);
	c = rank_v6(1);
	ask(c, ALLREDUCE, 1 << 20);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, ALLREDUCE, 1 << 20, &ex, NULL), 0);
	ck_assert_uint_eq(ex.answer.chunk_size, 65536);
	ck_assert_int_eq(ex.answer.by, 0);
	ck_assert(ex.step[0].changed);
	ck_assert_uint_eq(ex.step[0].chunk_size, 65536);
	/* not asked about yet: NCCL's choice is not known, and the size holds for any */
	ck_assert_int_eq(nb_comm_explain(c, ALLGATHER, 1 << 20, &ex, NULL), 0);
	ck_assert(!ex.seen);
	ck_assert_uint_eq(ex.answer.chunk_size, 65536);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

UNIT_MAIN_WITH("chunk", tcase_add_checked_fixture(tc, set_up, tear_down);)
