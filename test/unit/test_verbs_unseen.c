// SPDX-License-Identifier: MIT
// What can be known about adapters beside the tap: their driver, from sysfs,
// and which of NCCL's releases crashes on them.
#include "test/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/verbs/unseen.h"

/* This program's own; NCCL's is asked by this name. */
__attribute__((visibility("default"))) int ncclGetVersion(int *version);
static int version_now;

int ncclGetVersion(int *version)
{
	*version = version_now;
	return 0;
}

static char dir[64];

static void adapter_make(const char *name, const char *driver)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "%s/class", dir);

	mkdir(path, 0700);
	n += snprintf(path + n, sizeof(path) - (size_t)n, "/infiniband");
	mkdir(path, 0700);
	n += snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	n += snprintf(path + n, sizeof(path) - (size_t)n, "/device");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(path + n, sizeof(path) - (size_t)n, "/driver");
	ck_assert_int_eq(symlink(driver, path), 0);
}

START_TEST(the_driver_is_what_sysfs_says_whatever_the_name)
{
	char command[80] = "rm -r ";

	snprintf(dir, sizeof(dir), "/tmp/nb_sysfs.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	adapter_make("rocep1s0", "../../../bus/pci/drivers/mlx5_core");
	adapter_make("mlx5_0", "../../../bus/pci/drivers/bnxt_en");
	ck_assert(nb_verbs_mlx5(dir, "rocep1s0"));
	ck_assert(!nb_verbs_mlx5(dir, "mlx5_0"));
	ck_assert(!nb_verbs_mlx5(dir, "rxe0"));
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

static enum nb_gin_crash with(int version, const char *type)
{
	version_now = version;
	nb_verbs_version_find();
	if (type)
		setenv("NCCL_GIN_TYPE", type, 1);
	else
		unsetenv("NCCL_GIN_TYPE");
	return nb_verbs_gin_crash("no such adapter");
}

START_TEST(releases_with_gin_before_2_29_crash_unless_told_otherwise)
{
	ck_assert_int_eq(nb_verbs_version(), 0);
	ck_assert_int_eq(nb_verbs_gin_crash("x"), NB_GIN_CRASH_NONE);
	ck_assert_int_eq(with(22806, NULL), NB_GIN_CRASH_NONE);
	ck_assert_int_eq(with(22807, NULL), NB_GIN_CRASH_EXPECTED);
	ck_assert_int_eq(with(22809, ""), NB_GIN_CRASH_EXPECTED);
	ck_assert_int_eq(with(22809, "-1"), NB_GIN_CRASH_EXPECTED);
	ck_assert_int_eq(with(22809, "0"), NB_GIN_CRASH_AVOIDED);
	ck_assert_int_eq(with(22809, "2"), NB_GIN_CRASH_AVOIDED);
	ck_assert_int_eq(with(22900, NULL), NB_GIN_CRASH_NONE);
}
END_TEST

UNIT_MAIN("verbs_unseen",
	  tcase_add_test(tc, the_driver_is_what_sysfs_says_whatever_the_name);
	  tcase_add_test(
		  tc,
		  releases_with_gin_before_2_29_crash_unless_told_otherwise);)
