// SPDX-License-Identifier: MIT
/* Finds verbs calls that the tap cannot observe. */
#include "plugin/verbs/unseen.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/runtime/nccl.h"

/* libibverbs keeps one of these files open for each context. */
#define DEVICE_FILE "/infiniband/uverbs"

static uint64_t device_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	uint64_t n = 0;

	while (d && (e = readdir(d))) {
		char path[512];
		ssize_t len = readlinkat(dirfd(d), e->d_name, path, sizeof(path) - 1);

		if (len < 0)
			continue;
		path[len] = 0;
		n += strstr(path, DEVICE_FILE) != NULL;
	}
	if (d)
		closedir(d);
	return n;
}

uint64_t nb_verbs_other_contexts(const struct nb_tap_sums *s)
{
	uint64_t open = device_files();

	return open > s->files ? open - s->files : 0;
}

bool nb_verbs_mlx5(const char *sysfs, const char *name)
{
	char path[512], driver[512];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s/device/driver", sysfs, name);
	n = readlink(path, driver, sizeof(driver) - 1);
	if (n < 0)
		return false;
	driver[n] = 0;
	last = strrchr(driver, '/');
	return !strcmp(last ? last + 1 : driver, "mlx5_core");
}

/*
 * NCCL_GIN_TYPE: NCCL chooses (-1 or unset), the GPU posts operations (3,
 * GDAKI), or another value, such as 2 for a proxy on the host. Accessed
 * atomically.
 */
static int gin_type;
enum { NCCL_CHOOSES, GPU_POSTS, ANOTHER };

static void read_gin_type(void)
{
	const char *v = getenv("NCCL_GIN_TYPE");
	int type = ANOTHER;

	if (!v || !*v || !strcmp(v, "-1"))
		type = NCCL_CHOOSES;
	else if (!strcmp(v, "3"))
		type = GPU_POSTS;
	__atomic_store_n(&gin_type, type, __ATOMIC_RELAXED);
}

bool nb_verbs_gpu_posts(const char *sysfs, const struct nb_tap_api *tap)
{
	const char *name;

	if (__atomic_load_n(&gin_type, __ATOMIC_RELAXED) == GPU_POSTS)
		return true;
	if (__atomic_load_n(&gin_type, __ATOMIC_RELAXED) != NCCL_CHOOSES ||
	    nb_nccl_version() < 22807)
		return false;
	for (uint32_t i = 0; (name = tap->adapter(i)); i++)
		if (nb_verbs_mlx5(sysfs, name))
			return true;
	return false;
}

void nb_verbs_nccl_find(void)
{
	nb_nccl_find(NULL);
	read_gin_type();
}
