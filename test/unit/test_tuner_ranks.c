// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Ranks on many threads and in several processes: they change at the same
// decision, and those that begin differently use no policy.
#include "test/unit/tuner_job.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/change/divergence.h"
#include "plugin/wrap/wrapped.h"

/* ---- memory that is not to be had ---- */

static bool no_memory; /* for the next context */

void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off);

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	if (no_memory && fd < 0) {
		no_memory = false;
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return __real_mmap(at, n, prot, flags, fd, off);
}

/* ---- many threads ---- */

enum { RANKS = 8, COMMITS = TIMES(60), COMINGS = TIMES(200), KEPT = 1 << 20 };

static uint8_t answer[RANKS][KEPT];
static uint64_t made[RANKS];
static uint32_t stop;

struct rank {
	struct nb_comm *c;
	int index;
};

static uint64_t slowest(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < RANKS; i++) {
		uint64_t n = __atomic_load_n(&made[i], __ATOMIC_ACQUIRE);

		if (n < least)
			least = n;
	}
	return least;
}

static void *decide(void *arg)
{
	struct rank *r = arg;

	for (uint64_t k = 0; k < KEPT; k++) {
		if (__atomic_load_n(&stop, __ATOMIC_RELAXED))
			break;
		answer[r->index][k] = (uint8_t)ask(r->c, 4, 1 << 20).channels;
		__atomic_store_n(&made[r->index], k + 1, __ATOMIC_RELEASE);
		if (k % 256 == 255)
			usleep(100);
		/* NCCL's ranks wait for each other's kernels in the end */
		while (k > slowest() + 1000 && !__atomic_load_n(&stop, __ATOMIC_RELAXED))
			sched_yield();
	}
	return NULL;
}

static void compare_answers(void)
{
	uint64_t least = KEPT;
	unsigned seen = 0;

	for (int i = 0; i < RANKS; i++)
		if (made[i] < least)
			least = made[i];
	for (uint64_t k = 0; k < least; k++) {
		seen |= 1u << answer[0][k];
		for (int i = 1; i < RANKS; i++)
			ck_assert_msg(answer[i][k] == answer[0][k],
				      "decision %llu: rank 0 %d, rank %d %d", (unsigned long long)k,
				      answer[0][k], i, answer[i][k]);
	}
	ck_assert_uint_eq(seen, 1u << 0 | 1u << 3 | 1u << 5);
	ck_assert_uint_gt(least, 1000);
}

/* Readers like the control thread's, all the time. */
static void *read_all(void *arg)
{
	struct nb_decision d;
	uint64_t whole = 0;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		nb_lock(NB_LOCK_STATE);
		for (const struct nb_comm *c = nb_comms.first; c; c = c->next) {
			uint64_t n = nb_comm_decisions(c);

			if (n && nb_comm_decision(c, n - 1, &d))
				whole += d.bytes == 1 << 20 && d.channels < 6;
			if (nb_comm_latest(c, 4, 20, &d))
				ck_assert_uint_eq(d.bytes, 1 << 20);
		}
		nb_unlock(NB_LOCK_STATE);
		nb_process_tick();
		usleep(200);
	}
	ck_assert_uint_gt(whole, 0);
	return NULL;
}

/* Ranks on a busy machine may run past every fence that is tried. */
static void use_in_the_end(const char *name)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	int rc = NB_E_BUSY;

	for (int i = 0; i < 20 && rc == NB_E_BUSY; i++) {
		ck_assert_int_eq(stage_use(&name, name ? 1 : 0, digest, &err), 0);
		rc = commit(digest, &err);
	}
	ck_assert_msg(!rc, "%s", err.text);
}

/* Until every rank has made so many decisions. */
static void come_to(uint64_t decisions)
{
	while (slowest() < (decisions < KEPT ? decisions : KEPT))
		usleep(200);
}

TEST(eight_ranks_change_at_the_same_decision)
{
	const time_t end = time(NULL) + 20;
	struct rank r[RANKS];
	pthread_t t[RANKS], reader;

	for (int i = 0; i < RANKS; i++)
		r[i] = (struct rank){ rank_of(9, RANKS), i };
	hold("three",
	     "stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 3\n"
	     "mov %r0, 0\nexit\n",
	     NULL, 0);
	hold("five",
	     "stw [%r1+68], 1\nstw [%r1+72], 2\nstw [%r1+76], 5\n"
	     "mov %r0, 0\nexit\n",
	     NULL, 0);
	pthread_create(&reader, NULL, read_all, NULL);
	for (int i = 0; i < RANKS; i++)
		pthread_create(&t[i], NULL, decide, &r[i]);
	come_to(1000);
	/* a busy machine gets by with fewer */
	for (int i = 0; i < COMMITS && (i < 6 || time(NULL) < end); i++) {
		use_in_the_end(i % 3 == 2 ? NULL : i % 3 ? "five" : "three");
		come_to(last.comm[0].fence + 100);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	pthread_join(reader, NULL);
	compare_answers();
	for (int i = 0; i < RANKS; i++)
		nb_comm_free(r[i].c);
}

static void *come_and_go(void *arg)
{
	for (int i = 0; i < COMINGS; i++) {
		struct nb_comm *c = rank_of((uint64_t)(uintptr_t)arg, 1);

		for (int k = 0; k < 20; k++)
			ask(c, 4, 1024);
		ncclTunerPlugin_v5.finalize(c);
	}
	return NULL;
}

TEST(communicators_come_and_go_on_many_threads)
{
	pthread_t t[RANKS];

	begin_with(MADE_CHOOSE(1, 2));
	for (int i = 0; i < RANKS; i++)
		pthread_create(&t[i], NULL, come_and_go, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < RANKS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(nb_comms.n, 0);
	ck_assert_uint_eq(nb_comms_decisions(), RANKS * COMINGS * 20);
	for (int i = 0; i < NB_SEG_COMMS; i++)
		ck_assert_uint_eq(nb_self.seg->mem->comm[i].in_use, 0);
}

/* ---- several processes ---- */

TEST(forked_child_leaves_the_parents_ranks_alone)
{
	struct nb_comm *c;
	int status;
	pid_t pid;

	/* TSan allows no thread after a fork; a fork beside a thread may find
	 * the locks of ASan's allocator taken for ever. */
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	setenv("NCCLBPF_CONTROL", "on", 1);
#endif
	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(1, 1);
	ask(c, 4, 1);
	c->searching = 1; /* as if its thread were in the slow path now */
	pid = fork();
	if (!pid) {
		uint8_t digest[NB_SHA256_SIZE];
		const char *more = "more";
		struct nb_comm *own;

		alarm(600);

		for (int i = 0; i < 100; i++)
			if (ask(c, 4, 1).index != 5)
				_exit(1);
		if (c->seg || !nb_process_ready(NULL) || nb_self.pid != getpid())
			_exit(2);
		own = rank_of(1, 1);
		if (ask(own, 4, 1).index != 5 || !own->seg || !nb_self.seg->shared)
			_exit(3);
		/* a sweep waits for threads that search; there are none */
		hold("more", MADE_CHOOSE(1, 1), NULL, 0);
		if (stage_use(&more, 1, digest, NULL) || stage_use(NULL, 0, digest, NULL))
			_exit(4);
		nb_comm_free(own);
		nb_comm_free(c);
		exit(0);
	}
	c->searching = 0;
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(c->fence.slot->announced, 1);
	ask(c, 4, 1);
	ck_assert_uint_eq(c->fence.slot->announced, 2);
	nb_comm_free(c);
}

/* Another process of the job with its own policy; @here: told when it has
 * joined; @go: when to decide. */
static int other_rank(const char *text, int here, int go)
{
	struct nb_comm *c;
	char ch;

	begin_with(text);
	c = rank_of(5, 2);
	if (write(here, "x", 1) != 1)
		return -1;
	if (read(go, &ch, 1) < 0) /* NCCL's barrier after init */
		return -1;
	return ask(c, 4, 1024).index;
}

TEST(processes_that_begin_differently_use_no_policy)
{
	int here[2], go[2], status;
	float t[21];
	pid_t pid[2];
	char ch;

	table(t);
	ck_assert_int_eq(pipe(here), 0);
	ck_assert_int_eq(pipe(go), 0);
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(go[1]);
			_exit(other_rank(i ? MADE_CHOOSE(1, 2) : MADE_CHOOSE(0, 0), here[1],
					 go[0]));
		}
		ck_assert_int_eq(read(here[0], &ch, 1), 1);
	}
	close(go[1]);
	for (int i = 0; i < 2; i++) {
		waitpid(pid[i], &status, 0);
		ck_assert_int_eq(WEXITSTATUS(status), pick(t, 21, 3.6e9f));
	}
}

/* A rank that came first hears of the difference too, and once. */
TEST(mismatch_is_logged_in_every_process)
{
	const char *said;
	struct nb_comm *c;
	int go[2], status;
	pid_t pid;
	char ch;

	ck_assert_int_eq(pipe(go), 0);
	pid = fork(); /* before the plugin begins here */
	if (!pid) {
		if (read(go[0], &ch, 1) != 1)
			_exit(1);
		rank_of(5, 2);
		_exit(0);
	}
	begin_with(MADE_CHOOSE(1, 2));
	c = rank_of(5, 2);
	nb_process_tick();
	ck_assert_ptr_null(strstr(lines, "started with different"));
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	nb_process_tick();
	nb_process_tick();
	said = strstr(lines, "started with different");
	ck_assert_ptr_nonnull(said);
	ck_assert_ptr_null(strstr(said + 1, "started with different"));
	nb_comm_free(c);
}

/* Two ranks of which one cannot register: both leave it to NCCL. */
TEST(rank_without_a_place_makes_its_peers_use_no_policy)
{
	struct nb_seg_comm *entry;
	struct nb_comm *a, *b;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	a = rank_of(5, 2);
	entry = a->seg;
	ck_assert_ptr_nonnull(entry);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&nb_self.seg->mem->comm[i].in_use, 1, __ATOMIC_RELEASE);
	entry->nranks = 1; /* full: the other finds neither place nor entry */
	b = rank_of(5, 2);
	ck_assert_ptr_null(b->seg);
	entry->nranks = 2;
	ck_assert_int_eq(ask(b, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_uint_eq(refused(NB_REFUSED_MISMATCH), 2);
	nb_process_tick();
	ck_assert_ptr_nonnull(strstr(lines, "this rank could not register"));
	ck_assert_ptr_nonnull(strstr(lines, "1 of 2 ranks had not registered"));
	nb_comm_free(b);
	nb_comm_free(a);
	/* the next communicator is complete */
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&nb_self.seg->mem->comm[i].in_use, 0, __ATOMIC_RELEASE);
	a = rank_of(5, 2);
	b = rank_of(5, 2);
	ck_assert_int_ne(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_ne(ask(b, 4, 1024).index, pick(t, 21, 3.6e9f));
	nb_comm_free(b);
	nb_comm_free(a);
}

static int asked_first;

static int count_asked(const struct nb_wrapped_tuner *p, const struct nb_ask *ask)
{
	(void)p, (void)ask;
	asked_first++;
	return 0;
}

/* Likewise a tuner that is asked first: by neither of them. */
TEST(rank_without_a_place_does_not_ask_the_chained_tuner)
{
	struct nb_seg_comm *entry;
	struct nb_comm *a, *b;

	a = rank_of(5, 2);
	entry = a->seg;
	ck_assert_ptr_nonnull(entry);
	for (uint32_t i = 0; i < NB_SEG_COMMS; i++)
		__atomic_store_n(&nb_self.seg->mem->comm[i].in_use, 1, __ATOMIC_RELEASE);
	entry->nranks = 1;
	b = rank_of(5, 2);
	ck_assert_ptr_null(b->seg);
	entry->nranks = 2;
	a->peer.ask = b->peer.ask = count_asked;
	a->chained = b->chained = true;
	for (int i = 0; i < 3; i++) {
		ask(b, 4, 1024);
		ask(a, 4, 1024);
	}
	/* the first decision is where a rank sees the mark */
	ck_assert_int_eq(asked_first, 0);
	a->peer.ask = b->peer.ask = NULL;
	a->chained = b->chained = false;
	nb_comm_free(b);
	nb_comm_free(a);
}

/* Of one process they differ if the tuner's init failed for one of them. */
TEST(ranks_whose_wrapped_tuners_differ_are_told_apart)
{
	struct nb_comm *a = rank_of(5, 2), *b;
	char text[320];

	nb_wrapped[NB_WRAPPED_TUNER].file.digest = 0xabcdef12;
	a->chained = true;
	b = rank_of(5, 2);
	nb_startup_text(nb_self.seg, a->seg, text, sizeof(text));
	ck_assert_msg(strstr(text, "NCCLBPF_CHAIN_TUNER's file of process ") &&
			      strstr(text, ": abcdef12; of process ") && strstr(text, ": none"),
		      "%s", text);
	a->chained = false;
	nb_comm_free(b);
	nb_comm_free(a);
}

static uint64_t later_ns; /* how far the clock is ahead */

uint64_t __real_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void)
{
	return __real_nb_clock_system() + later_ns;
}

static uint32_t compared;

bool __real_nb_agree(const struct nb_job *job, uint32_t comm, struct nb_agree *out);
bool __wrap_nb_agree(const struct nb_job *job, uint32_t comm, struct nb_agree *out);
bool __wrap_nb_agree(const struct nb_job *job, uint32_t comm, struct nb_agree *out)
{
	compared++;
	return __real_nb_agree(job, comm, out);
}

static uint32_t compared_in(int seconds, struct nb_comm *a, struct nb_comm *b)
{
	compared = 0;
	for (int i = 0; i < seconds; i++) {
		ask(a, 4, 1024);
		ask(b, 4, 1024);
		later_ns += 1000000000;
		nb_divergence_tick();
	}
	return compared;
}

/* With many processes the work would grow with the square of their number. */
TEST(one_process_compares_the_ranks_and_others_seldom)
{
	enum { FIRST = 100 };
	struct nb_comm *a = rank_of(1, 2), *b = rank_of(1, 2);
	struct nb_seg_proc *first = &nb_self.seg->mem->proc[FIRST];
	const uint32_t ours = nb_self.seg->proc;

	ck_assert_uint_eq(compared_in(10, a, b), 10);
	*first = (struct nb_seg_proc){ .pid = (uint64_t)getpid(),
				       .start = nb_process_start(getpid()),
				       .ns = nb_self.seg->ns,
				       .flags = NB_SEG_PROC_CONTROL };
	a->seg->slot[0].proc = FIRST;
	ck_assert_uint_eq(compared_in(64, a, b), 2);
	a->seg->diverged = 1; /* to log it */
	ck_assert_uint_eq(compared_in(1, a, b), 1);
	a->seg->diverged = 0;
	memset(first, 0, sizeof(*first)); /* it has ended */
	ck_assert_uint_eq(compared_in(10, a, b), 10);
	a->seg->slot[0].proc = ours;
	nb_comm_free(b);
	nb_comm_free(a);
}

/* The ranks answer alike questions differently; the watch looks at them. */
static void decide_apart(struct nb_comm *a, struct nb_comm *b)
{
	for (int i = 0; i < 4; i++) {
		ck_assert_int_ne(ask(a, 4, 1024).index, 5);
		ck_assert_int_eq(ask(b, 4, 1024).index, 5);
	}
	later_ns += 2000000000;
	nb_divergence_tick();
}

/* One process returns diverged ranks to NCCL's own choice; if it ends, another does. */
TEST(the_next_process_ends_what_an_ended_one_began)
{
	enum { FIRST = 100 };
	struct nb_seg_proc *first;
	struct nb_comm *a = rank_of(1, 2), *b = rank_of(1, 2);
	struct nb_err err = { 0 };
	uint8_t digest[NB_SHA256_SIZE];
	const char *name = "ring";

	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	ask(a, 4, 64);
	ask(b, 4, 64);
	b->gen = nb_gen_of(nb_gens.staged, 1);
	nb_params.num[NB_P_ON_DIVERGENCE] = 1;
	first = &nb_self.seg->mem->proc[FIRST];
	*first = (struct nb_seg_proc){ .pid = (uint64_t)getpid(),
				       .start = nb_process_start(getpid()),
				       .ns = nb_self.seg->ns };
	a->seg->resets = FIRST + 1;
	decide_apart(a, b);
	ck_assert_uint_eq(a->seg->diverged, 0); /* the one that acts marks it, before it acts */
	ck_assert_uint_eq(a->seg->record.word, 0);
	ck_assert_uint_eq(a->seg->resets, FIRST + 1);
	memset(first, 0, sizeof(*first));
	decide_apart(a, b);
	ck_assert_uint_eq(nb_fence_word_state(a->seg->record.word), NB_FENCE_COMMIT);
	ck_assert_uint_ne(a->seg->diverged, 0);
	ck_assert_uint_eq(a->seg->resets, 0);
	/* once: a later change to policies stays */
	ck_assert_int_ne(ask(a, 4, 1024).index, 5);
	ck_assert_int_ne(ask(b, 4, 1024).index, 5);
	nb_comm_free(b);
	nb_comm_free(a);
}

static bool lock_held;
static __thread uint32_t lock_ms;

int __real_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err);
int __wrap_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err);
int __wrap_nb_segment_lock(struct nb_segment *s, uint32_t ms, struct nb_err *err)
{
	lock_ms = ms;
	return lock_held ? nb_fail(err, NB_E_BUSY, 0, "held") : __real_nb_segment_lock(s, ms, err);
}

/* The holder is stopped: the job does not wait for it again and again. */
TEST(ranks_do_not_wait_long_for_one_holder_twice)
{
	struct nb_comm *a = rank_of(5, 1), *b, *c;

	ck_assert_uint_eq(lock_ms, 30000);
	lock_held = true;
	b = rank_of(6, 1);
	ck_assert_uint_eq(lock_ms, 30000);
	c = rank_of(7, 1);
	ck_assert_uint_eq(lock_ms, 2000);
	nb_comm_free(c);
	ck_assert_uint_eq(lock_ms, 2000);
	lock_held = false;
	nb_comm_free(b);
	ck_assert_uint_eq(lock_ms, 2000);
	nb_comm_free(a);
	ck_assert_uint_eq(lock_ms, 5000);
	nb_comm_free(rank_of(8, 1));
	ck_assert_uint_eq(lock_ms, 5000);
}

/* One that is not there at all is missed by the others. */
TEST(rank_without_memory_makes_its_peers_use_no_policy)
{
	struct nb_comm *a;
	float t[21];

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	a = rank_of(5, 2);
	no_memory = true;
	ck_assert_ptr_null(rank_of(5, 2));
	ck_assert(!no_memory);
	ck_assert_int_eq(ask(NULL, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_int_eq(ask(a, 4, 1024).index, pick(t, 21, 3.6e9f));
	ck_assert_uint_eq(refused(NB_REFUSED_MISMATCH), 1);
	nb_process_tick();
	ck_assert_ptr_nonnull(strstr(lines, "no memory for a communicator"));
	ck_assert_ptr_nonnull(strstr(lines, "1 of 2 ranks had not registered"));
	nb_comm_free(a);
}

/* The first process finds no room for the file, the second does. */
TEST(process_without_room_for_the_segment_decides_as_its_peers)
{
	const struct rlimit small = { 4096, 4096 };
	int go[2], ready[2], status;
	struct nb_comm *c;
	float t[21];
	char ch;
	pid_t pid;

	begin_with(MADE_CHOOSE(1, 2));
	table(t);
	ck_assert_int_eq(pipe(go) | pipe(ready), 0);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_FSIZE, &small);
		c = rank_of(5, 2);
		if (nb_self.seg->shared || write(ready[1], "x", 1) != 1 || read(go[0], &ch, 1) != 1)
			_exit(1);
		_exit(ask(c, 4, 1024).index == pick(t, 21, 3.6e9f) ? 0 : 2);
	}
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	c = rank_of(5, 2);
	ck_assert(nb_self.seg->shared);
	ck_assert_int_eq(write(go[1], "x", 1), 1);
	ck_assert_int_eq(ask(c, 4, 1024).index, pick(t, 21, 3.6e9f));
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	nb_comm_free(c);
}

TEST(process_without_a_socket_says_so)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/t.-.%llu.%d.sock", dir,
		 (unsigned long long)nb_pid_namespace(), (int)getpid());
	ck_assert_int_eq(mkdir(path, 0700), 0); /* in the way */
	unsetenv("RANK");
	setenv("NCCLBPF_CONTROL", "on", 1);
	nb_comm_free(rank_of(1, 1));
	ck_assert_ptr_null(nb_process_socket());
	ck_assert_uint_eq(nb_self.seg->mem->proc[nb_self.seg->proc].flags & NB_SEG_PROC_CONTROL, 0);
}

TEST(process_that_has_not_staged_stops_a_change)
{
	struct nb_comm *c = rank_of(1, 1);
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };
	const char *name = "ring";
	int ready[2];
	pid_t pid;
	char ch;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		rank_of(2, 1);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	hold("ring", MADE_CHOOSE(1, 2), NULL, 0);
	ck_assert_int_eq(stage_use(&name, 1, digest, &err), 0);
	ck_assert_int_eq(commit(digest, &err), NB_E_REFUSED);
	ck_assert_ptr_nonnull(strstr(err.text, "process"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* it is gone: no longer in the way */
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
	ck_assert_int_eq(ask(c, 4, 1).index, 5);
	nb_comm_free(c);
}

UNIT_MAIN_WITH("tuner_ranks", tcase_add_checked_fixture(tc, set_up, tear_down);)
