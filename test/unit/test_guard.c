// SPDX-License-Identifier: MIT
// Calls that crash in each way come back, leave the thread and the process as
// they were, and keep to themselves: faults of others go where they went.
#include "test/unit/unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/chain_load.h"
#include "plugin/guard.h"

static struct nb_crash crash;

static const char *path(void)
{
	static char p[400];
	const char *build = getenv("B");

	snprintf(p, sizeof(p), "%s/test/chain/crash.so",
		 build ? build : "build/debug");
	return p;
}

static const struct {
	const char *how;
	int signal;
} ways[] = { { "segv", SIGSEGV },  { "bus", SIGBUS },	   { "fpe", SIGFPE },
	     { "ill", SIGILL },	   { "trap", SIGTRAP },	   { "abort", SIGABRT },
	     { "raise", SIGSEGV }, { "overflow", SIGSEGV } };
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* As NCCL's tuner interface has it. */
struct tuner {
	const char *name;
	int (*init)(void **ctx, uint64_t id, size_t ranks, size_t nodes,
		    void *log, void *nvl, void *constants);
};

static void init(void *arg)
{
	const struct tuner *t = arg;
	void *ctx;

	t->init(&ctx, 1, 8, 1, NULL, NULL, NULL);
}

static const struct tuner *plugin(void)
{
	void *h = dlopen(path(), RTLD_NOW);

	ck_assert_ptr_nonnull(h);
	return dlsym(h, "ncclTunerPlugin_v5");
}

static void set(const char *where, const char *how)
{
	char text[64];

	snprintf(text, sizeof(text), "%s:%s", where, how);
	setenv("CHAIN_CRASH", text, 1);
}

/* Runs over the whole stack: of a thread that has little of it. */
static void *call_there(void *arg)
{
	return nb_guard_call(init, NULL, arg, &crash) ? arg : NULL;
}

static bool call_way(const char *how, void *arg)
{
	void *returned;
	pthread_t t;

	if (strcmp(how, "overflow") != 0)
		return nb_guard_call(init, NULL, arg, &crash);
	ck_assert_int_eq(pthread_create(&t, NULL, call_there, arg), 0);
	ck_assert_int_eq(pthread_join(t, &returned), 0);
	return returned;
}

START_TEST(every_crash_comes_back)
{
	const struct tuner *t = plugin();
	struct sigaction before, after;
	char words[256];

	for (int i = 0; i < WAYS; i++) {
		ck_assert_int_eq(sigaction(ways[i].signal, NULL, &before), 0);
		set("init", ways[i].how);
		ck_assert_msg(!call_way(ways[i].how, (void *)(uintptr_t)t),
			      "%s returned", ways[i].how);
		ck_assert_int_eq(crash.signal, ways[i].signal);
		nb_guard_say(&crash, words, sizeof(words));
		ck_assert_msg(strstr(words, crash.sent ? "raised by itself"
						       : "crash.so+0x"),
			      "%s: %s", ways[i].how, words);
		ck_assert_int_eq(sigaction(ways[i].signal, NULL, &after), 0);
		ck_assert(after.sa_handler == before.sa_handler);
		ck_assert_int_eq(after.sa_flags & SA_SIGINFO,
				 before.sa_flags & SA_SIGINFO);
	}
	set("init", "none");
	ck_assert(nb_guard_call(init, NULL, (void *)(uintptr_t)t, &crash));
	ck_assert_int_eq(crash.signal, 0);
}
END_TEST

/* ---- constructors ---- */

static void *open_another(void *arg)
{
	void *h = dlopen("libm.so.6", RTLD_NOW);

	(void)arg;
	return h;
}

START_TEST(a_constructor_that_crashes)
{
	static struct nb_chain_file f;
	struct nb_err err;
	void *opened;
	pthread_t t;

	set("open", ways[_i].how);
	ck_assert_int_eq(nb_chain_open(&f, path(), "libnccl-tuner", &err),
			 NB_E_NOTSUP);
	ck_assert(f.crashed && !f.handle);
	ck_assert_ptr_nonnull(strstr(err.text, "it crashed as it was opened"));
	/* the loader is free: for us, and for others */
	ck_assert_ptr_nonnull(dlopen("libm.so.6", RTLD_NOW));
	ck_assert_int_eq(pthread_create(&t, NULL, open_another, NULL), 0);
	ck_assert_int_eq(pthread_join(t, &opened), 0);
	ck_assert_ptr_nonnull(opened);
}
END_TEST

/* ---- what the thread had ---- */

START_TEST(the_mask_is_as_it_was)
{
	const struct tuner *t = plugin();
	sigset_t all, now;
	stack_t before, after;

	sigfillset(&all);
	sigdelset(&all, SIGTERM);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
	sigaltstack(NULL, &before);
	for (int i = 0; i < 2; i++) {
		set("init", i ? "none" : "segv");
		ck_assert(nb_guard_call(init, NULL, (void *)(uintptr_t)t,
					&crash) == (i == 1));
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		for (int s = 1; s < 32; s++)
			if (s != SIGKILL && s != SIGSTOP)
				ck_assert_int_eq(sigismember(&now, s),
						 s != SIGTERM);
		sigaltstack(NULL, &after);
		ck_assert_int_eq(after.ss_flags, before.ss_flags);
		ck_assert_ptr_eq(after.ss_sp, before.ss_sp);
	}
}
END_TEST

/* ---- other threads, other handlers ---- */

static sigjmp_buf out;
static int seen; /* atomic: by whom the last fault was taken */

static void first(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)context;
	__atomic_store_n(&seen, info->si_addr == (void *)16, __ATOMIC_RELEASE);
	siglongjmp(out, 1);
}

static struct sigaction theirs;

/* One that goes on to who had the signal before it. */
static void second(int signal, siginfo_t *info, void *context)
{
	__atomic_store_n(&seen, 2, __ATOMIC_RELEASE);
	theirs.sa_sigaction(signal, info, context);
}

__attribute__((no_sanitize("undefined,thread"))) static void fault(void)
{
	static volatile uintptr_t nowhere = 16;

	*(volatile int *)nowhere = 1;
}

static void *faults(void *arg)
{
	(void)arg;
	if (!sigsetjmp(out, 1))
		fault();
	return NULL;
}

static void fault_elsewhere(void)
{
	pthread_t t;

	__atomic_store_n(&seen, 0, __ATOMIC_RELEASE);
	ck_assert_int_eq(pthread_create(&t, NULL, faults, NULL), 0);
	pthread_join(t, NULL);
}

static void handle(void (*fn)(int, siginfo_t *, void *), struct sigaction *was)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_sigaction = fn;
	a.sa_flags = SA_SIGINFO;
	ck_assert_int_eq(sigaction(SIGSEGV, &a, was), 0);
}

static void another_faults(void *arg)
{
	(void)arg;
	fault_elsewhere();
}

START_TEST(faults_of_others_go_on)
{
	handle(first, NULL);
	ck_assert(nb_guard_call(another_faults, NULL, NULL, &crash));
	ck_assert_int_eq(seen, 1);
	fault_elsewhere();
	ck_assert_int_eq(seen, 1);
}
END_TEST

static void who_has_it(void *arg)
{
	ck_assert_int_eq(sigaction(SIGSEGV, NULL, arg), 0);
}

/* A thread that the kernel has put in our handler gets no further until the
 * call has ended and the handler is another's again. */
START_TEST(a_fault_that_outlasts_the_call_goes_on)
{
	siginfo_t info = { .si_signo = SIGSEGV, .si_code = SEGV_MAPERR };
	struct sigaction ours, now;

	info.si_addr = (void *)16;
	handle(first, NULL);
	ck_assert(nb_guard_call(who_has_it, NULL, &ours, &crash));
	ck_assert(ours.sa_sigaction != first);
	if (!sigsetjmp(out, 1))
		ours.sa_sigaction(SIGSEGV, &info, NULL);
	ck_assert_int_eq(seen, 1);
	who_has_it(&now);
	ck_assert(now.sa_sigaction == first);
}
END_TEST

static void sets_its_own(void *arg)
{
	struct sigaction was;

	handle(second, &was);
	if (was.sa_sigaction != second)
		theirs = was;
	fault_elsewhere(); /* goes on through ours to the first */
	ck_assert_int_eq(seen, 1);
	if (arg)
		abort();
}

static void segv(void *arg)
{
	(void)arg;
	fault_elsewhere();
	ck_assert_int_eq(seen, 1);
	fault();
}

START_TEST(handlers_that_it_sets_stay)
{
	struct sigaction now;

	handle(first, NULL);
	for (int i = 0; i < 20; i++) {
		/* more often than there are places: then only called */
		ck_assert(nb_guard_call(sets_its_own, NULL, i & 1 ? &now : NULL,
					&crash) == !(i & 1));
		ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
		ck_assert(now.sa_sigaction == second);
		fault_elsewhere();
		ck_assert_int_eq(seen, 1);
		if (i > 2)
			continue;
		/* and who crashes later is caught before it */
		ck_assert(!nb_guard_call(segv, NULL, NULL, &crash));
		ck_assert_int_eq(crash.signal, SIGSEGV);
		ck_assert_int_eq(sigaction(SIGSEGV, NULL, &now), 0);
		ck_assert(now.sa_sigaction == second);
	}
}
END_TEST

static void *crash_often(void *arg)
{
	struct nb_crash mine;
	const struct tuner *t = arg;

	for (int i = 0; i < 25; i++)
		if (nb_guard_call(init, NULL, (void *)(uintptr_t)t, &mine) ||
		    mine.signal != SIGSEGV)
			return arg;
	return NULL;
}

START_TEST(several_threads_at_once)
{
	pthread_t t[4];
	void *wrong;

	set("init", "segv");
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, crash_often,
						(void *)(uintptr_t)plugin()),
				 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &wrong);
		ck_assert_ptr_null(wrong);
	}
}
END_TEST

/* ---- what ends the process, as without us ---- */

static int status_of(void (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		signal(SIGABRT, SIG_DFL); // NOLINT
		signal(SIGSEGV, SIG_DFL); // NOLINT
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void holds_stderr(void)
{
	nb_guard_patience(300);
	set("init", "stderr");
	nb_guard_call(init, NULL, (void *)(uintptr_t)plugin(), &crash);
}

static pthread_mutex_t logger = PTHREAD_MUTEX_INITIALIZER;

static void in_the_logger(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&logger);
	fault();
}

static void tell(void *arg, const struct nb_crash *c)
{
	(void)arg, (void)c;
	pthread_mutex_lock(&logger);
}

static void holds_the_logger(void)
{
	nb_guard_patience(300);
	nb_guard_call(in_the_logger, tell, NULL, &crash);
}

static void off(void)
{
	nb_guard_enable(false);
	set("init", "segv");
	nb_guard_call(init, NULL, (void *)(uintptr_t)plugin(), &crash);
}

static void sent_from_outside(void *arg)
{
	(void)arg;
	kill(getpid(), SIGSEGV);
}

static void outside(void)
{
	nb_guard_call(sent_from_outside, NULL, NULL, &crash);
}

static void own_handler(void)
{
	set("init", "handler");
	nb_guard_call(init, NULL, (void *)(uintptr_t)plugin(), &crash);
	fault();
}

START_TEST(what_cannot_be_saved_ends)
{
	ck_assert_int_eq(status_of(holds_stderr), SIGABRT);
	ck_assert_int_eq(status_of(holds_the_logger), SIGSEGV);
	ck_assert_int_eq(status_of(off), SIGSEGV);
	ck_assert_int_eq(status_of(outside), SIGSEGV);
	/* and what it has set is called after it */
	ck_assert_int_eq(status_of(own_handler), -77);
}
END_TEST

static void crashes_in_a_child(void *arg)
{
	int status;
	pid_t pid = fork();

	(void)arg;
	if (!pid) {
		signal(SIGABRT, SIG_DFL); // NOLINT
		nb_guard_forked();
		abort();
	}
	waitpid(pid, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

START_TEST(a_child_is_not_guarded)
{
	ck_assert(nb_guard_call(crashes_in_a_child, NULL, NULL, &crash));
	set("init", "segv");
	ck_assert(!nb_guard_call(init, NULL, (void *)(uintptr_t)plugin(),
				 &crash));
}
END_TEST

static void returns_in_a_child(void *arg)
{
	pid_t *child = arg;

	*child = fork();
	if (!*child) {
		alarm(60); /* for what waits in vain */
		nb_guard_forked();
	}
}

/* 0: whatever comes after the call is in order. */
static int after_it_in_the_child(void)
{
	struct nb_guard g = { .tid = (pid_t)syscall(SYS_gettid) };
	struct sigaction now;

	who_has_it(&now);
	if (now.sa_sigaction != first)
		return 1;
	if (!nb_guard_begin(&g))
		return 2;
	who_has_it(&now);
	if (now.sa_sigaction == first)
		return 3;
	nb_guard_end(&g);
	who_has_it(&now);
	return now.sa_sigaction == first ? 0 : 4;
}

START_TEST(a_child_may_return)
{
	pid_t child;
	int status;

	handle(first, NULL);
	ck_assert(nb_guard_call(returns_in_a_child, NULL, &child, &crash));
	if (!child)
		_exit(after_it_in_the_child());
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

UNIT_MAIN("guard", tcase_add_test(tc, every_crash_comes_back);
	  tcase_add_loop_test(tc, a_constructor_that_crashes, 0, WAYS);
	  tcase_add_test(tc, the_mask_is_as_it_was);
	  tcase_add_test(tc, faults_of_others_go_on);
	  tcase_add_test(tc, a_fault_that_outlasts_the_call_goes_on);
	  tcase_add_test(tc, handlers_that_it_sets_stay);
	  tcase_add_test(tc, several_threads_at_once);
	  tcase_add_test(tc, what_cannot_be_saved_ends);
	  tcase_add_test(tc, a_child_is_not_guarded);
	  tcase_add_test(tc, a_child_may_return);)
