// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Whether the library that calls is RCCL, and the levels of its logger.
#include "test/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/runtime/nccl.h"

static char folder[64];

static void folder_make(void)
{
	strcpy(folder, "/tmp/nb_rccl.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void folder_remove(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static void copy_fake(const char *fake, const char *name)
{
	const char *build = getenv("B");
	char command[600];

	snprintf(command, sizeof(command), "cp %s/test/fakes/host/%s %s/%s",
		 build ? build : "build/debug", fake, folder, name);
	ck_assert_int_eq(system(command), 0);
}

static void copy_as(const char *name)
{
	copy_fake("librccl.so.1", name);
}

/* Load a file of the folder. Returns a function of it. */
static const void *function_in(const char *name, int mode, const char *function)
{
	const void *found;
	void *library;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	library = dlopen(path, mode);
	ck_assert_msg(library, "%s", dlerror());
	found = dlsym(library, function);
	ck_assert_ptr_nonnull(found);
	return found;
}

/* Load a file of the folder. Returns its logger. */
static const void *logger_in(const char *name)
{
	return function_in(name, RTLD_NOW, "rccl_log");
}

/* Load a copy of the fake RCCL by this name. Returns its logger. */
static const void *logger_of(const char *name)
{
	copy_as(name);
	return logger_in(name);
}

TEST(a_program_is_not_rccl)
{
	nb_nccl_find((const void *)folder);
	ck_assert(!nb_nccl_is_rccl());
	ck_assert_int_eq(nb_nccl_version(), 0);
	ck_assert_uint_eq(nb_nccl_channels(), 64);
}

TEST(hip_that_somebody_else_has_loaded_makes_no_program_rccl)
{
	folder_make();
	copy_fake("libamdhip64.so.7", "libamdhip64.so.7");
	function_in("libamdhip64.so.7", RTLD_NOW | RTLD_GLOBAL, "hipGetDevice");
	nb_nccl_find((const void *)folder);
	ck_assert(!nb_nccl_is_rccl());
	ck_assert(!nb_nccl_caller_is_rccl());
	ck_assert_int_eq(nb_nccl_levels((const void *)folder).warn, 2);
	folder_remove();
}

TEST(rccl_is_known_by_its_file)
{
	folder_make();
	nb_nccl_find(logger_of("librccl.so"));
	ck_assert(nb_nccl_is_rccl());
	ck_assert(nb_nccl_caller_is_rccl());
	ck_assert_int_eq(nb_nccl_version(), 22707);
	ck_assert(!nb_nccl_asks_some(4, 4));
	ck_assert_uint_eq(nb_nccl_channels(), 128);
	folder_remove();
}

TEST(rccl_in_another_file_is_known_by_hip)
{
	folder_make();
	nb_nccl_find(logger_of("libtraining.so"));
	ck_assert(nb_nccl_is_rccl());
	folder_remove();
}

TEST(rccl_that_is_loaded_is_known_before_it_calls)
{
	folder_make();
	logger_of("libtorch_rccl.so");
	nb_nccl_find(NULL);
	ck_assert(nb_nccl_is_rccl());
	ck_assert_int_eq(nb_nccl_version(), 22707);
	folder_remove();
}

/* Some other package may have loaded an RCCL that nobody calls. */
TEST(who_calls_counts_more_than_who_is_loaded)
{
	const char *build = getenv("B");
	char path[400];
	void *nccl;

	folder_make();
	logger_of("libtorch_rccl.so");
	nb_nccl_find(NULL);
	ck_assert(nb_nccl_is_rccl());
	/* it tells nothing, so what is loaded still counts */
	nb_nccl_find((const void *)folder);
	ck_assert(nb_nccl_is_rccl());
	snprintf(path, sizeof(path), "%s/test/fakes/host/libnccl_alone.so",
		 build ? build : "build/debug");
	nccl = dlopen(path, RTLD_NOW);
	ck_assert_msg(nccl, "%s", dlerror());
	nb_nccl_find(dlsym(nccl, "rccl_log"));
	ck_assert(!nb_nccl_is_rccl());
	ck_assert_uint_eq(nb_nccl_channels(), 64);
	/* RCCL calls as well */
	nb_nccl_find(logger_of("librccl.so.1"));
	ck_assert(nb_nccl_is_rccl());
	ck_assert(nb_nccl_caller_is_rccl());
	/* NCCL calls once more: the process has both */
	nb_nccl_find(dlsym(nccl, "rccl_log"));
	ck_assert(nb_nccl_is_rccl());
	ck_assert(!nb_nccl_caller_is_rccl());
	folder_remove();
}

/* What is left if RCCL does not tell its version, or no version that a release has. */
static void ck_without_version(int senseless)
{
	char text[NB_NCCL_TEXT];

	ck_assert(nb_nccl_is_rccl());
	ck_assert_uint_eq(nb_nccl_channels(), 128);
	ck_assert_int_eq(nb_nccl_version(), 0);
	ck_assert_int_eq(nb_nccl_senseless(), senseless);
	nb_nccl_text(text);
	ck_assert_str_eq(text, "RCCL");
	/* the interfaces tell the rules */
	ck_assert(!nb_nccl_asks_some(4, 4));
	ck_assert(nb_nccl_asks_some(6, 6));
}

TEST(rccl_may_fail_to_tell_its_version)
{
	folder_make();
	setenv("RCCL_VERSION", "fails", 1);
	nb_nccl_find(logger_of("librccl.so"));
	ck_without_version(0);
	folder_remove();
}

TEST(rccl_may_lack_the_function_that_tells_its_version)
{
	folder_make();
	copy_fake("libamdhip64.so.7", "librccl.so");
	nb_nccl_find(function_in("librccl.so", RTLD_NOW, "hipGetDevice"));
	ck_without_version(0);
	folder_remove();
}

TEST_EACH(rccl_may_lie_about_its_version, 0, 3)
{
	static const char *const versions[] = { "7", "-5", "2147483647" };

	folder_make();
	setenv("RCCL_VERSION", versions[_i], 1);
	nb_nccl_find(logger_of("librccl.so"));
	ck_without_version(atoi(versions[_i]));
	folder_remove();
}

static void ck_levels(const void *logger, int warn)
{
	struct nb_nccl_levels l = nb_nccl_levels(logger);

	ck_assert_int_eq(l.warn, warn);
	ck_assert_int_eq(l.info, warn + 1);
}

TEST(levels_are_those_of_the_loggers_library)
{
	const void *rccl;

	folder_make();
	rccl = logger_of("librccl.so.1");
	ck_levels(rccl, 3);
	ck_levels(folder, 2);
	ck_levels(NULL, 2);
	setenv("RCCL_VERSION", "22606", 1);
	ck_levels(rccl, 2);
	setenv("RCCL_VERSION", "23007", 1);
	ck_levels(rccl, 3);
	folder_remove();
}

/* The file has ROCm's version in its name, also behind a link. */
TEST(two_releases_of_rocm_have_one_version_of_nccl)
{
	char link[96];

	folder_make();
	copy_as("librccl.so.1.0.70101");
	snprintf(link, sizeof(link), "%s/librccl.so.1", folder);
	ck_assert_int_eq(symlink("librccl.so.1.0.70101", link), 0);
	ck_levels(logger_in("librccl.so.1"), 2);
	ck_levels(logger_of("librccl.so.1.0.70200"), 3);
	folder_remove();
}

UNIT_MAIN("nccl")
