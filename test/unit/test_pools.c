// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// NCCL's profiler pools: what refuses them, and that of processes which start
// together no more are let through than there is room for.
#include "test/unit/unit.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/profiler/pools.h"
#include "plugin/runtime/nccl.h"

#define MIB (UINT64_C(1) << 20)

/* what /dev/shm pretends to have left, of 4 GiB */
static uint64_t left_mib;
static int fallocate_errno;
static char dir[32];

int __wrap_statvfs(const char *path, struct statvfs *fs);
int __wrap_statvfs(const char *path, struct statvfs *fs)
{
	ck_assert_str_eq(path, dir);
	*fs = (struct statvfs){ .f_frsize = 4096,
				.f_blocks = 4096 * MIB / 4096,
				.f_bavail = left_mib * MIB / 4096 };
	return 0;
}

int __wrap_fallocate(int fd, int mode, off_t at, off_t size);
int __wrap_fallocate(int fd, int mode, off_t at, off_t size)
{
	(void)mode;
	ck_assert_int_eq(at, 0);
	errno = fallocate_errno;
	return fallocate_errno ? -1 : ftruncate(fd, size);
}

static void no_pools_yet(void)
{
	strcpy(dir, "/tmp/nb_pools.XXXXXX");
	nb_pools_dir = mkdtemp(dir);
	ck_assert_ptr_nonnull(nb_pools_dir);
	left_mib = 4096;
	fallocate_errno = 0;
}

static void remove_dir(void)
{
	DIR *d = opendir(dir);

	ck_assert_ptr_nonnull(d);
	for (struct dirent *e; (e = readdir(d));)
		(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	ck_assert_int_eq(rmdir(dir), 0);
}

static bool take(unsigned here, unsigned host)
{
	if (nb_pools_announced())
		nb_pools_look(); /* as the control thread does */
	return nb_pools_take(&(struct nb_pools_want){ here, host, 0 });
}

static const char *why(void)
{
	static struct nb_err err;

	nb_pools_why(&err);
	return err.text;
}

/* Returns the number of files of announcements. */
static int announcements(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	ck_assert_ptr_nonnull(d);
	for (struct dirent *e; (e = readdir(d));)
		n += !strncmp(e->d_name, "ncclbpf-pools-", 14);
	closedir(d);
	return n;
}

TEST(with_room_they_are_announced_until_they_are_taken)
{
	int before = announcements();

	ck_assert(take(2, 8));
	ck_assert_uint_eq(nb_pools_announced(), 2);
	ck_assert_int_eq(announcements(), before + 1);
	ck_assert(take(1, 8));
	ck_assert_uint_eq(nb_pools_announced(), 2);
	nb_pools_shrink(1);
	ck_assert_uint_eq(nb_pools_announced(), 1);
	nb_pools_shrink(0);
	ck_assert_int_eq(announcements(), before);
	ck_assert(take(0, 0));
	ck_assert_int_eq(announcements(), before);
}

/* A process without standard input gets descriptor 0 for its file. */
TEST(descriptor_0_is_a_descriptor)
{
	int before = announcements();
	char text[8] = "";

	close(0);
	ck_assert(take(2, 2));
	ck_assert_int_eq(announcements(), before + 1);
	ck_assert_int_eq(pread(0, text, sizeof(text) - 1, 0), 2);
	ck_assert_str_eq(text, "2\n");
	nb_pools_end();
	ck_assert_int_eq(announcements(), before);
}

/* All ranks of the host must fit, with as much again. */
TEST(there_must_be_room_for_the_whole_host)
{
	left_mib = 64;
	ck_assert(!take(1, 2));
	ck_assert_str_eq(why(), "no GPU times: /dev/shm has 64 of 4096 MiB left, and NCCL needs "
				"33 MiB a rank: 131 MiB with a margin as large");
	ck_assert_uint_eq(nb_pools_announced(), 0);
	left_mib = 130;
	ck_assert(!take(1, 2));
	left_mib = 131;
	ck_assert(take(1, 2));
	nb_pools_end();
}

/* A refusal leaves what was announced before. */
TEST(one_more_communicator_may_be_too_many)
{
	left_mib = 131;
	ck_assert(take(1, 1));
	ck_assert(take(2, 2));
	ck_assert(!take(3, 3));
	ck_assert_uint_eq(nb_pools_announced(), 2);
	nb_pools_end();
}

/* The application fills /dev/shm before NCCL has connected. */
TEST(announced_pools_may_lose_their_room)
{
	left_mib = 140;
	ck_assert(take(2, 2));
	left_mib = 66;
	ck_assert(take(2, 2)); /* its margin is gone, they still fit */
	left_mib = 65;
	ck_assert(!take(2, 2));
	ck_assert_str_eq(why(), "no GPU times: /dev/shm has 65 of 4096 MiB left, and NCCL needs "
				"33 MiB a rank: 66 MiB");
	/* NCCL may take them nevertheless: it was asked */
	ck_assert_uint_eq(nb_pools_announced(), 2);
	nb_pools_shrink(0);
	ck_assert(take(0, 0));
}

/* A process that has announced @n pools, until it is killed. */
static pid_t other_process(unsigned n)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		nb_pools_forked();
		c = take(n, n) ? 'y' : 'n';
		(void)!write(ready[1], &c, 1);
		pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_int_eq(c, 'y');
	close(ready[0]);
	close(ready[1]);
	return pid;
}

TEST(two_processes_share_the_room)
{
	int before = announcements();
	pid_t other;

	left_mib = 200; /* three pools with their margin: 196 MiB */
	other = other_process(2);
	ck_assert(!take(2, 2));
	ck_assert(take(1, 1));
	ck_assert(!take(2, 2));
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	ck_assert_int_eq(announcements(), before + 2);
	/* a dead process needs nothing, and its file is deleted */
	ck_assert(take(3, 3));
	ck_assert_int_eq(announcements(), before + 1);
	nb_pools_end();
}

/* A child has no part in what its parent has announced. */
TEST(a_forked_child_announces_nothing)
{
	int status, before = announcements();
	pid_t pid;

	ck_assert(take(1, 1));
	pid = fork();
	if (!pid) {
		nb_pools_forked();
		nb_pools_end();
		_exit(nb_pools_announced() != 0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(announcements(), before + 1);
	nb_pools_end();
}

TEST(the_size_of_files_is_limited)
{
	struct rlimit limit = { 16 * MIB, RLIM_INFINITY };

	/* SIGXFSZ would end this process */
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(!take(1, 1));
	ck_assert_ptr_nonnull(strstr(why(), "files of 16 MiB (ulimit -f)"));
	limit.rlim_cur = 100 * MIB;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert(take(1, 1));
	nb_pools_end();
}

TEST(descriptors_are_few)
{
	struct rlimit limit;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 100;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(!take(1, 1));
	ck_assert_ptr_nonnull(strstr(why(), "(ulimit -n) leaves "));
}

TEST(address_space_is_small)
{
	struct rlimit limit = { 300 * MIB, RLIM_INFINITY };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return; /* sanitizers need terabytes of addresses */
#endif
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert(!take(8, 8));
	ck_assert_ptr_nonnull(strstr(why(), "Cannot allocate memory"));
}

/* As where seccomp or the file system refuses it. */
TEST(the_system_refuses_the_file)
{
	fallocate_errno = EPERM;
	ck_assert(!take(1, 1));
	ck_assert_ptr_nonnull(strstr(why(), "Operation not permitted"));
	ck_assert_uint_eq(nb_pools_announced(), 0);
}

/* NCCL tries again for ever, too, so it must not be asked. */
TEST(signals_undo_each_allocation)
{
	fallocate_errno = EINTR;
	ck_assert(!take(1, 1));
	ck_assert_ptr_nonnull(strstr(why(), "Interrupted system call"));
	ck_assert_uint_eq(nb_pools_announced(), 0);
}

TEST(later_versions_have_no_pools)
{
	left_mib = 1;
	nb_pools_version(23003);
	ck_assert(!take(1, 1));
	nb_pools_version(23102);
	ck_assert(take(1, 1));
	ck_assert_uint_eq(nb_pools_announced(), 0);
}

/* RCCL has twice NCCL's channels, so its pools are twice as large. */
TEST(rccl_needs_twice_the_room)
{
	const char *build = getenv("B");
	char path[400];
	void *library;

	snprintf(path, sizeof(path), "%s/test/fakes/host/librccl.so.1",
		 build ? build : "build/debug");
	library = dlopen(path, RTLD_NOW);
	ck_assert_msg(library, "%s", dlerror());
	nb_nccl_find(dlsym(library, "rccl_log"));
	nb_pools_version(23102);
	left_mib = 261;
	ck_assert(!take(1, 2));
	ck_assert_str_eq(why(), "no GPU times: /dev/shm has 261 of 4096 MiB left, and NCCL needs "
				"66 MiB a rank: 262 MiB with a margin as large");
	left_mib = 262;
	ck_assert(take(1, 2));
	ck_assert_uint_eq(nb_pools_announced(), 1);
	nb_pools_end();
}

UNIT_MAIN_WITH("pools", tcase_add_checked_fixture(tc, no_pools_yet, remove_dir);)
