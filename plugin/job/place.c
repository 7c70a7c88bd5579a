// SPDX-License-Identifier: MIT
/*
 * Chooses the job directory. Creating the segment there is the test whether the
 * directory has room and may be written.
 *
 * The processes of a job must meet in one directory, although each may find
 * another one usable: a disk may become full, or get room again, between two
 * starts. So a process first looks where a process of the job lives. If two
 * processes that start together find none and create segments in two
 * directories, each misses the ranks of the other, and their communicator
 * keeps NCCL's choices (nb_startup_count).
 *
 * A later directory may have a job of the same name that did not come from the
 * first one. The segment's place tells these jobs apart.
 */
#include "plugin/job/place.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "plugin/job/registry.h"

enum { NONE = -1 };

struct choice {
	const struct nb_jobdir_search *search;
	uint32_t flags;
	int first;	/* index of the first directory that can be used */
	uint64_t place; /* digest of the path where a shell looks first */
};

/*
 * Does our job live in directory @i? *@other: true if the directory holds
 * another job of the same name.
 */
static bool lives_in(const struct choice *c, int i, bool *other)
{
	const struct nb_jobdir_search quiet = { c->search->socket_dir, c->search->job, NULL, NULL };
	char name[NB_JOBDIR_JOB + 8];
	struct nb_jobdir dir;
	uint64_t place;
	bool lives;

	*other = false;
	if (!nb_jobdir_try(&quiet, (unsigned)i, false, &dir))
		return false;
	snprintf(name, sizeof(name), "%s.seg", dir.job);
	lives = nb_seg_file_used(dir.dirfd, name, &place);
	nb_jobdir_close(&dir);
	*other = lives && i != c->first && place != c->place;
	return lives && !*other;
}

/* Returns the first directory in which the job lives, or NONE. */
static int find_job(const struct choice *c)
{
	bool other;

	for (int i = c->first; i < NB_JOBDIR_CANDIDATES; i++)
		if (lives_in(c, i, &other))
			return i;
	return NONE;
}

/*
 * Attach in directory @i. Returns 1, 0 if the directory cannot be used, or
 * NB_E_NOMEM.
 */
static int attach_in(const struct choice *c, int i, struct nb_jobdir *dir, struct nb_segment **out,
		     struct nb_err *err)
{
	bool other;
	int rc;

	if (i != c->first && !lives_in(c, i, &other) && other) {
		nb_jobdir_try(c->search, (unsigned)i, false, dir);
		nb_jobdir_pass_over(c->search, dir->dir, "another job of the same name uses it");
		nb_jobdir_close(dir);
		return 0;
	}
	if (!nb_jobdir_try(c->search, (unsigned)i, true, dir))
		return 0;
	rc = nb_segment_attach_from(out, dir->dirfd, dir->job, c->place, c->flags, true, err);
	if (rc)
		return rc;
	/*
	 * Stop the search: the segment is shared, or other processes of the job
	 * share one here that this process cannot use.
	 */
	if ((*out)->shared || (*out)->stranger)
		return 1;
	nb_jobdir_pass_over(c->search, dir->dir, (*out)->why);
	nb_segment_detach(*out);
	*out = NULL;
	nb_jobdir_close(dir);
	return 0;
}

/* Returns 1 if it has attached, else as attach_in. */
static int meet(const struct choice *c, struct nb_jobdir *dir, struct nb_segment **out,
		struct nb_err *err)
{
	const int at = find_job(c);
	int rc = at >= 0 ? attach_in(c, at, dir, out, err) : 0;

	for (int i = c->first; !rc && i < NB_JOBDIR_CANDIDATES; i++)
		rc = attach_in(c, i, dir, out, err);
	return rc;
}

/*
 * Returns the job's place: of the directory that is set, though this process
 * may not be able to use it, because shells and other processes look for the
 * job by this name; else of the first directory that can be used.
 */
static uint64_t __attribute__((noinline)) place_of(const struct choice *c, const char *usable)
{
	const char *set = c->search->socket_dir;
	size_t n = strlen(set);
	char dir[PATH_MAX];

	if (!n || n >= sizeof(dir))
		return nb_seg_place(usable);
	memcpy(dir, set, n + 1);
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	return nb_seg_place(dir);
}

/* Find the first directory that can be used; the others are reported. */
static void choice_begin(struct choice *c, bool make)
{
	struct nb_jobdir dir;

	c->first = 0;
	while (c->first < NB_JOBDIR_CANDIDATES &&
	       !nb_jobdir_try(c->search, (unsigned)c->first, make, &dir))
		c->first++;
	c->place = place_of(c, dir.dir);
	nb_jobdir_close(&dir);
}

bool nb_place_find(const struct nb_jobdir_search *search, struct nb_jobdir *dir)
{
	struct choice c = { .search = search };
	int at;

	choice_begin(&c, false);
	at = find_job(&c);
	dir->dirfd = -1;
	return at >= 0 && nb_jobdir_try(search, (unsigned)at, false, dir);
}

int nb_place_open(const struct nb_jobdir_search *search, uint32_t flags, struct nb_jobdir *dir,
		  struct nb_segment **out, struct nb_err *dir_err, struct nb_err *err)
{
	const struct nb_jobdir_search quiet = { search->socket_dir, search->job, NULL, NULL };
	struct choice c = { .search = search, .flags = flags };
	int rc;

	*out = NULL;
	choice_begin(&c, true);
	rc = c.first < NB_JOBDIR_CANDIDATES ? meet(&c, dir, out, err) : 0;
	if (rc)
		return rc > 0 ? 0 : rc;
	/* no directory is usable, or none has room: private memory */
	(void)nb_jobdir_first(&quiet, dir, dir_err);
	return nb_segment_attach(out, dir->dirfd, dir->job, flags, true, err);
}
