// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Faults at each step of the fence protocol: a rank or a coordinator, each a
// process, is killed or stopped there while others decide and change. The code
// is the plugin's own (fence.c, change.c), compiled with its steps. After
// each the others go on, and the trace of all that was done keeps the model's
// rules (test/model/fence.pml):
//
//  1. the record's word moves NONE or COMMIT -> ARMED -> COMMIT or back to
//     what it was, from what it is, with a generation never committed before,
//     at a fence that is not before the last one;
//  2. a fence is committed only while nobody has decided beyond it;
//  3. every decision is made with the generation that the commits give it.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NB_STEPS
#include "plugin/change/change.h"
#include "plugin/job/fence.h"
#include "plugin/job/segment.h"
#include "plugin/job/registry.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/job/step.h"
#include "plugin/runtime/params.h"
#include "test/unit/unit.h"

enum {
	RANKS = 3,
	COORDINATORS = 2,
	PROCS = RANKS + COORDINATORS,
	TRACE = 1 << 19,
	AHEAD = 24,    /* how far a rank may run ahead of the last one */
	BRISK = 20000, /* decisions before it takes its time: see pace() */
	WAIT_S = 400,  /* for what must come, however loaded the machine is */
	PATIENCE_MS = 4,
	COMM = 5
};

enum { DECIDED = NB_NSTEPS }; /* in the trace alone */

static const char *const names[NB_NSTEPS] = {
#define STEP(name) #name,
	NB_STEP_ROWS(STEP)
#undef STEP
};

enum fault { NO_FAULT, KILL, STOP };

struct entry {
	uint32_t step, who;
	uint64_t a, b;
};

static struct shared {
	uint64_t ticket; /* the trace's lock */
	uint64_t n;
	uint64_t at[RANKS], commits[COORDINATORS], times[NB_NSTEPS];
	uint32_t over, ready, gone[PROCS];
	uint32_t victim, step, nth; /* whom, where, which time */
	enum fault fault;
	struct entry trace[TRACE];
} * sh;

static uint32_t self;	/* 0..RANKS-1 ranks, then coordinators */
static uint32_t passes; /* of the step in question, by this process */

#define GET(p) __atomic_load_n(&(p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n(&(p), (v), __ATOMIC_SEQ_CST)

static void at_step(uint32_t step)
{
	__atomic_fetch_add(&sh->times[step], 1, __ATOMIC_RELAXED);
	/* a slow coordinator now and then: patience ends */
	if (step == NB_STEP_ARMED && GET(sh->times[step]) % 4 == 3)
		usleep(PATIENCE_MS * 2000);
	if (self != sh->victim || step != sh->step || ++passes != sh->nth)
		return;
	SET(sh->gone[self], 1);
	raise(sh->fault == KILL ? SIGKILL : SIGSTOP);
	SET(sh->gone[self], 0);
}

void nb_step_at(enum nb_step step)
{
	at_step(step);
}

/* Nobody is killed or stopped with this lock held. */
void nb_step_begin(void)
{
	uint64_t none = 0;

	while (!__atomic_compare_exchange_n(&sh->ticket, &none, 1, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST)) {
		none = 0;
		sched_yield();
	}
}

static void write_down(uint32_t step, uint64_t a, uint64_t b)
{
	if (sh->n < TRACE)
		sh->trace[sh->n++] = (struct entry){ step, self, a, b };
	else
		SET(sh->over, 1);
	SET(sh->ticket, 0);
}

void nb_step_end(enum nb_step step, uint64_t a, uint64_t b)
{
	write_down(step, a, b);
}

/* ---- ranks and coordinators ---- */

static struct nb_segment *attach(int dirfd)
{
	struct nb_segment *s;

	if (nb_segment_attach(&s, dirfd, "t", 0, true, NULL) || !s->shared)
		_exit(90);
	return s;
}

static void join(struct nb_segment *s, struct nb_fence_rank *f)
{
	struct nb_seg_comm *c;
	uint32_t slot;

	if (nb_segment_lock(s, 5000, NULL) || nb_segment_join(s,
							      &(struct nb_joining){ .has_id = true,
										    .comm_id = COMM,
										    .nranks = RANKS,
										    .nnodes = 1,
										    .first = 0 },
							      &c, &slot, NULL))
		_exit(91);
	nb_segment_unlock(s);
	*f = (struct nb_fence_rank){ .slot = &c->slot[slot],
				     .record = &c->record,
				     .seen = NB_FENCE_UNSEEN,
				     .timeout_ms = PATIENCE_MS,
				     .odd = s->membarrier ? 0 : NB_FENCE_FULL };
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static bool too_far_ahead(uint64_t k)
{
	for (int r = 0; r < RANKS; r++)
		if (!GET(sh->gone[r]) && GET(sh->at[r]) + AHEAD < k)
			return true;
	return false;
}

/* Not without a rest for the others, and slowly in the end: what a loaded
 * machine delays must come before the trace is full. */
static void pace(uint64_t k)
{
	if (k >= BRISK)
		usleep(1000);
	else if (k % 8 == 7)
		usleep(20);
}

static void rank(int dirfd)
{
	struct nb_segment *s = attach(dirfd);
	struct nb_fence_rank f;

	join(s, &f);
	__atomic_fetch_add(&sh->ready, 1, __ATOMIC_SEQ_CST);
	/* NCCL lets nobody decide before all have been told of */
	while (GET(sh->ready) < RANKS && !GET(sh->over))
		usleep(200);
	while (!GET(sh->over)) {
		bool timed_out;
		uint64_t k;

		if (too_far_ahead(f.seq)) {
			sched_yield();
			continue;
		}
		if (!nb_fence_enter(&f, &k))
			nb_fence_adopt(&f, nb_fence_look(&f, k, &timed_out));
		nb_step_begin();
		write_down(DECIDED, k, f.number);
		SET(sh->at[self], k + 1);
		pace(k);
	}
	nb_segment_detach(s);
	_exit(0);
}

/* What plugin/change/change.c finds in a process. */
static void make_process(struct nb_segment *s)
{
	nb_self.seg = s;
	nb_params.num[NB_P_FENCE_MARGIN] = 16;
	nb_params.num[NB_P_FENCE_TIMEOUT_MS] = 5;
	if (nb_gen_new(&nb_gens.empty, NULL, 0, NULL, NULL))
		_exit(92);
	nb_gens.baseline = nb_gens.first = nb_gens.empty;
}

static void coordinator(int dirfd)
{
	static struct nb_change change;
	struct nb_segment *s = attach(dirfd);

	make_process(s);
	while (GET(sh->ready) < RANKS)
		usleep(200);
	while (!GET(sh->over)) {
		if (!nb_change_baseline(&change, NULL))
			__atomic_fetch_add(&sh->commits[self - RANKS], 1, __ATOMIC_SEQ_CST);
		usleep(300);
	}
	nb_segment_detach(s);
	_exit(0);
}

/* ---- one run ---- */

static uint64_t last_rank(void)
{
	uint64_t least = UINT64_MAX;

	for (int r = 0; r < RANKS; r++)
		if (!GET(sh->gone[r]) && GET(sh->at[r]) < least)
			least = GET(sh->at[r]);
	return least;
}

static uint64_t commits(void)
{
	uint64_t n = 0;

	for (int c = 0; c < COORDINATORS; c++)
		n += GET(sh->commits[c]);
	return n;
}

/* Wait for so many decisions and commits more, of those that live. */
static bool goes_on(uint64_t decisions, uint64_t changes)
{
	uint64_t d = last_rank() + decisions, c = commits() + changes;
	uint64_t end = now_ns() + WAIT_S * UINT64_C(1000000000);

	while (last_rank() < d || commits() < c) {
		if (now_ns() > end || GET(sh->over))
			return false;
		usleep(500);
	}
	return true;
}

/* The rank or coordinator that is to fail does. */
static bool failed(void)
{
	uint64_t end = now_ns() + WAIT_S * UINT64_C(1000000000);

	while (!GET(sh->gone[sh->victim]) && now_ns() < end && !GET(sh->over))
		usleep(200);
	return GET(sh->gone[sh->victim]);
}

static void start(pid_t pid[PROCS], int dirfd)
{
	for (uint32_t i = 0; i < PROCS; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		self = i;
		if (i < RANKS)
			rank(dirfd);
		coordinator(dirfd);
	}
}

static void finish(const pid_t pid[PROCS])
{
	int status;

	SET(sh->over, 1);
	for (uint32_t i = 0; i < PROCS; i++) {
		kill(pid[i], SIGCONT);
		waitpid(pid[i], &status, 0);
		if (sh->fault == KILL && i == sh->victim && WIFSIGNALED(status))
			continue;
		ck_assert_msg(!status, "process %u ended with %d", i, status);
	}
}

/* ---- the trace against the rules ---- */

struct judge {
	uint64_t word, back; /* of the record; before the arming */
	uint64_t begun;	     /* decisions + 1 of the furthest rank */
	uint32_t last;	     /* generation committed */
	uint64_t commits, aborts;
	uint64_t *from;	    /* commits in order: their words */
	const char *broken; /* the first rule that was */
};

static void rule(struct judge *j, bool kept, const char *broken)
{
	if (!kept && !j->broken)
		j->broken = broken;
}

static void judge_arming(struct judge *j, uint64_t word)
{
	rule(j, nb_fence_word_state(j->word) != NB_FENCE_ARMED, "armed over an arming");
	rule(j, nb_fence_word_gen(word) > j->last, "a generation used before");
	rule(j, nb_fence_word_seq(word) >= nb_fence_word_seq(j->word),
	     "a fence before the last one");
	j->back = j->word;
}

static void judge_commit(struct judge *j, uint64_t armed, uint64_t word)
{
	rule(j,
	     nb_fence_word_state(armed) == NB_FENCE_ARMED &&
		     word == nb_fence_word(NB_FENCE_COMMIT, nb_fence_word_gen(armed),
					   nb_fence_word_seq(armed)),
	     "something else committed than was armed");
	rule(j, j->begun <= nb_fence_word_seq(word), "committed behind a rank");
	j->last = nb_fence_word_gen(word);
	j->from[j->commits++] = word;
}

static void judge_swap(struct judge *j, const struct entry *e)
{
	if (e->a == e->b)
		return; /* it failed */
	rule(j, e->a == j->word, "the word changed from what it was not");
	if (nb_fence_word_state(e->b) == NB_FENCE_ARMED)
		judge_arming(j, e->b);
	else if (e->b == j->back && nb_fence_word_state(e->a) == NB_FENCE_ARMED)
		j->aborts++;
	else
		judge_commit(j, e->a, e->b);
	j->word = e->b;
}

/* The generation that the commits give decision @k. */
static uint32_t given(const struct judge *j, uint64_t k)
{
	for (uint64_t i = j->commits; i > 0; i--)
		if (nb_fence_word_seq(j->from[i - 1]) <= k)
			return nb_fence_word_gen(j->from[i - 1]);
	return 0;
}

/* 0, or 1 + the first decision made with another generation. */
static uint64_t wrong_decision(const struct judge *j)
{
	for (uint64_t i = 0; i < sh->n; i++)
		if (sh->trace[i].step == DECIDED && sh->trace[i].b != given(j, sh->trace[i].a))
			return 1 + sh->trace[i].a;
	return 0;
}

static struct judge judge_trace(void)
{
	struct judge j = { .from = calloc(TRACE, sizeof(uint64_t)) };

	ck_assert_ptr_nonnull(j.from);
	for (uint64_t i = 0; i < sh->n; i++) {
		const struct entry *e = &sh->trace[i];

		if (e->step == NB_STEP_SWAP)
			judge_swap(&j, e);
		else if (e->a + 1 > j.begun)
			j.begun = e->a + 1;
	}
	return j;
}

static char path[64];
static int dirfd;

static void set_up(void)
{
	strcpy(path, "/tmp/nbfaultsXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(sh, MAP_FAILED);
}

static void tear_down(void)
{
	unlinkat(dirfd, "t.seg", 0);
	close(dirfd);
	rmdir(path);
	munmap(sh, sizeof(*sh));
}

static void run(enum fault fault, uint32_t victim, uint32_t step, uint32_t nth)
{
	pid_t pid[PROCS];
	struct judge j;
	uint64_t wrong;
	bool did, on;

	set_up();
	sh->fault = fault;
	sh->victim = fault ? victim : PROCS;
	sh->step = step;
	sh->nth = nth;
	start(pid, dirfd);
	did = !fault || failed();
	on = goes_on(200, fault == STOP ? 0 : 2);
	if (fault == STOP) {
		usleep(PATIENCE_MS * 10000); /* far beyond every bound */
		kill(pid[victim], SIGCONT);
		while (GET(sh->gone[victim]))
			usleep(200);
		on = on && goes_on(100, 2);
	}
	finish(pid);
	j = judge_trace();
	wrong = wrong_decision(&j);
	printf("# %s %s %u at %s, time %u: %llu commits, %llu aborts, %llu "
	       "steps\n",
	       fault == KILL ? "kill"
	       : fault	     ? "stop"
			     : "no fault",
	       victim < RANKS ? "rank" : "coordinator", victim, names[step], nth,
	       (unsigned long long)j.commits, (unsigned long long)j.aborts,
	       (unsigned long long)sh->n);
	ck_assert_msg(did, "%s was not reached", names[step]);
	ck_assert_msg(on, "the others did not go on");
	ck_assert_uint_eq(wrong, 0);
	ck_assert_msg(!j.broken, "%s", j.broken);
	ck_assert_uint_ge(j.commits, 2);
	free(j.from);
	tear_down();
}

static const uint32_t of_rank[] = { NB_STEP_ANNOUNCED, NB_STEP_WAITING, NB_STEP_PATIENCE,
				    NB_STEP_RELEASED,  NB_STEP_ADOPT,	NB_STEP_ADOPTED };
static const uint32_t of_coordinator[] = { NB_STEP_LOCKED,    NB_STEP_REAPED,  NB_STEP_RECOVER,
					   NB_STEP_NUMBERED,  NB_STEP_READY,   NB_STEP_FALLBACK,
					   NB_STEP_ARMED,     NB_STEP_BARRIER, NB_STEP_NONE_PAST,
					   NB_STEP_COMMITTED, NB_STEP_BASELINE };
enum {
	NRANK = sizeof(of_rank) / sizeof(of_rank[0]),
	NCOORD = sizeof(of_coordinator) / sizeof(of_coordinator[0])
};

/* Not to be waited for a second time. */
static bool rare(uint32_t step)
{
	return step == NB_STEP_PATIENCE;
}

TEST(without_a_fault_the_trace_keeps_the_rules)
{
	run(NO_FAULT, 0, NB_STEP_LOCKED, 0);
}

TEST_EACH(a_rank_is_killed_at_each_step, 0, NRANK)
{
	run(KILL, 1, of_rank[_i], rare(of_rank[_i]) ? 1 : 3);
}

TEST_EACH(a_rank_is_stopped_at_each_step, 0, NRANK)
{
	run(STOP, 2, of_rank[_i], rare(of_rank[_i]) ? 1 : 2);
}

TEST_EACH(a_coordinator_is_killed_at_each_step, 0, NCOORD)
{
	run(KILL, RANKS, of_coordinator[_i], 2);
}

/* The judge can convict: the rules are broken by hand. */
static void trace(uint32_t step, uint64_t a, uint64_t b)
{
	nb_step_begin();
	write_down(step, a, b);
}

TEST(a_decision_with_another_generation_is_found)
{
	uint64_t armed = nb_fence_word(NB_FENCE_ARMED, 1, 4);
	uint64_t commit = nb_fence_word(NB_FENCE_COMMIT, 1, 4);
	struct judge j;

	set_up();
	trace(NB_STEP_SWAP, 0, armed);
	trace(NB_STEP_SWAP, armed, commit);
	trace(DECIDED, 3, 0);
	trace(DECIDED, 4, 1);
	j = judge_trace();
	ck_assert_uint_eq(wrong_decision(&j), 0);
	trace(DECIDED, 5, 0);
	ck_assert_uint_eq(wrong_decision(&j), 6);
	free(j.from);
	tear_down();
}

static const char *verdict(const struct entry *e, size_t n)
{
	struct judge j;

	set_up();
	for (size_t i = 0; i < n; i++)
		trace(e[i].step, e[i].a, e[i].b);
	j = judge_trace();
	free(j.from);
	tear_down();
	return j.broken ? j.broken : "";
}

TEST(broken_rules_are_found)
{
	const uint64_t armed = nb_fence_word(NB_FENCE_ARMED, 1, 4);
	const uint64_t commit = nb_fence_word(NB_FENCE_COMMIT, 1, 4);
	const uint64_t back = nb_fence_word(NB_FENCE_ARMED, 2, 3);
	const uint64_t other = nb_fence_word(NB_FENCE_COMMIT, 1, 5);
	const struct entry behind[] = { { DECIDED, 0, 4, 0 },
					{ NB_STEP_SWAP, 3, 0, armed },
					{ NB_STEP_SWAP, 3, armed, commit } };
	const struct entry early[] = { { NB_STEP_SWAP, 3, 0, armed },
				       { NB_STEP_SWAP, 3, armed, commit },
				       { NB_STEP_SWAP, 3, commit, back } };
	const struct entry wrong[] = { { NB_STEP_SWAP, 3, 0, armed },
				       { NB_STEP_SWAP, 3, armed, other } };
	const struct entry twice[] = { { NB_STEP_SWAP, 3, 0, armed },
				       { NB_STEP_SWAP, 4, 0, armed } };

	ck_assert_str_eq(verdict(behind + 1, 2), "");
	ck_assert_str_eq(verdict(behind, 3), "committed behind a rank");
	ck_assert_str_eq(verdict(early, 3), "a fence before the last one");
	ck_assert_str_eq(verdict(wrong, 2), "something else committed than was armed");
	ck_assert_str_eq(verdict(twice, 2), "the word changed from what it was not");
}

/* Ranks put the old word back; when it wakes it must find that. */
TEST_EACH(a_coordinator_is_stopped_at_each_step, 0, NCOORD)
{
	run(STOP, RANKS, of_coordinator[_i], 2);
}

UNIT_MAIN("fence_faults")
