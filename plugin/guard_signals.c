// SPDX-License-Identifier: MIT
// The handlers of a guarded call. They are the process's while a call lasts,
// and know by the thread's number whether it is one that is guarded: anything
// else is passed on to who had the signal before. Code that is called may set
// handlers of its own, and keep one of ours as the one before it; so each time
// that ours is set over somebody else's it is another function with a place of
// its own to pass on to, and stays valid for ever.
#include "plugin/guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { THREADS = 64, LEVELS = 8, SIGNALS = 6 };

static const int signals[SIGNALS] = { SIGSEGV, SIGBUS,	SIGFPE,
				      SIGILL,  SIGTRAP, SIGABRT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned calls; /* under the lock */

/* Who is guarded. A thread's own place is all that its handler reads, and all
 * that other threads change is whether a place has an owner. */
static struct {
	pid_t tid;	    /* atomic; 0: free */
	struct nb_guard *g; /* the owner's */
} threads[THREADS];

/* Whom a level passes on to. */
static struct {
	struct sigaction was[LEVELS];
	bool spent[LEVELS]; /* atomic: its SA_RESETHAND has happened */
	int levels;	    /* atomic: that are set, or kept */
} passed[SIGNALS];

static int level_of(const struct sigaction *a);

/* ---- in a handler: nothing but system calls ---- */

static struct nb_guard *guarded(pid_t tid)
{
	for (int i = 0; i < THREADS; i++)
		if (__atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE) == tid)
			return threads[i].g;
	return NULL;
}

static void forget(pid_t tid)
{
	for (int i = 0; i < THREADS; i++)
		if (__atomic_load_n(&threads[i].tid, __ATOMIC_RELAXED) == tid)
			__atomic_store_n(&threads[i].tid, 0, __ATOMIC_RELEASE);
}

static int index_of(int signal)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == signal)
			return i;
	return 0;
}

/* The kernel's own doing: again, without a handler. */
static void by_default(int signal, const siginfo_t *info)
{
	struct sigaction dfl;

	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL; // NOLINT
	sigaction(signal, &dfl, NULL);
	/* an instruction that faults does so again on return, abort() raises
	 * again; a signal that was sent has to be sent again */
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
}

static bool same(const struct sigaction *a, const struct sigaction *b)
{
	return a->sa_sigaction == b->sa_sigaction;
}

/*
 * Whom a level passes on to. Where ours is not the one that the kernel has
 * called, somebody above has, who may have set himself several times, and
 * would be called by us again: then it is the first who is not above. -1:
 * there is nobody. Where ours has been taken away since the kernel called it,
 * who is there now is whom it was over; so what is there is read first, and
 * a level counts while its handler is set, not a moment more.
 */
static int beneath(int i, int level)
{
	struct sigaction top;
	int levels;

	if (sigaction(signals[i], NULL, &top) || level_of(&top) == level)
		return level;
	levels = __atomic_load_n(&passed[i].levels, __ATOMIC_ACQUIRE);
	if (levels <= level)
		return level;
	for (int k = level; k >= 0; k--) {
		bool above = same(&passed[i].was[k], &top);

		for (int m = level + 1; m < levels && !above; m++)
			above = same(&passed[i].was[k], &passed[i].was[m]);
		if (!above)
			return k;
	}
	return -1;
}

static void pass_on(int at, int signal, siginfo_t *info, void *context)
{
	int i = index_of(signal), level = beneath(i, at);
	const struct sigaction *was = &passed[i].was[level < 0 ? 0 : level];
	bool spent = level < 0;

	if (!spent && was->sa_flags & (int)SA_RESETHAND)
		spent = __atomic_exchange_n(&passed[i].spent[level], true,
					    __ATOMIC_RELAXED);
	if (was->sa_flags & SA_SIGINFO && !spent)
		was->sa_sigaction(signal, info, context);
	else if (was->sa_handler == SIG_IGN && info->si_code <= 0) // NOLINT
		return;
	else if (was->sa_handler == SIG_DFL ||	      // NOLINT
		 was->sa_handler == SIG_IGN || spent) // NOLINT
		by_default(signal, info);
	else
		was->sa_handler(signal);
}

static uintptr_t pc_of(const void *context)
{
	const ucontext_t *u = context;

#if defined(__x86_64__)
	return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (uintptr_t)u->uc_mcontext.pc;
#else
	return u ? 0 : 0;
#endif
}

/* Did the thread itself do it? raise() and abort() come from it by number. */
static bool own_fault(const siginfo_t *info)
{
	return info->si_code > 0 ||
	       (info->si_code == SI_TKILL && info->si_pid == getpid());
}

static void handle(int level, int signal, siginfo_t *info, void *context)
{
	struct nb_guard *g = guarded((pid_t)syscall(SYS_gettid));

	if (!g || !own_fault(info)) {
		pass_on(level, signal, info, context);
		return;
	}
	forget(g->tid); /* from here on a crash is one */
	g->crash.signal = signal;
	g->crash.sent = info->si_code <= 0;
	g->crash.pc = pc_of(context);
	g->crash.address = (uintptr_t)info->si_addr;
	siglongjmp(g->back, 1);
}

#define LEVEL(n)                                                          \
	static void level_##n(int signal, siginfo_t *info, void *context) \
	{                                                                 \
		handle(n, signal, info, context);                         \
	}
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)
LEVEL(4)
LEVEL(5)
LEVEL(6)
LEVEL(7)

static void (*const handlers[LEVELS])(int, siginfo_t *, void *) = {
	level_0, level_1, level_2, level_3, level_4, level_5, level_6, level_7
};

/* ---- setting them ---- */

static int level_of(const struct sigaction *a)
{
	for (int l = 0; l < LEVELS; l++)
		if (a->sa_flags & SA_SIGINFO && a->sa_sigaction == handlers[l])
			return l;
	return -1;
}

/* Over whoever has it; not if that is one of ours. */
static void set_one(int i)
{
	struct sigaction have, ours;
	int l = __atomic_load_n(&passed[i].levels, __ATOMIC_RELAXED);

	if (sigaction(signals[i], NULL, &have) || level_of(&have) >= 0 ||
	    l >= LEVELS)
		return;
	passed[i].was[l] = have;
	__atomic_store_n(&passed[i].spent[l], false, __ATOMIC_RELAXED);
	memset(&ours, 0, sizeof(ours));
	ours.sa_sigaction = handlers[l];
	ours.sa_mask = have.sa_mask;
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK |
			(have.sa_flags & (SA_RESTART | SA_NODEFER));
	sigaction(signals[i], &ours, NULL);
	__atomic_store_n(&passed[i].levels, l + 1, __ATOMIC_RELEASE);
}

/* Back to who had it. One that was set meanwhile stays, and may go on to ours:
 * so ours stays where it is. */
static void reset_one(int i)
{
	struct sigaction have;
	int l;

	if (sigaction(signals[i], NULL, &have))
		return;
	l = level_of(&have);
	if (l < 0)
		return;
	/* a thread may be in ours already: see beneath() */
	__atomic_store_n(&passed[i].levels, l, __ATOMIC_RELEASE);
	sigaction(signals[i], &passed[i].was[l], NULL);
}

/* Somebody may call a handler of ours from now on: the file stays. */
static void stay(void)
{
	static const char here;
	Dl_info info;

	if (dladdr(&here, &info) && info.dli_fname)
		(void)dlopen(info.dli_fname,
			     RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- begin and end ---- */

static bool enter(struct nb_guard *g)
{
	int place = -1;

	for (int i = 0; i < THREADS; i++) {
		pid_t tid = __atomic_load_n(&threads[i].tid, __ATOMIC_RELAXED);

		if (tid == g->tid)
			return false;
		if (!tid)
			place = i;
	}
	if (place < 0)
		return false;
	threads[place].g = g;
	__atomic_store_n(&threads[place].tid, g->tid, __ATOMIC_RELEASE);
	return true;
}

bool nb_guard_begin(struct nb_guard *g)
{
	bool good;

	pthread_mutex_lock(&lock);
	good = enter(g);
	calls += good;
	if (good)
		for (int i = 0; i < SIGNALS; i++)
			set_one(i);
	pthread_mutex_unlock(&lock);
	return good;
}

void nb_guard_end(struct nb_guard *g)
{
	bool kept = false;

	pthread_mutex_lock(&lock);
	forget(g->tid);
	/* none: of a fork's child, where nb_guard_forked has ended it */
	if (calls && !--calls)
		for (int i = 0; i < SIGNALS; i++) {
			reset_one(i);
			kept = kept || passed[i].levels;
		}
	pthread_mutex_unlock(&lock);
	if (kept)
		stay();
}

void nb_guard_die(pid_t tid, int signal)
{
	static const char line[] =
		"ncclbpf: a plugin that is called through it crashed, and "
		"holds a lock that others wait for\n";
	sigset_t set;

	forget(tid);
	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		forget(tid); /* nobody to tell */
	sigemptyset(&set);
	sigaddset(&set, signal);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	syscall(SYS_tgkill, getpid(), tid, signal);
	sleep(1); /* somebody's handler may take it and go on */
	by_default(signal, &(siginfo_t){ .si_code = SI_TKILL });
}

void nb_guard_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	for (int i = 0; i < THREADS; i++)
		__atomic_store_n(&threads[i].tid, 0, __ATOMIC_RELAXED);
	for (int i = 0; calls && i < SIGNALS; i++)
		reset_one(i);
	calls = 0;
}
