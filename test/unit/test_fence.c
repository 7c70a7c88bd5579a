// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The fence protocol with threads and processes as ranks. The claim: no
// decision number is ever made with two generations, whatever the speed, with
// membarrier or without, and when the coordinator dies half-way.
#include "test/unit/fence_ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

TEST(eight_threads_agree_with_membarrier)
{
	threads_agree(true);
}

TEST(eight_threads_agree_with_full_fences)
{
	threads_agree(false);
}

/* The judge must be able to convict: a change without a fence diverges. */
TEST(unfenced_change_is_seen_to_diverge)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[2];

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	for (int k = 0; k < 10; k++)
		decide(&r[0]);
	force_record(comm, nb_fence_word(NB_FENCE_COMMIT, fresh(s), 5), 0);
	for (int k = 0; k < 10; k++)
		decide(&r[1]);
	ck_assert_uint_eq(court->divergent, 5);
	detach(s);
}

static void rank_process(int dirfd, struct court *court, uint32_t index)
{
	struct nb_segment *s;
	struct nb_seg_comm *comm;
	struct rank r;

	ck_assert_int_eq(nb_segment_attach(&s, dirfd, "t", 0, true, NULL), 0);
	join(&r, s, court, index, PROCS, &comm);
	run(&r);
	nb_segment_detach(s);
	_exit(0);
}

static int directory(char path[64])
{
	int fd;

	strcpy(path, "/tmp/nbfenceXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static void remove_directory(const char *path)
{
	char name[96];

	snprintf(name, sizeof(name), "%s/t.seg", path);
	unlink(name);
	rmdir(path);
}

static struct nb_seg_comm *the_comm(struct nb_segment *s)
{
	for (int i = 0; i < NB_SEG_COMMS; i++)
		if (s->mem->comm[i].in_use && s->mem->comm[i].comm_id == COMM)
			return &s->mem->comm[i];
	return NULL;
}

TEST(four_processes_agree)
{
	struct court *court = court_new();
	struct nb_segment *s;
	pid_t pid[PROCS];
	char path[64];
	int dirfd = directory(path), status;
	unsigned done;

	ck_assert_int_eq(nb_segment_attach(&s, dirfd, "t", 0, true, NULL), 0);
	ck_assert(s->shared);
	for (uint32_t i = 0; i < PROCS; i++) {
		pid[i] = fork();
		if (!pid[i])
			rank_process(dirfd, court, i);
	}
	while (__atomic_load_n(&court->ready, __ATOMIC_SEQ_CST) < PROCS)
		usleep(1000);
	done = coordinate(s, the_comm(s), hunt_seconds(), 20);
	/* a rank dies: the others go on, and so do changes */
	kill(pid[0], SIGKILL);
	waitpid(pid[0], &status, 0);
	__atomic_store_n(&court->at[0], UINT64_MAX, __ATOMIC_SEQ_CST);
	nb_segment_lock(s, 5000, NULL);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	coordinate(s, the_comm(s), 0.5, 1);
	stop(court);
	for (int i = 1; i < PROCS; i++) {
		waitpid(pid[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
	printf("# %u commits\n", done);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
	remove_directory(path);
}

/* A coordinator arms and dies: ranks at the fence decide abort, all of them,
 * and the next change works. */
TEST(dead_coordinator_means_abort_for_all)
{
	struct court *court = court_new();
	struct nb_segment *s;
	struct nb_seg_comm *comm = NULL;
	struct rank r[RANKS];
	pthread_t t[RANKS];
	char path[64];
	int dirfd = directory(path), status;
	uint32_t timeouts = 0;
	pid_t pid;

	ck_assert_int_eq(nb_segment_attach(&s, dirfd, "t", 0, true, NULL), 0);
	for (uint32_t i = 0; i < RANKS; i++) {
		join(&r[i], s, court, i, RANKS, &comm);
		r[i].f.timeout_ms = 200;
	}
	pid = fork();
	if (!pid) {
		uint64_t word;

		nb_segment_lock(s, 5000, NULL);
		nb_fence_arm(comm, fresh(s), 100, &word);
		_exit(0); /* with the lock: the kernel lets go of it */
	}
	waitpid(pid, &status, 0);
	ck_assert_uint_eq(nb_fence_word_state(record_word(comm)), NB_FENCE_ARMED);
	for (int i = 0; i < RANKS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, run_thread, &r[i]), 0);
	while (slowest(court, RANKS) < 1000)
		usleep(1000);
	ck_assert_uint_eq(record_word(comm), 0);
	/* before others may be late on a busy machine */
	for (int i = 0; i < RANKS; i++)
		timeouts += __atomic_load_n(&r[i].timeouts, __ATOMIC_SEQ_CST);
	ck_assert_uint_eq(timeouts, 1);
	coordinate(s, comm, 0.3, 1);
	stop(court);
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
	remove_directory(path);
}

static void commit_at_rest(struct nb_segment *s, struct nb_seg_comm *comm, uint32_t number,
			   enum nb_fence_outcome expect)
{
	struct nb_fence_opts opts = {
		.margin = 64, .timeout_ms = 30, .idle = true, .membarrier = s->membarrier
	};
	struct nb_fence_result r;

	ck_assert_int_eq(nb_fence_commit(comm, number, &opts, &r), expect);
}

TEST(idle_ranks_take_the_last_of_several_changes)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[2];
	uint32_t last = 0;

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	for (int k = 0; k < 3; k++)
		ck_assert_uint_eq(decide(&r[k % 2]), 0);
	decide(&r[1]);
	for (int i = 0; i < 100; i++) {
		last = fresh(s);
		commit_at_rest(s, comm, last, NB_FENCE_COMMITTED);
	}
	/* both have made 2 decisions: the third is the fence */
	ck_assert_uint_eq(nb_fence_word_seq(record_word(comm)), 2);
	ck_assert_uint_eq(decide(&r[0]), last);
	ck_assert_uint_eq(decide(&r[1]), last);
	detach(s);
}

TEST(no_second_change_while_ranks_straddle_a_fence)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[2];
	uint32_t one, two;

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	one = fresh(s);
	commit_at_rest(s, comm, one, NB_FENCE_COMMITTED);
	ck_assert_uint_eq(decide(&r[0]), one);
	two = fresh(s);
	commit_at_rest(s, comm, two, NB_FENCE_PENDING);
	ck_assert_uint_eq(decide(&r[1]), one);
	commit_at_rest(s, comm, two, NB_FENCE_COMMITTED);
	ck_assert_uint_eq(decide(&r[0]), two);
	ck_assert_uint_eq(decide(&r[1]), two);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
}

TEST(a_fence_lies_beyond_what_is_decided_meanwhile)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct nb_fence_opts opts = {
		.margin = 64, .timeout_ms = 2000, .near = 40, .membarrier = s->membarrier
	};
	struct nb_fence_result result;
	struct rank r[2];

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	ck_assert_int_eq(nb_fence_commit(comm, fresh(s), &opts, &result), NB_FENCE_COMMITTED);
	ck_assert_uint_eq(result.fence, 40);
	for (int k = 0; k < 41; k++)
		for (int i = 0; i < 2; i++)
			decide(&r[i]);
	opts.near = 1000; /* no farther than may be tried */
	ck_assert_int_eq(nb_fence_commit(comm, fresh(s), &opts, &result), NB_FENCE_COMMITTED);
	ck_assert_uint_eq(result.fence, 41 + 64);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
}

/* When a change's time is up: no wait for ranks, no second fence. */
TEST(one_try_is_one_try)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct nb_fence_opts opts = { .margin = 64, .once = true, .membarrier = s->membarrier };
	struct nb_fence_result result;
	struct rank r[2];

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	ck_assert_int_eq(nb_fence_commit(comm, fresh(s), &opts, &result), NB_FENCE_COMMITTED);
	ck_assert_uint_eq(result.fence, 64);
	for (int k = 0; k < 70; k++)
		decide(&r[0]);
	ck_assert_int_eq(nb_fence_commit(comm, fresh(s), &opts, &result), NB_FENCE_PENDING);
	ck_assert_uint_eq(result.tries, 1);
	detach(s);
}

/* A rank has announced the fence but not looked at the record yet: it has not
 * passed. Were another fence armed now, it would miss the first change. */
TEST(announcing_a_fence_is_not_passing_it)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t word;

	join(&r[0], s, court, 0, 1, &comm);
	commit_at_rest(s, comm, fresh(s), NB_FENCE_COMMITTED);
	__atomic_store_n(&r[0].f.slot->announced, 1, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 4, &word), NB_FENCE_PENDING);
	ck_assert(!nb_fence_ready(comm));
	detach(s);
}

TEST(rank_that_waits_at_the_fence_does_not_abort_it)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	pthread_t t;
	uint64_t word;
	uint32_t number;

	join(&r[0], s, court, 0, 1, &comm);
	/* beside one that never moves it stays within court->seen */
	r[0].n = 2;
	number = fresh(s);
	ck_assert_int_eq(nb_fence_arm(comm, number, 3, &word), NB_FENCE_COMMITTED);
	ck_assert_int_eq(pthread_create(&t, NULL, run_thread, &r[0]), 0);
	while (load(&r[0].f.slot->waiting) != word)
		usleep(100);
	ck_assert_uint_eq(load(&court->at[0]), 3);
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_COMMITTED);
	while (load(&court->at[0]) < 10)
		usleep(100);
	stop(court);
	pthread_join(t, NULL);
	ck_assert_uint_eq(r[0].f.number, number);
	ck_assert_uint_eq(court->seen[2] & NB_FENCE_MAX_GEN, 0);
	ck_assert_uint_eq(court->seen[3] & NB_FENCE_MAX_GEN, number);
	detach(s);
}

TEST(rank_past_the_fence_aborts_it)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t word;

	join(&r[0], s, court, 0, 1, &comm);
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 3, &word), NB_FENCE_COMMITTED);
	__atomic_store_n(&r[0].f.slot->announced, 5, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_OVERRUN);
	ck_assert_uint_eq(record_word(comm), 0);
	detach(s);
}

TEST(what_a_rank_decided_counts_when_it_is_gone)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[2];
	uint32_t number = fresh(s);

	for (uint32_t i = 0; i < 2; i++)
		join(&r[i], s, court, i, 2, &comm);
	for (int k = 0; k < 10; k++)
		decide(&r[0]);
	for (int k = 0; k < 2; k++)
		decide(&r[1]);
	/* the first one has run ahead and is finalized */
	ck_assert_int_eq(nb_segment_lock(s, 5000, NULL), 0);
	nb_segment_leave(s, comm, 0);
	nb_segment_unlock(s);
	commit_at_rest(s, comm, number, NB_FENCE_COMMITTED);
	ck_assert_uint_eq(nb_fence_word_seq(record_word(comm)), 10);
	for (int k = 2; k < 10; k++)
		ck_assert_uint_eq(decide(&r[1]), 0);
	ck_assert_uint_eq(decide(&r[1]), number);
	ck_assert_uint_eq(court->divergent, 0);
	detach(s);
}

TEST(rank_that_waits_past_the_fence_aborts_it)
{
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];
	uint64_t word;

	join(&r[0], s, court, 0, 1, &comm);
	ck_assert_int_eq(nb_fence_arm(comm, fresh(s), 3, &word), NB_FENCE_COMMITTED);
	/* it decided number 3 before the arming, and waits with number 4 */
	__atomic_store_n(&r[0].f.slot->announced, 5, __ATOMIC_SEQ_CST);
	__atomic_store_n(&r[0].f.slot->waiting, word, __ATOMIC_SEQ_CST);
	ck_assert_int_eq(nb_fence_decide(comm, word, s->membarrier), NB_FENCE_OVERRUN);
	detach(s);
}

/* Whatever stands in record and fallback, a rank goes on in bounded time. */
TEST(hostile_records_do_not_hold_a_rank)
{
	static const uint64_t words[] = { 0,
					  1,
					  UINT64_MAX,
					  UINT64_C(3) << 62,
					  UINT64_C(1) << 62,
					  (UINT64_C(1) << 62) + 5,
					  UINT64_C(2) << 62,
					  (UINT64_C(2) << 62) | ((UINT64_C(1) << 62) - 1) };
	const size_t n = sizeof(words) / sizeof(words[0]);
	struct nb_segment *s = attach(true);
	struct court *court = court_new();
	struct nb_seg_comm *comm = NULL;
	struct rank r[1];

	join(&r[0], s, court, 0, 1, &comm);
	r[0].f.timeout_ms = 20;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			force_record(comm, words[i], words[k]);
			decide(&r[0]);
		}
	ck_assert_uint_eq(r[0].f.seq, n * n);
	detach(s);
}

TEST(words_keep_their_parts)
{
	uint64_t w = nb_fence_word(NB_FENCE_COMMIT, NB_FENCE_MAX_GEN, NB_FENCE_MAX_SEQ);

	ck_assert_uint_eq(nb_fence_word_state(w), NB_FENCE_COMMIT);
	ck_assert_uint_eq(nb_fence_word_gen(w), NB_FENCE_MAX_GEN);
	ck_assert_uint_eq(nb_fence_word_seq(w), NB_FENCE_MAX_SEQ);
	w = nb_fence_word(NB_FENCE_ARMED, 5, 812);
	ck_assert_uint_eq(nb_fence_word_state(w), NB_FENCE_ARMED);
	ck_assert_uint_eq(nb_fence_word_gen(w), 5);
	ck_assert_uint_eq(nb_fence_word_seq(w), 812);
}

UNIT_MAIN("fence")
