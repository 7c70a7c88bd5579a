// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Files of other plugins: which are found, which are refused, and which of
// their interfaces is taken.
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "plugin/wrap/library.h"

static struct nb_library file;
static struct nb_err err;

static int load(const char *name)
{
	const char *build = getenv("B");
	char path[400];

	snprintf(path, sizeof(path), "%s/test/fakes/wrapped/%s", build ? build : "build/debug",
		 name);
	return nb_library_open(&file, path, "libnccl-tuner", &err);
}

TEST(found)
{
	unsigned v;

	ck_assert_int_eq(load("tuner_v4.so"), 0);
	ck_assert(file.handle && file.digest);
	ck_assert_ptr_nonnull(strstr(file.path, "/tuner_v4.so"));
	/* NCCL 2.28 calls us with version 5: it would have taken v4 itself */
	ck_assert_ptr_nonnull(nb_library_find(&file, "ncclTunerPlugin_v", 5, 2, &v));
	ck_assert_uint_eq(v, 4);
	ck_assert_ptr_nonnull(nb_library_find(&file, "ncclTunerPlugin_v", 4, 2, &v));
	/* and NCCL 2.22 would not */
	ck_assert_ptr_null(nb_library_find(&file, "ncclTunerPlugin_v", 3, 2, &v));
	ck_assert_uint_eq(v, 4);
	ck_assert_ptr_null(nb_library_find(&file, "ncclProfiler_v", 6, 1, &v));
	ck_assert_uint_eq(v, 0);
	nb_library_close(&file);
	ck_assert_ptr_null(file.handle);
}

TEST(digests)
{
	uint32_t a, b;

	ck_assert_int_eq(load("tuner_v4.so"), 0);
	a = file.digest;
	nb_library_close(&file);
	ck_assert_int_eq(load("tuner_v5.so"), 0);
	b = file.digest;
	nb_library_close(&file);
	ck_assert_uint_ne(a, b);
	/* a copy under another name is the same plugin */
	ck_assert_int_eq(load("libnccl-tuner-named.so"), 0);
	nb_library_close(&file);
	ck_assert_int_eq(load("../wrapped/tuner_v5.so"), 0);
	ck_assert_uint_eq(file.digest, b);
	nb_library_close(&file);
}

TEST(refused)
{
	char name[NB_LIBRARY_PATH + 8];

	ck_assert_int_eq(load("missing.so"), NB_E_NOINPUT);
	ck_assert_ptr_null(file.handle);
	ck_assert_ptr_nonnull(strstr(file.path, "missing.so"));
	ck_assert_ptr_nonnull(strstr(err.text, "missing.so"));
	ck_assert_int_eq(load("unresolved.so"), NB_E_NOINPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "nobody_has_this"));
	/* the second name tried is the one that is spoken of */
	ck_assert_int_eq(nb_library_open(&file, "nosuchplugin", "libnccl-tuner", &err),
			 NB_E_NOINPUT);
	ck_assert_ptr_nonnull(strstr(err.text, "libnccl-tuner-nosuchplugin.so"));
	ck_assert_int_eq(nb_library_open(&file, "libnone-such.so", "libnccl-tuner", NULL),
			 NB_E_NOINPUT);
	memset(name, 'x', sizeof(name));
	name[NB_LIBRARY_PATH] = '\0';
	ck_assert_int_eq(nb_library_open(&file, name, "libnccl-tuner", &err), NB_E_ARG);
	nb_library_close(&file); /* nothing to close */
}

UNIT_MAIN("chain_load")
