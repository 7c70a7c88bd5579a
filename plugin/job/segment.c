// SPDX-License-Identifier: MIT
/*
 * The job segment: its file and mapping, its lock, the entries of processes,
 * and rings. Another process of the same user may write anything into it at any
 * time, so indices are checked on each use. A segment with a wrong header is
 * replaced by a new file. It is never truncated, because truncation would
 * remove pages from the mappings of other processes.
 */
#include "plugin/job/segment.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/file_limit.h"
#include "core/base/liveness.h"
#include "plugin/runtime/clock.h"

static_assert(sizeof(struct nb_seg_slot) == 64, "one cache line a rank");
static_assert(sizeof(struct nb_seg_record) == 64, "one cache line");
static_assert(sizeof(struct nb_seg_proc) == 128, "the same in all versions");
static_assert(offsetof(struct nb_seg, proc) == 64, "the same in all versions");
static_assert(sizeof(struct nb_seg) < 2 << 20, "small enough to reserve");

static uint32_t segment_load32(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void sleep_ms(long ms)
{
	nb_clock_sleep((uint64_t)ms * 1000000);
}

bool nb_segment_entry_alive(const struct nb_segment *s, uint32_t i, enum nb_care care)
{
	return nb_seg_entry_alive(s->fd, i, &s->mem->proc[i], s->ns, care);
}

/*
 * Returns a free entry, NB_SEG_PROCS if there is none. An entry whose lock
 * somebody still holds (an orphan of the process that had it) is taken last:
 * nobody in another PID namespace would see the end of this process.
 */
static uint32_t take_free(struct nb_segment *s, bool *locked)
{
	uint32_t first = NB_SEG_PROCS;

	*locked = false;
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++) {
		struct flock lock = nb_seg_entry_lock(i);

		if (s->mem->proc[i].pid)
			continue;
		*locked = s->fd >= 0 && !fcntl(s->fd, F_OFD_SETLK, &lock);
		if (*locked)
			return i;
		if (first == NB_SEG_PROCS)
			first = i;
	}
	return first;
}

bool nb_segment_enter(struct nb_segment *s, uint32_t flags)
{
	bool locked;
	uint32_t i = take_free(s, &locked);
	struct nb_seg_proc *p;

	if (i == NB_SEG_PROCS)
		return false;
	p = &s->mem->proc[i];
	memset(p, 0, sizeof(*p));
	p->flags = flags | (locked ? NB_SEG_PROC_LOCKED : 0);
	p->ns = s->ns;
	p->start = nb_process_start(getpid());
	p->token = nb_process_token();
	p->pid = (uint64_t)getpid();
	s->proc = i;
	return true;
}

uint32_t nb_seg_registered(const struct nb_seg_comm *comm)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < NB_SEG_SLOTS; i++)
		n += segment_load32(&comm->slot[i].state) != NB_SLOT_FREE;
	return n;
}

static uint64_t now_ms(void)
{
	return nb_clock_system() / 1000000;
}

/* Returns 0, ETIMEDOUT if another process has the lock, or flock's error. */
static int lock_file(int fd, uint64_t deadline)
{
	long wait = 1;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return errno;
		if (now_ms() >= deadline)
			return ETIMEDOUT;
		sleep_ms(wait);
		/* hundreds of processes may start at the same time */
		wait = wait < 8 ? wait * 2 : 8;
	}
	return 0;
}

/*
 * Lock a mutex with a deadline. ThreadSanitizer does not know
 * pthread_mutex_clocklock, so poll.
 */
static bool lock_threads(pthread_mutex_t *m, uint64_t deadline)
{
	while (pthread_mutex_trylock(m)) {
		if (now_ms() >= deadline)
			return false;
		sleep_ms(1);
	}
	return true;
}

int nb_segment_lock(struct nb_segment *s, uint32_t timeout_ms, struct nb_err *err)
{
	uint64_t deadline = now_ms() + timeout_ms;
	int rc;

	if (!lock_threads(&s->mutex, deadline))
		return nb_fail(
			err, NB_E_BUSY, 0,
			"another thread of this process holds the job segment for more than %u ms",
			timeout_ms);
	rc = s->fd < 0 ? 0 : lock_file(s->fd, deadline);
	if (!rc)
		return 0;
	pthread_mutex_unlock(&s->mutex);
	if (rc != ETIMEDOUT)
		return nb_fail(err, NB_E_IO, 0, "the job segment cannot be locked: %s",
			       strerror(rc));
	return nb_fail(err, NB_E_BUSY, 0,
		       "another process holds the job segment for more than %u ms", timeout_ms);
}

void nb_segment_unlock(struct nb_segment *s)
{
	if (s->fd >= 0)
		flock(s->fd, LOCK_UN);
	pthread_mutex_unlock(&s->mutex);
}

/*
 * Map the file. Ring pages are beyond the end of the file until a rank claims
 * them.
 */
static bool map_file(struct nb_segment *s, int fd)
{
	void *p = mmap(NULL, NB_SEG_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return false;
	s->mem = p;
	s->fd = fd;
	s->shared = true;
	return true;
}

static void say_why(struct nb_segment *s, const char *what, int error)
{
	snprintf(s->why, sizeof(s->why), "%s: %s", what, strerror(error));
}

static void fill_new(struct nb_seg *mem, uint64_t place)
{
	mem->place = place;
	mem->version = NB_SEG_VERSION;
	mem->size = sizeof(*mem);
	mem->next_gen = 1;
	__atomic_store_n(&mem->magic, NB_SEG_MAGIC, __ATOMIC_RELEASE);
}

/*
 * Allocate the file's pages now. Otherwise a full file system could cause a
 * SIGBUS later. Returns 0 or an errno.
 */
static int reserve_file(int fd, off_t at, size_t size)
{
	if (nb_past_file_limit(at, size))
		return EFBIG;
	return posix_fallocate(fd, at, (off_t)size);
}

/* Replace the existing file by a new one, which is locked. */
static bool create_file(struct nb_segment *s, int dirfd, const char *name)
{
	char fresh[160];
	int fd, rc;

	snprintf(fresh, sizeof(fresh), "%s.%ld", name, (long)getpid());
	unlinkat(dirfd, fresh, 0);
	fd = openat(dirfd, fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		say_why(s, "cannot make the segment file", errno);
		return false;
	}
	/* the umask may have removed bits of the mode */
	rc = fchmod(fd, 0600) ? errno : reserve_file(fd, 0, sizeof(struct nb_seg));
	if (rc || flock(fd, LOCK_EX | LOCK_NB) || !map_file(s, fd)) {
		say_why(s, "cannot reserve the segment file", rc ? rc : errno);
		goto fail;
	}
	fill_new(s->mem, s->place);
	if (renameat(dirfd, fresh, dirfd, name)) {
		say_why(s, "cannot rename the new segment file", errno);
		munmap(s->mem, NB_SEG_SPAN);
		s->mem = NULL;
		s->shared = false;
		s->fd = -1;
		goto fail;
	}
	return true;
fail:
	unlinkat(dirfd, fresh, 0);
	close(fd);
	return false;
}

/* Returns true if @name is still the name of the open file @fd. */
static bool still_there(int dirfd, const char *name, int fd)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(dirfd, name, &b, AT_SYMLINK_NOFOLLOW) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool segment_is_ours(int fd, struct stat *st)
{
	return !fstat(fd, st) && S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & 077);
}

/*
 * Limit for attaching, because hundreds of processes may start at the same time
 * on a few CPUs.
 */
enum { ATTACH_MS = 30000 };

/*
 * Try to use the existing file once. Returns 1 if it is mapped and locked, 0 if
 * another process has replaced it (try again), -1 if it cannot be used and
 * s->why says why.
 */
static int try_existing(struct nb_segment *s, int dirfd, const char *name, int fd)
{
	struct stat st;
	bool ok = false;
	int rc;

	if (!segment_is_ours(fd, &st)) {
		snprintf(s->why, sizeof(s->why), "%s is not a file of uid %u with mode 0600", name,
			 (unsigned)geteuid());
		close(fd);
		return -1;
	}
	rc = lock_file(fd, now_ms() + ATTACH_MS);
	if (rc) {
		if (rc != ETIMEDOUT)
			say_why(s, "cannot lock the segment file", rc);
		else
			snprintf(s->why, sizeof(s->why),
				 "%s is locked by another process for more than %d ms", name,
				 ATTACH_MS);
		s->stranger = true;
		close(fd);
		return -1;
	}
	if (!still_there(dirfd, name, fd)) {
		close(fd);
		return 0;
	}
	switch (nb_seg_use_of(fd)) {
	case NB_SEG_USED:
		ok = map_file(s, fd);
		if (!ok)
			say_why(s, "cannot map the segment", errno);
		break;
	/*
	 * keep the old file's lock until the new file has its name, so that two
	 * processes cannot replace the file at the same time
	 */
	case NB_SEG_UNUSED:
		ok = create_file(s, dirfd, name);
		close(fd);
		return ok ? 1 : -1;
	case NB_SEG_FOREIGN:
	case NB_SEG_UNKNOWN:
		s->stranger = true;
		snprintf(s->why, sizeof(s->why),
			 "%s is in use by processes with another version of ncclbpf (allowed: "
			 "segment version %d)",
			 name, NB_SEG_VERSION);
		break;
	}
	if (!ok)
		close(fd);
	return ok ? 1 : -1;
}

/*
 * Map and lock the file. Returns false if it cannot be used, and s->why says
 * why.
 */
static bool open_shared(struct nb_segment *s, int dirfd, const char *name)
{
	for (int i = 0; i < 16; i++) {
		int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		int rc;

		if (fd < 0 && errno == ENOENT) {
			/*
			 * create an empty file first, so that processes that
			 * start together wait for the same lock
			 */
			fd = openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
			if (fd >= 0)
				(void)fchmod(fd, 0600);
		}
		if (fd < 0 && errno == EACCES && i < 15) {
			/*
			 * the creator's umask may deny access until the fchmod
			 * above: try again
			 */
			sleep_ms(1);
			continue;
		}
		if (fd < 0) {
			say_why(s, "cannot open the segment file", errno);
			return false;
		}
		rc = try_existing(s, dirfd, name, fd);
		if (rc)
			return rc > 0;
	}
	snprintf(s->why, sizeof(s->why), "another process replaced %s at each attempt", name);
	return false;
}

static bool open_private(struct nb_segment *s)
{
	void *p = mmap(NULL, sizeof(struct nb_seg), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	s->mem = p;
	s->fd = -1;
	s->shared = false;
	fill_new(s->mem, s->place);
	return true;
}

static bool register_membarrier(void)
{
	long cmds = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return cmds > 0 && (cmds & MEMBARRIER_CMD_GLOBAL_EXPEDITED) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

bool nb_segment_membarrier(void)
{
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

static int fail_memory(struct nb_err *err)
{
	return nb_fail(err, NB_E_NOMEM, 0, "no memory for the job segment (%zu bytes)",
		       sizeof(struct nb_seg));
}

static void unmap_segment(struct nb_segment *s)
{
	if (s->mem)
		munmap(s->mem, s->shared ? NB_SEG_SPAN : sizeof(struct nb_seg));
	if (s->fd >= 0)
		close(s->fd); /* closing the file releases its lock */
	if (s->dirfd >= 0)
		close(s->dirfd);
	s->mem = NULL;
	s->fd = s->dirfd = -1;
}

void nb_segment_abandon(struct nb_segment *s)
{
	if (!s)
		return;
	unmap_segment(s); /* the parent's descriptor keeps the parent's lock */
	free(s);
}

int nb_segment_open(struct nb_segment **out, int dirfd, const char *job, uint64_t place,
		    bool membarrier, struct nb_err *err)
{
	struct nb_segment *s = calloc(1, sizeof(*s));

	*out = NULL;
	if (!s)
		return nb_fail(err, NB_E_NOMEM, 0, "no memory for the job segment's handle");
	pthread_mutex_init(&s->mutex, NULL);
	s->fd = -1;
	s->place = place;
	s->ns = nb_pid_namespace();
	s->proc = NB_SEG_PROCS; /* not registered yet */
	s->dirfd = dirfd < 0 ? -1 : fcntl(dirfd, F_DUPFD_CLOEXEC, 0);
	s->membarrier = membarrier && register_membarrier();
	snprintf(s->name, sizeof(s->name), "%s.seg", job);
	if (dirfd < 0)
		snprintf(s->why, sizeof(s->why), "there is no directory for the segment");
	if ((dirfd >= 0 && open_shared(s, dirfd, s->name)) || open_private(s)) {
		*out = s;
		return 0;
	}
	nb_segment_abandon(s);
	return fail_memory(err);
}

void nb_segment_opened(struct nb_segment *s)
{
	if (s->fd >= 0)
		flock(s->fd, LOCK_UN);
}

int nb_segment_full(struct nb_segment *s, struct nb_err *err)
{
	snprintf(s->why, sizeof(s->why), "%s has no room for another process (%d are registered)",
		 s->name, NB_SEG_PROCS);
	s->stranger = true;
	unmap_segment(s);
	return open_private(s) ? 0 : fail_memory(err);
}

void nb_segment_remove_if_last(const struct nb_segment *s)
{
	size_t stem = strlen(s->name) - strlen(".seg");
	char mailbox[sizeof(s->name) + 8];

	if (!s->shared)
		return;
	for (uint32_t i = 0; i < NB_SEG_PROCS; i++)
		if (s->mem->proc[i].pid)
			return;
	if (!still_there(s->dirfd, s->name, s->fd))
		return;
	unlinkat(s->dirfd, s->name, 0);
	/* also remove the controllers' mailbox in the same directory */
	snprintf(mailbox, sizeof(mailbox), "%.*s.loop", (int)stem, s->name);
	unlinkat(s->dirfd, mailbox, 0);
}

/*
 * Describe the segment for core/job/segment. Pages beyond the file's end are
 * mapped, but must not be accessed.
 */
struct nb_job nb_segment_job(const struct nb_segment *s)
{
	struct nb_job job = { s->mem, sizeof(*s->mem), NULL };
	struct stat st;

	if (s->shared && !fstat(s->fd, &st) && (uint64_t)st.st_size > sizeof(*s->mem))
		job.size = (uint64_t)st.st_size < NB_SEG_SPAN ? (size_t)st.st_size : NB_SEG_SPAN;
	return job;
}

/* Returns true if the rank that used the ring last is still registered. */
static bool ring_wanted(const struct nb_seg *mem, uint32_t ring)
{
	uint32_t owner = mem->ring_owner[ring] - 1;
	const struct nb_seg_comm *c = &mem->comm[owner / NB_SEG_SLOTS % NB_SEG_COMMS];

	return segment_load32(&c->in_use) && c->slot[owner % NB_SEG_SLOTS].ring == ring + 1;
}

/* Returns an unused ring, else the first one whose rank has ended, or -1. */
static int find_ring(const struct nb_seg *mem)
{
	int left = -1;

	for (int i = 0; i < NB_SEG_RINGS; i++) {
		if (!mem->ring_owner[i])
			return left >= 0 ? left : i;
		if (left < 0 && !ring_wanted(mem, (uint32_t)i))
			left = i;
	}
	return left;
}

struct nb_packed *nb_segment_ring(struct nb_segment *s, struct nb_seg_comm *comm, uint32_t slot)
{
	uint32_t index = (uint32_t)(comm - s->mem->comm);
	struct nb_packed *ring;
	off_t at;
	int i;

	if (!s->shared)
		return NULL;
	i = find_ring(s->mem);
	if (i < 0)
		return NULL;
	at = (off_t)(NB_SEG_RINGS_AT + (uint64_t)i * NB_SEG_RING_SIZE);
	if (reserve_file(s->fd, at, NB_SEG_RING_SIZE))
		return NULL;
	ring = (struct nb_packed *)(void *)((char *)s->mem + at);
	memset(ring, 0, NB_SEG_RING_SIZE);
	s->mem->ring_owner[i] = index * NB_SEG_SLOTS + slot + 1;
	comm->slot[slot].ring = (uint32_t)i + 1;
	return ring;
}
