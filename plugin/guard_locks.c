// SPDX-License-Identifier: MIT
// What code that crashed may have held. The loader's locks are held while
// constructors run, are found by their owner and given back; of malloc's,
// stdout's and stderr's it is only seen whether they can be had. That takes a
// thread that was there before: each of the two tries what it can, and who
// waits too long for the other lets the signal have its way. A job that hangs
// is worse than one that ends.
#include "plugin/guard.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int patience_ms = 30000;

typedef int unlock_fn(pthread_mutex_t *);

struct nb_guard_watch {
	pthread_t thread;
	sem_t over;
	pid_t pid, tid;
	int signal;	   /* before over; 0: it did not crash */
	bool mine, its;	   /* atomic: of the thread, of who crashed: is free */
	char *loader;	   /* where the loader has its locks; NULL: unknown */
	size_t size;	   /* of that */
	unlock_fn *unlock; /* the library's own, not a sanitizer's */
};

void nb_guard_patience(int ms)
{
	patience_ms = ms;
}

static bool wait_for(const bool *flag)
{
	const struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < patience_ms; i++) {
		if (__atomic_load_n(flag, __ATOMIC_ACQUIRE))
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

static void try_malloc(void)
{
	for (size_t size = 16; size <= 65536; size *= 4) {
		void *volatile p = malloc(size);

		free(p);
	}
}

static void try_file(FILE *f)
{
	const struct timespec ms = { 0, 1000000 };

	while (ftrylockfile(f))
		nanosleep(&ms, NULL);
	funlockfile(f);
}

static void *watch(void *arg)
{
	struct nb_guard_watch *w = arg;
	Dl_info info;

	while (sem_wait(&w->over))
		;
	if (!w->signal)
		return NULL;
	dladdr(w, &info); /* waits for the loader */
	try_malloc();
	try_file(stdout);
	try_file(stderr);
	__atomic_store_n(&w->mine, true, __ATOMIC_RELEASE);
	if (!wait_for(&w->its))
		nb_guard_die(w->tid, w->signal);
	return NULL;
}

/* The loader's state, which has locks of the kind that knows its owner. */
static void find_loader(struct nb_guard_watch *w)
{
	void *libc, *sym, *symbol = NULL;
	Dl_info info;

	w->unlock = pthread_mutex_unlock;
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	sym = libc ? dlsym(libc, "pthread_mutex_unlock") : NULL;
	if (sym)
		*(void **)&w->unlock = sym;
	if (libc)
		dlclose(libc);
	w->loader = dlsym(RTLD_DEFAULT, "_rtld_global");
	if (w->loader && dladdr1(w->loader, &info, &symbol, RTLD_DL_SYMENT) &&
	    symbol)
		w->size = ((const ElfW(Sym) *)symbol)->st_size;
}

static void free_loader(struct nb_guard_watch *w)
{
	const size_t step = _Alignof(pthread_mutex_t);

	for (size_t at = 0; at + sizeof(pthread_mutex_t) <= w->size;
	     at += step) {
		pthread_mutex_t *m = (void *)(w->loader + at);

#ifdef __GLIBC__
		while (m->__data.__owner == w->tid && m->__data.__lock > 0 &&
		       m->__data.__lock <= 2 && m->__data.__count &&
		       m->__data.__nusers == 1 &&
		       m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP)
			w->unlock(m);
#endif
	}
}

struct nb_guard_watch *nb_guard_watch(pid_t tid)
{
	struct nb_guard_watch *w = calloc(1, sizeof(*w));
	sigset_t all, was;
	int rc;

	if (!w)
		return NULL;
	w->pid = getpid();
	w->tid = tid;
	find_loader(w);
	sem_init(&w->over, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	rc = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!rc)
		return w;
	sem_destroy(&w->over);
	free(w);
	return NULL;
}

void nb_guard_unwatch(struct nb_guard_watch *w)
{
	/* where the call has forked and this is the child, the thread is the
	 * parent's */
	if (w->pid == getpid()) {
		sem_post(&w->over);
		pthread_join(w->thread, NULL);
	}
	sem_destroy(&w->over);
	free(w);
}

void nb_guard_recover(struct nb_guard_watch *w, const struct nb_crash *crash,
		      nb_crashed_fn *after, void *arg)
{
	free_loader(w);
	w->signal = crash->signal;
	sem_post(&w->over);
	try_malloc();
	if (after)
		after(arg, crash);
	__atomic_store_n(&w->its, true, __ATOMIC_RELEASE);
	if (!wait_for(&w->mine))
		nb_guard_die(w->tid, crash->signal);
	pthread_join(w->thread, NULL);
	sem_destroy(&w->over);
	free(w);
}
