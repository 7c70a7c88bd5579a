// SPDX-License-Identifier: MIT
/*
 * Finds out which processes of a segment are alive, by the locks that they hold
 * on its file. Nothing is written, so it also works for the segment of a job
 * that has ended, or of another version.
 */
#include "core/job/segment/alive.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/liveness.h"

struct flock nb_seg_entry_lock(uint32_t i)
{
	return (struct flock){
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(offsetof(struct nb_seg, proc) + i * sizeof(struct nb_seg_proc)),
		.l_len = sizeof(struct nb_seg_proc),
	};
}

bool nb_seg_entry_alive(int fd, uint32_t i, const struct nb_seg_proc *p, uint64_t ns,
			enum nb_care care)
{
	struct flock lock = nb_seg_entry_lock(i);
	bool known;

	if (!p->pid)
		return false;
	known = fd >= 0 && !fcntl(fd, F_OFD_GETLK, &lock);
	/*
	 * A child made without fork handlers may hold a dead process's lock, so
	 * check the PID, too. Do not compare start times: if a living process
	 * counted as dead, ranks would diverge.
	 */
	if (known && (p->flags & NB_SEG_PROC_LOCKED))
		return lock.l_type != F_UNLCK &&
		       (care == NB_QUICK || p->ns != ns || nb_process_alive(p->pid, 0));
	/*
	 * Nobody can tell that a process of another PID namespace is dead if it
	 * never held its lock: say that it lives.
	 */
	return (p->ns != ns && fd >= 0) || nb_process_alive(p->pid, p->start);
}

/* Returns true if a process is alive whose flags have none of @but. */
static bool any_alive(int fd, const struct nb_seg_proc *proc, uint32_t but)
{
	const uint64_t ns = nb_pid_namespace();

	for (uint32_t i = 0; i < NB_SEG_PROCS; i++)
		if (!(proc[i].flags & but) && nb_seg_entry_alive(fd, i, &proc[i], ns, NB_THOROUGH))
			return true;
	return false;
}

/* As nb_seg_use_of, without processes whose flags have one of @but. */
static enum nb_seg_use use_without(int fd, uint32_t but)
{
	enum { SIZE = sizeof(((struct nb_seg *)0)->proc) };
	struct {
		uint64_t magic;
		uint32_t version, size;
	} head;
	struct nb_seg_proc *proc;
	enum nb_seg_use use = NB_SEG_UNUSED;
	struct stat st;

	if (fstat(fd, &st) || st.st_size < (off_t)offsetof(struct nb_seg, gen) ||
	    pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    head.magic != NB_SEG_MAGIC)
		return NB_SEG_UNUSED;
	proc = malloc(SIZE);
	if (!proc)
		return NB_SEG_UNKNOWN;
	if (pread(fd, proc, SIZE, offsetof(struct nb_seg, proc)) == SIZE &&
	    any_alive(fd, proc, but))
		use = head.version == NB_SEG_VERSION && head.size == sizeof(struct nb_seg) &&
				      st.st_size >= (off_t)sizeof(struct nb_seg)
			      ? NB_SEG_USED
			      : NB_SEG_FOREIGN;
	free(proc);
	return use;
}

enum nb_seg_use nb_seg_use_of(int fd)
{
	return use_without(fd, 0);
}

bool nb_seg_has_job(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool has = fd >= 0 && use_without(fd, NB_SEG_PROC_AGENT) != NB_SEG_UNUSED;

	if (fd >= 0)
		close(fd);
	return has;
}

bool nb_seg_file_used(int dirfd, const char *name, uint64_t *place)
{
	int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	enum nb_seg_use use;
	struct stat st;

	*place = 0;
	if (fd < 0)
		return false;
	use = !fstat(fd, &st) && S_ISREG(st.st_mode) ? nb_seg_use_of(fd) : NB_SEG_UNUSED;
	if (use != NB_SEG_USED || pread(fd, place, sizeof(*place),
					offsetof(struct nb_seg, place)) != (ssize_t)sizeof(*place))
		*place = 0;
	close(fd);
	return use != NB_SEG_UNUSED;
}
