// SPDX-License-Identifier: MIT
/*
 * Finds out which library calls this plugin: NCCL or RCCL, and its version. It
 * may be linked into another library, so the library of its logger is asked
 * first. A process may contain several NCCL libraries that call us: a
 * communicator has the rules of the one that makes it, except for equal costs.
 */
#include "plugin/runtime/nccl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/runtime/relaxed.h"

enum { SOME_RANKS = 22900, LAST_OF_EQUAL = 23100 };

/*
 * Versions, 0 if not known, accessed atomically: of the oldest, the newest and
 * the first NCCL that has called us, and of one that is only loaded. The first
 * decides the choice among equal costs, which may not change while communicators
 * live.
 */
static int oldest, newest, first, loaded;
/* a number that was told in place of a version, or 0; accessed atomically */
static int senseless;
/*
 * A library that has called us is known; one of those is RCCL, and so is the
 * one that is only loaded. Accessed atomically.
 */
static bool nccl_called, rccl, loaded_rccl;

/* The library that called last in this thread, its version or 0, and whether it is RCCL. */
static __thread const void *caller_base;
static __thread int caller_version;
static __thread bool caller_rccl;

struct library {
	int version; /* 0: not known */
	bool rccl;
};

/* Returns @version if a release can have it, else 0. */
static int sane_version(int version)
{
	/* 2.9 to 9.99; before 2.9 NCCL wrote its version in another form */
	enum { LEAST = 20900, MOST = 99999 };

	if (version >= LEAST && version <= MOST)
		return version;
	if (version)
		SET(senseless, version);
	return 0;
}

static bool has_rccl_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "librccl", 7);
}

/*
 * Returns what a library tells. RCCL has NCCL's function names, and its file may
 * have any name. But RCCL needs HIP, which NCCL never does, and dlsym also
 * searches the libraries that @handle needs.
 */
static struct library ask_library(void *handle)
{
	struct library l = { 0, dlsym(handle, "hipGetDevice") != NULL };
	int (*get)(int *version);
	int version = 0;

	*(void **)&get = dlsym(handle, "ncclGetVersion");
	if (get && !get(&version))
		l.version = sane_version(version);
	return l;
}

/* Does a program name HIP among the libraries that it is linked with? */
static bool program_needs_hip(const struct link_map *program)
{
	static const char hip[] = "libamdhip64.so";
	const char *names = NULL;

	for (const ElfW(Dyn) *d = program->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_STRTAB)
			names = (const char *)d->d_un.d_ptr;
	for (const ElfW(Dyn) *d = program->l_ld; names && d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_NEEDED && !strncmp(names + d->d_un.d_val, hip, sizeof(hip) - 1))
			return true;
	return false;
}

/* Ask a library that is loaded already. */
static struct library ask_loaded(const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	struct library l = { 0, false };

	if (handle) {
		l = ask_library(handle);
		dlclose(handle);
	}
	l.rccl |= has_rccl_name(path);
	return l;
}

/* Returns the library or program that @inside is an address of, or NULL. */
static const struct link_map *object_of(const void *inside, Dl_info *at)
{
	void *map = NULL;

	return inside && dladdr1(inside, at, &map, RTLD_DL_LINKMAP) ? map : NULL;
}

/*
 * NCCL may be linked into the program, which exports nothing: only the program's
 * list of libraries tells what it is. A search of the process would find HIP also
 * where somebody else has loaded it.
 */
static struct library ask_caller(const struct link_map *object)
{
	if (*object->l_name)
		return ask_loaded(object->l_name);
	return (struct library){ 0, program_needs_hip(object) };
}

/* Keep what a library that calls us has told. */
static void keep_caller(const struct library *l)
{
	int was = 0, version = l->version;

	if (l->rccl)
		SET(rccl, true);
	/* a library that tells nothing leaves it to the one that is loaded */
	if (l->rccl || version)
		__atomic_store_n(&nccl_called, true, __ATOMIC_RELEASE);
	if (!version)
		return;
	__atomic_compare_exchange_n(&first, &was, version, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	was = GET(oldest);
	while ((!was || version < was) &&
	       !__atomic_compare_exchange_n(&oldest, &was, version, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	was = GET(newest);
	while (version > was && !__atomic_compare_exchange_n(&newest, &was, version, false,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static int or_loaded(int version)
{
	return version ? version : GET(loaded);
}

void nb_nccl_find(const void *inside)
{
	const struct link_map *object;
	struct library l;
	Dl_info at;

	object = object_of(inside, &at);
	if (object && at.dli_fbase != caller_base) {
		l = ask_caller(object);
		caller_base = at.dli_fbase;
		caller_version = l.version;
		caller_rccl = l.rccl;
		keep_caller(&l);
	}
	if (GET(oldest))
		return;
	l = ask_loaded("libnccl.so.2");
	if (!l.version)
		l = ask_loaded("librccl.so.1");
	if (!l.version) /* NCCL may be linked into the program */
		l = ask_library(RTLD_DEFAULT);
	if (!l.version)
		return;
	SET(loaded, l.version);
	SET(loaded_rccl, l.rccl);
}

bool nb_nccl_is_rccl(void)
{
	return __atomic_load_n(&nccl_called, __ATOMIC_ACQUIRE) ? GET(rccl) : GET(loaded_rccl);
}

bool nb_nccl_caller_is_rccl(void)
{
	return caller_rccl;
}

void nb_nccl_text(char text[NB_NCCL_TEXT])
{
	int version = nb_nccl_version();

	*text = '\0';
	if (version)
		snprintf(text, NB_NCCL_TEXT, "%s %d.%d.%d", nb_nccl_is_rccl() ? "RCCL" : "NCCL",
			 version / 10000, version / 100 % 100, version % 100);
	else if (nb_nccl_is_rccl())
		snprintf(text, NB_NCCL_TEXT, "RCCL");
}

uint32_t nb_nccl_channels(void)
{
	/* MAXCHANNELS of each */
	enum { OF_NCCL = 64, OF_RCCL = 128 };

	return nb_nccl_is_rccl() ? OF_RCCL : OF_NCCL;
}

/* Returns ROCm's version, which ends the name of RCCL's file, or 0. */
static long rocm_version(const char *path)
{
	enum { LEAST = 10000 };
	char *real = realpath(path, NULL), *dot = real ? strrchr(real, '.') : NULL;
	long version = dot ? strtol(dot + 1, NULL, 10) : 0;

	free(real);
	return version < LEAST ? 0 : version;
}

struct nb_nccl_levels nb_nccl_levels(const void *logger)
{
	/* 2.27.7 is the version of ROCm 7.1 and of ROCm 7.2 */
	enum { BOTH = 22707, ROCM_7_2 = 70200 };
	const struct nb_nccl_levels nccl = { .warn = 2, .info = 3 };
	const struct nb_nccl_levels rocm = { .warn = 3, .info = 4 };
	const struct link_map *object;
	struct library l;
	Dl_info at;
	long of;

	object = object_of(logger, &at);
	if (!object)
		return nccl;
	l = ask_caller(object);
	if (!l.rccl || (l.version && l.version < BOTH))
		return nccl;
	of = l.version == BOTH ? rocm_version(at.dli_fname) : 0;
	return of && of < ROCM_7_2 ? nccl : rocm;
}

int nb_nccl_version(void)
{
	return or_loaded(GET(oldest));
}

int nb_nccl_newest(void)
{
	return or_loaded(GET(newest));
}

int nb_nccl_senseless(void)
{
	return GET(senseless);
}

int nb_nccl_told(void)
{
	return caller_version ? caller_version : nb_nccl_version();
}

void nb_nccl_at_least(int told, int least)
{
	int was = GET(first);

	while ((!was || was == told) && was < least &&
	       !__atomic_compare_exchange_n(&first, &was, least, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

bool nb_nccl_asks_some(uint32_t tuner, uint32_t profiler)
{
	int version = nb_nccl_told();

	/* 2.29 has profiler v6, and 2.30 tuner v6 */
	if (tuner >= 6 || profiler >= 6)
		return true;
	if (version)
		return version >= SOME_RANKS;
	/* 2.28 and 2.29 have tuner v5 */
	return !profiler && tuner >= 5;
}

bool nb_nccl_last_of_equal(void)
{
	return or_loaded(GET(first)) >= LAST_OF_EQUAL;
}
