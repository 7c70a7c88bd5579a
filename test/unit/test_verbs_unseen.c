// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What can be known beside the tap: an adapter's driver, from sysfs, whether
// GPUs post work themselves, and the release of the NCCL that calls.
#include "test/unit/unit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/runtime/nccl.h"
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

static void sysfs_make(void)
{
	snprintf(dir, sizeof(dir), "/tmp/nb_sysfs.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void sysfs_remove(void)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

TEST(the_driver_is_what_sysfs_says_whatever_the_name)
{
	sysfs_make();
	adapter_make("rocep1s0", "../../../bus/pci/drivers/mlx5_core");
	adapter_make("mlx5_0", "../../../bus/pci/drivers/bnxt_en");
	ck_assert(nb_verbs_mlx5(dir, "rocep1s0"));
	ck_assert(!nb_verbs_mlx5(dir, "mlx5_0"));
	ck_assert(!nb_verbs_mlx5(dir, "rxe0"));
	sysfs_remove();
}

static void release_set(int version, const char *type)
{
	version_now = version;
	if (type)
		setenv("NCCL_GIN_TYPE", type, 1);
	else
		unsetenv("NCCL_GIN_TYPE");
	nb_verbs_nccl_find();
}

TEST(releases_from_2_29_on_may_ask_some_ranks_only)
{
	/* the interfaces tell it, if the version is unknown */
	ck_assert(!nb_nccl_asks_some(4, 0));
	ck_assert(!nb_nccl_asks_some(5, 5));
	ck_assert(nb_nccl_asks_some(5, 6));
	ck_assert(nb_nccl_asks_some(5, 0));
	ck_assert(nb_nccl_asks_some(6, 0));
	release_set(22809, NULL);
	ck_assert(!nb_nccl_asks_some(5, 0));
	release_set(22900, NULL);
	ck_assert(nb_nccl_asks_some(5, 0));
}

/* Copy a library, so that the loader takes it for another one. */
static void library_copy(const char *from, const char *to)
{
	char part[4096];
	size_t n;
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");

	ck_assert(in && out);
	while ((n = fread(part, 1, sizeof(part), in)) > 0)
		ck_assert_uint_eq(fwrite(part, 1, n, out), n);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
}

/* The library calls the plugin as an NCCL of @version. */
static void called_by(const char *library, const char *version)
{
	void *l = dlopen(library, RTLD_NOW);

	ck_assert_msg(l, "%s", dlerror());
	setenv("NCCL_VERSION", version, 1);
	nb_nccl_find(dlsym(l, "ncclGetVersion"));
}

TEST(each_of_two_nccls_in_a_process_has_its_version)
{
	const char *build = getenv("B");
	char first[400], second[64];

	snprintf(first, sizeof(first), "%s/test/fakes/verbs/libncclversion.so",
		 build ? build : "build/debug");
	strcpy(second, "/tmp/nb_nccl.XXXXXX");
	close(mkstemp(second));
	library_copy(first, second);
	called_by(first, "23102");
	ck_assert(nb_nccl_asks_some(5, 5));
	ck_assert(nb_nccl_last_of_equal());
	/* no pools are announced for 2.31, but they are for 2.28 */
	called_by(second, "22809");
	ck_assert_int_eq(nb_nccl_version(), 22809);
	ck_assert(nb_nccl_last_of_equal()); /* the first one's rule stays */
	ck_assert(!nb_nccl_asks_some(5, 5));
	nb_verbs_nccl_find();
	ck_assert(!nb_nccl_asks_some(5, 5));
	called_by(first, "23102");
	ck_assert(nb_nccl_asks_some(5, 5));
	ck_assert_int_eq(nb_nccl_version(), 22809);
	unlink(second);
}

/* Adapters of the stand-in for the tap; NULL: no more. */
static const char *opened[3];

static const char *opened_adapter(uint32_t i)
{
	return opened[i];
}

/* Without a type, NCCL lets GPUs post on mlx5 adapters alone. */
TEST(gpus_post_on_mlx5_adapters_or_if_they_are_told_to)
{
	const struct nb_tap_api tap = { .adapter = opened_adapter };

	sysfs_make();
	adapter_make("first", "../../../bus/pci/drivers/bnxt_en");
	adapter_make("second", "../../../bus/pci/drivers/mlx5_core");
	opened[0] = "first";
	release_set(22809, NULL);
	ck_assert(!nb_verbs_gpu_posts(dir, &tap));
	opened[1] = "second";
	ck_assert(nb_verbs_gpu_posts(dir, &tap));
	release_set(22809, "0");
	ck_assert(!nb_verbs_gpu_posts(dir, &tap));
	release_set(22809, "2");
	ck_assert(!nb_verbs_gpu_posts(dir, &tap));
	release_set(22806, NULL);
	ck_assert(!nb_verbs_gpu_posts(dir, &tap));
	opened[0] = NULL;
	release_set(22809, "3");
	ck_assert(nb_verbs_gpu_posts(dir, &tap));
	sysfs_remove();
}

UNIT_MAIN("verbs_unseen")
