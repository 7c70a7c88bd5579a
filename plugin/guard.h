// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_GUARD_H
#define NB_PLUGIN_GUARD_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Calls into somebody else's code that may crash: what a plugin that is called
 * through ours does as it is opened and in its init. A crash is SIGSEGV,
 * SIGBUS, SIGFPE, SIGILL, SIGTRAP or SIGABRT of the calling thread itself;
 * those of other threads, and those that somebody sends, go where they went
 * before. docs/adr/0010-chain-guard.md.
 */
struct nb_crash {
	int signal;
	bool sent; /* by the thread itself: abort(), raise() */
	uintptr_t pc, address;
};

typedef void nb_guarded_fn(void *arg);
typedef void nb_crashed_fn(void *arg, const struct nb_crash *crash);

/*
 * nb_guard_call - call fn(arg) and come back, whatever it does
 * @after: is called if it crashed, with what it might hold a lock of; or NULL
 *
 * True: it returned. False: it crashed, *@crash says how, and nothing of what
 * it did is undone. Where the crash leaves a lock that the rest of the process
 * needs (the loader's, malloc's, stdout's or stderr's, or one that @after waits
 * for), the process ends by the signal, as it would have without a guard. Any
 * thread, several at a time; a call within a call is the outer one's. Never on
 * a decision path: it makes a thread. Without a thread, or with the guard off,
 * fn is only called.
 */
bool nb_guard_call(nb_guarded_fn *fn, nb_crashed_fn *after, void *arg,
		   struct nb_crash *crash);

/* On is how it begins. */
void nb_guard_enable(bool on);
/* How long a lock may be waited for after a crash; 30 s. For tests. */
void nb_guard_patience(int ms);

/* "SIGSEGV at libx.so+0x1139, address 0x8", "SIGABRT, raised by itself" */
void nb_guard_say(const struct nb_crash *crash, char *text, size_t size);

/* After a fork, in the child. A call that is under way there is none any more,
 * and may return. */
void nb_guard_forked(void);

/* ---- among the guard's own files ---- */

/* Where a guarded thread comes back to. */
struct nb_guard {
	sigjmp_buf back;
	pid_t tid;
	struct nb_crash crash;
};

/* guard_signals.c: handlers and who is guarded. begin: false: no room, or a
 * call within a call. A crash leaves by g->back; end is needed then too. */
bool nb_guard_begin(struct nb_guard *g);
void nb_guard_end(struct nb_guard *g);
/* End the process as the signal would have, the thread's. */
void nb_guard_die(pid_t tid, int signal);

/* guard_locks.c: a thread that waits for the crash and sees to it that the
 * process can go on. */
struct nb_guard_watch;
struct nb_guard_watch *nb_guard_watch(pid_t tid);
/* It did not crash. */
void nb_guard_unwatch(struct nb_guard_watch *w);
/* It did: free what it held, see that after(arg, crash) comes back, or die. */
void nb_guard_recover(struct nb_guard_watch *w, const struct nb_crash *crash,
		      nb_crashed_fn *after, void *arg);

#endif
