// SPDX-License-Identifier: MIT
/*
 * Finds the version of the NCCL that calls this plugin. NCCL may be linked into
 * another library, so the library of NCCL's logger is asked first. A process
 * may contain several NCCL libraries that call us: a communicator has the rules
 * of the one that makes it, and the process those of the oldest.
 */
#include "plugin/runtime/nccl.h"

#include <dlfcn.h>

#include "plugin/runtime/relaxed.h"

enum { SOME_RANKS = 22900, LAST_OF_EQUAL = 23100 };

/* of the oldest NCCL that has called; 0 if not known; accessed atomically */
static int version_found;
/*
 * of the first one that told its version: the choice among equal costs does not
 * change while communicators live; accessed atomically
 */
static int rule_found;
/* a library that calls us told the version; accessed atomically */
static bool is_sure;

/* The library that called last in this thread, and its version or 0. */
static __thread const void *caller_base;
static __thread int caller_version;

/* Returns a library's version, or 0 if it does not tell one. */
static int ask_version(void *library)
{
	int (*get)(int *version);
	int version = 0;

	*(void **)&get = dlsym(library, "ncclGetVersion");
	return !get || get(&version) || version < 0 ? 0 : version;
}

/* Ask a library that is loaded already. */
static int ask_loaded(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	int version = library ? ask_version(library) : 0;

	if (library)
		dlclose(library);
	return version;
}

/* A library that calls us told its version. */
static void keep_oldest(int version)
{
	int was = GET(version_found);

	while ((!GET(is_sure) || version < was) &&
	       !__atomic_compare_exchange_n(&version_found, &was, version,
					    false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	was = 0;
	__atomic_compare_exchange_n(&rule_found, &was, version, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	SET(is_sure, true);
}

void nb_nccl_find(const void *inside)
{
	Dl_info at;
	int version;

	if (inside && dladdr(inside, &at) && at.dli_fname &&
	    at.dli_fbase != caller_base) {
		caller_base = at.dli_fbase;
		caller_version = ask_loaded(at.dli_fname);
		if (caller_version)
			keep_oldest(caller_version);
	}
	if (GET(is_sure))
		return;
	version = ask_loaded("libnccl.so.2");
	if (!version) /* NCCL may be linked into the program */
		version = ask_version(RTLD_DEFAULT);
	if (version)
		SET(version_found, version);
}

int nb_nccl_version(void)
{
	return GET(version_found);
}

bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler)
{
	int version = caller_version ? caller_version : GET(version_found);

	if (version)
		return version >= SOME_RANKS;
	/* 2.29 has profiler v6, and 2.28 and 2.29 have tuner v5 */
	if (profiler)
		return profiler >= 6;
	return tuner >= 5;
}

bool nb_nccl_last_of_equal(void)
{
	int version = GET(rule_found);

	return (version ? version : GET(version_found)) >= LAST_OF_EQUAL;
}
