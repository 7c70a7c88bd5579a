// SPDX-License-Identifier: MIT
/*
 * Finds and removes segments that no living process uses. A process that starts
 * may be about to use one: it waits for the file's lock, and then checks that
 * the file still has its name. So a segment is removed with its lock held.
 */
#include "core/job/segment/leftover.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/job/segment/alive.h"

/* NAME: buffer size for the longest "<job>.seg". MAKING_S: age in seconds from which an unfinished
 * segment ("<job>.seg.<digits>") counts as a leftover. */
enum { NAME = 80, MAKING_S = 60 };

struct leftover {
	char name[NAME];
	uint64_t bytes;
	time_t written;
	ino_t inode;
	bool unfinished;
};

struct list {
	struct leftover *at;
	size_t n, room;
};

/*
 * Returns the length of the job's name in "<job>.seg", or in "<job>.seg.<pid>",
 * which a process left that was killed while it created its segment. Otherwise
 * returns 0.
 */
static size_t job_in(const char *name, bool *unfinished)
{
	const char *dot = strchr(name, '.');
	size_t digits;

	if (!dot || strlen(name) >= NAME || strncmp(dot, ".seg", 4) != 0)
		return 0;
	digits = dot[4] == '.' ? strspn(dot + 5, "0123456789") : 0;
	*unfinished = digits && !dot[5 + digits];
	return !dot[4] || *unfinished ? (size_t)(dot - name) : 0;
}

bool nb_is_segment(int dirfd, const char *name, bool unfinished)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t magic = 0;
	ssize_t n = fd >= 0 ? pread(fd, &magic, sizeof(magic), 0) : -1;

	if (fd >= 0)
		close(fd);
	return !n ||
	       (n == (ssize_t)sizeof(magic) && (magic == NB_SEG_MAGIC || (unfinished && !magic)));
}

static bool add_file(struct list *l, int dirfd, const char *name, bool unfinished, time_t now)
{
	struct leftover *more;
	struct stat st;
	uint64_t place;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    (unfinished && now < st.st_mtim.tv_sec + MAKING_S) ||
	    !nb_is_segment(dirfd, name, unfinished) || nb_seg_file_used(dirfd, name, &place))
		return true;
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		more = realloc(l->at, l->room * sizeof(*more));
		if (!more)
			return false;
		l->at = more;
	}
	l->at[l->n] = (struct leftover){ .bytes = (uint64_t)st.st_blocks * 512,
					 .written = st.st_mtim.tv_sec,
					 .inode = st.st_ino,
					 .unfinished = unfinished };
	/* job_in has seen that it fits */
	memcpy(l->at[l->n++].name, name, strnlen(name, NAME - 1) + 1);
	return true;
}

static void list_files(struct list *l, int dirfd, const char *job, time_t now)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *e;
	bool unfinished;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		const size_t n = job_in(e->d_name, &unfinished);

		if (n && (!job || (n == strlen(job) && !memcmp(e->d_name, job, n))) &&
		    !add_file(l, dirfd, e->d_name, unfinished, now))
			break;
	}
	if (d)
		closedir(d);
}

static int newest_first(const void *a, const void *b)
{
	const struct leftover *x = a, *y = b;

	if (x->written != y->written)
		return x->written < y->written ? 1 : -1;
	return strcmp(x->name, y->name);
}

/*
 * Remove the segment, unless a process has begun to use it. Its job's mailbox
 * goes first: while the segment has its name and we hold its lock, no process
 * can have made a mailbox for a new one. An unfinished segment has no mailbox,
 * although its job may live in another segment and have one.
 */
static bool remove_file(int dirfd, const struct leftover *l)
{
	int fd = openat(dirfd, l->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char mailbox[NAME + 8];
	struct stat st;
	bool gone;

	if (fd < 0)
		return false;
	gone = !flock(fd, LOCK_EX | LOCK_NB) &&
	       !fstatat(dirfd, l->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == l->inode &&
	       nb_seg_use_of(fd) == NB_SEG_UNUSED;
	if (gone && !l->unfinished) {
		snprintf(mailbox, sizeof(mailbox), "%.*s.loop", (int)strcspn(l->name, "."),
			 l->name);
		unlinkat(dirfd, mailbox, 0);
	}
	gone = gone && !unlinkat(dirfd, l->name, 0);
	close(fd);
	return gone;
}

struct nb_leftovers nb_leftovers(int dirfd, uint32_t keep, uint64_t age_s, const char *job)
{
	struct nb_leftovers sums = { 0 };
	struct list l = { NULL, 0, 0 };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	list_files(&l, dirfd, job, now.tv_sec);
	if (l.n)
		qsort(l.at, l.n, sizeof(*l.at), newest_first);
	for (size_t i = 0; i < l.n; i++) {
		const struct leftover *f = &l.at[i];
		const uint64_t age =
			f->written < now.tv_sec ? (uint64_t)(now.tv_sec - f->written) : 0;

		sums.n++;
		sums.bytes += f->bytes;
		if ((i < keep && age <= age_s) || !remove_file(dirfd, f))
			continue;
		sums.removed++;
		sums.removed_bytes += f->bytes;
	}
	free(l.at);
	return sums;
}
