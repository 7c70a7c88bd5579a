// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The segment's file: foreign, damaged, small, left by the dead, shared with
// processes of other containers.
#include "test/unit/segment_file.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(file_is_private_and_shared)
{
	struct nb_segment *a = attach(), *b = attach();
	struct stat st;

	ck_assert(a->shared && b->shared);
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_uint_eq((uint64_t)st.st_size, sizeof(struct nb_seg));
	ck_assert_uint_ne(a->proc, b->proc);
	a->mem->next_gen = 42;
	ck_assert_uint_eq(b->mem->next_gen, 42);
	ck_assert_uint_eq(nb_segment_procs(a), 2);
	nb_segment_detach(b);
	ck_assert_uint_eq(nb_segment_procs(a), 1);
	nb_segment_detach(a);
}

TEST(no_directory_means_private_memory)
{
	struct nb_segment *s;

	ck_assert_int_eq(nb_segment_attach(&s, -1, "j", 0, true, NULL), 0);
	ck_assert(!s->shared);
	ck_assert_uint_gt(strlen(s->why), 0);
	ck_assert_int_eq(nb_segment_lock(s, 100, NULL), 0);
	nb_segment_unlock(s);
	nb_segment_detach(s);
}

static void refuse(const char *what)
{
	struct nb_segment *s = attach();

	ck_assert_msg(!s->shared, "%s", what);
	ck_assert_uint_gt(strlen(s->why), 0);
	nb_segment_detach(s);
}

TEST(files_that_are_not_ours_are_left_alone)
{
	struct stat st;
	int fd;

	ck_assert_int_eq(symlink("/etc/passwd", file), 0);
	refuse("a link");
	ck_assert_int_eq(lstat(file, &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	unlink(file);
	fd = open(file, O_CREAT | O_RDWR, 0600);
	ck_assert_int_eq(fchmod(fd, 0644), 0);
	refuse("readable by others");
	close(fd);
	unlink(file);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	refuse("a directory");
	rmdir(file);
}

TEST(garbage_is_replaced)
{
	static const size_t sizes[] = { 0, 1, 64, 65536, 100000, sizeof(struct nb_seg) };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int fill = 0; fill < 2; fill++) {
			int fd = open(file, O_CREAT | O_TRUNC | O_RDWR, 0600);
			char block[4096];
			struct nb_segment *s;

			memset(block, fill ? 0xff : 'x', sizeof(block));
			for (size_t n = 0; n < sizes[i]; n += sizeof(block))
				ck_assert_int_gt(write(fd, block, sizeof(block)), 0);
			ck_assert_int_eq(ftruncate(fd, (off_t)sizes[i]), 0);
			close(fd);
			s = attach();
			ck_assert_msg(s->shared, "%zu bytes: %s", sizes[i], s->why);
			ck_assert_uint_eq(s->mem->next_gen, 1);
			nb_segment_detach(s);
			unlink(file);
		}
}

TEST(another_version_in_use_is_left_alone)
{
	struct nb_segment *a = attach(), *b;

	a->mem->version = NB_SEG_VERSION + 1;
	b = attach();
	ck_assert(!b->shared);
	ck_assert_ptr_nonnull(strstr(b->why, "version"));
	nb_segment_detach(b);
	nb_segment_detach(a);
	/* its processes are gone: replaced */
	a = attach();
	ck_assert(a->shared);
	nb_segment_detach(a);
}

/* A process that cannot share the segment may not write files either (ulimit -f 0). */
TEST(another_version_is_left_alone_where_files_may_not_be_written)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct nb_segment *a = attach(), *b;
	int status;
	pid_t pid;

	a->mem->version = NB_SEG_VERSION + 1;
	pid = fork();
	if (!pid) {
		/* not attach(), because libcheck writes a file */
		setrlimit(RLIMIT_FSIZE, &none);
		_exit(nb_segment_attach(&b, dirfd, "j", 0, true, NULL) || b->shared);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	nb_segment_detach(a);
}

static pid_t orphan(int ready)
{
	pid_t pid = _Fork();

	if (!pid) {
		char one;

		(void)!read(ready, &one, 1); /* until the test closes it */
		_exit(0);
	}
	return pid;
}

/* A child that pthread_atfork does not see has its parent's lock. */
TEST(lock_held_by_a_child_does_not_keep_the_dead)
{
	struct nb_segment *a = attach();
	int ends[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(attach()->shared && orphan(ends[0]) > 0 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_eq(nb_segment_procs(a), 1);
	close(ends[0]);
	close(ends[1]);
	nb_segment_detach(a);
}

static void leave_marks(struct nb_segment *s)
{
	struct nb_seg_comm *c;
	uint32_t slot;

	s->mem->next_gen = 99;
	join(s, 5, 4, 0, &c, &slot, NULL);
	_exit(0); /* dies without a word */
}

TEST(segment_of_the_dead_is_reset)
{
	struct nb_segment *s;

	ck_assert_int_eq(in_child(leave_marks), 0);
	s = attach();
	ck_assert(s->shared);
	ck_assert_uint_eq(s->mem->next_gen, 1);
	ck_assert_uint_eq(s->mem->comm[0].in_use, 0);
	nb_segment_detach(s);
}

static void take_baseline(struct nb_segment *s)
{
	s->mem->baseline = 7;
	_exit(0);
}

/* An agent that outlives its job by a moment keeps the file. */
TEST(next_run_beside_a_living_agent_has_no_generation)
{
	struct nb_segment *agent, *a, *b;

	ck_assert_int_eq(nb_segment_attach(&agent, dirfd, "j", NB_SEG_PROC_AGENT, true, NULL), 0);
	ck_assert_uint_eq(agent->mem->agent.runs, 0);
	ck_assert_int_eq(in_child(take_baseline), 0);
	ck_assert_uint_eq(agent->mem->agent.runs, 1);
	ck_assert_uint_eq(agent->mem->baseline, 7);
	a = attach();
	ck_assert_uint_eq(agent->mem->agent.runs, 2);
	ck_assert_uint_eq(agent->mem->baseline, 0);
	agent->mem->baseline = 8;
	b = attach(); /* a process that joins the others */
	ck_assert_uint_eq(agent->mem->agent.runs, 2);
	ck_assert_uint_eq(agent->mem->baseline, 8);
	nb_segment_detach(b);
	nb_segment_detach(a);
	nb_segment_detach(agent);
}

/* A file must not grow beyond RLIMIT_FSIZE: who tries is killed. */
static void with_small_files(struct nb_segment *unused)
{
	const struct rlimit small = { 4096, 4096 };
	struct nb_segment *s;

	nb_segment_abandon(unused);
	unlink(file);
	if (setrlimit(RLIMIT_FSIZE, &small))
		_exit(1);
	s = attach();
	_exit(s->shared || !strstr(s->why, "reserve") ? 2 : 0);
}

static void without_room_for_rings(struct nb_segment *s)
{
	const struct rlimit small = { sizeof(struct nb_seg) + 8192, sizeof(struct nb_seg) + 8192 };
	struct nb_seg_comm *c;
	uint32_t slot;

	if (setrlimit(RLIMIT_FSIZE, &small) || join(s, 5, 4, 0, &c, &slot, NULL))
		_exit(1);
	_exit(nb_segment_ring(s, c, slot) ? 2 : 0);
}

TEST(files_that_may_not_grow_do_without)
{
	ck_assert_int_eq(in_child(with_small_files), 0);
	ck_assert_int_eq(in_child(without_room_for_rings), 0);
}

/* The same pid, begun at the same time, and yet not there any more. */
TEST(process_that_became_another_program_is_reaped)
{
	struct nb_segment *s = attach();
	int gone[2];
	char ch;
	pid_t pid;

	ck_assert_int_eq(pipe2(gone, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		nb_segment_abandon(s);
		attach();
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	close(gone[1]);
	ck_assert_int_eq(read(gone[0], &ch, 1), 0);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	/* its other files are closed right after that one */
	while (nb_segment_procs(s) > 1)
		usleep(1000);
	ck_assert_int_eq(nb_segment_lock(s, 5000, NULL), 0);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	ck_assert_uint_eq(s->mem->proc[1].pid, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	nb_segment_detach(s);
}

TEST(dead_process_is_reaped_and_the_living_stay)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *mine, *c;
	uint32_t slot;

	ck_assert_int_eq(join(s, 5, 4, 0, &mine, &slot, NULL), 0);
	ck_assert_int_eq(in_child(leave_marks), 0);
	ck_assert_uint_eq(s->mem->next_gen, 99);
	ck_assert_uint_eq(nb_seg_registered(mine), 2);
	nb_segment_lock(s, 1000, NULL);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	ck_assert_uint_eq(nb_segment_procs(s), 1);
	ck_assert_uint_eq(mine->slot[0].state, NB_SLOT_LIVE);
	ck_assert_uint_eq(mine->slot[1].state, NB_SLOT_GONE);
	/* the dead one's place in the communicator is not given away */
	ck_assert_int_eq(join(s, 5, 4, 0, &c, &slot, NULL), 0);
	ck_assert_ptr_eq(c, mine);
	ck_assert_uint_eq(slot, 2);
	nb_segment_detach(s);
}

TEST(reused_pid_is_another_process)
{
	uint64_t start = nb_process_start(getpid());

	ck_assert_uint_gt(start, 0);
	ck_assert(nb_process_alive((uint64_t)getpid(), start));
	ck_assert(!nb_process_alive((uint64_t)getpid(), start + 1));
	ck_assert(!nb_process_alive(0, 0));
	ck_assert(!nb_process_alive(UINT64_MAX, 0));
	ck_assert(!nb_process_alive((UINT64_C(1) << 32) + 1, 0));
}

/* Or nobody in another PID namespace would see the end of the process. */
TEST(entry_is_taken_with_its_lock)
{
	struct nb_segment *left = attach(), *stays = attach(), *next, *last;
	uint32_t was = left->proc, held = 2;
	struct flock lock = nb_seg_entry_lock(held);

	nb_segment_leave_job(left); /* its file stays open */
	next = attach();
	ck_assert_uint_eq(next->proc, was);
	ck_assert(next->mem->proc[was].flags & NB_SEG_PROC_LOCKED);
	/* an orphan holds the lock of a free entry */
	ck_assert_int_eq(fcntl(left->fd, F_OFD_SETLK, &lock), 0);
	last = attach();
	ck_assert_uint_eq(last->proc, held + 1);
	ck_assert(last->mem->proc[held + 1].flags & NB_SEG_PROC_LOCKED);
	nb_segment_abandon(left);
	nb_segment_detach(last);
	nb_segment_detach(next);
	nb_segment_detach(stays);
}

/* A pid of another PID namespace says nothing here; the entry's lock does. */
TEST(process_of_another_container_lives_while_its_file_is_open)
{
	struct nb_segment *s = attach();
	int ready[2], status;
	uint32_t other;
	pid_t pid;
	char ch;

	ck_assert_uint_gt(s->mem->proc[s->proc].ns, 0);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		nb_segment_abandon(s); /* as after_fork_child does */
		attach();
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	ck_assert_int_eq(read(ready[0], &ch, 1), 1);
	other = s->proc ? 0 : 1;
	ck_assert_uint_eq(s->mem->proc[other].pid, (uint64_t)pid);
	s->mem->proc[other].pid = INT_MAX; /* of nobody here */
	s->mem->proc[other].ns++;
	nb_segment_lock(s, 1000, NULL);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	ck_assert_uint_eq(s->mem->proc[other].pid, INT_MAX);
	ck_assert_uint_eq(nb_segment_procs(s), 2);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ck_assert_uint_eq(nb_segment_procs(s), 1);
	/* one that could not lock its entry: nobody here knows */
	s->mem->proc[other].flags &= ~(uint32_t)NB_SEG_PROC_LOCKED;
	ck_assert_uint_eq(nb_segment_procs(s), 2);
	s->mem->proc[other].flags |= NB_SEG_PROC_LOCKED;
	nb_segment_lock(s, 1000, NULL);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	ck_assert_uint_eq(s->mem->proc[other].pid, 0);
	nb_segment_detach(s);
}

/* All ranks count the same; the first to come finds what the others find. */
TEST(a_rank_that_has_not_registered_is_missing)
{
	struct nb_seg_comm c = { .has_id = 1, .nranks = 2, .nnodes = 1 };

	for (uint32_t here = 0; here < 3; here++) {
		c.mismatch = c.differs = 0;
		c.record.word = 0;
		for (uint32_t i = 0; i < here; i++)
			c.slot[i].state = i ? NB_SLOT_GONE : NB_SLOT_LIVE;
		nb_startup_count(&c);
		ck_assert_uint_eq(c.mismatch, here < 2);
		ck_assert_uint_eq(c.differs, here < 2 ? NB_DIFFER_MISSING : NB_DIFFER_NOT);
		ck_assert_uint_eq(c.record.word,
				  here < 2 ? nb_fence_word(NB_FENCE_COMMIT, 0, 0) : 0);
	}
	c.nranks = 3;
	c.nnodes = 2; /* the others may be on another host */
	nb_startup_count(&c);
	ck_assert_uint_eq(c.mismatch, 0);
}

TEST(file_systems_that_share_memory_are_known)
{
	static const unsigned local[] = {
		0x01021994, /* tmpfs */ 0x858458f6,	    /* ramfs */
		0xef53,	    /* ext2, 3 and 4 */ 0x58465342, /* xfs */
		0x9123683e, /* btrfs */ 0x794c7630,	    /* overlay */
	};
	static const unsigned other[] = {
		0x6969,	    /* nfs */ 0xff534d42,    /* cifs */
		0x0bd00bd0, /* lustre */ 0x65735546, /* FUSE, virtiofs */
		0x01021997, /* 9p */ 0x7461636f,     /* ocfs2 */
		0x01161970, /* gfs2 */ 0x12345678,   /* one of tomorrow */
	};

	for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		ck_assert_msg(nb_jobdir_shares_memory((int)local[i]), "0x%x", local[i]);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		ck_assert_msg(!nb_jobdir_shares_memory((int)other[i]), "0x%x", other[i]);
}

TEST(zombie_is_dead)
{
	pid_t pid = fork();
	uint64_t start;

	if (!pid) {
		pause();
		_exit(0);
	}
	start = nb_process_start(pid);
	ck_assert(nb_process_alive((uint64_t)pid, start));
	kill(pid, SIGKILL);
	for (int i = 0; i < 30000 && nb_process_alive((uint64_t)pid, start); i++)
		usleep(1000);
	ck_assert(!nb_process_alive((uint64_t)pid, start));
	waitpid(pid, NULL, 0);
}

static void die_with_lock(struct nb_segment *s)
{
	nb_segment_lock(s, 1000, NULL);
	_exit(0);
}

TEST(lock_of_the_dead_is_free_and_of_the_living_is_not)
{
	struct nb_segment *s = attach(), *other = attach();
	struct nb_err err = { 0 };

	ck_assert_int_eq(in_child(die_with_lock), 0);
	ck_assert_int_eq(nb_segment_lock(s, 1000, NULL), 0);
	ck_assert_int_eq(nb_segment_lock(other, 50, &err), NB_E_BUSY);
	ck_assert_uint_gt(strlen(err.text), 0);
	nb_segment_unlock(s);
	ck_assert_int_eq(nb_segment_lock(other, 1000, NULL), 0);
	nb_segment_unlock(other);
	nb_segment_detach(other);
	nb_segment_detach(s);
}

UNIT_MAIN_WITH("segment", tcase_add_checked_fixture(tc, set_up, tear_down);)
