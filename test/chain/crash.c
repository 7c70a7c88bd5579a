// SPDX-License-Identifier: MIT
// A plugin of every kind that crashes, in the way that CHAIN_CRASH names: as
// it is opened ("open:HOW") or in its init ("init:HOW"); a name after a second
// colon is that of a rank, as RANK has it, which alone does so. HOW: segv,
// bus, fpe, ill, trap, abort, raise, overflow, and those that leave a lock:
// malloc (what it wrote is found by malloc), stderr, logger. "handler" sets a
// handler of its own and goes on; "none" is as good as others.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/host/nccl.h"
#include "test/host/net.h"
#include "test/host/prof.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned crash_calls; /* that came after a crash */
EXPORT volatile sig_atomic_t crash_handled;

static void handler(int signal)
{
	(void)signal;
	crash_handled = 1;
	_exit(77);
}

__attribute__((noinline)) static int deeper(volatile char *above)
{
	volatile char here[4096];

	if (above[0] == 77) /* never */
		return 0;
	here[0] = above[0];
	here[4095] = here[0];
	return deeper(here) + here[4095];
}

static void bus(void)
{
	char name[] = "/tmp/crashXXXXXX";
	int fd = mkstemp(name);
	volatile char *p;

	unlink(name);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p[0] = 1; /* the file has no such page */
}

__attribute__((no_sanitize("undefined,thread"))) static void
crash(const char *how, host_logger *log)
{
	volatile int zero = 0, some = 4711;
	volatile uintptr_t nowhere = 8;
	volatile char top = 0;

	if (!strcmp(how, "segv"))
		*(volatile int *)nowhere = 1;
	if (!strcmp(how, "bus"))
		bus();
	if (!strcmp(how, "fpe"))
#ifdef __x86_64__
		zero = some / zero;
#else
		raise(SIGFPE);
#endif
	if (!strcmp(how, "ill"))
#ifdef __x86_64__
		__asm__ volatile("ud2");
#else
		__asm__ volatile(".inst 0");
#endif
	if (!strcmp(how, "trap"))
#ifdef __x86_64__
		__asm__ volatile("int3");
#else
		__asm__ volatile("brk #1");
#endif
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "raise"))
		raise(SIGSEGV);
	if (!strcmp(how, "overflow"))
		zero = deeper(&top);
	if (!strcmp(how, "stderr")) {
		flockfile(stderr);
		abort();
	}
	if (!strcmp(how, "logger") && log)
		log(3, 1, "peer", 0, "peer: %s", (const char *)(uintptr_t)8);
	if (!strcmp(how, "handler"))
		signal(SIGSEGV, handler); // NOLINT
}

static void reach(const char *where, host_logger *log)
{
	const char *what = getenv("CHAIN_CRASH"), *rank = getenv("RANK");
	char how[32] = "";
	size_t n = strlen(where);
	const char *at;

	if (!what || strncmp(what, where, n) != 0 || what[n] != ':')
		return;
	what += n + 1;
	at = strchr(what, ':');
	if (at && (!rank || strcmp(at + 1, rank)))
		return;
	snprintf(how, sizeof(how), "%.*s", (int)strcspn(what, ":"), what);
	crash(how, log);
}

__attribute__((constructor)) static void opened(void)
{
	reach("open", NULL);
}

/* ---- a tuner that answers nothing ---- */

static int tuner_init(void **ctx, uint64_t id, size_t ranks, size_t nodes,
		      host_logger *log, struct host_nvl_domain_info *nvl,
		      double *constants)
{
	(void)id, (void)ranks, (void)nodes, (void)nvl;
	if (constants)
		constants[1] = -1.0; /* which must not stay */
	reach("init", log);
	if (constants)
		constants[1] = 2.0;
	*ctx = &crash_calls;
	return 0;
}

static int tuner_get(void *ctx, int coll, size_t bytes, int pipe_ops,
		     float **table, int algos, int protos, int reg_buff,
		     int *channels)
{
	(void)ctx, (void)coll, (void)bytes, (void)pipe_ops, (void)table;
	(void)algos, (void)protos, (void)reg_buff, (void)channels;
	crash_calls++;
	return 0;
}

static int tuner_end(void *ctx)
{
	(void)ctx;
	crash_calls++;
	return 0;
}

EXPORT const struct host_tuner_v5 ncclTunerPlugin_v5 = { "crash", tuner_init,
							 tuner_get, tuner_end };

/* ---- a profiler that asks for everything ---- */

static int prof_init(void **ctx, uint64_t id, int *mask, const char *name,
		     int nodes, int ranks, int rank, host_prof_logger *log)
{
	(void)id, (void)name, (void)nodes, (void)ranks, (void)rank;
	__atomic_store_n(mask, 0xfff, __ATOMIC_RELAXED);
	*ctx = &crash_calls;
	reach("init", log);
	return 0;
}

static int prof_start(void *ctx, void **handle, void *descr)
{
	(void)ctx, (void)descr;
	crash_calls++;
	*handle = &crash_calls;
	return 0;
}

static int prof_stop(void *handle)
{
	(void)handle;
	crash_calls++;
	return 0;
}

static int prof_state(void *handle, int state, void *args)
{
	(void)handle, (void)state, (void)args;
	crash_calls++;
	return 0;
}

EXPORT const struct host_profiler ncclProfiler_v5 = {
	"crash",   { .v5 = prof_init }, prof_start,
	prof_stop, prof_state,		prof_stop
};
