// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 300
// NCCL 2.27: the tuner's init names no communicator. The profiler's init, just before it in the
// same thread, does; and a rank may decide before the tuner's init of another.
#include "test/unit/tuner_job.h"

#include "plugin/abi/profiler_abi.h"

enum { RANKS = 2, NODES = 1 };
static const uint64_t NAME = 0x227;

struct both {
	void *prof;
	struct nb_comm *comm;
};

static int mask;
static int ranks = RANKS;
static uint64_t name = NAME;

static uint64_t stands_ns, later_ns; /* the time if the clock stands, and how far it is ahead */
uint64_t __real_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void)
{
	return (stands_ns ? stands_ns : __real_nb_clock_system()) + later_ns;
}

static bool lock_held;
static unsigned lock_tries;
int __real_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err);
int __wrap_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err);
int __wrap_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err)
{
	lock_tries++;
	return lock_held ? nb_fail(err, NB_E_BUSY, 0, "held") : __real_nb_segment_lock(s, ms, err);
}

static void *prof_init(int rank)
{
	void *ctx = NULL;

	ncclProfiler_v4.init.v4(&ctx, &mask, "world", name, NODES, ranks, rank, logger);
	return ctx;
}

static struct nb_comm *tuner_init(size_t n, size_t nodes)
{
	void *ctx = NULL;

	ck_assert_int_eq(ncclTunerPlugin_v4.init(n, nodes, logger, &ctx), 0);
	return ctx;
}

static struct both rank_init(int rank)
{
	struct both b = { .prof = prof_init(rank) };

	b.comm = tuner_init((size_t)ranks, NODES);
	return b;
}

static void rank_end(struct both *b)
{
	ncclTunerPlugin_v4.finalize(b->comm);
	ncclProfiler_v4.finalize(b->prof);
}

/* Make a change that moves no communicator, because @why. */
static void use_in_vain(const char *policy, const char *why)
{
	use(policy);
	ck_assert_uint_ge(last.ncomms, 1);
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_msg(strstr(last.comm[0].why, why), "%s", last.comm[0].why);
}

/* Both ranks decide alike, with policy "first" so far, and with "ring" from some decision on. */
static void move_together(struct both r[RANKS])
{
	int i = 0;

	for (int k = 0; k < 100; k++) {
		int a = ask(r[0].comm, 4, 1024).index;

		ck_assert_int_eq(ask(r[1].comm, 4, 1024).index, a);
		i += a == 2;
	}
	ck_assert_int_lt(i, 100);
	ck_assert_int_eq(ask(r[0].comm, 4, 1024).index, 5);
	ck_assert_int_eq(ask(r[1].comm, 4, 1024).index, 5);
}

TEST(ranks_that_the_profiler_names_change_at_one_decision)
{
	struct both r[RANKS];

	begin_with(MADE_CHOOSE(0, 2));
	for (int i = 0; i < RANKS; i++)
		r[i] = rank_init(i);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_msg(last.comm[0].state == NB_CHANGE_COMMITTED, "%s", last.comm[0].why);
	ck_assert_uint_eq(last.comm[0].comm_id, NAME);
	move_together(r);
	for (int i = 0; i < RANKS; i++)
		rank_end(&r[i]);
}

/*
 * The second rank's init comes after decisions of the first, and after a change: neither differs,
 * and both follow the change, but not while one of their processes lacks it.
 */
TEST(ranks_that_register_late_follow_a_change_that_they_missed)
{
	struct both r[RANKS];
	uint8_t digest[NB_SHA256_SIZE];
	bool staged, known;
	uint32_t *baseline;

	begin_with(MADE_CHOOSE(0, 2));
	r[0] = rank_init(0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(ask(r[0].comm, 4, 1024).index, 2);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use_in_vain("ring", "1 of 2 ranks");
	nb_change_catch_up();
	ck_assert_int_eq(ask(r[0].comm, 4, 1024).index, 2);
	r[1] = rank_init(1);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(ask(r[1].comm, 4, 1024).index, 2);
	baseline = &nb_self.seg->mem->proc[nb_self.seg->proc].baseline;
	--*baseline;
	nb_change_catch_up();
	ck_assert_uint_eq(r[0].comm->seg->record.word, 0);
	++*baseline;
	nb_change_catch_up();
	nb_change_status(&staged, digest, &known, &last);
	ck_assert_int_eq(last.state, NB_CHANGE_COMMITTED);
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_COMMITTED);
	ck_assert_str_eq(last.comm[0].why, "");
	move_together(r);
	for (int i = 0; i < RANKS; i++)
		rank_end(&r[i]);
}

/* Ranks of which one registers after a change, and those before it have decided. */
static void register_late(struct both r[RANKS])
{
	r[0] = rank_init(0);
	ask(r[0].comm, 4, 1024);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use_in_vain("ring", "1 of 2 ranks");
	r[1] = rank_init(1);
	ask(r[1].comm, 4, 1024);
}

static unsigned state_of(const struct both *r)
{
	return nb_fence_word_state(r->comm->seg->record.word);
}

/* The processes do not wait for the lock in turn. */
TEST(one_process_moves_the_ranks_that_register_late)
{
	enum { OTHER = 100 };
	struct nb_seg_proc *other;
	struct both r[RANKS];
	unsigned tries;

	begin_with(MADE_CHOOSE(0, 2));
	register_late(r);
	other = &nb_self.seg->mem->proc[OTHER];
	*other = nb_self.seg->mem->proc[nb_self.seg->proc];
	other->flags = NB_SEG_PROC_CONTROL;
	r[0].comm->seg->slot[0].proc = OTHER;
	tries = lock_tries;
	nb_change_catch_up();
	ck_assert_uint_eq(lock_tries, tries);
	/* it has no control thread */
	other->flags = 0;
	nb_change_catch_up();
	ck_assert_uint_eq(lock_tries, tries + 1);
	ck_assert_uint_eq(state_of(&r[0]), NB_FENCE_COMMIT);
	r[0].comm->seg->slot[0].proc = nb_self.seg->proc;
	memset(other, 0, sizeof(*other));
	for (int i = 0; i < RANKS; i++)
		rank_end(&r[i]);
}

TEST(a_lock_that_is_held_is_tried_ever_more_seldom)
{
	const uint64_t second = 1000000000;
	struct both r[RANKS];
	unsigned tries;

	begin_with(MADE_CHOOSE(0, 2));
	register_late(r);
	stands_ns = __real_nb_clock_system();
	lock_held = true;
	tries = lock_tries;
	for (int s = 0; s <= 70; s++, later_ns += second)
		for (int i = 0; i < 3; i++)
			nb_change_catch_up();
	/* at seconds 0, 1, 3, 7, 15, 31, 47, 63 */
	ck_assert_uint_eq(lock_tries - tries, 8);
	lock_held = false;
	stands_ns = 0;
	later_ns += 20 * second;
	nb_change_catch_up();
	ck_assert_uint_eq(state_of(&r[0]), NB_FENCE_COMMIT);
	for (int i = 0; i < RANKS; i++)
		rank_end(&r[i]);
}

/* Communicators that diverged do not follow, which is said once; the others do. */
TEST(ranks_that_diverged_keep_no_others_behind)
{
	struct both apart[RANKS], r[RANKS];
	const char *said;

	begin_with(MADE_CHOOSE(0, 2));
	apart[0] = rank_init(0);
	ask(apart[0].comm, 4, 1024);
	name++;
	register_late(r);
	name--;
	apart[1] = rank_init(1);
	ask(apart[1].comm, 4, 65536);
	for (int i = 0; i < 3; i++) {
		nb_change_catch_up();
		later_ns += UINT64_C(100000000000);
		ck_assert_uint_eq(state_of(&r[0]), NB_FENCE_COMMIT);
		ck_assert_uint_eq(state_of(&apart[0]), NB_FENCE_NONE);
	}
	said = strstr(lines, "does not follow the job's last change");
	ck_assert_ptr_nonnull(said);
	ck_assert_ptr_null(strstr(said + 1, "does not follow the job's last change"));
	for (int i = 0; i < RANKS; i++) {
		rank_end(&r[i]);
		rank_end(&apart[i]);
	}
}

/* A rank without the profiler's name: its peers keep what they have, and no change reaches them. */
TEST(a_rank_that_lacks_the_name_decides_like_its_peers)
{
	struct both r[RANKS];

	begin_with(MADE_CHOOSE(0, 2));
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	for (int i = 0; i < RANKS; i++) {
		if (i)
			r[i] = (struct both){ .comm = tuner_init(RANKS, NODES) };
		else
			r[i] = rank_init(i);
		use_in_vain("ring", "1 of 2 ranks");
		nb_change_catch_up();
	}
	for (int i = 0; i < RANKS; i++) {
		ck_assert_int_eq(ask(r[i].comm, 4, 1024).index, 2);
		ck_assert_uint_eq(r[i].comm->base.comm_id, 0);
	}
	rank_end(&r[0]);
	ncclTunerPlugin_v4.finalize(r[1].comm);
}

/*
 * Ranks that differ in a setting while some have not registered: they keep what they have, and no
 * change comes between them.
 */
TEST(ranks_that_differ_start_alike_all_the_same)
{
	struct both r[RANKS];

	begin_with(MADE_CHOOSE(0, 2));
	ranks = RANKS + 1;
	for (int i = 0; i < RANKS; i++) {
		r[i] = rank_init(i);
		r[i].comm->seg->record.abi++; /* as if of another NCCL */
	}
	ck_assert(nb_comm_differs(r[1].comm));
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use_in_vain("ring", "tuner interface");
	for (int i = 0; i < RANKS; i++) {
		ck_assert_int_eq(ask(r[i].comm, 4, 1024).index, 2);
		ck_assert(!r[i].comm->mismatch);
		rank_end(&r[i]);
	}
}

/* Nor do they ask a wrapped tuner on some ranks only (c->mismatch). */
TEST(ranks_without_policies_do_not_act_on_a_difference)
{
	struct both r[RANKS];

	r[0] = rank_init(0);
	ask(r[0].comm, 4, 1024);
	r[0].comm->seg->record.abi++;
	r[1] = rank_init(1);
	ck_assert(nb_comm_differs(r[1].comm));
	for (int i = 0; i < RANKS; i++) {
		ask(r[i].comm, 4, 1024);
		ck_assert(!r[i].comm->mismatch);
		rank_end(&r[i]);
	}
}

static const char *why_not(const struct nb_comm *c)
{
	static char why[NB_STARTUP_WHY];

	ck_assert(!nb_comm_changeable(c, why));
	ck_assert_ptr_null(c->seg);
	return why;
}

static void *init_elsewhere(void *prof)
{
	*(void **)prof = prof_init(0);
	return NULL;
}

TEST(an_init_that_is_in_doubt_names_nothing)
{
	void *prof = NULL;
	struct nb_comm *c;
	pthread_t t;

	c = tuner_init(RANKS, NODES);
	ck_assert_ptr_nonnull(strstr(why_not(c), "NCCL_PROFILER_PLUGIN"));
	nb_comm_free(c);
	/* another thread's */
	ck_assert_int_eq(pthread_create(&t, NULL, init_elsewhere, &prof), 0);
	pthread_join(t, NULL);
	c = tuner_init(RANKS, NODES);
	ck_assert_ptr_nonnull(strstr(why_not(c), "not for 2 ranks on 1 nodes"));
	nb_comm_free(c);
	ncclProfiler_v4.finalize(prof);
	/* of another size */
	for (int i = 0; i < 2; i++) {
		prof = prof_init(0);
		c = tuner_init(i ? RANKS : RANKS + 1, i ? NODES + 1 : NODES);
		why_not(c);
		nb_comm_free(c);
		/* and what was in doubt once stays so */
		c = tuner_init(RANKS, NODES);
		why_not(c);
		nb_comm_free(c);
		ncclProfiler_v4.finalize(prof);
	}
	/* ended */
	ncclProfiler_v4.finalize(prof_init(0));
	c = tuner_init(RANKS, NODES);
	why_not(c);
	nb_comm_free(c);
	/* of an interface that names nothing */
	ncclProfiler_v3.init.v1(&prof, &mask);
	c = tuner_init(RANKS, NODES);
	why_not(c);
	nb_comm_free(c);
	ncclProfiler_v3.finalize(prof);
}

TEST(one_init_names_one_communicator)
{
	struct both r = rank_init(0);
	struct nb_comm *c = tuner_init(RANKS, NODES);

	ck_assert_ptr_nonnull(r.comm->seg);
	why_not(c);
	nb_comm_free(c);
	rank_end(&r);
}

UNIT_MAIN_WITH("tuner_names", tcase_add_checked_fixture(tc, set_up, tear_down);)
