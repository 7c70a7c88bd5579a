// SPDX-License-Identifier: MIT
// tier: quick  load: wait  limit: 600
// Where the processes of a job meet, if a directory is full for some of them,
// and what a umask leaves of modes. The segment's file of the first directory
// cannot be made where a directory has its name.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/job/place.h"
#include "plugin/job/registry.h"

enum { PROCESSES = 6, ROUNDS = 10 };

static char top[64], first[96], next[96], block[128];

static void set_up(void)
{
	strcpy(top, "/tmp/nbplaceXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(first, sizeof(first), "%s/first", top);
	snprintf(next, sizeof(next), "%s/ncclbpf-%u", top, (unsigned)geteuid());
	snprintf(block, sizeof(block), "%s/j.seg", first);
	setenv("TMPDIR", top, 1);
	ck_assert_int_eq(mkdir(first, 0700), 0);
}

static void tear_down(void)
{
	char name[128];

	rmdir(block);
	snprintf(name, sizeof(name), "%s/j.seg", next);
	unlink(name);
	ck_assert_int_eq(rmdir(first), 0);
	rmdir(next);
	ck_assert_int_eq(rmdir(top), 0);
}

struct process {
	struct nb_jobdir dir;
	struct nb_segment *seg;
};

static void open_in(struct process *p, const char *dir)
{
	const struct nb_jobdir_search s = { dir, "j", NULL, NULL };
	struct nb_err dir_err, err;

	ck_assert_int_eq(nb_place_open(&s, 0, &p->dir, &p->seg, &dir_err, &err), 0);
}

static void close_it(struct process *p)
{
	nb_segment_detach(p->seg);
	nb_jobdir_close(&p->dir);
}

TEST(a_directory_where_no_segment_can_be_made_is_passed_over)
{
	static struct process a, b, c;

	ck_assert_int_eq(mkdir(block, 0700), 0);
	open_in(&a, first);
	ck_assert_str_eq(a.dir.dir, next);
	ck_assert(a.seg->shared);
	ck_assert_int_eq(rmdir(block), 0);
	/* it would be possible now, but the job lives in the next one */
	open_in(&b, first);
	ck_assert_str_eq(b.dir.dir, next);
	close_it(&a);
	close_it(&b);
	open_in(&c, first);
	ck_assert_str_eq(c.dir.dir, first);
	close_it(&c);
}

TEST(a_job_of_that_name_and_another_directory_is_another)
{
	static struct process a, b;

	ck_assert_int_eq(mkdir(block, 0700), 0);
	open_in(&a, ""); /* /run/ncclbpf or TMPDIR */
	open_in(&b, first);
	ck_assert_str_ne(a.dir.dir, b.dir.dir);
	close_it(&a);
	nb_segment_detach(b.seg);
	rmdir(b.dir.dir); /* /dev/shm/ncclbpf-UID, unless others use it */
	nb_jobdir_close(&b.dir);
}

static mode_t mode_of(const char *dir, const char *name)
{
	struct stat st;
	char path[200];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	ck_assert_int_eq(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST_EACH(modes_are_those_the_job_needs_under_any_umask, 0, 5)
{
	static const mode_t masks[] = { 0, 022, 0177, 0277, 0777 };
	mode_t before = umask(masks[_i]);
	static struct process p;

	ck_assert_int_eq(rmdir(first), 0);
	open_in(&p, first);
	umask(before);
	ck_assert_str_eq(p.dir.dir, first);
	ck_assert_uint_eq(mode_of(first, ""), 0700);
	ck_assert_uint_eq(mode_of(first, "/j.seg"), 0600);
	close_it(&p);
}

static char said[400];

static void keep_line(void *arg, const char *line)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", line);
}

TEST(a_directory_that_denies_its_owner_is_named_with_its_mode)
{
	const struct nb_jobdir_search s = { first, "j", keep_line, NULL };
	static struct nb_jobdir dir;
	const bool root = !geteuid();

	if (root) { /* modes do not bind root */
		ck_assert(!chmod(top, 0711) && !chown(first, 65534, 65534));
		ck_assert_int_eq(seteuid(65534), 0);
	}
	ck_assert_int_eq(chmod(first, 0), 0);
	ck_assert(!nb_jobdir_try(&s, 0, true, &dir));
	ck_assert_msg(strstr(said, "mode 0000 denies its owner access"), "%s", said);
	ck_assert_int_eq(chmod(first, 0700), 0);
	ck_assert(nb_jobdir_try(&s, 0, true, &dir));
	nb_jobdir_close(&dir);
	if (root)
		ck_assert_int_eq(seteuid(0), 0);
}

/* Exits with 0 if this process can use the directory that others make, too. */
static void maker(int in)
{
	const struct nb_jobdir_search s = { first, "j", NULL, NULL };
	static struct nb_jobdir dir;
	char c;

	if (!geteuid() && seteuid(65534))
		_exit(2); /* modes do not bind root */
	umask(0777);
	_exit(read(in, &c, 1) != 1 || !nb_jobdir_try(&s, 0, true, &dir));
}

TEST_EACH(all_find_a_directory_that_one_of_them_makes, 0, 5 * ROUNDS)
{
	int go[2], status;
	pid_t pid[PROCESSES];

	ck_assert(!pipe(go) && !chmod(top, 0777) && !rmdir(first));
	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (!pid[i])
			maker(go[0]);
	}
	ck_assert_int_eq(write(go[1], "xxxxxx", PROCESSES), PROCESSES);
	for (int i = 0; i < PROCESSES; i++) {
		ck_assert_int_eq(waitpid(pid[i], &status, 0), pid[i]);
		ck_assert_msg(!status, "round %d, process %d", _i, i);
	}
	close(go[0]);
	close(go[1]);
}

UNIT_MAIN_WITH("place", tcase_add_checked_fixture(tc, set_up, tear_down);)
