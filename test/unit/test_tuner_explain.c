// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// How decisions are explained, costed, counted and timed.
#include "test/unit/tuner_job.h"

#include <string.h>

TEST(explain_runs_on_copies)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_map_ref ref;
	static struct nb_explain ex;
	uint32_t key = 0, value = 0;

	hold("count", MADE_COUNT_IN_MAP, &made_local, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ask(c, 4, 4096);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 4, 5000, &ex, NULL), 0);
	ck_assert(ex.seen);
	ck_assert_uint_eq(ex.order.n, 1);
	ck_assert_str_eq(ex.step[0].policy->name, "ring");
	ck_assert(ex.step[0].changed);
	ck_assert_int_eq(ex.answer.algo, RING);
	ck_assert_int_eq(ex.answer.by, 0);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert(!ex.seen);
	ck_assert_int_eq(nb_comm_explain(c, 9, 5000, &ex, NULL), NB_E_ARG);
	nb_unlock(NB_LOCK_STATE);
	use("count");
	ask(c, 4, 4096);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 4, 5000, &ex, NULL), 0);
	ck_assert_int_eq(ex.answer.by, -1);
	ck_assert_int_eq(nb_held_map_find("count/counts", &ref, NULL), 0);
	ck_assert_int_eq(nb_map_read(ref.object, &key, &value, NULL), 0);
	ck_assert_uint_eq(value, 1);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

/* What was not seen: channels alone are as they would be for most of what NCCL
 * may choose. */
TEST(explain_of_what_was_not_seen_has_the_channels)
{
	struct nb_comm *c = rank_of(1, 1);
	static struct nb_explain ex;

	hold("force", "mov %r2, 6\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n", NULL, 0);
	hold("many", "mov %r2, 999\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n", NULL, 0);
	use("force");
	ask(c, 4, 4096);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert(!ex.seen);
	ck_assert_uint_eq(ex.answer.channels, 6);
	ck_assert_int_eq(ex.answer.by, 0);
	ck_assert_int_eq(ex.answer.refused, NB_REFUSED_NONE);
	nb_unlock(NB_LOCK_STATE);
	use("many");
	ask(c, 4, 4096);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5000, &ex, NULL), 0);
	ck_assert_uint_eq(ex.answer.channels, 0);
	ck_assert_int_eq(ex.answer.by, -1);
	ck_assert_int_eq(ex.answer.refused, NB_REFUSED_CHANNELS_RANGE);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

TEST(explain_counts_as_decisions_do)
{
	struct nb_comm *c[2] = { rank_of(1, 1), rank_of(2, 1) };
	static struct nb_explain ex;

	hold("seq", "ldxdw %r2, [%r1+16]\nstxw [%r1+76], %r2\nmov %r0, 0\nexit\n", NULL, 0);
	use("seq");
	/* the first one's clock counts calls of NCCL's API */
	__atomic_store_n(&c[0]->fence.slot->calls, 1 + 500, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++) {
		ask(c[0], 4, 4096);
		ask(c[1], 4, 4096);
	}
	ck_assert_uint_eq(c[0]->ctx.seq, 500);
	ck_assert_uint_eq(c[1]->ctx.seq, 2);
	__atomic_store_n(&c[0]->fence.slot->calls, 1 + 507, __ATOMIC_RELEASE);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c[0], 4, 4096, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 507);
	ck_assert_int_eq(nb_comm_explain(c[1], 4, 4096, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 3);
	nb_unlock(NB_LOCK_STATE);
	ask(c[0], 4, 4096);
	ck_assert_uint_eq(c[0]->ctx.seq, 507);
	nb_comm_free(c[0]);
	nb_comm_free(c[1]);
}

/* channels = cost in ns of the ring's cheapest protocol; the answer: NCCL's
 * cheapest of all */
static const char from_costs[] = "mov %r6, %r1\n"
				 "mov %r2, 1\n"
				 "call 131074\n"
				 "mov %r3, %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, 1\n"
				 "call 131073\n"
				 "stxw [%r6+76], %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, -1\n"
				 "call 131075\n"
				 "stxw [%r6+68], %r0\n"
				 "mov %r1, %r6\n"
				 "mov %r2, %r0\n"
				 "call 131074\n"
				 "stxw [%r6+72], %r0\n"
				 "mov %r0, 0\nexit\n";

/* Of usable entries of the ring, in ns as the helper answers. */
static uint32_t ring_ns(const float t[21])
{
	double best = -1;

	for (int i = RING * 3; i < RING * 3 + 3; i++)
		if (t[i] >= 0 && t[i] < 3.6e9f && (best < 0 || (double)t[i] < best))
			best = (double)t[i];
	return best < 0 ? UINT32_MAX : (uint32_t)(uint64_t)(best * 1000.0 + 0.5);
}

TEST(policies_see_the_costs_of_their_decision)
{
	struct nb_comm *c = rank_of(1, 1);
	static struct nb_explain ex;
	int channels = 0;

	hold("costs", from_costs, NULL, 0);
	use("costs");
	for (uint32_t i = 0; i < 20000; i++) {
		float t[21], was[21];

		wild_table(t);
		memcpy(was, t, sizeof(t));
		ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, 4, 4096 + i % 200, 1,
								  (float **)(void *)t, 7, 3, 0,
								  &channels),
				 0);
		ck_assert_uint_eq(c->ctx.channels, ring_ns(was));
		ck_assert_int_eq(c->ctx.algo, c->ctx.nccl_algo);
		ck_assert_int_eq(c->ctx.proto, c->ctx.nccl_proto);
	}
	/* explain: those of the decision that it starts from */
	ask(c, 4, 5000);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 4, 5001, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 104000);
	ck_assert_int_eq(nb_comm_explain(c, 2, 5001, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, UINT32_MAX);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

/* NCCL 2.31: calls with a configuration of their own, which selects the tree. */
static void ask_tree(struct nb_comm *c, size_t bytes)
{
	int channels = 0;
	float t[21];

	table(t);
	for (int i = 3; i < 21; i++)
		t[i] = -1.0f;
	ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, 4, bytes, 1, (float **)(void *)t, 7, 3,
							  0, &channels),
			 0);
}

TEST(explain_answers_each_offer)
{
	enum { ALL = 0x1fffff, TREES = 7 };
	struct nb_comm *c = rank_of(1, 1);
	static struct nb_explain ex;
	float t[21];

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	for (int i = 0; i < 5; i++) {
		ask(c, 4, 4096);
		ask_tree(c, 4096);
		ask(c, 4, 1 << 20);
	}
	ask_tree(c, 4096);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 4, 5000, &ex, NULL), 0);
	ck_assert_uint_eq(ex.noffers, 2);
	ck_assert_uint_eq(ex.offer[0].usable, ALL);
	ck_assert_uint_eq(ex.offer[0].decisions, 5);
	ck_assert_int_eq(ex.to_offer[0].algo, RING);
	ck_assert_int_eq(ex.to_offer[0].by, 0);
	ck_assert_uint_eq(ex.offer[1].usable, TREES);
	ck_assert_uint_eq(ex.offer[1].decisions, 6);
	ck_assert_int_eq(ex.to_offer[1].algo, TREE);
	ck_assert_int_eq(ex.to_offer[1].by, -1);
	ck_assert_uint_eq(ex.to_offer[1].refused, NB_REFUSED_UNUSABLE);
	/* the largest offer is explained, whichever came last */
	ck_assert_uint_eq(ex.basis.usable, ALL);
	ck_assert_int_eq(ex.answer.algo, RING);
	ck_assert(ex.step[0].changed);
	/* the tables of both are kept */
	ck_assert(nb_seen_find(c->seen, 4, 4096, ALL, t));
	ck_assert(t[20] > 0.0f);
	ck_assert(nb_seen_find(c->seen, 4, 4096, TREES, t));
	ck_assert(t[2] > 0.0f && t[20] < 0.0f);
	ck_assert(!nb_seen_find(c->seen, 4, 4096, TREES << 3, t));
	/* one offer */
	ck_assert_int_eq(nb_comm_explain(c, 4, 1 << 20, &ex, NULL), 0);
	ck_assert_uint_eq(ex.noffers, 1);
	ck_assert_uint_eq(ex.offer[0].decisions, 5);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

TEST(costs_come_in_every_version)
{
	static struct nb_explain ex;
	void *c = NULL;
	int n = 0, algo = -1, proto = -1;
	float t[18];

	begin_with(from_costs);
	ncclTunerPlugin_v3.init(8, 1, logger, &c);
	for (int i = 0; i < 18; i++) /* before 2.23: six algorithms */
		t[i] = 100.0f + (float)i;
	ncclTunerPlugin_v3.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, 6, 3, &n);
	ck_assert_uint_eq(((struct nb_comm *)c)->ctx.channels, 103000);
	ck_assert_int_eq(((struct nb_comm *)c)->ctx.algo, TREE);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_comm_explain(c, 4, 1024, &ex, NULL), 0);
	ck_assert_uint_eq(ex.step[0].channels, 103000);
	ck_assert_int_eq(ex.step[0].algo, TREE);
	nb_unlock(NB_LOCK_STATE);
	ncclTunerPlugin_v3.finalize(c);
	/* v2 tells what is offered, not what it costs */
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1024, 0, 0, 1, &algo, &proto, &n);
	ck_assert_uint_eq(((struct nb_comm *)c)->ctx.channels, UINT32_MAX);
	ck_assert_int_eq(((struct nb_comm *)c)->ctx.algo, -1);
	ncclTunerPlugin_v2.finalize(c);
}

TEST(counters_outlive_generations)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_gen_sum sum;
	struct nb_held *h;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("noop", MADE_NOOP, NULL, 0);
	for (int i = 0; i < 3; i++) {
		use("ring");
		ask(c, 4, 1);
		ask(c, 4, 1);
		use("noop");
		ask(c, 4, 1);
		use(NULL);
		ask(c, 4, 1);
	}
	nb_lock(NB_LOCK_STATE);
	h = nb_held_find("ring", NULL);
	sum = nb_held_counts(h->policy, 0);
	ck_assert_uint_eq(sum.runs, 6);
	ck_assert_uint_eq(sum.overrides, 6);
	h = nb_held_find("noop", NULL);
	sum = nb_held_counts(h->policy, 0);
	ck_assert_uint_eq(sum.runs, 3);
	ck_assert_uint_eq(sum.overrides, 0);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

/* All that its histogram has. */
static uint64_t timed_runs(const char *name)
{
	struct nb_gen_times t;
	uint64_t n = 0;

	nb_lock(NB_LOCK_STATE);
	t = nb_held_times(nb_held_find(name, NULL)->policy, 0);
	nb_unlock(NB_LOCK_STATE);
	for (int k = 0; k < NB_GEN_TIMES; k++)
		n += t.n[k];
	return n;
}

TEST(some_runs_are_timed_when_asked_for)
{
	struct nb_comm *c = rank_of(1, 1), *later;
	struct nb_gen_sum sum;
	struct nb_held *h;

	/* 0 to 640 runs without, 640 with the clock */
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	for (int on = 0; on < 2; on++) {
		nb_lock(NB_LOCK_STATE);
		nb_comms_time(on);
		nb_unlock(NB_LOCK_STATE);
		for (int i = 0; i < 640; i++)
			ck_assert_int_eq(ask(c, 4, 1).index, RING * 3 + SIMPLE);
		nb_lock(NB_LOCK_STATE);
		h = nb_held_find("ring", NULL);
		sum = nb_held_counts(h->policy, 0);
		nb_unlock(NB_LOCK_STATE);
		ck_assert_uint_eq(sum.runs, 640u * (unsigned)(on + 1));
		ck_assert_uint_eq(sum.overrides, sum.runs);
		ck_assert_uint_eq(sum.samples, on ? 10 : 0);
		ck_assert(on || !sum.time_ns);
		ck_assert_uint_eq(timed_runs("ring"), sum.samples);
	}
	/* of generations that are gone too */
	use(NULL);
	ask(c, 4, 1);
	ck_assert_uint_eq(timed_runs("ring"), 10);
	/* what comes later is timed too */
	later = rank_of(2, 1);
	ck_assert(later->timed);
	nb_lock(NB_LOCK_STATE);
	nb_comms_time(false);
	ck_assert(!later->timed && !c->timed);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(later);
	nb_comm_free(c);
}

TEST(refusals_are_counted_where_they_come_from)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_gen_sum sum;
	struct nb_held *h;

	hold("bad", MADE_CHOOSE(9, 2), NULL, 0);
	use("bad");
	ask(c, 4, 1);
	ask(c, 4, 1);
	use(NULL);
	ask(c, 4, 1);
	nb_lock(NB_LOCK_STATE);
	h = nb_held_find("bad", NULL);
	sum = nb_held_counts(h->policy, 0);
	nb_unlock(NB_LOCK_STATE);
	ck_assert_uint_eq(sum.runs, 2);
	ck_assert_uint_eq(sum.refused, 2);
	nb_comm_free(c);
}

UNIT_MAIN_WITH("tuner_explain", tcase_add_checked_fixture(tc, set_up, tear_down);)
