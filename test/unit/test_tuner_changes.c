// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Changes of policies and maps while a job decides: who takes part, when they
// take effect, and which policies are kept.
#include "test/unit/tuner_job.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/change/compose.h"

/*
 * A rank is held up where it has learned the number of its next generation and
 * has not looked it up, or in the look-up itself (rules.mk wraps these two).
 */
static _Thread_local void (*before_look_up)(void), (*in_look_up)(void);

static void once(void (**fn)(void))
{
	void (*now)(void) = *fn;

	*fn = NULL;
	if (now)
		now();
}

void __wrap_nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count);
void __real_nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count);
bool __wrap_nb_segment_digest(const struct nb_segment *s, uint32_t number,
			      uint8_t digest[NB_SHA256_SIZE]);
bool __real_nb_segment_digest(const struct nb_segment *s, uint32_t number,
			      uint8_t digest[NB_SHA256_SIZE]);

void __wrap_nb_gen_count_add(struct nb_gen *g, struct nb_gen_count *count)
{
	once(&before_look_up);
	__real_nb_gen_count_add(g, count);
}

bool __wrap_nb_segment_digest(const struct nb_segment *s, uint32_t number,
			      uint8_t digest[NB_SHA256_SIZE])
{
	once(&in_look_up);
	return __real_nb_segment_digest(s, number, digest);
}

/* Stage "chan" with another value in its map, which makes a new generation. */
static int stage_limit(uint32_t value, uint8_t digest[NB_SHA256_SIZE])
{
	uint32_t key = 0;
	struct nb_map_op op = { .key = &key, .value = &value };

	return nb_change_stage_map("limits", &op, 1, digest, NULL);
}

static void sweep(void)
{
	nb_lock(NB_LOCK_STATE);
	nb_gens_sweep();
	nb_unlock(NB_LOCK_STATE);
}

/* Try more changes than the history keeps, and count those that succeed. */
static int committed;

static void many_changes(void)
{
	uint8_t digest[NB_SHA256_SIZE];
	const char *name = "chan";

	for (uint32_t i = 0; i < 20; i++) {
		int rc = i ? stage_limit(i, digest) : stage_use(&name, 1, digest, NULL);

		committed +=
			!rc && !commit(digest, NULL) && last.comm[0].state == NB_CHANGE_COMMITTED;
		sweep();
	}
}

TEST(rank_stopped_before_its_look_up_finds_its_generation)
{
	struct nb_comm *c = rank_of(1, 1);

	nb_params.num[NB_P_FENCE_TIMEOUT_MS] = 1;
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
	use("chan");
	ask(c, 4, 1024);
	use("ring");
	before_look_up = many_changes;
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	ck_assert(!before_look_up);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	/* nobody changes a rank again that has not adopted the last change */
	ck_assert_int_eq(committed, 0);
	many_changes();
	ck_assert_int_eq(committed, 20);
	nb_comm_free(c);
}

static sem_t stopped, resume;

static void stop_here(void)
{
	sem_post(&stopped);
	sem_wait(&resume);
}

static void *ask_and_stop(void *c)
{
	in_look_up = stop_here;
	ask(c, 4, 1024);
	return NULL;
}

/* The control thread sweeps, and must not wait for a thread that is stopped. */
TEST(a_sweep_does_not_wait_for_a_rank_that_looks_up)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	const char *name = "ring";
	pthread_t t;

	sem_init(&stopped, 0, 0);
	sem_init(&resume, 0, 0);
	hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("chan");
	ck_assert_int_eq(pthread_create(&t, NULL, ask_and_stop, c), 0);
	sem_wait(&stopped);
	ck_assert_int_eq(stage_use(&name, 1, digest, NULL), 0);
	ck_assert_int_eq(nb_change_abort(digest, NULL), 0);
	sweep();
	ck_assert_ptr_nonnull(nb_gens_find(digest));
	sem_post(&resume);
	pthread_join(t, NULL);
	sweep();
	ck_assert_ptr_null(nb_gens_find(digest));
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	nb_comm_free(c);
}

TEST(change_undo_and_map_change_while_a_job_runs)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t key = 0, value = 6;
	struct nb_map_op op = { .key = &key, .value = &value };
	struct nb_err err = { 0 };
	bool staged, has_last;
	struct got before = ask(c, 4, 1024);

	ck_assert_int_eq(nb_change_stage_undo(NB_CHANGE_ANY, digest, &err), NB_E_NOENT);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	use("ring");
	ck_assert_int_eq(last.state, NB_CHANGE_COMMITTED);
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_uint_eq(last.comm[0].fence, 2); /* idle: at once */
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	use("chan");
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(nb_change_stage_map("limits", &op, 1, digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 6);
	ck_assert_int_eq(nb_change_stage_undo(NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(nb_change_stage_undo(NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), 0);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 6);
	use(NULL);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	nb_change_status(&staged, digest, &has_last, &last);
	ck_assert(!staged && has_last);
	ck_assert_uint_eq(last.comm[0].passed, 1);
	/* many more changes than generations can be kept */
	for (int i = 0; i < 3 * NB_MAX_GENS; i++) {
		use(i % 2 ? "ring" : "chan");
		ck_assert_int_eq(ask(c, 4, 1024).index, i % 2 ? 5 : before.index);
	}
	nb_comm_free(c);
}

/* A rank looks at the record at each decision from the arming of a fence to
 * the fence. Nothing is missing then, nor where the change is to no policy. */
TEST(nothing_is_missing_before_a_fence_or_without_a_policy)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	uint32_t number;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	ck_assert_int_eq(nb_segment_gen(nb_self.seg, digest, true, &number, NULL), 0);
	c->seg->record.word = nb_fence_word(NB_FENCE_COMMIT, number, 5);
	for (int k = 0; k < 5; k++)
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	use(NULL);
	ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	/* and one that is not held by this process is counted, once */
	memset(digest, 7, sizeof(digest));
	ck_assert_int_eq(nb_segment_gen(nb_self.seg, digest, true, &number, NULL), 0);
	c->seg->record.word = nb_fence_word(NB_FENCE_COMMIT, number, 0);
	for (int k = 0; k < 5; k++)
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 1);
	/* and the log says it, once */
	ck_assert_ptr_null(strstr(lines, "does not hold generation"));
	nb_process_tick();
	ck_assert_ptr_nonnull(strstr(lines, "communicator 0000000000000001: this process does not "
					    "hold generation "));
	lines[0] = '\0';
	nb_process_tick();
	nb_comm_free(c);
	ck_assert_ptr_null(strstr(lines, "does not hold generation"));
}

/* Is a generation of that digest kept, after all that nobody needs is gone? */
static bool kept(const uint8_t digest[NB_SHA256_SIZE])
{
	bool is;

	nb_lock(NB_LOCK_STATE);
	nb_gens_sweep();
	is = nb_gens_find(digest) != NULL;
	nb_unlock(NB_LOCK_STATE);
	return is;
}

static uint32_t stage_one(const char *name, uint8_t digest[NB_SHA256_SIZE])
{
	struct nb_err err = { 0 };
	uint32_t number;

	ck_assert_msg(!stage_use(&name, 1, digest, &err), "%s", err.text);
	ck_assert(!nb_segment_gen(nb_self.seg, digest, true, &number, &err));
	return number;
}

/* What a rank finds on the way to a fence stays, though nothing else leads to
 * it, until the rank has taken it or stands before another fence. */
TEST(what_is_behind_a_fence_stays_until_it_is_taken)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t ring[NB_SHA256_SIZE], tree[NB_SHA256_SIZE];

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	hold("tree", MADE_CHOOSE(0, 2), NULL, 0);
	ask(c, 4, 1024);
	for (int taken = 0; taken < 2; taken++) {
		const uint64_t before = c->seg->record.word;
		uint64_t fence = c->fence.seq + 5, to_ring, to_tree;

		to_ring = nb_fence_word(NB_FENCE_COMMIT, stage_one("ring", ring), fence);
		c->seg->record.word = to_ring;
		for (int k = 0; k < 4; k++)
			ck_assert_int_ne(ask(c, 4, 1024).index, 5);
		to_tree = nb_fence_word(NB_FENCE_COMMIT, stage_one("tree", tree), fence);
		/* nothing but the rank knows of it now */
		c->seg->record.word = before;
		ck_assert(kept(ring));
		c->seg->record.word = taken ? to_ring : to_tree;
		ck_assert_int_ne(ask(c, 4, 1024).index, 5);
		ck_assert_int_eq(kept(ring), taken);
		ck_assert_int_eq(ask(c, 4, 1024).index, taken ? 5 : 2);
		c->seg->record.word = before;
		ck_assert_int_eq(kept(ring), taken);
	}
	ck_assert_uint_eq(refused(NB_REFUSED_GEN_MISSING), 0);
	nb_comm_free(c);
}

TEST(new_communicators_begin_with_the_last_change)
{
	struct nb_comm *c = rank_of(1, 1), *d;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	d = rank_of(2, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	nb_comm_free(c);
	nb_comm_free(d);
}

/* Policies for one communicator alone; those that come later have what no
 * scope names. */
TEST(a_change_reaches_those_that_it_is_for)
{
	struct nb_comm *c = rank_of(0xaa, 1), *d = rank_of(0xbb, 1), *e;
	const struct nb_selector one = { NB_SELECT_SOME, 1, { 0xbb } },
				 none = { NB_SELECT_SOME, 1, { 0xcc } };
	const struct nb_edit common = { .what = NB_COMPOSE_COMMON };
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	struct got before = ask(c, 4, 1024);

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(nb_change_stage_for(&none, &name, 1, digest, &err), NB_E_NOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "00000000000000bb"));
	ck_assert_msg(!nb_change_stage_for(&one, &name, 1, digest, &err), "%s", err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	e = rank_of(0xcc, 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	ck_assert_int_eq(ask(e, 4, 1024).index, before.index);
	ck_assert_ptr_eq(nb_gen_whole(c->gen), nb_gen_whole(d->gen));
	nb_comm_free(d);
	/* gone, and still named: one that has its identity begins so */
	d = rank_of(0xbb, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, 5);
	nb_comm_free(d);
	ck_assert_msg(!nb_change_stage_edit(&common, &one, digest, &err), "%s", err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	d = rank_of(0xbb, 1);
	ck_assert_int_eq(ask(d, 4, 1024).index, before.index);
	/* what a view counted is not lost with it */
	for (int i = 0; i < 3 * NB_MAX_GENS; i++) {
		name = i % 2 ? "ring" : "chan";
		hold("chan", MADE_CHANNELS_FROM_MAP, &made_coherent, 1);
		ck_assert_msg(!nb_change_stage_for(&one, &name, 1, digest, &err), "%s", err.text);
		ck_assert_msg(!commit(digest, &err), "%s", err.text);
		ck_assert_int_eq(ask(c, 4, 1024).index, before.index);
		ck_assert_int_eq(ask(d, 4, 1024).index, i % 2 ? 5 : before.index);
		ask(e, 4, 1024);
	}
	nb_lock(NB_LOCK_STATE);
	ck_assert_uint_eq(nb_held_counts(nb_held_find("ring", NULL)->policy, 0).runs,
			  2 + 3 * NB_MAX_GENS / 2);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
	nb_comm_free(d);
	nb_comm_free(e);
}

/* Each entry has a page of its own; the pages of unused entries must stay out of memory. */
TEST(a_change_looks_only_at_entries_that_were_used)
{
	struct nb_comm *c = rank_of(1, 1);
	const struct nb_job job = nb_segment_job(nb_self.seg);

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	nb_self.seg->mem->ncomms = 0;
	ck_assert_ptr_null(nb_job_comm(&job, 0));
	use("ring");
	ck_assert_uint_eq(last.ncomms, 0);
	nb_self.seg->mem->ncomms = 1;
	ck_assert_ptr_eq(nb_job_comm(&job, 0), c->seg);
	use("ring");
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	nb_comm_free(c);
}

TEST(ranks_elsewhere_refuse_a_change)
{
	struct nb_comm *c = rank_of(0xabc, 4), *d = rank_of(0xabc, 4);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	float t[21];

	table(t);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "2 of 4 ranks"));
	ck_assert_ptr_nonnull(strstr(err.text, "0abc"));
	ck_assert_int_eq(nb_change_abort(digest, &err), 0);
	ck_assert_int_eq(nb_change_abort(digest, &err), NB_E_NOENT);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	/* once it has decided without them they do not come any more */
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	use("ring");
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_ptr_nonnull(strstr(last.comm[0].why, "2 of 4 ranks"));
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(d, 4, 1024).index, pick(t, 21, 3.6e9f));
	nb_comm_free(c);
	nb_comm_free(d);
}

/* A communicator before it was not to change, for another reason. */
TEST(a_failed_change_names_the_communicator_that_was_rolled_back)
{
	struct nb_comm *c = rank_of(0xabc, 4), *e = rank_of(0xeee, 1);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";

	ask(c, 4, 1024);
	ask(e, 4, 1024);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	__atomic_store_n(&e->fence.slot->announced, UINT64_C(1) << 41, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(commit(digest, &err), NB_E_BUSY);
	ck_assert_msg(strstr(err.text, "0eee") && strstr(err.text, "2^40"), "%s", err.text);
	nb_comm_free(c);
	nb_comm_free(e);
}

static struct nb_comm *nameless(size_t ranks)
{
	void *c;

	ncclTunerPlugin_v4.init(ranks, 1, logger, &c);
	return c;
}

TEST(communicators_without_identity_keep_what_the_environment_says)
{
	struct nb_comm *c[2];

	begin_with(MADE_CHOOSE(0, 2));
	c[0] = nameless(1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	ck_assert_ptr_nonnull(strstr(last.comm[0].why, "v4"));
	c[1] = nameless(1);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ask(c[i], 4, 1024).index, 2);
		nb_comm_free(c[i]);
	}
}

/* Were the baseline to move between two of its ranks, they would differ. */
TEST(change_waits_for_a_communicator_that_is_being_made)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	struct nb_comm *one = rank_of(1, 2), *two;

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "1 of 2 ranks"));
	two = rank_of(1, 2);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	nb_comm_free(one);
	nb_comm_free(two);
	for (int i = 0; i < NB_SEG_COMMS; i++)
		ck_assert_uint_eq(nb_self.seg->mem->comm[i].in_use, 0);
}

/*
 * Two equal communicators are made at once, and changes come between their ranks:
 * nobody can tell which ranks belong together.
 */
TEST(ranks_that_cannot_be_told_apart_start_alike_whatever_changes)
{
	struct nb_comm *c[4], *named;

	begin_with(MADE_CHOOSE(0, 2));
	c[0] = nameless(2);
	c[2] = nameless(2);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_int_eq(last.state, NB_CHANGE_UNCHANGEABLE);
	c[1] = nameless(2);
	use(NULL);
	c[3] = nameless(2);
	/* the rest of the job changes */
	named = rank_of(1, 1);
	use("ring");
	ck_assert_int_eq(last.state, NB_CHANGE_COMMITTED);
	ck_assert_int_eq(ask(named, 4, 1024).index, 5);
	nb_comm_free(named);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(ask(c[i], 4, 1024).index, 2);
		nb_comm_free(c[i]);
	}
}

/* Start a process of the job that commits policy @name, if any, and has no rank then. */
static pid_t earlier(const char *name)
{
	int ready[2];
	pid_t pid;
	char ch;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct nb_comm *c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = rank_of(1, 1);
		hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
		use(name);
		nb_comm_free(c);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	close(ready[0]);
	return pid;
}

/* Returns the exit status of the next child that ends. */
static int ended_with(void)
{
	int status;

	ck_assert_int_gt(wait(&status), 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Its ranks of a communicator that NCCL names are compared with their peers; others are not. */
TEST(a_process_that_starts_later_has_the_jobs_policies_once_it_holds_them)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	struct nb_comm *c;
	pid_t pid;

	begin_with(MADE_CHOOSE(0, 2));
	pid = earlier(name);
	for (int holds = 0; holds < 2; holds++) {
		c = nameless(2);
		ck_assert_int_eq(ask(c, 4, 1024).index, 2);
		nb_comm_free(c);
		c = rank_of(2, 1);
		ck_assert_int_eq(ask(c, 4, 1024).index, holds ? 5 : 2);
		nb_comm_free(c);
		if (holds)
			break;
		/* as the agent of a fleet does, or a dry run */
		hold(name, MADE_CHOOSE(1, 2), NULL, 0);
		ck_assert_msg(!stage_use(&name, 1, digest, &err), "%s", err.text);
		ck_assert_msg(!nb_change_abort(digest, &err), "%s", err.text);
	}
	end(pid);
}

/* All processes hold no policy from their start, so none has to stage it. */
TEST(a_process_that_starts_after_a_change_to_no_policy_has_none)
{
	struct nb_comm *c;
	pid_t pid;

	begin_with(MADE_CHOOSE(0, 2));
	pid = earlier(NULL);
	c = rank_of(2, 1);
	ck_assert_int_ne(ask(c, 4, 1024).index, 2);
	nb_comm_free(c);
	end(pid);
}

/*
 * Nobody compares ranks without identity, so a file that has changed between them is told, but
 * not to a rank that has no peers.
 */
TEST(a_process_whose_policy_file_has_changed_is_told)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid;

		begin_with(MADE_CHOOSE(0, 2));
		pid = earlier(NULL);
		begin_with(i ? MADE_CHOOSE(1, 2) : MADE_CHOOSE(0, 2));
		if (!fork()) {
			nb_comm_free(nameless(i == 2 ? 1 : 2));
			_exit(strstr(lines, "started with another NCCLBPF_POLICY") ? 1 : 0);
		}
		ck_assert_int_eq(ended_with(), i == 1);
		end(pid);
	}
}

/* A change reaches this host alone: what spans several must not see it. */
TEST(communicators_of_several_hosts_begin_as_the_environment_says)
{
	struct nb_comm *c;
	void *v4, *v5;

	begin_with(MADE_CHOOSE(0, 2));
	c = rank_of(1, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ck_assert_int_eq(ask(c, 4, 1024).index, 5);
	nb_comm_free(c);
	ncclTunerPlugin_v5.init(&v5, 3, 16, 2, logger, NULL, NULL);
	ck_assert_int_eq(ask(v5, 4, 1024).index, 2);
	ncclTunerPlugin_v5.finalize(v5);
	ncclTunerPlugin_v4.init(16, 2, logger, &v4);
	ck_assert_int_eq(ask(v4, 4, 1024).index, 2);
	/* a later change does not move it, and is not held up by it */
	use(NULL);
	ck_assert_int_eq(ask(v4, 4, 1024).index, 2);
	ncclTunerPlugin_v4.finalize(v4);
}

TEST(policy_in_use_is_not_discarded)
{
	struct nb_comm *c = rank_of(1, 1);
	struct nb_err err = { 0 };

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ask(c, 4, 1);
	nb_lock(NB_LOCK_STATE);
	ck_assert_int_eq(nb_held_discard("ring", false, &err), NB_E_BUSY);
	nb_unlock(NB_LOCK_STATE);
	use(NULL);
	ask(c, 4, 1);
	nb_lock(NB_LOCK_STATE);
	ck_assert_msg(!nb_held_discard("ring", false, &err), "%s", err.text);
	ck_assert_uint_eq(nb_held.n, 0);
	ck_assert_int_eq(nb_held_discard("ring", false, &err), NB_E_NOENT);
	nb_unlock(NB_LOCK_STATE);
	nb_comm_free(c);
}

static int discard(const char *name, struct nb_err *err)
{
	int rc;

	nb_lock(NB_LOCK_STATE);
	rc = nb_held_discard(name, false, err);
	nb_unlock(NB_LOCK_STATE);
	return rc;
}

/* An undo that is staged uses what it goes back to; what the environment named
 * stays for communicators of several hosts. */
TEST(staged_undo_and_environment_keep_their_policies)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	struct nb_comm *c;

	begin_with(MADE_CHOOSE(0, 2));
	c = rank_of(1, 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	use(NULL);
	ask(c, 4, 1);
	ck_assert_int_eq(nb_change_stage_undo(NB_CHANGE_ANY, digest, &err), 0);
	ck_assert_int_eq(discard("ring", &err), NB_E_BUSY);
	ck_assert_int_eq(nb_change_abort(digest, &err), 0);
	ck_assert_int_eq(discard("ring", &err), 0);
	ck_assert_int_eq(discard("first", &err), NB_E_BUSY);
	ck_assert_ptr_nonnull(strstr(err.text, "NCCLBPF_POLICY"));
	nb_comm_free(c);
}

/* A clock that ended after one rank had passed a fence does not keep the job from changing. */
TEST(ranks_that_reach_no_fence_any_more_are_not_waited_for)
{
	struct nb_comm *a, *b;

	begin_with(MADE_CHOOSE(0, 2));
	a = rank_of(1, 2);
	b = rank_of(1, 2);
	ask(a, 4, 64);
	ask(b, 4, 64);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	use("ring");
	ask(a, 4, 64);
	ck_assert(!nb_fence_ready(a->seg));
	a->seg->clock = NB_CLOCK_NONE;
	use(NULL);
	ck_assert_uint_eq(last.ncomms, 1);
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_UNCHANGEABLE);
	nb_comm_free(b);
	nb_comm_free(a);
}

UNIT_MAIN_WITH("tuner_changes", tcase_add_checked_fixture(tc, set_up, tear_down);)
