// SPDX-License-Identifier: MIT
/*
 * Finds the version of the NCCL that calls this plugin. A process may contain
 * several NCCL libraries, and NCCL may be linked into another library, so the
 * library of NCCL's logger is asked first.
 */
#include "plugin/runtime/nccl.h"

#include <dlfcn.h>

#include "plugin/runtime/relaxed.h"

enum { SOME_RANKS = 22900, LAST_OF_EQUAL = 23100 };

static int version_found; /* 0 if not known; accessed atomically */
/* the library that calls us told the version; accessed atomically */
static bool is_sure;

static bool ask_version(void *library)
{
	int (*get)(int *version);
	int version = 0;

	*(void **)&get = dlsym(library, "ncclGetVersion");
	if (!get || get(&version) || version <= 0)
		return false;
	SET(version_found, version);
	return true;
}

/* Ask a library that is loaded already. */
static bool ask_loaded(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
	bool found = library && ask_version(library);

	if (library)
		dlclose(library);
	return found;
}

void nb_nccl_find(const void *inside)
{
	Dl_info at;

	if (GET(is_sure))
		return;
	if (inside && dladdr(inside, &at) && at.dli_fname &&
	    ask_loaded(at.dli_fname)) {
		SET(is_sure, true);
		return;
	}
	if (!ask_loaded("libnccl.so.2"))
		/* NCCL may be linked into the program */
		ask_version(RTLD_DEFAULT);
}

int nb_nccl_version(void)
{
	return GET(version_found);
}

bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler)
{
	int version = GET(version_found);

	if (version)
		return version >= SOME_RANKS;
	/* 2.29 has profiler v6, and 2.28 and 2.29 have tuner v5 */
	if (profiler)
		return profiler >= 6;
	return tuner >= 5;
}

bool nb_nccl_last_of_equal(void)
{
	return GET(version_found) >= LAST_OF_EQUAL;
}
