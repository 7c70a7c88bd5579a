// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// A coordinator is stopped in the midst of a commit while a communicator is
// being made, for longer than ranks wait for it, and goes on. Whatever some
// of the new communicator's ranks do meanwhile and the others do later, all of
// them decide alike. Three processes with the plugin's own code, which has its
// steps (plugin/job/step.h) in place: the coordinator stops itself at one of
// them.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NB_STEPS
#include "plugin/abi/tuner_abi.h"
#include "plugin/job/startup.h"
#include "plugin/job/segment.h"
#include "plugin/job/step.h"
#include "plugin/tuner/register.h"
#include "plugin/process/process.h"
#include "plugin/runtime/params.h"
#include "plugin/change/change.h"
#include "test/unit/stage_use.h"
#include "core/base/buf.h"
#include "test/unit/made.h"
#include "test/unit/nccl_version.h"
#include "test/unit/step_here.h"

enum { COORDINATOR, EARLY, LATE, PROCS };
enum { OLD_WORLD = 77, NEW_WORLD = 78, NONE = -1 };

/* The steps of a commit that one who holds the lock takes. */
static const uint32_t steps[] = { NB_STEP_LOCKED,    NB_STEP_REAPED,  NB_STEP_RECOVER,
				  NB_STEP_NUMBERED,  NB_STEP_READY,   NB_STEP_FALLBACK,
				  NB_STEP_ARMED,     NB_STEP_BARRIER, NB_STEP_NONE_PAST,
				  NB_STEP_COMMITTED, NB_STEP_BASELINE };
enum { NSTEPS = sizeof(steps) / sizeof(steps[0]) };

/* ---- a process ---- */

static char dir[64];
static struct proc {
	pid_t pid;
	int to, from;
} procs[PROCS];

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

/* An index of the cost table: 5 is the policy's choice, 0 NCCL's. */
static int ask(void *c, bool has_id)
{
	float t[21];
	int channels = 0, best = 0;

	for (int i = 0; i < 21; i++)
		t[i] = 100.0f + (float)i;
	if (has_id)
		ncclTunerPlugin_v5.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, 7, 3, 0,
						 &channels);
	else
		ncclTunerPlugin_v4.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, 7, 3, 0,
						 &channels);
	for (int i = 1; i < 21; i++)
		if (t[i] < t[best])
			best = i;
	return best;
}

static void *make(uint64_t id, size_t ranks, bool has_id)
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	void *c = NULL;

	if (has_id)
		ncclTunerPlugin_v5.init(&c, id, ranks, 1, quiet, &nvl, NULL);
	else
		ncclTunerPlugin_v4.init(ranks, 1, quiet, &c);
	return c;
}

/* Stage "no policy", and commit it: 0 or the error. */
static int stage(uint8_t digest[NB_SHA256_SIZE])
{
	return stage_use(NULL, 0, digest, NULL);
}

static int commit(void)
{
	static struct nb_change change;
	uint8_t digest[NB_SHA256_SIZE] = { 0 };

	return nb_change_commit(digest, NB_CHANGE_ANY, &change, NULL);
}

struct order {
	/* m make, n make while the coordinator is stopped, a ask, f free, s
	 * stage, c commit */
	char what;
	bool has_id;
	uint32_t step;
};

static int obey(const struct order *o, void **c)
{
	uint8_t digest[NB_SHA256_SIZE];

	switch (o->what) {
	case 'n': /* the lock's holder is stopped: the wait for it is in vain */
		nb_params.num[NB_P_LOCK_TIMEOUT_MS] = 20;
		/* fall through */
	case 'm':
		*c = make(NEW_WORLD, 2, o->has_id);
		return *c ? 0 : 1;
	case 'a':
		return ask(*c, o->has_id);
	case 'f':
		nb_comm_free(*c);
		return 0;
	case 's':
		return stage(digest);
	case 'c':
		stop_at = o->step;
		return commit();
	default:
		return 1;
	}
}

static void serve(int from, int to)
{
	void *old = make(OLD_WORLD, PROCS, true), *c = NULL;
	struct order o;
	int r = old ? 0 : 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (write(to, &r, sizeof(r)) == sizeof(r) && read(from, &o, sizeof(o)) == sizeof(o))
		r = o.what == 'w' ? ask(old, true) : obey(&o, &c);
	_exit(0);
}

static int answer(struct proc *p)
{
	int r = NONE;

	ck_assert_int_eq(read(p->from, &r, sizeof(r)), sizeof(r));
	return r;
}

static void tell(struct proc *p, char what, bool has_id, uint32_t step)
{
	const struct order o = { what, has_id, step };

	ck_assert_int_eq(write(p->to, &o, sizeof(o)), sizeof(o));
}

static int order(int proc, char what, bool has_id)
{
	tell(&procs[proc], what, has_id, NB_NSTEPS);
	return answer(&procs[proc]);
}

static void start(struct proc *p)
{
	int to[2], from[2];

	ck_assert_int_eq(pipe(to) | pipe(from), 0);
	p->pid = fork();
	if (!p->pid) {
		close(to[1]);
		close(from[0]);
		serve(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	p->to = to[1];
	p->from = from[0];
}

static void write_policy(char path[128])
{
	struct nb_buf b;
	int fd;

	made_image(&b, "first", MADE_CHOOSE(1, 2), NULL, 0);
	snprintf(path, 128, "%s/first.policy", dir);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
	close(fd);
	nb_buf_fini(&b);
}

static void set_up(void)
{
	char path[128];

	strcpy(dir, "/tmp/nbstoppedXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_policy(path);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_POLICY", path, 1);
	setenv("NCCLBPF_LOCK_TIMEOUT_MS", "600000", 1);
	for (int i = 0; i < PROCS; i++)
		start(&procs[i]);
	for (int i = 0; i < PROCS; i++)
		ck_assert_int_eq(answer(&procs[i]), 0);
	/* all have told of the old world: it decides, with the policy */
	for (int i = 0; i < PROCS; i++)
		ck_assert_int_eq(order(i, 'w', true), 5);
}

static void tear_down(void)
{
	char cmd[96];

	for (int i = 0; i < PROCS; i++) {
		kill(procs[i].pid, SIGKILL);
		waitpid(procs[i].pid, NULL, 0);
		close(procs[i].to);
		close(procs[i].from);
	}
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static void stage_all(void)
{
	for (int i = 0; i < PROCS; i++)
		ck_assert_int_eq(order(i, 's', true), 0);
}

static void stop_coordinator(uint32_t step)
{
	int status;

	stage_all();
	tell(&procs[COORDINATOR], 'c', true, step);
	ck_assert_int_eq(waitpid(procs[COORDINATOR].pid, &status, WUNTRACED),
			 procs[COORDINATOR].pid);
	ck_assert_msg(WIFSTOPPED(status), "step %u was not reached", step);
}

static int continue_coordinator(void)
{
	kill(procs[COORDINATOR].pid, SIGCONT);
	return answer(&procs[COORDINATOR]);
}

/* The old world's ranks are alike, whatever became of the change. */
static void old_world_agrees(void)
{
	int a = order(COORDINATOR, 'w', true);

	ck_assert_int_eq(order(EARLY, 'w', true), a);
	ck_assert_int_eq(order(LATE, 'w', true), a);
}

static int new_world_agrees(bool has_id)
{
	int a = order(EARLY, 'a', has_id), b = order(LATE, 'a', has_id);

	ck_assert_int_eq(a, b);
	ck_assert_int_eq(order(EARLY, 'a', has_id), a);
	ck_assert_int_eq(order(LATE, 'a', has_id), a);
	return a;
}

/* One rank gives up waiting; the other comes when all is over. */
static void one_gives_up(uint32_t step, bool has_id)
{
	int rc, a;

	set_up();
	stop_coordinator(step);
	ck_assert_int_eq(order(EARLY, 'n', has_id), 0);
	rc = continue_coordinator();
	ck_assert_int_eq(order(LATE, 'm', has_id), 0);
	a = new_world_agrees(has_id);
	old_world_agrees();
	printf("# stopped at %u: commit %d, new communicator %d\n", step, rc, a);
	/* NCCL's, as one has no place, or what the environment says */
	ck_assert_int_eq(a, has_id ? 0 : 5);
	/* afterwards changes go on */
	if (has_id) {
		ck_assert_int_eq(order(EARLY, 'f', has_id), 0);
		ck_assert_int_eq(order(LATE, 'f', has_id), 0);
	}
	old_world_agrees();
	stage_all();
	ck_assert_int_eq(order(COORDINATOR, 'c', true), 0);
	old_world_agrees();
	ck_assert_int_eq(order(LATE, 'w', true), 0);
	if (!has_id)
		ck_assert_int_eq(new_world_agrees(has_id), 5);
	tear_down();
}

TEST_EACH(a_rank_that_gives_up_and_one_that_comes_later_decide_alike, 0, NSTEPS)
{
	one_gives_up(steps[_i], true);
}

TEST_EACH(without_an_identity_too, 0, NSTEPS)
{
	one_gives_up(steps[_i], false);
}

TEST_EACH(ranks_that_all_give_up_decide_alike, 0, NSTEPS)
{
	for (int id = 0; id < 2; id++) {
		set_up();
		stop_coordinator(steps[_i]);
		ck_assert_int_eq(order(EARLY, 'n', id), 0);
		ck_assert_int_eq(order(LATE, 'n', id), 0);
		new_world_agrees(id);
		continue_coordinator();
		new_world_agrees(id);
		old_world_agrees();
		tear_down();
	}
}

UNIT_MAIN("stopped")
