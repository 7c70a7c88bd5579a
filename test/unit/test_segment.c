// SPDX-License-Identifier: MIT
// The job segment: who may use it, what becomes of the dead, and that nothing
// a neighbour writes into it can crash a job.
#include "test/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/begin.h"
#include "plugin/fence.h"
#include "plugin/record.h"
#include "plugin/place.h"
#include "plugin/segment.h"

static char path[64], file[96];
static int dirfd = -1;

static void set_up(void)
{
	strcpy(path, "/tmp/nbsegXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dirfd, 0);
	snprintf(file, sizeof(file), "%s/j.seg", path);
}

static void tear_down(void)
{
	unlink(file);
	close(dirfd);
	ck_assert_int_eq(rmdir(path), 0); /* nothing else was left behind */
}

static struct nb_segment *attach(void)
{
	struct nb_segment *s;

	ck_assert_int_eq(nb_segment_attach(&s, dirfd, "j", 0, true, NULL), 0);
	return s;
}

static int join(struct nb_segment *s, uint64_t id, uint32_t n, uint32_t first,
		struct nb_seg_comm **c, uint32_t *slot, struct nb_err *err)
{
	int rc;

	ck_assert_int_eq(nb_segment_lock(s, 1000, NULL), 0);
	rc = nb_segment_join(s, true, id, n, 1, first, c, slot, err);
	nb_segment_unlock(s);
	return rc;
}

static uint32_t number(struct nb_segment *s, int byte)
{
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t n;

	memset(digest, byte, sizeof(digest));
	ck_assert_int_eq(nb_segment_gen(s, digest, false, &n, NULL), 0);
	return n;
}

/* In a child: attach and run @fn; its exit status. */
static int in_child(void (*fn)(struct nb_segment *))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct nb_segment *s = attach();

		fn(s);
		nb_segment_detach(s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

START_TEST(file_is_private_and_shared)
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
END_TEST

START_TEST(no_directory_means_private_memory)
{
	struct nb_segment *s;

	ck_assert_int_eq(nb_segment_attach(&s, -1, "j", 0, true, NULL), 0);
	ck_assert(!s->shared);
	ck_assert_uint_gt(strlen(s->why), 0);
	ck_assert_int_eq(nb_segment_lock(s, 100, NULL), 0);
	nb_segment_unlock(s);
	nb_segment_detach(s);
}
END_TEST

static void refuse(const char *what)
{
	struct nb_segment *s = attach();

	ck_assert_msg(!s->shared, "%s", what);
	ck_assert_uint_gt(strlen(s->why), 0);
	nb_segment_detach(s);
}

START_TEST(files_that_are_not_ours_are_left_alone)
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
END_TEST

START_TEST(garbage_is_replaced)
{
	static const size_t sizes[] = { 0,     1,      64,
					65536, 100000, sizeof(struct nb_seg) };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int fill = 0; fill < 2; fill++) {
			int fd = open(file, O_CREAT | O_TRUNC | O_RDWR, 0600);
			char block[4096];
			struct nb_segment *s;

			memset(block, fill ? 0xff : 'x', sizeof(block));
			for (size_t n = 0; n < sizes[i]; n += sizeof(block))
				ck_assert_int_gt(
					write(fd, block, sizeof(block)), 0);
			ck_assert_int_eq(ftruncate(fd, (off_t)sizes[i]), 0);
			close(fd);
			s = attach();
			ck_assert_msg(s->shared, "%zu bytes: %s", sizes[i],
				      s->why);
			ck_assert_uint_eq(s->mem->next_gen, 1);
			nb_segment_detach(s);
			unlink(file);
		}
}
END_TEST

START_TEST(another_version_in_use_is_left_alone)
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
END_TEST

/* Who uses another version keeps all others from deciding by policies; in
 * another container its pid does not say that it died. */
START_TEST(stranger_of_another_container_cannot_be_told_dead)
{
	const struct nb_seg_comm c = { .has_id = 1, .nranks = 2 };
	struct nb_segment *a = attach(), *b;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	a->mem->version = NB_SEG_VERSION + 1;
	b = attach();
	ck_assert_int_eq(nb_begin_apart(a, &c), NB_DIFFER_STRANGER);
	ck_assert_uint_eq(a->mem->stranger_ns, a->mem->proc[a->proc].ns);
	a->mem->stranger = (uint64_t)pid;
	ck_assert_int_eq(nb_begin_apart(a, &c), NB_DIFFER_NOT);
	a->mem->stranger_ns++;
	ck_assert_int_eq(nb_begin_apart(a, &c), NB_DIFFER_STRANGER);
	nb_segment_detach(b);
	nb_segment_detach(a);
}
END_TEST

static void nothing(struct nb_segment *s)
{
	ck_assert(s->stranger);
}

/* Two of another version at once: the death of the second, whose pid is the
 * one written down, does not hide the first. */
START_TEST(strangers_do_not_hide_each_other)
{
	const struct nb_seg_comm c = { .has_id = 1, .nranks = 2 };
	struct nb_segment *a = attach(), *b;

	a->mem->version = NB_SEG_VERSION + 1;
	ck_assert_int_eq(in_child(nothing), 0);
	ck_assert_int_eq(in_child(nothing), 0); /* after the other's death */
	ck_assert_int_eq(nb_begin_apart(a, &c), NB_DIFFER_NOT);
	b = attach();
	ck_assert_int_eq(in_child(nothing), 0); /* and while b lives */
	ck_assert_int_eq(nb_begin_apart(a, &c), NB_DIFFER_STRANGER);
	nb_segment_detach(b);
	nb_segment_detach(a);
}
END_TEST

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
START_TEST(lock_held_by_a_child_does_not_keep_the_dead)
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
END_TEST

static void leave_marks(struct nb_segment *s)
{
	struct nb_seg_comm *c;
	uint32_t slot;

	s->mem->next_gen = 99;
	join(s, 5, 4, 0, &c, &slot, NULL);
	_exit(0); /* dies without a word */
}

START_TEST(segment_of_the_dead_is_reset)
{
	struct nb_segment *s;

	ck_assert_int_eq(in_child(leave_marks), 0);
	s = attach();
	ck_assert(s->shared);
	ck_assert_uint_eq(s->mem->next_gen, 1);
	ck_assert_uint_eq(s->mem->comm[0].in_use, 0);
	nb_segment_detach(s);
}
END_TEST

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
	const struct rlimit small = { sizeof(struct nb_seg) + 8192,
				      sizeof(struct nb_seg) + 8192 };
	struct nb_seg_comm *c;
	uint32_t slot;

	if (setrlimit(RLIMIT_FSIZE, &small) ||
	    join(s, 5, 4, 0, &c, &slot, NULL))
		_exit(1);
	_exit(nb_segment_ring(s, c, slot) ? 2 : 0);
}

START_TEST(files_that_may_not_grow_do_without)
{
	ck_assert_int_eq(in_child(with_small_files), 0);
	ck_assert_int_eq(in_child(without_room_for_rings), 0);
}
END_TEST

/* The same pid, begun at the same time, and yet not there any more. */
START_TEST(process_that_became_another_program_is_reaped)
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
END_TEST

START_TEST(dead_process_is_reaped_and_the_living_stay)
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
END_TEST

START_TEST(reused_pid_is_another_process)
{
	uint64_t start = nb_process_start(getpid());

	ck_assert_uint_gt(start, 0);
	ck_assert(nb_process_alive((uint64_t)getpid(), start));
	ck_assert(!nb_process_alive((uint64_t)getpid(), start + 1));
	ck_assert(!nb_process_alive(0, 0));
	ck_assert(!nb_process_alive(UINT64_MAX, 0));
	ck_assert(!nb_process_alive((UINT64_C(1) << 32) + 1, 0));
}
END_TEST

/* A pid of another PID namespace says nothing here; the entry's lock does. */
START_TEST(process_of_another_container_lives_while_its_file_is_open)
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
	nb_segment_lock(s, 1000, NULL);
	nb_segment_reap(s);
	nb_segment_unlock(s);
	ck_assert_uint_eq(s->mem->proc[other].pid, 0);
	nb_segment_detach(s);
}
END_TEST

START_TEST(network_file_systems_are_known)
{
	struct statfs fs;

	ck_assert(nb_place_network(0x6969));
	ck_assert(nb_place_network((int)0xff534d42));
	ck_assert(nb_place_network(0x0bd00bd0));
	ck_assert_int_eq(statfs("/tmp", &fs), 0);
	ck_assert(!nb_place_network((long)fs.f_type));
	ck_assert(!nb_place_network(0x01021994)); /* tmpfs */
}
END_TEST

START_TEST(zombie_is_dead)
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
	for (int i = 0; i < 30000 && nb_process_alive((uint64_t)pid, start);
	     i++)
		usleep(1000);
	ck_assert(!nb_process_alive((uint64_t)pid, start));
	waitpid(pid, NULL, 0);
}
END_TEST

static void die_with_lock(struct nb_segment *s)
{
	nb_segment_lock(s, 1000, NULL);
	_exit(0);
}

START_TEST(lock_of_the_dead_is_free_and_of_the_living_is_not)
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
END_TEST

START_TEST(ranks_find_their_communicator)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *a, *b, *c;
	uint32_t sa, sb, sc;

	ck_assert_int_eq(join(s, 7, 2, 0, &a, &sa, NULL), 0);
	ck_assert_int_eq(join(s, 7, 2, 0, &b, &sb, NULL), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_ne(sa, sb);
	/* complete: a third rank of that id is of another communicator */
	ck_assert_int_eq(join(s, 7, 2, 0, &c, &sc, NULL), 0);
	ck_assert_ptr_ne(a, c);
	nb_segment_lock(s, 1000, NULL);
	nb_segment_leave(s, a, sa);
	ck_assert_uint_eq(a->in_use, 1);
	nb_segment_leave(s, b, sb);
	ck_assert_uint_eq(a->in_use, 0);
	nb_segment_unlock(s);
	nb_segment_detach(s);
}
END_TEST

START_TEST(ranks_that_begin_differently_use_no_policy)
{
	struct nb_segment *s = attach();
	uint32_t one = number(s, 1), two = number(s, 2);
	struct nb_seg_comm *a, *b;
	uint32_t slot;

	ck_assert_uint_ne(one, two);
	ck_assert_uint_eq(number(s, 1), one);
	ck_assert_uint_eq(number(s, 0), 0);
	ck_assert_int_eq(join(s, 7, 2, one, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->record.word, 0);
	ck_assert_int_eq(join(s, 7, 2, two, &b, &slot, NULL), 0);
	ck_assert_ptr_eq(a, b);
	ck_assert_uint_eq(a->mismatch, 1);
	ck_assert_uint_eq(a->record.word, nb_fence_word(NB_FENCE_COMMIT, 0, 0));
	nb_segment_detach(s);
}
END_TEST

/* A process may ask a tuner for one communicator and not for the next. */
START_TEST(settings_of_a_communicator_are_its_own)
{
	struct nb_segment *s = attach();
	uint32_t *mine = s->mem->proc[s->proc].setting, slot;
	struct nb_seg_comm *a, *b;

	mine[NB_SETTING_CHAIN_TUNER] = 1;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	mine[NB_SETTING_CHAIN_TUNER] = 0;
	ck_assert_int_eq(join(s, 8, 2, 0, &b, &slot, NULL), 0);
	/* one that began as the first did */
	mine[NB_SETTING_CHAIN_TUNER] = 1;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->mismatch, 0);
	/* and one that did not, though its process last began like that */
	mine[NB_SETTING_CHAIN_TUNER] = 0;
	ck_assert_int_eq(join(s, 7, 3, 0, &a, &slot, NULL), 0);
	ck_assert_uint_eq(a->mismatch, 1);
	ck_assert_uint_eq(a->differs,
			  NB_DIFFER_SETTING + NB_SETTING_CHAIN_TUNER);
	ck_assert_int_eq(join(s, 8, 2, 0, &b, &slot, NULL), 0);
	ck_assert_uint_eq(b->mismatch, 0);
	nb_segment_detach(s);
}
END_TEST

START_TEST(everything_has_a_bound)
{
	struct nb_segment *s = attach();
	struct nb_err err = { 0 };
	struct nb_seg_comm *c;
	uint32_t slot, n;
	uint8_t digest[NB_SHA256_SIZE] = { 1 };

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		ck_assert_int_eq(join(s, 1, 1000, 0, &c, &slot, NULL), 0);
	for (uint64_t i = 1; i < NB_SEG_COMMS; i++)
		ck_assert_int_eq(join(s, i + 1, 2, 0, &c, &slot, NULL), 0);
	ck_assert_int_eq(join(s, 1, 1000, 0, &c, &slot, &err), NB_E_LIMIT);
	ck_assert_int_eq(join(s, 5000, 2, 0, &c, &slot, &err), NB_E_LIMIT);
	ck_assert_ptr_null(c);
	s->mem->next_gen = NB_FENCE_MAX_GEN;
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, NULL), 0);
	ck_assert_int_eq(nb_segment_gen(s, digest, true, &n, &err), NB_E_LIMIT);
	nb_segment_detach(s);
}
END_TEST

START_TEST(old_generation_numbers_are_forgotten)
{
	struct nb_segment *s = attach();
	uint8_t digest[NB_SHA256_SIZE] = { 1 }, have[NB_SHA256_SIZE];
	uint32_t first, n = 0;

	ck_assert_int_eq(nb_segment_gen(s, digest, true, &first, NULL), 0);
	ck_assert(nb_segment_digest(s, first, have));
	ck_assert_mem_eq(have, digest, sizeof(have));
	for (int i = 0; i < NB_SEG_GENS; i++) {
		digest[1] = (uint8_t)i;
		nb_segment_gen(s, digest, true, &n, NULL);
	}
	ck_assert(!nb_segment_digest(s, first, have));
	ck_assert(nb_segment_digest(s, n, have));
	ck_assert(nb_segment_digest(s, 0, have));
	nb_segment_detach(s);
}
END_TEST

/* A rank that comes to its fence after many more numbers were given, or a
 * process that looks for the baseline, finds what it needs. */
START_TEST(numbers_that_are_wanted_are_not_forgotten)
{
	struct nb_segment *s = attach();
	uint8_t digest[NB_SHA256_SIZE] = { 1 }, have[NB_SHA256_SIZE];
	uint32_t first, fenced, baseline, slot, n = 0;
	struct nb_seg_comm *c;

	nb_segment_gen(s, digest, true, &first, NULL);
	digest[0] = 2;
	nb_segment_gen(s, digest, true, &fenced, NULL);
	digest[0] = 3;
	nb_segment_gen(s, digest, true, &baseline, NULL);
	ck_assert_int_eq(join(s, 5, 1, first, &c, &slot, NULL), 0);
	c->record.word = nb_fence_word(NB_FENCE_COMMIT, fenced, 9);
	s->mem->baseline = baseline;
	for (int i = 0; i < 3 * NB_SEG_GENS; i++) {
		digest[1] = (uint8_t)(i + 1);
		nb_segment_gen(s, digest, true, &n, NULL);
	}
	ck_assert_uint_gt(n, 3 * NB_SEG_GENS);
	ck_assert(nb_segment_digest(s, first, have));
	ck_assert_uint_eq(have[0], 1);
	ck_assert(nb_segment_digest(s, fenced, have));
	ck_assert_uint_eq(have[0], 2);
	ck_assert(nb_segment_digest(s, baseline, have));
	ck_assert_uint_eq(have[0], 3);
	nb_segment_detach(s);
}
END_TEST

/* A neighbour writes anything anywhere, time and again, while we work. */
START_TEST(hostile_contents_do_not_crash)
{
	struct nb_segment *s = attach();
	uint64_t x = 88172645463325252u;

	for (int round = 0; round < 60; round++) {
		uint64_t *words = (uint64_t *)s->mem;
		struct nb_seg_comm *c = NULL;
		struct nb_fence_opts opts = { .margin = 64,
					      .timeout_ms = 1,
					      .idle = round & 1,
					      .once = round % 3 == 0 };
		struct nb_fence_result r;
		uint32_t slot, n;
		uint8_t digest[NB_SHA256_SIZE];

		for (size_t i = 0; i < sizeof(*s->mem) / 8; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			/* pids stay out of it: reaping asks the kernel */
			if (i * 8 >= offsetof(struct nb_seg, gen) ||
			    i * 8 < offsetof(struct nb_seg, proc))
				words[i] = round % 3 ? x : x & 3;
		}
		ck_assert_int_eq(nb_segment_lock(s, 1000, NULL), 0);
		nb_segment_reap(s);
		nb_segment_gen(s, digest, round & 1, &n, NULL);
		if (!nb_segment_join(s, true, x, 2, 1, (uint32_t)x, &c, &slot,
				     NULL))
			nb_segment_leave(s, c, slot);
		for (int i = 0; i < NB_SEG_COMMS; i += 50) {
			const struct nb_record record =
				nb_record_here(s, &s->mem->comm[i], true);

			nb_fence_recover(&record);
			nb_fence_commit(&record, 1, &opts, &r);
			nb_seg_registered(&s->mem->comm[i]);
			nb_fence_passed(&record, x);
			nb_segment_leave(s, &s->mem->comm[i], (uint32_t)x);
		}
		nb_segment_digest(s, (uint32_t)x, digest);
		nb_segment_unlock(s);
	}
	nb_segment_detach(s);
}
END_TEST

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FULL_HOUSE = 64 };
#else
enum { FULL_HOUSE = NB_SEG_PROCS };
#endif

/* What a process does until its first decision may come. */
static char register_rank(int index)
{
	struct nb_segment *s = attach();
	struct nb_seg_comm *c;
	uint32_t slot;

	if (!s->shared || nb_segment_lock(s, 30000, NULL))
		return 'a';
	if (nb_segment_join(s, true, 1 + (uint64_t)(index / 64), 64, 1, 0, &c,
			    &slot, NULL))
		return 'j';
	nb_segment_ring(s, c, slot);
	nb_segment_unlock(s);
	return 'y';
}

/* As many as there is room for, on however few CPUs: all have a place. */
START_TEST(a_full_house_starts_at_once)
{
	static pid_t pid[FULL_HOUSE];
	int ready[2], go[2], end[2];
	uint32_t told[128] = { 0 };
	char c;

	ck_assert_int_eq(pipe(ready) | pipe(go) | pipe(end), 0);
	for (int i = 0; i < FULL_HOUSE; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		close(go[1]);
		close(end[1]);
		if (read(go[0], &c, 1) < 0)
			_exit(2);
		c = register_rank(i);
		if (write(ready[1], &c, 1) != 1 || read(end[0], &c, 1) < 0)
			_exit(2);
		_exit(0);
	}
	close(go[1]);
	for (int i = 0; i < FULL_HOUSE; i++) {
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
		told[c & 127]++;
	}
	close(end[1]);
	for (int i = 0; i < FULL_HOUSE; i++)
		waitpid(pid[i], NULL, 0);
	ck_assert_uint_eq(told['y'], FULL_HOUSE);
}
END_TEST

/* Many start at once, as ranks do: one segment comes of it. */
START_TEST(processes_that_start_at_once_share_one_segment)
{
	enum { N = 16 };
	struct nb_segment *s;
	int ready[2], go[2];
	pid_t pid[N];
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	ck_assert_int_eq(pipe(go), 0);
	for (int i = 0; i < N; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			s = attach();
			if (write(ready[1], s->shared ? "y" : "n", 1) != 1)
				_exit(2);
			close(go[1]);
			if (read(go[0], &c, 1) < 0)
				_exit(2);
			nb_segment_detach(s);
			_exit(0);
		}
	}
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
		ck_assert_int_eq(c, 'y');
	}
	s = attach();
	ck_assert_uint_eq(nb_segment_procs(s), N + 1);
	close(go[1]);
	for (int i = 0; i < N; i++)
		waitpid(pid[i], NULL, 0);
	ck_assert_uint_eq(nb_segment_procs(s), 1);
	nb_segment_detach(s);
}
END_TEST

UNIT_MAIN("segment", tcase_add_checked_fixture(tc, set_up, tear_down);
	  tcase_add_test(tc, file_is_private_and_shared);
	  tcase_add_test(tc, no_directory_means_private_memory);
	  tcase_add_test(tc, files_that_are_not_ours_are_left_alone);
	  tcase_add_test(tc, garbage_is_replaced);
	  tcase_add_test(tc, another_version_in_use_is_left_alone);
	  tcase_add_test(tc, segment_of_the_dead_is_reset);
	  tcase_add_test(tc, process_that_became_another_program_is_reaped);
	  tcase_add_test(tc, files_that_may_not_grow_do_without);
	  tcase_add_test(tc, dead_process_is_reaped_and_the_living_stay);
	  tcase_add_test(tc, reused_pid_is_another_process); tcase_add_test(
		  tc,
		  process_of_another_container_lives_while_its_file_is_open);
	  tcase_add_test(tc, stranger_of_another_container_cannot_be_told_dead);
	  tcase_add_test(tc, strangers_do_not_hide_each_other);
	  tcase_add_test(tc, lock_held_by_a_child_does_not_keep_the_dead);
	  tcase_add_test(tc, network_file_systems_are_known);
	  tcase_add_test(tc, zombie_is_dead);
	  tcase_add_test(tc, lock_of_the_dead_is_free_and_of_the_living_is_not);
	  tcase_add_test(tc, ranks_find_their_communicator);
	  tcase_add_test(tc, ranks_that_begin_differently_use_no_policy);
	  tcase_add_test(tc, settings_of_a_communicator_are_its_own);
	  tcase_add_test(tc, everything_has_a_bound);
	  tcase_add_test(tc, old_generation_numbers_are_forgotten);
	  tcase_add_test(tc, numbers_that_are_wanted_are_not_forgotten);
	  tcase_add_test(tc, hostile_contents_do_not_crash);
	  tcase_add_test(tc, processes_that_start_at_once_share_one_segment);
	  tcase_add_test(tc, a_full_house_starts_at_once);)
