// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Faults at each step of a controller's run: the elected process is killed or
// stopped when it has just been elected, before all have answered, in the midst
// of merging, between the run and the commit, in the fence; so is another one
// when it has answered or staged. Three processes with the plugin's own code,
// which has its steps (plugin/job/step.h) in place; their turns are given by
// the test. Afterwards, each time: somebody is elected and runs controllers,
// these change the map as before, what all decided is the same number by
// number, the map has never been seen half changed, and the merged map is the
// sum of those that live. And: where the generation numbers of the job come to
// their end, controllers are refused and people are not.
#include "test/unit/unit.h"
#include "test/unit/map_spec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NB_STEPS
#include "plugin/abi/tuner_abi.h"
#include "plugin/controller/controller.h"
#include "plugin/job/segment.h"
#include "plugin/job/step.h"
#include "plugin/runtime/lock.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/process/process.h"
#include "plugin/change/change.h"
#include "test/unit/stage_use.h"
#include "core/base/buf.h"
#include "test/unit/made.h"
#include "test/unit/nccl_version.h"
#include "test/unit/step_here.h"
#include "test/unit/asm.h"

enum { PROCS = 3, DECISIONS = 4096, WAIT_S = 400, SLOTS = 128 };
enum { LIMITS, COUNTED, SAW, NMAPS };

static const char *const names[NB_NSTEPS_ALL] = {
#define STEP(name) [NB_STEP_##name] = #name,
	NB_STEP_ROWS(STEP) NB_LOOP_STEP_ROWS(STEP)
#undef STEP
};

/*
 * The clock of all: it goes on with their turns, and with their waits. Each
 * read takes a microsecond, so that waits end which only yield.
 */
enum { TURN_NS = 5000000, READ_NS = 1000, NAP_US = 50 };
static uint64_t *clock_ns;
uint64_t __wrap_nb_clock_system(void);
void __wrap_nb_clock_sleep(uint64_t ns);

uint64_t __wrap_nb_clock_system(void)
{
	return __atomic_add_fetch(clock_ns, READ_NS, __ATOMIC_SEQ_CST);
}

/* Let the others run; a wait for a stopped process is not waited for. */
void __wrap_nb_clock_sleep(uint64_t ns)
{
	usleep(NAP_US);
	__atomic_fetch_add(clock_ns, ns, __ATOMIC_SEQ_CST);
}

/* ---- the policy ---- */

static const struct nb_map_spec maps[NMAPS] = {
	[LIMITS] = MAP_SPEC("limits", ARRAY, 4, 4, 2, NB_MAPF_COHERENT),
	[COUNTED] = MAP_SPEC("counted", ARRAY, 4, 8, 1, NB_MAPF_SUM),
	[SAW] = MAP_SPEC("saw", ARRAY, 4, 8, 1, 0),
};

#define KEY(n) "stw [%r10-4], " #n "\nmov %r2, %r10\nadd %r2, -4\n"

// clang-format off
#define FIND(map) KEY(0) "lddw %r1, " #map "\ncall 1\n"
#define STORE(key)                                                       \
	KEY(key) "lddw %r1, 0x7000\nmov %r3, %r10\nadd %r3, -8\n"        \
	"mov %r4, 0\ncall 2\n"

/* channels = limits[0], then counted[0]++ */
static const char decides[] =
	"mov %r6, %r1\n"
	FIND(0x7000)
	"jeq %r0, 0, +2\n"
	"ldxw %r1, [%r0]\n"
	"stxw [%r6+76], %r1\n"
	FIND(0x7001)
	"jeq %r0, 0, +3\n"
	"ldxdw %r1, [%r0]\n"
	"add %r1, 1\n"
	"stxdw [%r0], %r1\n"
	"mov %r0, 0\nexit\n";

/* saw[0] = counted[0]; limits[0] = limits[1] = 1 + run % 8 */
static const char controls[] =
	"ldxdw %r6, [%r1+16]\n"
	FIND(0x7001)
	"mov %r7, 0\n"
	"jeq %r0, 0, +1\n"
	"ldxdw %r7, [%r0]\n"
	FIND(0x7002)
	"jeq %r0, 0, +1\n"
	"stxdw [%r0], %r7\n"
	"and %r6, 7\n"
	"add %r6, 1\n"
	"stxw [%r10-8], %r6\n"
	STORE(0)
	STORE(1)
	"mov %r0, 0\nexit\n";
// clang-format on

static struct nb_prog program(const char *text, const char *section, uint16_t hook,
			      struct nb_slot *slots, struct nb_func *func)
{
	struct nb_err err = { 0 };
	size_t n;

	ck_assert_msg(!nb_asm(slots, SLOTS, &n, text, &err), "%s", err.text);
	for (size_t i = 0; i < n; i++)
		if (slots[i].opcode == 0x18 && slots[i].imm >= MADE_MAP) {
			slots[i].regs |= 1 << 4;
			slots[i].imm -= MADE_MAP;
		}
	*func = (struct nb_func){ .name = section, .end = (uint32_t)n };
	return (struct nb_prog){ .name = section,
				 .section = section,
				 .hook = hook,
				 .slots = slots,
				 .nslots = (uint32_t)n,
				 .funcs = func,
				 .nfuncs = 1 };
}

static void write_policy(const char *path)
{
	static struct nb_slot slots[2][SLOTS];
	struct nb_func func[2];
	const struct nb_prog progs[2] = {
		program(decides, "tuner", NB_HOOK_TUNER, slots[0], &func[0]),
		program(controls, "controller", NB_HOOK_CONTROLLER, slots[1], &func[1])
	};
	const struct nb_image img = {
		.name = "p", .maps = maps, .nmaps = NMAPS, .progs = progs, .nprogs = 2
	};
	struct nb_err err = { 0 };
	struct nb_buf b;
	int fd;

	nb_buf_init(&b, 0);
	ck_assert_msg(!nb_image_write(&b, &img, &err), "%s", err.text);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
	close(fd);
	nb_buf_fini(&b);
}

/* ---- a process ---- */

/* What it says of itself after each order. */
struct report {
	int answer;	/* channels decided, or 0 */
	int whole;	/* limits has one value twice */
	uint64_t value; /* that */
	uint64_t saw, counted;
	uint64_t elected, runs, changes, failures;
	uint32_t generation;
	char error[192];
};

struct order {
	char what; /* w decide, t a turn, n few numbers are left, s stage and
		    * c commit what people want */
	uint32_t step;
	int fault;
};

static char faults_dir[64];
static struct proc {
	pid_t pid;
	int to, from;
	bool gone;
	struct report last;
	int decided[DECISIONS], n;
} procs[PROCS];

static void quiet(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)fmt;
}

static int decide(void *c)
{
	float t[21];
	int channels = 0;

	for (int i = 0; i < 21; i++)
		t[i] = 100.0f + (float)i;
	ncclTunerPlugin_v5.get_coll_info(c, 4, 1024, 1, (float **)(void *)t, 7, 3, 0, &channels);
	return channels;
}

static uint64_t element(const struct nb_gen *g, uint32_t map, uint32_t key)
{
	uint64_t v = 0;

	if (g->npolicies)
		nb_map_read(g->policy[0].maps[map], &key, &v, NULL);
	return v;
}

static void report(struct report *r)
{
	struct nb_controllers_info i;

	nb_controllers_status(&i);
	nb_lock(NB_LOCK_STATE);
	r->value = element(nb_gens.baseline, LIMITS, 0);
	r->whole = element(nb_gens.baseline, LIMITS, 1) == r->value;
	r->saw = element(nb_gens.baseline, SAW, 0);
	r->counted = element(nb_gens.baseline, COUNTED, 0);
	r->generation = nb_gens.baseline_number;
	nb_unlock(NB_LOCK_STATE);
	r->elected = i.pid;
	r->runs = i.state.runs;
	r->changes = i.state.changes;
	r->failures = i.state.failures;
	memcpy(r->error, i.state.error, sizeof(r->error));
}

static void few_numbers(void)
{
	ck_assert_int_eq(nb_segment_lock(nb_self.seg, 5000, NULL), 0);
	nb_self.seg->mem->next_gen = NB_FENCE_MAX_GEN - 100;
	nb_segment_unlock(nb_self.seg);
}

static int obey(const struct order *o, void *c)
{
	static struct nb_change change;
	static uint8_t digest[NB_SHA256_SIZE];

	stop_at = o->step;
	stop_by = o->fault;
	switch (o->what) {
	case 'w':
		return decide(c);
	case 't':
		nb_process_tick();
		return 0;
	case 'n':
		few_numbers();
		return 0;
	case 's':
		return stage_use(NULL, 0, digest, NULL);
	case 'c':
		return nb_change_commit(digest, NB_CHANGE_ANY, &change, NULL);
	default:
		return 1;
	}
}

static void serve(int from, int to)
{
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };
	struct report r = { 0 };
	struct order o;
	void *c = NULL;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ncclTunerPlugin_v5.init(&c, 77, PROCS, 1, quiet, &nvl, NULL);
	r.answer = c ? 0 : 1;
	while (write(to, &r, sizeof(r)) == sizeof(r) && read(from, &o, sizeof(o)) == sizeof(o)) {
		r.answer = obey(&o, c);
		stop_at = NB_NSTEPS_ALL;
		report(&r);
	}
	_exit(0);
}

/* ---- the test's side ---- */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void take(struct proc *p)
{
	ck_assert_int_eq(read(p->from, &p->last, sizeof(p->last)), sizeof(p->last));
	ck_assert_msg(p->last.whole, "half a change is seen");
}

static void tell(struct proc *p, const struct order *o)
{
	ck_assert_int_eq(write(p->to, o, sizeof(*o)), sizeof(*o));
}

static int order(struct proc *p, char what)
{
	tell(p, &(struct order){ what, NB_NSTEPS_ALL, 0 });
	take(p);
	return p->last.answer;
}

static void start(struct proc *p)
{
	int to[2], from[2];

	memset(p, 0, sizeof(*p));
	ck_assert_int_eq(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
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

static void set_up(void)
{
	char path[128];

	clock_ns = mmap(NULL, sizeof(*clock_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	ck_assert_ptr_ne(clock_ns, MAP_FAILED);
	*clock_ns = 1000000000;

	strcpy(faults_dir, "/tmp/nbloopfaultsXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(faults_dir));
	snprintf(path, sizeof(path), "%s/p.policy", faults_dir);
	write_policy(path);
	setenv("NCCLBPF_SOCKET_DIR", faults_dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_POLICY", path, 1);
	setenv("NCCLBPF_CONTROLLER_MS", "20", 1);
	for (int i = 0; i < PROCS; i++)
		start(&procs[i]);
	for (int i = 0; i < PROCS; i++) {
		ck_assert_int_eq(read(procs[i].from, &procs[i].last, sizeof(procs[i].last)),
				 sizeof(procs[i].last));
		ck_assert_int_eq(procs[i].last.answer, 0);
	}
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
	snprintf(cmd, sizeof(cmd), "rm -rf %s", faults_dir);
	ck_assert_int_eq(system(cmd), 0);
	munmap(clock_ns, sizeof(*clock_ns));
}

static void pass(void)
{
	__atomic_fetch_add(clock_ns, TURN_NS, __ATOMIC_SEQ_CST);
}

static void decide_all(void)
{
	for (int i = 0; i < PROCS; i++) {
		struct proc *p = &procs[i];

		if (!p->gone && p->n < DECISIONS)
			p->decided[p->n++] = order(p, 'w');
	}
}

static void tick_all(void)
{
	pass();
	for (int i = 0; i < PROCS; i++)
		if (!procs[i].gone)
			order(&procs[i], 't');
	decide_all();
}

/* Of number k all that made it say the same. */
static void decided_alike(void)
{
	for (int i = 1; i < PROCS; i++)
		for (int k = 0; k < procs[0].n && k < procs[i].n; k++)
			ck_assert_msg(procs[0].decided[k] == procs[i].decided[k],
				      "decision %d: %d and %d", k, procs[0].decided[k],
				      procs[i].decided[k]);
}

static struct proc *any(void)
{
	for (int i = 0; i < PROCS; i++)
		if (!procs[i].gone)
			return &procs[i];
	ck_abort_msg("nobody is left");
}

static struct proc *elected(void)
{
	const uint64_t pid = any()->last.elected;

	for (int i = 0; i < PROCS; i++)
		if ((uint64_t)procs[i].pid == pid && !procs[i].gone)
			return &procs[i];
	return NULL;
}

/* So many changes more of the one who is elected. */
static void goes_on(uint64_t changes)
{
	const uint64_t end = now_ms() + WAIT_S * 1000;
	struct proc *who = NULL;
	uint64_t from = 0;

	for (;;) {
		struct proc *now;

		tick_all();
		now = elected();
		if (now != who || !who) {
			who = now;
			from = who ? who->last.changes : 0;
		}
		if (who && who->last.changes >= from + changes)
			break;
		ck_assert_msg(now_ms() < end, "controllers do not go on: %s", any()->last.error);
	}
	/* and whoever decides does as the map has it */
	ck_assert_uint_ge(any()->last.value, 1);
	decided_alike();
}

/* A run without decisions beside it sees the sum of all that live. */
static void merged_is_the_sum(void)
{
	const uint64_t end = now_ms() + WAIT_S * 1000;
	uint64_t sum = 0;

	for (int i = 0; i < PROCS; i++)
		sum += procs[i].gone ? 0 : procs[i].last.counted;
	while (!elected() || elected()->last.saw != sum) {
		pass();
		for (int i = 0; i < PROCS; i++)
			if (!procs[i].gone)
				order(&procs[i], 't');
		ck_assert_msg(now_ms() < end, "merged: %llu, counted: %llu",
			      elected() ? (unsigned long long)elected()->last.saw : 0,
			      (unsigned long long)sum);
	}
}

/* Turns until @p meets the step; it is gone then. True: by the fault. */
static bool meets(struct proc *p, const struct order *o)
{
	struct pollfd fd = { p->from, POLLIN, 0 };
	int status = 0;

	tell(p, o);
	for (;;) {
		if (poll(&fd, 1, 5) > 0 && fd.revents & POLLIN) {
			take(p);
			return false;
		}
		if (waitpid(p->pid, &status, WUNTRACED | WNOHANG) == p->pid)
			break;
	}
	ck_assert(WIFSTOPPED(status) || WIFSIGNALED(status));
	p->gone = true;
	return true;
}

static void wait_for(struct proc *p, uint32_t step, int with)
{
	const struct order o = { 't', step, with };
	const uint64_t end = now_ms() + WAIT_S * 1000;

	while (!meets(p, &o)) {
		pass();
		for (int i = 0; i < PROCS; i++)
			if (&procs[i] != p)
				order(&procs[i], 't');
		decide_all();
		ck_assert_msg(now_ms() < end, "%s was not reached", names[step]);
	}
}

/* A process that was not the one to look at before. */
static struct proc *victim(uint32_t step)
{
	struct proc *e;

	if (step == NB_STEP_LOOP_ELECTED)
		return &procs[0]; /* whoever has its turn first */
	goes_on(2);
	e = elected();
	if (step == NB_STEP_LOOP_ANSWERED || step == NB_STEP_LOOP_FOLLOWED)
		return &procs[(e - procs + 1) % PROCS];
	return e;
}

static void what_came(const char *what, uint32_t step)
{
	printf("# %s at %s: %d decisions alike, generation %u, %llu runs, %llu "
	       "failures\n",
	       what, names[step], any()->n, any()->last.generation,
	       (unsigned long long)any()->last.runs, (unsigned long long)any()->last.failures);
}

static const uint32_t steps[] = {
	NB_STEP_LOOP_ELECTED,  NB_STEP_LOOP_ASKED,  NB_STEP_LOOP_MERGING,   NB_STEP_LOOP_MERGED,
	NB_STEP_LOOP_RAN,      NB_STEP_LOOP_STAGED, NB_STEP_LOOP_PROPOSED,  NB_STEP_LOOP_AGREED,
	NB_STEP_LOCKED,	       NB_STEP_NUMBERED,    NB_STEP_ARMED,	    NB_STEP_NONE_PAST,
	NB_STEP_COMMITTED,     NB_STEP_BASELINE,    NB_STEP_LOOP_COMMITTED, NB_STEP_LOOP_ANSWERED,
	NB_STEP_LOOP_FOLLOWED,
};
enum { NSTEPS = sizeof(steps) / sizeof(steps[0]) };

TEST_EACH(another_is_elected_when_one_is_killed_at_a_step, 0, NSTEPS)
{
	struct proc *p;
	bool other;

	set_up();
	p = victim(steps[_i]);
	other = steps[_i] == NB_STEP_LOOP_ANSWERED || steps[_i] == NB_STEP_LOOP_FOLLOWED;
	wait_for(p, steps[_i], SIGKILL);
	goes_on(3);
	ck_assert_ptr_ne(elected(), p);
	ck_assert(other || (uint64_t)p->pid != any()->last.elected);
	merged_is_the_sum();
	what_came("killed", steps[_i]);
	tear_down();
}

TEST_EACH(it_goes_on_when_one_has_been_stopped_at_a_step, 0, NSTEPS)
{
	struct proc *p;

	set_up();
	p = victim(steps[_i]);
	wait_for(p, steps[_i], SIGSTOP);
	/* the others decide meanwhile, and have their turns */
	for (int i = 0; i < 20; i++) {
		tick_all();
	}
	kill(p->pid, SIGCONT);
	p->gone = false;
	take(p);
	while (p->n < any()->n || p->n < procs[PROCS - 1].n)
		p->decided[p->n++] = order(p, 'w');
	goes_on(3);
	merged_is_the_sum();
	what_came("stopped", steps[_i]);
	tear_down();
}

TEST(the_last_numbers_are_for_people)
{
	const uint64_t end = now_ms() + WAIT_S * 1000;
	uint64_t changes;
	struct proc *e;

	set_up();
	goes_on(2);
	e = elected();
	order(e, 'n');
	changes = e->last.changes;
	while (!strstr(e->last.error, "generation numbers")) {
		tick_all();
		ck_assert_msg(now_ms() < end, "no refusal: %s", e->last.error);
	}
	ck_assert_uint_le(e->last.changes, changes + 1); /* was under way */
	changes = e->last.changes;
	for (int i = 0; i < 20; i++) {
		tick_all();
	}
	ck_assert_uint_eq(e->last.changes, changes);
	/* people's change comes through: no policy any more */
	for (int i = 0; i < PROCS; i++)
		ck_assert_int_eq(order(&procs[i], 's'), 0);
	ck_assert_int_eq(order(&procs[0], 'c'), 0);
	decide_all();
	decide_all();
	decided_alike();
	ck_assert_int_eq(procs[1].decided[procs[1].n - 1], 0);
	tear_down();
}

UNIT_MAIN("loop_faults")
