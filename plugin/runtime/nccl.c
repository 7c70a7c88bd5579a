// SPDX-License-Identifier: MIT
/*
 * Finds the version of the NCCL that calls this plugin. NCCL may be linked into
 * another library, so the library of NCCL's logger is asked first. A process
 * may contain several NCCL libraries that call us: a communicator has the rules
 * of the one that makes it, except for equal costs.
 */
#include "plugin/runtime/nccl.h"

#include <dlfcn.h>

#include "plugin/runtime/relaxed.h"

enum { SOME_RANKS = 22900, LAST_OF_EQUAL = 23100 };

/*
 * Versions, 0 if not known, accessed atomically: of the oldest and of the first
 * NCCL that has called us, and of one that is only loaded. The first decides
 * the choice among equal costs, which may not change while communicators live.
 */
static int oldest, first, loaded;

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
static void keep_version(int version)
{
	int was = 0;

	__atomic_compare_exchange_n(&first, &was, version, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	was = GET(oldest);
	while ((!was || version < was) &&
	       !__atomic_compare_exchange_n(&oldest, &was, version, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

static int or_loaded(int version)
{
	return version ? version : GET(loaded);
}

void nb_nccl_find(const void *inside)
{
	Dl_info at;
	int version;

	if (inside && dladdr(inside, &at) && at.dli_fname && at.dli_fbase != caller_base) {
		caller_base = at.dli_fbase;
		caller_version = ask_loaded(at.dli_fname);
		if (caller_version)
			keep_version(caller_version);
	}
	if (GET(oldest))
		return;
	version = ask_loaded("libnccl.so.2");
	if (!version) /* NCCL may be linked into the program */
		version = ask_version(RTLD_DEFAULT);
	if (version)
		SET(loaded, version);
}

int nb_nccl_version(void)
{
	return or_loaded(GET(oldest));
}

bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler)
{
	int version = caller_version ? caller_version : nb_nccl_version();

	if (version)
		return version >= SOME_RANKS;
	/* 2.29 has profiler v6, and 2.28 and 2.29 have tuner v5 */
	if (profiler)
		return profiler >= 6;
	return tuner >= 5;
}

bool nb_nccl_last_of_equal(void)
{
	return or_loaded(GET(first)) >= LAST_OF_EQUAL;
}
