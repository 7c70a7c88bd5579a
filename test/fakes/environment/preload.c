// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: what a training program, a tool in its process or a security
 * module may do, by ENVIRONMENT_DOES:
 *
 *	jump	the wall clock goes to and fro by years
 *	profile	SIGPROF, 1,000 times a second of processor time, on any thread
 *	fork	a thread forks every few milliseconds: children that only exit,
 *		and children that become another program
 *	no-code	libncclbpf.so may not make memory executable (SELinux: execmem)
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/integration/wall_clock.h"

static bool preload_jumps;
static unsigned preload_asked;
static volatile sig_atomic_t preload_signals;

static time_t wall_clock_error(void)
{
	if (!preload_jumps)
		return 0;
	return ((time_t)(__atomic_fetch_add(&preload_asked, 1, __ATOMIC_RELAXED) % 3) - 1) *
	       300000000;
}

static void on_profile(int sig)
{
	(void)sig;
	preload_signals++;
}

static void start_profile(void)
{
	const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction act = { .sa_handler = on_profile, .sa_flags = SA_RESTART };

	sigaction(SIGPROF, &act, NULL);
	setitimer(ITIMER_PROF, &each_ms, NULL);
}

static void *fork_often(void *arg)
{
	char name[] = "true";
	char *const argv[] = { name, NULL }, *const envp[] = { NULL };

	(void)arg;
	for (unsigned n = 0;; n++) {
		pid_t pid = fork();

		if (!pid && n % 2)
			execve("/bin/true", argv, envp);
		if (!pid)
			_exit(0);
		if (pid > 0)
			while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
				;
		usleep(5000);
	}
	return NULL;
}

static void start_fork(void)
{
	pthread_t thread;
	sigset_t all, old;

	/* the program's signals are for its own threads */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, fork_often, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool does(const char *what)
{
	const char *list = getenv("ENVIRONMENT_DOES");

	return list && strstr(list, what);
}

/* libvgpu.so writes to code and may do so; the plugin makes code and may not.
 */
int mprotect(void *addr, size_t size, int prot)
{
	Dl_info caller;

	if (prot & PROT_EXEC && does("no-code") && dladdr(__builtin_return_address(0), &caller) &&
	    caller.dli_fname && strstr(caller.dli_fname, "libncclbpf")) {
		errno = EACCES;
		return -1;
	}
	return (int)syscall(SYS_mprotect, addr, size, prot);
}

/* In the ranks alone: what starts them waits for children. */
__attribute__((constructor)) static void preload_start(void)
{
	preload_jumps = does("jump");
	if (!getenv("RANK"))
		return;
	if (does("profile"))
		start_profile();
	if (does("fork"))
		start_fork();
}
