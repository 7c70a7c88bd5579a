// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// What control groups and the user's limits leave, read from a tree of files
// like that of a host or a container.
#include "test/unit/unit.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/runtime/room.h"

#define MIB (UINT64_C(1) << 20)

static char root[] = "/tmp/nb_room.XXXXXX";

static void make_root(void)
{
	strcpy(root, "/tmp/nb_room.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_root(void)
{
	ck_assert_int_eq(nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* Write a file below the root, with its directories. */
static void __attribute__((format(printf, 2, 3))) put(const char *path, const char *fmt, ...)
{
	char full[512];
	va_list ap;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

TEST(no_file_is_no_limit)
{
	struct nb_room r;

	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, UINT64_MAX);
	nb_room_threads(root, &r);
	nb_room_descriptors(root, &r);
	ck_assert_uint_eq(r.left, UINT64_MAX);
}

TEST(each_parent_of_version_2_counts)
{
	struct nb_room r;

	put("/proc/self/cgroup", "0::/a/b\n");
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	put("/sys/fs/cgroup/a/b/memory.current", "1000\n");
	put("/sys/fs/cgroup/a/memory.max", "%llu\n", (unsigned long long)(100 * MIB));
	put("/sys/fs/cgroup/a/memory.current", "%llu\n", (unsigned long long)(90 * MIB));
	put("/sys/fs/cgroup/a/memory.stat", "anon 1\nactive_file 7\ninactive_file %llu\n",
	    (unsigned long long)(30 * MIB));
	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, 40 * MIB);
	ck_assert_uint_eq(r.all, 100 * MIB);
	ck_assert_str_eq(r.limit, "memory.max of control group /sys/fs/cgroup/a");
}

/* The mount shows the container's group, whose path is the host's. */
TEST(a_container_of_version_1)
{
	struct nb_room r;

	put("/proc/self/cgroup",
	    "9:cpu,cpuacct:/docker/1\n4:pids:/docker/1\n3:memory:/docker/1\n0::/\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "%llu\n",
	    (unsigned long long)(64 * MIB));
	put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "%llu\n",
	    (unsigned long long)(70 * MIB));
	put("/sys/fs/cgroup/memory/memory.stat", "inactive_file 5\ntotal_inactive_file %llu\n",
	    (unsigned long long)(16 * MIB));
	put("/sys/fs/cgroup/pids/pids.max", "100\n");
	put("/sys/fs/cgroup/pids/pids.current", "93\n");
	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, 10 * MIB);
	nb_room_threads(root, &r);
	ck_assert_uint_eq(r.left, 7);
	ck_assert_str_eq(r.limit, "pids.max of control group /sys/fs/cgroup/pids");
	/* what version 1 says where there is no limit */
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, UINT64_MAX);
}

TEST(more_in_use_than_allowed_leaves_nothing)
{
	struct nb_room r;

	put("/proc/self/cgroup", "0::/\n");
	put("/sys/fs/cgroup/memory.max", "1000\n");
	put("/sys/fs/cgroup/memory.current", "5000\n");
	put("/sys/fs/cgroup/pids.max", "10\n");
	put("/sys/fs/cgroup/pids.current", "10\n");
	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, 0);
	nb_room_threads(root, &r);
	ck_assert_uint_eq(r.left, 0);
}

TEST(the_machine_counts_too)
{
	struct nb_room r;

	put("/proc/meminfo", "MemTotal:    2048 kB\nMemFree: 1 kB\nMemAvailable:   512 kB\n");
	nb_room_memory(root, &r);
	ck_assert_uint_eq(r.left, 512 << 10);
	ck_assert_uint_eq(r.all, 2 * MIB);
	ck_assert_str_eq(r.limit, "the machine");
}

/* Does the user's limit hold: the machine has few threads, or its user many? */
TEST(the_users_limit)
{
	struct rlimit limit = { 1500, 1500 };
	struct nb_room r;
	unsigned uid = getuid();

	/* as in a user namespace, so that it holds for root, too */
	put("/proc/self/uid_map", "0 1000 1\n");
	put("/proc/loadavg", "0.1 0.1 0.1 1/400 77\n");
	put("/proc/1/status", "Name: x\nUid:\t%u\t0\t0\t0\nThreads:\t1400\n", uid);
	put("/proc/2/status", "Name: y\nUid:\t%u\t0\t0\t0\nThreads:\t50\n", uid + 1);
	put("/proc/3/status", "Name: z\nUid:\t%u\t0\t0\t0\nThreads:\t60\n", uid);
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &limit), 0);
	nb_room_threads(root, &r);
	ck_assert_uint_eq(r.left, UINT64_MAX);
	put("/proc/loadavg", "0.1 0.1 0.1 1/1600 77\n");
	nb_room_threads(root, &r);
	ck_assert_uint_eq(r.left, 40);
	ck_assert_str_eq(r.limit, "the user's limit (ulimit -u)");
	if (uid)
		return;
	put("/proc/self/uid_map", "         0          0 4294967295\n");
	nb_room_threads(root, &r);
	ck_assert_uint_eq(r.left, UINT64_MAX);
}

TEST(open_descriptors)
{
	struct rlimit limit;
	struct nb_room before, after;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 100;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	nb_room_descriptors("", &before);
	ck_assert_uint_eq(before.all, 100);
	ck_assert_int_ge(dup(0), 0);
	nb_room_descriptors("", &after);
	ck_assert_uint_eq(after.left, before.left - 1);
}

UNIT_MAIN_WITH("room", tcase_add_checked_fixture(tc, make_root, remove_root);)
