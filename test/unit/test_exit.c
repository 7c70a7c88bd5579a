// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The end of a process while its threads are in the plugin: in a program on a
// hook (of the profiler, the net plugin, GIN or the tap), in a decision, in a
// trace, or with a lock. Each case is a process of its own, in which main calls
// exit while another thread is held up. What runs after the plugin's destructor
// lets that thread go on, and looks at what it finds.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/defs/ctx.h"
#include "core/bpf/image/image.h"
#include "plugin/abi/profiler_abi.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/job/self.h"
#include "plugin/net/net.h"
#include "plugin/process/process.h"
#include "plugin/hooks/hooks.h"
#include "plugin/trace/ring.h"
#include "plugin/runtime/lock.h"
#include "test/fakes/host/prof.h"
#include "test/unit/made.h"

enum { GOOD = 0, BAD = 43 };

#ifdef __SANITIZE_THREAD__
/* A control thread that waits for a lock at exit is not joined. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);

const char *__tsan_default_options(void)
{
	return "report_thread_leaks=0";
}
#endif

static sem_t inside, go;
static _Thread_local bool stops; /* this thread's next program stops */

int __real_clock_gettime(clockid_t which, struct timespec *ts);
int __wrap_clock_gettime(clockid_t which, struct timespec *ts);

/* The programs of this file ask for the time (rules.mk wraps it). */
int __wrap_clock_gettime(clockid_t which, struct timespec *ts)
{
	if (stops) {
		stops = false;
		sem_post(&inside);
		sem_wait(&go);
	}
	return __real_clock_gettime(which, ts);
}

uint64_t __real_nb_clock_system(void);
uint64_t __wrap_nb_clock_system(void);

/* The plugin asks for the time as well: no thread stops there. */
uint64_t __wrap_nb_clock_system(void)
{
	bool later = stops;
	uint64_t now;

	stops = false;
	now = __real_nb_clock_system();
	stops = later;
	return now;
}

/* ---- a process with a program on each hook ---- */

static const enum nb_hook hooks[] = { NB_HOOK_TUNER,	 NB_HOOK_COLL_DONE, NB_HOOK_PROXY_STEP,
				      NB_HOOK_NET_ISEND, NB_HOOK_GIN_PUT,   NB_HOOK_VERBS_POST };
static const char *const words[] = {
	"tuner", "profiler/coll_done", "profiler/proxy_step", "net/isend", "gin/put", "verbs/post"
};
static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
enum { NHOOKS = sizeof(hooks) / sizeof(hooks[0]) };

static char dir[64];

static void write_policy(char path[128])
{
	struct nb_slot slots[MADE_SLOTS];
	struct nb_func func = { .name = "f" };
	struct nb_prog prog[NHOOKS];
	struct nb_image img = { .name = "all", .progs = prog, .nprogs = NHOOKS };
	struct nb_err err = { 0 };
	struct nb_buf b;
	size_t n;
	int fd;

	ck_assert(!nb_asm(slots, MADE_SLOTS, &n, "call 5\nmov %r0, 0\nexit\n", &err));
	func.end = (uint32_t)n;
	for (int i = 0; i < NHOOKS; i++)
		prog[i] = (struct nb_prog){ .name = names[i],
					    .section = words[i],
					    .hook = hooks[i],
					    .slots = slots,
					    .nslots = (uint32_t)n,
					    .funcs = &func,
					    .nfuncs = 1 };
	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_write(&b, &img, &err), "%s", err.text);
	snprintf(path, 128, "%s/all.policy", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
	close(fd);
	nb_buf_fini(&b);
}

static void set_up(void)
{
	char path[128];

	strcpy(dir, "/tmp/nbexitXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	write_policy(path);
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_POLICY", path, 1);
	sem_init(&inside, 0, 0);
	sem_init(&go, 0, 0);
}

static void tear_down(void)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

/* Files of the job that are left, besides the policy. */
static int files_left(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "test -z \"$(ls -A %s | grep -v policy)\"", dir);
	return system(cmd) != 0;
}

static void *rank_of(void)
{
	struct nb_nvl_domain_info nvl = { 1, 1, 1 };
	void *c = NULL;

	ncclTunerPlugin_v5.init(&c, 7, 1, 1, NULL, &nvl, NULL);
	return c;
}

static int ask(void *c)
{
	float t[NCCL_NUM_ALGOS * NCCL_NUM_PROTOS];
	int channels = 0;

	for (int i = 0; i < NCCL_NUM_ALGOS * NCCL_NUM_PROTOS; i++)
		t[i] = 1.0f + (float)i;
	return ncclTunerPlugin_v5.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, NCCL_NUM_ALGOS,
						NCCL_NUM_PROTOS, 0, &channels);
}

/* ---- the end of a process ---- */

static pthread_t thread;
static bool ends; /* this process ends with a thread that is held up */
static bool (*still_good)(void);

/* After the plugin's destructor. */
static __attribute__((destructor(101))) void after_the_end(void)
{
	bool good;

	if (!ends)
		return;
	sem_post(&go);
	good = !pthread_join(thread, NULL) && (!still_good || still_good());
	fflush(stdout);
	_exit(good ? GOOD : BAD);
}

/* Run @what in a thread of a new process until it stops, and exit. */
static void exits_with(void *(*what)(void *), void *arg, bool (*good)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		if (!nb_process_ready(NULL))
			_exit(BAD);
		still_good = good;
		if (pthread_create(&thread, NULL, what, arg))
			_exit(BAD);
		sem_wait(&inside);
		ends = true;
		exit(GOOD);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status), "signal %d", WTERMSIG(status));
	ck_assert_int_eq(WEXITSTATUS(status), GOOD);
}

/* What all contexts begin with, and more bytes than any has. */
static void *run_program(void *arg)
{
	static uint64_t ctx[64];

	stops = true;
	nb_hooks_run(hooks[*(int *)arg], ctx, sizeof(ctx));
	/* once more, as a thread does that has seen nothing of the end */
	nb_hooks_run(hooks[*(int *)arg], ctx, sizeof(ctx));
	return NULL;
}

static bool nothing_left(void)
{
	return !files_left();
}

TEST_EACH(a_thread_that_runs_a_program_goes_on, 1, NHOOKS)
{
	int hook = _i;

	set_up();
	exits_with(run_program, &hook, nothing_left);
	tear_down();
}

static void *decide(void *arg)
{
	void *c = rank_of();

	(void)arg;
	ask(c);
	stops = true;
	ask(c);
	ask(c);
	return NULL;
}

TEST(a_thread_that_decides_goes_on)
{
	set_up();
	exits_with(decide, NULL, NULL);
	tear_down();
}

static uint64_t number;

static void *trace_one(void *arg)
{
	struct nb_trace_span s = { { 0 } };

	(void)arg;
	if (nb_trace_ring_open(1, NULL))
		return NULL;
	number = nb_trace_ring_next();
	nb_trace_ring_add(&s);
	sem_post(&inside);
	sem_wait(&go);
	nb_trace_ring_add(&s);
	return NULL;
}

static bool spans_are_there(void)
{
	struct nb_trace_span s;

	return nb_trace_ring_read(number, &s) && nb_trace_ring_read(number + 1, &s);
}

TEST(a_thread_that_traces_goes_on)
{
	set_up();
	exits_with(trace_one, NULL, spans_are_there);
	tear_down();
}

/* The control thread waits for the lock, and the exit for neither. */
static void *keep_lock(void *arg)
{
	(void)arg;
	nb_lock(NB_LOCK_STATE);
	sem_post(&inside);
	sem_wait(&go);
	nb_unlock(NB_LOCK_STATE);
	return NULL;
}

TEST(a_thread_with_a_lock_does_not_stop_the_exit)
{
	set_up();
	exits_with(keep_lock, NULL, NULL);
	tear_down();
}

static void stop_in_init(int level, unsigned long flags, const char *file, int line,
			 const char *fmt, ...)
{
	static bool once;

	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
	if (once)
		return;
	once = true;
	sem_post(&inside);
	sem_wait(&go);
}

/* NCCL's first call, which is not over: the logger does not return. */
static void *first_call(void *arg)
{
	(void)arg;
	nb_process_ready(stop_in_init);
	return NULL;
}

TEST(a_thread_in_init_goes_on)
{
	int status = -1;
	pid_t pid;

	set_up();
	setenv("NCCLBPF_LOG", "debug", 1);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		ends = !pthread_create(&thread, NULL, first_call, NULL);
		sem_wait(&inside);
		exit(BAD);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, GOOD);
	tear_down();
}

/*
 * A thread makes a communicator after its process has left the job, and another
 * process has taken the free entry.
 */
TEST(a_rank_that_is_made_at_exit_takes_no_entry_of_another_process)
{
	struct nb_seg_proc *p, other;
	uint32_t was;

	set_up();
	ck_assert(nb_process_ready(NULL));
	was = nb_self.seg->proc;
	p = &nb_self.seg->mem->proc[was];
	nb_self_leave();
	ck_assert_uint_eq(p->pid, 0);
	p->pid = (uint64_t)getppid();
	p->setting[NB_SETTING_ABI] = 3;
	other = *p;
	ck_assert_ptr_nonnull(rank_of());
	ck_assert_mem_eq(p, &other, sizeof(other));
	ck_assert_uint_ne(nb_self.seg->proc, was);
	ck_assert_uint_eq(nb_self.seg->mem->comm[0].slot[0].proc, nb_self.seg->proc);
	tear_down();
}

/* ---- traffic ---- */

enum { NET, EVENTS, PROFILER, TUNER, LANES, ROUNDS = TIMES(300) };
static uint64_t rounds[LANES];
static pthread_t lane[LANES];

static void round_done(int which)
{
	__atomic_fetch_add(&rounds[which], 1, __ATOMIC_RELAXED);
}

static void *net_lane(void *arg)
{
	struct nb_net_init init = { .comm_id = 7, .traffic_class = NB_NET_CLASS_NONE };
	void *ctx = NULL, *l = NULL, *to = NULL, *from = NULL, *mh = &init;
	char handle[NB_NET_HANDLE], a[64] = "x", b[64];
	int devices = 0, tag = 1;

	nb_net_init(&ctx, &init, nb_process_ready(NULL));
	nb_net_devices(&devices);
	if (!devices) /* no loopback interface: nothing to send */
		for (;;)
			round_done(NET);
	nb_net_listen(ctx, 0, handle, &l);
	while (!to || !from) {
		if (!to)
			nb_net_connect(ctx, 0, NB_NET_CLASS_NONE, handle, &to, NULL);
		if (!from)
			nb_net_accept(l, &from, NULL);
	}
	for (;;) {
		void *data = b, *send = NULL, *recv = NULL;
		size_t size = sizeof(a);
		int sent = 0, got = 0;

		nb_net_irecv(from, 1, &data, &size, &tag, &mh, NULL, &recv);
		nb_net_isend(to, a, size, tag, mh, NULL, &send);
		while (!sent || !got) {
			if (!sent)
				nb_net_test(send, &sent, NULL);
			if (!got)
				nb_net_test(recv, &got, NULL);
		}
		round_done(NET);
	}
	return arg;
}

/* What GIN's proxy thread and the tap's callers do beside their data. */
static void *event_lane(void *arg)
{
	static uint64_t ctx[64];
	struct nb_trace_span s = { { 0 } };

	for (;;) {
		nb_hooks_run(NB_HOOK_GIN_PUT, ctx, sizeof(ctx));
		nb_hooks_run(NB_HOOK_VERBS_POST, ctx, sizeof(ctx));
		nb_trace_ring_add(&s);
		round_done(EVENTS);
	}
	return arg;
}

static void *profiler_lane(void *arg)
{
	static const struct host_coll coll = { .func = 4,
					       .algo = 1,
					       .proto = 2,
					       .datatype = 7,
					       .channels = 2,
					       .ops = 2,
					       .steps = 2,
					       .count = 1 << 20,
					       .gpu_from = 1000,
					       .gpu_to = 51000 };
	static int mask;
	struct host_prof p = {
		.abi = 5, .mask = &mask, .name = "world", .id = 7, .nodes = 1, .ranks = 1
	};

	p.p = (const struct host_profiler *)(const void *)&ncclProfiler_v5;
	for (;;) {
		host_prof_init(&p, NULL);
		for (int i = 0; i < 10; i++)
			host_prof_coll(&p, &coll);
		host_prof_fini(&p);
		round_done(PROFILER);
	}
	return arg;
}

static void *tuner_lane(void *arg)
{
	for (;;) {
		void *c = rank_of();

		for (int i = 0; i < 10; i++)
			ask(c);
		ncclTunerPlugin_v5.finalize(c);
		round_done(TUNER);
	}
	return arg;
}

static void await_rounds(void)
{
	uint64_t least[LANES];

	for (int i = 0; i < LANES; i++)
		least[i] = __atomic_load_n(&rounds[i], __ATOMIC_RELAXED) + ROUNDS;
	for (int i = 0; i < LANES; i++)
		while (__atomic_load_n(&rounds[i], __ATOMIC_RELAXED) < least[i])
			usleep(100);
}

static void *start_lanes(void *arg)
{
	void *(*const fn[LANES])(void *) = { net_lane, event_lane, profiler_lane, tuner_lane };

	if (nb_trace_ring_open(UINT32_MAX >> 16, NULL))
		return NULL;
	for (int i = 0; i < LANES; i++)
		if (pthread_create(&lane[i], NULL, fn[i], NULL))
			return NULL;
	await_rounds();
	sem_post(&inside);
	return arg;
}

static bool lanes_go_on(void)
{
	await_rounds();
	return true;
}

TEST(net_gin_tap_profiler_and_tuner_go_on_at_exit)
{
	set_up();
	setenv("NCCL_NET_PLUGIN", "libncclbpf.so", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	exits_with(start_lanes, NULL, lanes_go_on);
	tear_down();
}

UNIT_MAIN("exit")
