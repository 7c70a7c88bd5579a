// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The tuner from NCCL's side: what is read from a cost table, which answers of
// policies are let through, every version of the ABI with good and bad
// arguments.
#include "test/unit/tuner_job.h"
#include "test/unit/packed.h"

#include <fcntl.h>
#include <float.h>
#include <string.h>

#include "plugin/runtime/nccl.h"
#include "plugin/wrap/wrapped.h"

TEST(both_readings_of_a_table_agree_with_nccl)
{
	float t[21];

	for (int round = 0; round < TIMES(200000); round++) {
		struct nb_costs a, b;
		int best;

		wild_table(t);
		ck_assert(nb_costs_read(t, 7, 3, &a));
		nb_costs_scan(t, 21, &b);
		best = pick(t, 21, 3.6e9f);
		ck_assert_uint_eq(a.usable, b.usable);
		ck_assert_uint_eq(a.best, b.best);
		ck_assert_int_eq(best, a.best == NB_COSTS_NONE ? -1 : (int)a.best);
		ck_assert(a.best_cost == b.best_cost);
	}
}

TEST(readings_agree_with_nccl_2_31)
{
	float t[21];

	nccl_version = 23102;
	nb_nccl_find(NULL);
	ck_assert(nb_nccl_last_of_equal());
	for (int round = 0; round < TIMES(100000); round++) {
		struct nb_costs a, b;
		int best;

		wild_table(t);
		nb_costs_read(t, 7, 3, &a);
		nb_costs_scan(t, 21, &b);
		best = pick_last(t, t, 21, 3.6e9f);
		ck_assert_uint_eq(a.best, b.best);
		ck_assert_int_eq(best, a.best == NB_COSTS_NONE ? -1 : (int)a.best);
	}
}

/* No version takes an entry that a wrapped tuner has withdrawn. */
TEST(withdrawn_entry_is_taken_by_no_version)
{
	float t[21], was[21];

	for (int i = 0; i < 21; i++)
		t[i] = was[i] = 5.0f;
	for (int i = 20; i > 0; i--) {
		struct nb_costs c;

		nb_costs_close(&t[i]);
		ck_assert_int_lt(pick(t, 21, 3.6e9f), i);
		ck_assert_int_lt(pick(t, 21, FLT_MAX), i);
		ck_assert_int_lt(pick_last(t, was, 21, FLT_MAX), i);
		nb_costs_read(t, 7, 3, &c);
		ck_assert(!(c.usable >> i & 1));
	}
	nb_costs_close(&t[0]);
	ck_assert_int_eq(pick(t, 21, FLT_MAX), -1);
	ck_assert_int_eq(pick_last(t, was, 21, FLT_MAX), -1);
}

/* A communicator without an identity that starts without policies lacks none.
 */
TEST(no_policy_is_no_missing_generation)
{
	void *ctx = NULL;
	int channels = 0;
	float t[21];

	ck_assert_int_eq(ncclTunerPlugin_v3.init(8, 1, logger, &ctx), 0);
	for (int i = 0; i < 3; i++) {
		table(t);
		ck_assert_int_eq(ncclTunerPlugin_v3.get_coll_info(
					 ctx, 4, 4096, 1, (float **)(void *)t, 7, 3, &channels),
				 0);
	}
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	nb_comm_free(ctx);
}

/* NCCL 2.31 looks for a symmetric kernel with a table that offers nothing. */
TEST(table_that_offers_nothing_is_left_alone)
{
	struct nb_decision d;
	struct nb_comm *c;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(7, 1);
	ck_assert_ptr_nonnull(c);
	ask(c, 4, 4096);
	for (int round = 0; round < 3; round++) {
		int channels = 0;

		for (int i = 0; i < 21; i++)
			t[i] = -1.0f;
		ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(
					 c, 4, 4096, 0, (float **)(void *)t, 7, 3, 0, &channels),
				 0);
		for (int i = 0; i < 21; i++)
			ck_assert(t[i] == -1.0f);
		ck_assert_int_eq(channels, 0);
	}
	/* nor does it hide the table and the decision of a real question */
	nb_lock(NB_LOCK_STATE);
	ck_assert(nb_comm_latest(c, 4, nb_comm_bucket(4096), &d));
	ck_assert_uint_eq(d.count, 1);
	ck_assert_int_eq(d.algo, RING);
	ck_assert(nb_seen_find(c->seen, 4, 4096, d.usable, t));
	ck_assert_uint_eq(nb_comm_decisions(c), 4);
	nb_unlock(NB_LOCK_STATE);
	ck_assert_int_eq(ask(c, 4, 4096).index / 3, RING);
	for (int why = 1; why < NB_NREFUSED; why++)
		ck_assert_uint_eq(refused((enum nb_refused)why), 0);
	nb_comm_free(c);
}

TEST(chosen_entry_is_what_nccl_takes)
{
	float t[21], was[21];

	for (int round = 0; round < TIMES(100000); round++) {
		struct nb_costs c;
		uint32_t i = roll(21);

		wild_table(t);
		nb_costs_read(t, 7, 3, &c);
		if (!(c.usable >> i & 1))
			continue;
		memcpy(was, t, sizeof(t));
		nb_costs_choose(t, 21, i, &c);
		ck_assert_int_eq(pick(t, 21, 3.6e9f), (int)i);
		ck_assert_int_eq(pick(t, 21, 3.4e38f), (int)i);
		ck_assert_int_eq(pick_last(t, was, 21, 3.4e38f), (int)i);
		/* nothing that was not offered is now */
		for (int k = 0; k < 21; k++)
			if (!(was[k] >= 0.0f))
				ck_assert(!(t[k] >= 0.0f));
	}
}

static void flip(float *f, uint32_t bit)
{
	uint32_t u;

	memcpy(&u, f, sizeof(u));
	u ^= UINT32_C(1) << bit;
	memcpy(f, &u, sizeof(u));
}

TEST(a_table_is_known_again_by_every_entry)
{
	static struct nb_seen seen[NB_SEEN];
	struct nb_seen *s = nb_seen_slot(seen, 4096, 4);
	float t[21] = { 0 };

	ck_assert(!nb_seen_is(s, t, 4, 4096)); /* zeroed memory is no table */
	for (int n = 0; n < 2000; n++) {
		struct nb_costs c;
		int i = (int)roll(21);
		float before;

		wild_table(t);
		nb_seen_fill(s, t, 7, 3, 4, 4096);
		ck_assert(nb_seen_is(s, t, 4, 4096));
		nb_costs_scan(t, 21, &c);
		ck_assert_uint_eq(s->costs.usable, c.usable);
		ck_assert_uint_eq(s->costs.best, c.best);
		before = t[i];
		flip(&t[i], roll(32));
		ck_assert(!nb_seen_is(s, t, 4, 4096));
		t[i] = before;
		ck_assert(nb_seen_is(s, t, 4, 4096));
	}
	ck_assert(!nb_seen_is(s, t, 3, 4096)); /* another question */
	ck_assert(!nb_seen_is(s, t, 4, 4095));
	nb_seen_fill(s, t, 6, 3, 4, 4096); /* a shape that is not kept */
	ck_assert(!nb_seen_is(s, t, 4, 4096));
	nb_seen_fill(s, t, 7, 3, 5, 4096); /* nor is no collective */
	ck_assert(!nb_seen_is(s, t, 5, 4096));
	nb_seen_fill(s, t, 7, 3, 4, NB_PACKED_BYTES + 1);
	ck_assert(!nb_seen_is(s, t, 4, NB_PACKED_BYTES + 1));
	for (uint64_t b = 0; b < 10000; b++)
		ck_assert(nb_seen_slot(seen, b << 20, (int)roll(5)) < seen + NB_SEEN);
}

TEST(sizes_of_one_collective_are_kept_side_by_side)
{
	static struct nb_seen seen[NB_SEEN];

	for (int coll = 0; coll < 5; coll++) {
		bool taken[NB_SEEN] = { false };

		for (unsigned i = 3; i < 40; i++) {
			ptrdiff_t at = nb_seen_slot(seen, UINT64_C(1) << i, coll) - seen;

			ck_assert(!taken[at]);
			taken[at] = true;
		}
	}
}

TEST(packed_decisions_come_back_whole_or_not_at_all)
{
	struct nb_packed p = { { 0 } }, torn;
	uint64_t chunk = 0;
	struct nb_decision d;

	ck_assert(!nb_unpack(&p, &chunk, 0, &d)); /* never written */
	packed_store(&p, 70000, NB_PACKED_BYTES,
		     UINT64_C(0x3fffff) | (UINT64_C(1) << 20) << NB_PACKED_AT_USABLE |
			     UINT64_C(1) << NB_PACKED_AT_REG_BUFF |
			     UINT64_C(1) << NB_PACKED_AT_RCCL,
		     4095 | UINT64_C(4) << NB_PACKED_AT_COLL | UINT64_C(20) << NB_PACKED_AT_BEST |
			     nb_packed_outcome(3, 15, NB_NREFUSED - 1, 128),
		     nb_packed_float(1.5f) | nb_packed_float(-1.0f) << NB_PACKED_AT_BEST_COST);
	ck_assert(nb_unpack(&p, &chunk, 70000, &d));
	ck_assert_uint_eq(d.bytes, NB_PACKED_BYTES);
	ck_assert_uint_eq(d.generation, NB_FENCE_MAX_GEN);
	ck_assert_uint_eq(d.usable, 1u << 20);
	ck_assert(d.reg_buff);
	ck_assert(d.rccl);
	ck_assert_uint_eq(d.pipe_ops, 4095);
	ck_assert_int_eq(d.coll, 4);
	ck_assert_int_eq(d.nccl_algo, 6);
	ck_assert_int_eq(d.nccl_proto, 2);
	ck_assert_int_eq(d.algo, RING);
	ck_assert_int_eq(d.proto, LL);
	ck_assert_int_eq(d.by, 15);
	ck_assert_int_eq(d.refused, NB_NREFUSED - 1);
	ck_assert_uint_eq(d.channels, 128);
	ck_assert_uint_eq(d.chunk_size, 0);
	ck_assert(d.cost_us == 1.5 && d.nccl_cost_us == -1.0);
	ck_assert(!nb_unpack(&p, &chunk, 70000 - NB_RING, &d));
	ck_assert(!nb_unpack(&p, &chunk, 70000 + NB_RING, &d));
	for (int i = 0; i < NB_PACKED_WORDS; i++) {
		torn = p;
		torn.word[i] += (uint64_t)NB_RING << 48;
		ck_assert(!nb_unpack(&torn, &chunk, 70000, &d));
		ck_assert(!nb_unpack(&torn, &chunk, 70000 + NB_RING, &d));
	}
	/* the chunk size has a word of its own, which belongs to one decision */
	chunk = nb_packed_tag(70000 - NB_RING) | 65536;
	ck_assert(nb_unpack(&p, &chunk, 70000, &d));
	ck_assert_uint_eq(d.chunk_size, 0);
	p.word[2] |= UINT64_C(1) << NB_PACKED_AT_CHUNK;
	ck_assert(!nb_unpack(&p, &chunk, 70000, &d));
	chunk = nb_packed_tag(70000) | NCCL_CHUNK_MOST;
	ck_assert(nb_unpack(&p, &chunk, 70000, &d));
	ck_assert_uint_eq(d.chunk_size, NCCL_CHUNK_MOST);
	ck_assert_uint_eq(d.channels, 128);
}

TEST(tables_of_no_known_shape_are_not_read)
{
	struct nb_costs c;
	float t[48];

	for (int i = 0; i < 48; i++)
		t[i] = (float)(50 - i);
	ck_assert(!nb_costs_read(NULL, 7, 3, &c));
	ck_assert(!nb_costs_read(t, 0, 3, &c));
	ck_assert(!nb_costs_read(t, -7, 3, &c));
	ck_assert(!nb_costs_read(t, 7, 0, &c));
	ck_assert(!nb_costs_read(t, 7, 4, &c));
	ck_assert(!nb_costs_read(t, 1 << 30, 3, &c));
	ck_assert(!nb_costs_read(t, 7, 1 << 30, &c));
	ck_assert_uint_eq(c.usable, 0);
	ck_assert_uint_eq(c.best, NB_COSTS_NONE);
	/* NCCL up to 2.22: six algorithms */
	ck_assert(nb_costs_read(t, 6, 3, &c));
	ck_assert_uint_eq(c.usable, (1u << 18) - 1);
	ck_assert_uint_eq(c.best, 17);
	/* more than we know: theirs may be NCCL's choice, not ours */
	ck_assert(nb_costs_read(t, 9, 3, &c));
	ck_assert_uint_eq(c.usable, (1u << 21) - 1);
	ck_assert_uint_eq(c.best, 26);
}

/* ---- checking answers ---- */

TEST(answers_that_nccl_cannot_have_are_refused)
{
	static const struct {
		int algo, proto;
		uint32_t channels, nodes;
		enum nb_refused why;
		int index;
		uint32_t got;
	} c[] = {
		{ -1, -1, 0, 1, NB_REFUSED_NONE, -1, 0 },
		{ 1, 2, 0, 1, NB_REFUSED_NONE, 5, 0 },
		{ 1, 2, 32, 1, NB_REFUSED_NONE, 5, 32 },
		{ 1, 2, 33, 1, NB_REFUSED_CHANNELS_RANGE, 5, 0 },
		{ 1, 2, UINT32_MAX, 1, NB_REFUSED_CHANNELS_RANGE, 5, 0 },
		{ 7, 2, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ -2, 2, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ INT32_MIN, INT32_MIN, 1, 1, NB_REFUSED_ALGO_RANGE, -1, 0 },
		{ 1, 3, 1, 1, NB_REFUSED_PROTO_RANGE, -1, 0 },
		{ 1, INT32_MAX, 1, 1, NB_REFUSED_PROTO_RANGE, -1, 0 },
		/* entry 4 (Ring, LL128) is not offered */
		{ 1, 1, 4, 1, NB_REFUSED_UNUSABLE, -1, 0 },
		/* the cheapest partner: 3 is 102, 5 is 101 */
		{ 1, -1, 0, 1, NB_REFUSED_NONE, 5, 0 },
		{ -1, 1, 0, 1, NB_REFUSED_NONE, 10, 0 },
		/* nothing of PAT is offered */
		{ 6, -1, 4, 1, NB_REFUSED_NO_PARTNER, -1, 0 },
		/* NCCL bounds no channels of these */
		{ 2, 2, 4, 1, NB_REFUSED_CHANNELS_ALGO, 8, 0 },
		{ 3, 2, 4, 1, NB_REFUSED_CHANNELS_ALGO, 11, 0 },
		{ 4, 2, 4, 1, NB_REFUSED_NONE, 14, 4 },
		{ 4, 2, 4, 2, NB_REFUSED_CHANNELS_ALGO, 14, 0 },
		{ 5, 2, 4, 2, NB_REFUSED_NONE, 17, 4 },
		/* channels alone: of NCCL's own choice, 10 */
		{ -1, -1, 4, 1, NB_REFUSED_CHANNELS_ALGO, -1, 0 },
	};
	struct nb_costs costs;
	float t[21];

	for (int i = 0; i < 21; i++)
		t[i] = 100.0f;
	t[3] = 102.0f;
	t[5] = 101.0f;
	t[4] = -1.0f;
	t[10] = 50.0f;
	t[18] = t[19] = t[20] = -1.0f;
	nb_costs_read(t, 7, 3, &costs);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct ncclbpf_tuner ctx = { .nodes = c[i].nodes,
					     .algo = c[i].algo,
					     .proto = c[i].proto,
					     .channels = c[i].channels };
		const struct nb_limits limits = { 32, true };
		struct nb_checked got;

		ck_assert_msg(nb_tuner_check(&ctx, &costs, t, &limits, &got) == c[i].why,
			      "case %zu", i);
		ck_assert_msg((got.index == NB_COSTS_NONE ? -1 : (int)got.index) == c[i].index,
			      "case %zu: entry %u", i, got.index);
		ck_assert_msg(got.channels == c[i].got, "case %zu: %u", i, got.channels);
	}
}

TEST(each_reason_has_a_word)
{
	ck_assert_ptr_null(nb_refused_word(NB_REFUSED_NONE));
	for (int i = 1; i < NB_NREFUSED; i++) {
		ck_assert_ptr_nonnull(nb_refused_word((enum nb_refused)i));
		ck_assert_ptr_nonnull(nb_refused_text((enum nb_refused)i));
	}
}

TEST(policy_of_the_environment_decides_in_every_version)
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	void *c[8] = { 0 };
	int n[8] = { 0 }, algo = -1, proto = -1;
	size_t chunk = 1 << 17;
	float t[8][21];

	begin_with("stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 9\n"
		   "mov %r0, 0\nexit\n");
	ncclTunerPlugin_v2.init(8, 1, logger, &c[2]);
	ncclTunerPlugin_v3.init(8, 1, logger, &c[3]);
	ncclTunerPlugin_v4.init(8, 1, logger, &c[4]);
	ncclTunerPlugin_v5.init(&c[5], 5, 1, 1, logger, &nvl, NULL);
	ncclTunerPlugin_v6.init(&c[6], 6, 1, 1, logger, NULL, NULL);
	ncclTunerPlugin_v7.init(&c[7], 7, 1, 1, logger, &nvl, NULL);
	for (int v = 2; v <= 7; v++) {
		ck_assert_ptr_nonnull(c[v]);
		table(t[v]);
	}
#define TABLE(v) (float **)(void *)t[v]
	ncclTunerPlugin_v2.get_coll_info(c[2], 4, 1024, 0, 0, 1, &algo, &proto, &n[2]);
	ncclTunerPlugin_v3.get_coll_info(c[3], 4, 1024, 1, TABLE(3), 7, 3, &n[3]);
	ncclTunerPlugin_v4.get_coll_info(c[4], 4, 1024, 1, TABLE(4), 7, 3, 1, &n[4]);
	ncclTunerPlugin_v5.get_coll_info(c[5], 4, 1024, 1, TABLE(5), 7, 3, 1, &n[5]);
	ncclTunerPlugin_v6.get_coll_info(c[6], 4, 1024, 1, TABLE(6), 7, 3, 1, &n[6]);
	ncclTunerPlugin_v7.get_coll_info(c[7], 4, 1024, 1, TABLE(7), 7, 3, 1, &n[7]);
#undef TABLE
	ck_assert_int_eq(algo, RING);
	ck_assert_int_eq(proto, SIMPLE);
	for (int v = 2; v <= 7; v++) {
		ck_assert_int_eq(n[v], 9);
		if (v > 2)
			ck_assert_int_eq(pick(t[v], 21, 3.6e9f), RING * 3 + SIMPLE);
	}
	/* this one has no opinion on it */
	ck_assert_int_eq(ncclTunerPlugin_v6.get_chunk_size(c[6], 4, 1024, 1, 2, 1, &chunk), 0);
	ck_assert_uint_eq(chunk, 1 << 17);
	ck_assert_int_eq(ncclTunerPlugin_v6.get_chunk_size(NULL, 4, 1024, 1, 2, 1, NULL), 0);
	ck_assert_int_eq(ncclTunerPlugin_v7.get_chunk_size(c[7], 4, 1024, 1, 2, 1, &chunk), 0);
	ck_assert_uint_eq(chunk, 1 << 17);
	ncclTunerPlugin_v2.finalize(c[2]);
	ncclTunerPlugin_v3.finalize(c[3]);
	ncclTunerPlugin_v4.finalize(c[4]);
	ncclTunerPlugin_v5.finalize(c[5]);
	ncclTunerPlugin_v6.finalize(c[6]);
	ncclTunerPlugin_v7.finalize(c[7]);
}

/* ---- a wrapped tuner ---- */

/*
 * Init as NCCL calls it in version @abi, with constants numbered from 1. v7 has
 * 159 of them, and v5 and v6 have 144.
 */
static void *init_with_constants(int abi, double constants[160])
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	void *c = NULL;

	for (int i = 0; i < 160; i++)
		constants[i] = 1.0 + i;
	if (abi == 5)
		ncclTunerPlugin_v5.init(&c, 5, 1, 1, logger, &nvl, (void *)constants);
	else if (abi == 6)
		ncclTunerPlugin_v6.init(&c, 6, 1, 1, logger, &nvl, (void *)constants);
	else
		ncclTunerPlugin_v7.init(&c, 7, 1, 1, logger, &nvl, (void *)constants);
	ck_assert_ptr_nonnull(c);
	return c;
}

/*
 * The tuner checks what it gets, and edits its last constant: that of Blackwell
 * in v5 and v6, that of Rubin in v7. Each lands where NCCL has it.
 */
TEST_EACH(constants_pass_through_a_wrapped_tuner, 0, 9)
{
	static const struct {
		int abi, version, edited;
	} cases[] = { { 5, 5, 143 },
		      { 6, 5, 143 },
		      { 6, 6, 143 },
		      { 7, 5, 155 },
		      { 7, 6, 155 },
		      { 7, 7, 158 },
		      /* an edit of a failed init does not stay */
		      { 6, 6, -1 },
		      { 7, 6, -1 },
		      { 7, 7, -1 } };
	const int abi = cases[_i].abi, edited = cases[_i].edited;
	const char *build = getenv("B");
	double constants[160];
	char path[400];
	void *c;

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/tuner_v%d.so",
		 build ? build : "build/debug", cases[_i].version);
	setenv("NCCLBPF_CHAIN_TUNER", path, 1);
	setenv("CHAIN_DOES", edited < 0 ? "fail_init" : "edit", 1);
	c = init_with_constants(abi, constants);
	for (int i = 0; i < 160; i++)
		ck_assert_double_eq(constants[i], i == edited ? -1.0 : 1.0 + i);
	ck_assert_int_eq(nb_wrapped[NB_WRAPPED_TUNER].state,
			 edited < 0 ? NB_WRAPPED_LEFT_OUT : NB_WRAPPED_IN_USE);
	ck_assert_uint_eq(nb_wrapped[NB_WRAPPED_TUNER].version, (uint32_t)cases[_i].version);
	nb_comm_free(c);
}

TEST(nothing_that_nccl_passes_is_fatal)
{
	struct nb_comm *c;
	float t[21];
	int n = 0, algo = -1, proto = -1;

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	table(t);
	ck_assert_int_eq(ncclTunerPlugin_v5.init(NULL, 1, 1, 1, logger, NULL, NULL), 0);
	for (int coll = -2; coll < 12; coll++)
		ask(c, coll, 1);
	ck_assert_uint_eq(refused(NB_REFUSED_COLLECTIVE), 9);
	ncclTunerPlugin_v5.get_coll_info(c, 4, SIZE_MAX, -5, NULL, 7, 3, -1, NULL);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t, 0, 3, 0, NULL);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t, 1 << 30, 1 << 30, 0, &n);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 0, 1, (float **)(void *)t, -1, -1, 0, &n);
	ck_assert_uint_eq(refused(NB_REFUSED_COST_TABLE), 4);
	ncclTunerPlugin_v5.get_coll_info(c, 4, 1, 1, (float **)(void *)t, 7, 3, 0, NULL);
	ck_assert_int_eq(pick(t, 21, 3.6e9f), 5);
	ncclTunerPlugin_v5.get_coll_info(NULL, 4, 1, 1, (float **)(void *)t, 7, 3, 0, &n);
	ncclTunerPlugin_v2.get_coll_info(NULL, 4, 1, 0, 0, 1, &algo, &proto, &n);
	ck_assert_uint_eq(refused(NB_REFUSED_NO_CONTEXT), 2);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1, 0, 0, 1, NULL, NULL, NULL);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1, 0, 0, 1, &algo, NULL, NULL);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(ncclTunerPlugin_v5.finalize(NULL), 0);
	ck_assert_int_eq(ncclTunerPlugin_v5.finalize(c), 0);
}

TEST(v2_answers_only_what_is_safe_unchecked)
{
	void *c;
	int algo = -1, proto = -1, n = 0;

	/* Ring with LL128 depends on hardware that v2 says nothing of */
	begin_with(MADE_CHOOSE(1, 1));
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1 << 20, 0, 0, 1, &algo, &proto, &n);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(proto, -1);
	ck_assert_uint_eq(refused(NB_REFUSED_UNUSABLE), 1);
}

TEST(v2_keeps_the_users_filter)
{
	void *c;
	int algo = -1, proto = -1, n = 0;

	setenv("NCCL_PROTO", "LL", 1);
	begin_with(MADE_CHOOSE(1, 2));
	ncclTunerPlugin_v2.init(8, 1, logger, &c);
	ncclTunerPlugin_v2.get_coll_info(c, 4, 1 << 20, 0, 0, 1, &algo, &proto, &n);
	ck_assert_int_eq(algo, -1);
	ck_assert_int_eq(proto, -1);
}

TEST(bad_policies_leave_the_choice_to_nccl)
{
	struct nb_comm *c;
	float t[21];

	setenv("NCCLBPF_POLICY", "/nowhere/x.policy", 1);
	setenv("NCCLBPF_MAX_CHANNELS", "129", 1);
	setenv("NCCLBPF_POLISY", "1", 1);
	c = rank_of(1, 1);
	table(t);
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(nb_load.err.code, NB_E_NOINPUT);
	ck_assert_str_eq(nb_load.what, "/nowhere/x.policy");
	ck_assert_ptr_nonnull(strstr(lines, "/nowhere/x.policy"));
	ck_assert_ptr_nonnull(strstr(lines, "from 1 to 128"));
	ck_assert_ptr_nonnull(strstr(lines, "did you mean NCCLBPF_POLICY"));
	ck_assert_int_eq(nb_params.num[NB_P_MAX_CHANNELS], 128);
	nb_comm_free(c);
	unsetenv("NCCLBPF_POLISY");
}

TEST(disabled_means_nothing_at_all)
{
	setenv("NCCLBPF_DISABLE", "1", 1);
	begin_with(MADE_CHOOSE(1, 2));
	ck_assert_ptr_null(rank_of(1, 1));
	ck_assert(!nb_process_ready(NULL));
	ck_assert_int_eq(ask(NULL, 4, 1).channels, 0);
	unsetenv("NCCLBPF_DISABLE");
}

TEST(decisions_can_be_read_back)
{
	struct nb_comm *c;
	struct nb_decision d;

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	for (int i = 0; i < 2000; i++)
		ask(c, i % 5, (size_t)1 << (i % 30));
	nb_lock(NB_LOCK_STATE);
	ck_assert_uint_eq(nb_comm_decisions(c), 2000);
	ck_assert(!nb_comm_decision(c, 2000, &d));
	ck_assert(!nb_comm_decision(c, 2000 - NB_RING - 1, &d));
	for (uint64_t s = 2000 - NB_RING; s < 2000; s++) {
		ck_assert(nb_comm_decision(c, s, &d));
		ck_assert_uint_eq(d.seq, s);
		ck_assert_int_eq(d.coll, (int)(s % 5));
		ck_assert_uint_eq(d.bytes, (uint64_t)1 << (s % 30));
		ck_assert_int_eq(d.algo, RING);
		ck_assert_int_eq(d.proto, SIMPLE);
		ck_assert_int_eq(d.by, 0);
		ck_assert_uint_eq(d.usable, (1u << 21) - 1);
		ck_assert(d.nccl_cost_us == 100.0);
		ck_assert(d.cost_us == 100.0 + 5 * 5 % 21);
	}
	ck_assert(nb_comm_latest(c, 0, 5, &d));
	ck_assert_uint_eq(d.bytes, 32);
	ck_assert_uint_eq(d.count, 67);
	ck_assert(!nb_comm_latest(c, 0, 4, &d));
	ck_assert(!nb_comm_latest(c, 5, 5, &d));
	ck_assert_str_eq(nb_gens_policy_name(d.generation, 0), "first");
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
	ck_assert_uint_eq(nb_comms_decisions(), 2000);
}

TEST(numbers_beyond_their_bits_are_clamped)
{
	struct nb_comm *c;
	struct nb_decision d;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	table(t);
	nb_tuner_decide(c, &(struct nb_ask){ .bytes = UINT64_MAX,
					     .coll = 4,
					     .pipe_ops = 1 << 30,
					     .table = t,
					     .nalgo = 7,
					     .nproto = 3 });
	ck_assert(t[5] == 0.0f);
	table(t);
	ncclTunerPlugin_v5.get_coll_info(c, 77, SIZE_MAX, -3, (float **)(void *)t, 7, 3, 0, NULL);
	nb_lock(NB_LOCK_STATE);
	ck_assert(nb_comm_decision(c, 0, &d));
	ck_assert_uint_eq(d.bytes, NB_PACKED_BYTES);
	ck_assert_uint_eq(d.pipe_ops, NB_PACKED_PIPE);
	ck_assert_int_eq(d.coll, 4);
	ck_assert_int_eq(d.by, 0);
	ck_assert(nb_comm_decision(c, 1, &d));
	ck_assert_int_eq(d.coll, -1);
	ck_assert_int_eq(d.refused, NB_REFUSED_COLLECTIVE);
	ck_assert_uint_eq(d.pipe_ops, 0);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

UNIT_MAIN_WITH("tuner", tcase_add_checked_fixture(tc, set_up, tear_down);)
