// SPDX-License-Identifier: MIT
// A guarded call, from its beginning to what is left after a crash: the
// thread's own things (signal mask, alternate stack, rounding of floating
// point) are put back here, handlers in guard_signals.c, locks in
// guard_locks.c.
#include "plugin/guard.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 65536 };

static bool off; /* atomic */

void nb_guard_enable(bool on)
{
	__atomic_store_n(&off, !on, __ATOMIC_RELAXED);
}

/* ---- what a thread has of its own ---- */

struct mine {
	sigset_t mask;
	void *stack; /* ours; NULL: the thread has one, or there is none */
	uint64_t fp;
};

/* A handler begins with the default, and a jump does not undo that. */
static uint64_t get_fp(void)
{
	uint64_t fp = 0;

#if defined(__x86_64__)
	fp = __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
	__asm__ volatile("mrs %0, fpcr" : "=r"(fp));
#endif
	return fp;
}

static void set_fp(uint64_t fp)
{
#if defined(__x86_64__)
	__builtin_ia32_ldmxcsr((unsigned)fp);
#elif defined(__aarch64__)
	__asm__ volatile("msr fpcr, %0" : : "r"(fp));
#else
	(void)fp;
#endif
}

/* For a stack that has run over there must be another one. */
static void *other_stack(void)
{
	stack_t have;
	void *p;

	if (sigaltstack(NULL, &have) || !(have.ss_flags & SS_DISABLE))
		return NULL;
	p = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (!sigaltstack(&(stack_t){ .ss_sp = p, .ss_size = STACK }, NULL))
		return p;
	munmap(p, STACK);
	return NULL;
}

/* Where its code has set another one, ours may be what it puts back later. */
static void give_stack_back(void *stack)
{
	stack_t have;

	if (!stack || sigaltstack(NULL, &have) || have.ss_sp != stack)
		return;
	have = (stack_t){ .ss_flags = SS_DISABLE };
	if (!sigaltstack(&have, NULL))
		munmap(stack, STACK);
}

static void crashes(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGSEGV);
	sigaddset(set, SIGBUS);
	sigaddset(set, SIGFPE);
	sigaddset(set, SIGILL);
	sigaddset(set, SIGTRAP);
	sigaddset(set, SIGABRT);
}

/* A crash while its signal is blocked ends the process at once. */
static void begin_thread(struct mine *m)
{
	sigset_t set;

	m->fp = get_fp();
	m->stack = other_stack();
	crashes(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, &m->mask);
}

/* Other signals are as the call has left them, or as they were if it crashed.
 */
static void end_thread(const struct mine *m, bool crashed)
{
	sigset_t set, again;

	crashes(&set);
	sigemptyset(&again);
	for (int s = 1; s < NSIG; s++)
		if (sigismember(&set, s) == 1 && sigismember(&m->mask, s) == 1)
			sigaddset(&again, s);
	pthread_sigmask(SIG_BLOCK, &again, NULL);
	give_stack_back(m->stack);
	if (crashed)
		set_fp(m->fp);
}

/* ---- the call ---- */

static bool jump(struct nb_guard *g, nb_guarded_fn *fn, void *arg)
{
	if (sigsetjmp(g->back, 1))
		return false;
	if (!nb_guard_begin(g)) {
		g->tid = 0;
		fn(arg);
		return true;
	}
	fn(arg);
	return true;
}

bool nb_guard_call(nb_guarded_fn *fn, nb_crashed_fn *after, void *arg,
		   struct nb_crash *crash)
{
	struct nb_guard g = { .tid = (pid_t)syscall(SYS_gettid) };
	struct nb_guard_watch *w = NULL;
	struct mine mine;
	bool good;

	memset(crash, 0, sizeof(*crash));
	if (!__atomic_load_n(&off, __ATOMIC_RELAXED))
		w = nb_guard_watch(g.tid);
	if (!w) {
		fn(arg);
		return true;
	}
	begin_thread(&mine);
	good = jump(&g, fn, arg);
	if (g.tid)
		nb_guard_end(&g);
	if (good)
		nb_guard_unwatch(w);
	else
		nb_guard_recover(w, &g.crash, after, arg);
	end_thread(&mine, !good);
	*crash = g.crash;
	return good;
}

/* ---- words ---- */

static const char *name_of(int signal)
{
	switch (signal) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGFPE:
		return "SIGFPE";
	case SIGILL:
		return "SIGILL";
	case SIGTRAP:
		return "SIGTRAP";
	case SIGABRT:
		return "SIGABRT";
	}
	return "a signal";
}

void nb_guard_say(const struct nb_crash *c, char *text, size_t size)
{
	const char *file = NULL;
	char where[128] = "";
	Dl_info info;

	if (c->sent) {
		snprintf(text, size, "%s, raised by itself",
			 name_of(c->signal));
		return;
	}
	if (c->pc && dladdr((void *)c->pc, &info) && info.dli_fname) { // NOLINT
		file = strrchr(info.dli_fname, '/');
		file = file ? file + 1 : info.dli_fname;
		snprintf(where, sizeof(where), " at %.80s+0x%llx", file,
			 (unsigned long long)(c->pc -
					      (uintptr_t)info.dli_fbase));
	}
	snprintf(text, size, "%s%s, address 0x%llx", name_of(c->signal), where,
		 (unsigned long long)c->address);
}
