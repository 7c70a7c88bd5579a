// SPDX-License-Identifier: MIT
/*
 * The room for NCCL's profiler pools. Pools that are not taken yet may use at
 * most half of what a limit leaves: the other half is for NCCL's own buffers,
 * for the application, and for versions whose pools are larger.
 */
#include "plugin/profiler/pools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "plugin/runtime/log.h"
#include "plugin/runtime/nccl.h"
#include "plugin/runtime/relaxed.h"
#include "plugin/runtime/room.h"

#define POOL_PREFIX "ncclbpf-pools-"
#define MIB (UINT64_C(1) << 20)
/* Size of a pool of NCCL 2.28.9 with its 64 channels, in whole pages. */
#define SIZE_OF_64 UINT64_C(34213888)
/* The pools may use 1/POOL_SHARE of the space or memory that is left. */
#define POOL_SHARE 2

enum {
	POOL_FILES = 4, /* descriptors of one pool and its connection */
	/* descriptors that must be left beside the pools' */
	FILES_KEPT = 128,
	MOST_POOLS = 1 << 20, /* a larger announcement counts as this many */
	/*
	 * attempts to allocate a pool: kernels may undo one at a signal, and
	 * each one if the application has a fast timer
	 */
	POOL_ATTEMPTS = 32,
	UNWRITTEN_SECONDS = 60
};

/* A limit that refused pools; the log has one warning for each. */
enum pool_limit {
	LIMIT_COMMS,
	LIMIT_FILE_SIZE,
	LIMIT_DESCRIPTORS,
	LIMIT_THREADS,
	LIMIT_MEMORY,
	LIMIT_SHM,
	LIMIT_SYSTEM
};

const char *nb_pools_dir = "/dev/shm";

/* What the pools have to fit into, and all pools that are announced. */
struct pools_room {
	uint64_t announced;
	struct nb_room memory;
	struct statvfs shm;
	int shm_error; /* an errno, or 0 */
};

static struct {
	bool absent; /* this version of NCCL has no pools */
	/* pools that our file announces; accessed atomically */
	unsigned announced;
	int fd; /* our file, or -1 */
	char path[128];
	uint32_t warned; /* bit set of enum pool_limit */
	/*
	 * pools that are announced are compared again. NCCL may have taken them
	 * already, and a refusal that lasts a tick is not worth a warning.
	 */
	bool keeping;
	struct nb_err why;
	/* the result of nb_pools_look; protected by seen_lock */
	struct pools_room seen;
	bool has_seen;
	pthread_mutex_t seen_lock;
} pools = { .fd = -1, .seen_lock = PTHREAD_MUTEX_INITIALIZER };

void nb_pools_version(int version)
{
	/* it is not known whether RCCL of 2.31 has pools */
	__atomic_store_n(&pools.absent, version >= 23100 && !nb_nccl_is_rccl(), __ATOMIC_RELAXED);
}

unsigned nb_pools_announced(void)
{
	return GET(pools.announced);
}

void nb_pools_why(struct nb_err *err)
{
	*err = pools.why;
}

/* Returns the size of a pool, which has entries for each channel: RCCL's is twice NCCL's. */
static uint64_t pool_size(void)
{
	return SIZE_OF_64 * (nb_nccl_channels() / 64);
}

static uint64_t in_mib(uint64_t bytes)
{
	return bytes / MIB;
}

/* Returns bytes in MiB, rounded up. */
static uint64_t whole_mib(uint64_t bytes)
{
	return (bytes + MIB - 1) / MIB;
}

/*
 * Note why pools are refused; @err has the text. Returns false, for the caller
 * to return.
 */
static bool refuse(enum pool_limit limit, const struct nb_err *err)
{
	pools.why = *err;
	if (pools.keeping)
		return false;
	if (!(pools.warned >> limit & 1))
		nb_log_err("profiler", err);
	pools.warned |= UINT32_C(1) << limit;
	return false;
}

/* ---- announcements ---- */

static int set_lock(int fd, int command, struct flock *l)
{
	*l = (struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET };
	return fcntl(fd, command, l);
}

static bool write_number(unsigned n)
{
	char text[32];
	int size = snprintf(text, sizeof(text), "%u\n", n);

	return pwrite(pools.fd, text, (size_t)size, 0) == size && !ftruncate(pools.fd, size);
}

/* Make our file. Its lock shows other processes that we live. */
static bool open_ours(void)
{
	struct flock l;

	snprintf(pools.path, sizeof(pools.path), "%s/" POOL_PREFIX "XXXXXX", nb_pools_dir);
	pools.fd = mkostemp(pools.path, O_CLOEXEC);
	if (pools.fd < 0)
		return false;
	/* other users' jobs in the same /dev/shm must read it */
	if (!fchmod(pools.fd, 0644) && !set_lock(pools.fd, F_OFD_SETLK, &l))
		return true;
	nb_pools_end();
	return false;
}

static bool announce(unsigned n)
{
	if (n && pools.fd < 0 && !open_ours())
		return false;
	if (pools.fd >= 0 && !write_number(n)) {
		if (!pools.announced)
			nb_pools_end();
		return false;
	}
	SET(pools.announced, n);
	return true;
}

void nb_pools_shrink(unsigned here)
{
	if (here >= pools.announced)
		return;
	if (!here || !announce(here))
		nb_pools_end();
}

/* What was seen before the pools were announced says nothing about them. */
static void forget_seen(void)
{
	pthread_mutex_lock(&pools.seen_lock);
	pools.has_seen = false;
	pthread_mutex_unlock(&pools.seen_lock);
}

void nb_pools_end(void)
{
	int saved = errno;

	if (pools.fd >= 0) {
		unlink(pools.path);
		close(pools.fd);
	}
	pools.fd = -1;
	SET(pools.announced, 0);
	forget_seen();
	errno = saved;
}

void nb_pools_forked(void)
{
	if (pools.fd >= 0)
		close(pools.fd);
	pools.fd = -1;
	SET(pools.announced, 0);
	pthread_mutex_init(&pools.seen_lock, NULL);
	pools.has_seen = false;
}

/* Returns what a file announces, and deletes a file of a dead process. */
static uint64_t read_announcement(int dir, const char *name)
{
	char text[32] = "";
	struct flock l;
	struct stat st;
	uint64_t n = 0;
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	(void)!pread(fd, text, sizeof(text) - 1, 0);
	n = strtoull(text, NULL, 10);
	if (set_lock(fd, F_OFD_GETLK, &l) || l.l_type != F_UNLCK)
		goto out;
	/* an empty file may be new: a process locks it, then writes to it */
	if (st.st_size || time(NULL) - st.st_ctime > UNWRITTEN_SECONDS)
		(void)!unlinkat(dir, name, 0);
	n = 0;
out:
	close(fd);
	return n < MOST_POOLS ? n : MOST_POOLS;
}

/* Returns the pools that all living processes have announced. */
static uint64_t all_announced(void)
{
	DIR *d = opendir(nb_pools_dir);
	struct dirent *e;
	uint64_t n = 0;

	if (!d)
		return GET(pools.announced);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, POOL_PREFIX, sizeof(POOL_PREFIX) - 1))
			n += read_announcement(dirfd(d), e->d_name);
	closedir(d);
	return n;
}

/* ---- the limits ---- */

/* Returns how messages name the part that must be left. */
static const char *margin(unsigned share)
{
	return share > 1 ? " with a margin as large" : "";
}

static bool fits_file_size(void)
{
	struct rlimit limit;
	struct nb_err err;

	if (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    limit.rlim_cur >= POOL_SHARE * pool_size())
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: this process may write files of %llu MiB (ulimit -f), "
		"and NCCL needs one of %llu MiB a rank with a margin as large",
		(unsigned long long)in_mib(limit.rlim_cur),
		(unsigned long long)whole_mib(pool_size()));
	nb_hint(&err, "start the job with ulimit -f unlimited");
	return refuse(LIMIT_FILE_SIZE, &err);
}

static bool fits_descriptors(const struct nb_pools_want *want)
{
	uint64_t need = (uint64_t)want->here * POOL_FILES + FILES_KEPT;
	struct nb_room room;
	struct nb_err err;

	nb_room_descriptors("", &room);
	if (room.left >= need)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: %s leaves %llu of %llu descriptors, and %llu must be left: "
		"NCCL needs %d a rank",
		room.limit, (unsigned long long)room.left, (unsigned long long)room.all,
		(unsigned long long)need, POOL_FILES);
	nb_hint(&err, "start the job with a larger ulimit -n");
	return refuse(LIMIT_DESCRIPTORS, &err);
}

static bool fits_threads(const struct nb_pools_want *want)
{
	uint64_t need = (uint64_t)want->host + NB_ROOM_THREADS_KEPT;
	struct nb_room room;
	struct nb_err err;

	nb_room_threads("", &room);
	if (room.left >= need)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: %s leaves %llu of %llu threads, and %llu must be left: "
		"NCCL starts one a rank",
		room.limit, (unsigned long long)room.left, (unsigned long long)room.all,
		(unsigned long long)need);
	nb_hint(&err, "raise that limit (docker run --pids-limit)");
	return refuse(LIMIT_THREADS, &err);
}

static bool fits_memory(const struct nb_room *room, uint64_t need, unsigned share)
{
	struct nb_err err;

	if (room->left / share >= need)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: %s leaves %llu of %llu MiB, and NCCL needs %llu MiB a rank: "
		"%llu MiB%s",
		room->limit, (unsigned long long)in_mib(room->left),
		(unsigned long long)in_mib(room->all), (unsigned long long)whole_mib(pool_size()),
		(unsigned long long)whole_mib(share * need), margin(share));
	nb_hint(&err, "raise that limit (docker run -m)");
	return refuse(LIMIT_MEMORY, &err);
}

/* Returns a size of /dev/shm that suffices, in GiB. */
static uint64_t enough_gib(uint64_t used, uint64_t need)
{
	uint64_t gib = 1;

	while (gib << 30 < used + POOL_SHARE * need)
		gib *= 2;
	return gib;
}

static bool fits_shm(const struct pools_room *r, uint64_t need, unsigned share)
{
	const struct statvfs *fs = &r->shm;
	struct nb_err err;
	uint64_t all, left;

	if (r->shm_error) {
		nb_fail(&err, NB_E_FULL, 0,
			"no GPU times: /dev/shm, where NCCL needs %llu MiB a rank: %s",
			(unsigned long long)whole_mib(pool_size()), strerror(r->shm_error));
		nb_hint(&err, "mount a tmpfs there");
		return refuse(LIMIT_SHM, &err);
	}
	all = (uint64_t)fs->f_blocks * fs->f_frsize;
	left = (uint64_t)fs->f_bavail * fs->f_frsize;
	/* statvfs reports 0 blocks for a tmpfs without a size limit */
	if (!all || left / share >= need)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: /dev/shm has %llu of %llu MiB left, and NCCL needs "
		"%llu MiB a rank: %llu MiB%s",
		(unsigned long long)in_mib(left), (unsigned long long)in_mib(all),
		(unsigned long long)whole_mib(pool_size()),
		(unsigned long long)whole_mib(share * need), margin(share));
	nb_hint(&err,
		"give the container --shm-size=%llug, in Kubernetes an emptyDir of medium "
		"Memory at /dev/shm",
		(unsigned long long)enough_gib(all - left, need));
	return refuse(LIMIT_SHM, &err);
}

/* Create, allocate and map a file as NCCL does. Returns 0 or an errno. */
static int try_pool(unsigned pools_here)
{
	const size_t size = pool_size(), mapped = (size_t)pools_here * 2 * POOL_SHARE * size;
	char path[128];
	int fd, rc = 0;
	void *p;

	snprintf(path, sizeof(path), "%s/nccl-XXXXXX", nb_pools_dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return errno;
	unlink(path);
	for (int n = 0; fallocate(fd, 0, 0, (off_t)size);) {
		rc = errno;
		if (rc != EINTR || ++n == POOL_ATTEMPTS)
			goto out;
		rc = 0;
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		rc = errno;
		goto out;
	}
	munmap(p, size);
	/* address space alone */
	p = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		rc = errno;
	else
		munmap(p, mapped);
out:
	close(fd);
	return rc;
}

static bool fits_system(const struct nb_pools_want *want)
{
	struct nb_err err;
	int rc = try_pool(want->here);

	if (!rc)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: cannot allocate and map a file of %llu MiB in /dev/shm, which NCCL "
		"needs for each rank: %s",
		(unsigned long long)whole_mib(pool_size()), strerror(rc));
	nb_hint(&err, "mount a tmpfs there that this user may write to");
	return refuse(LIMIT_SYSTEM, &err);
}

static void look(struct pools_room *r)
{
	r->announced = all_announced();
	nb_room_memory("", &r->memory);
	r->shm_error = statvfs(nb_pools_dir, &r->shm) ? errno : 0;
}

void nb_pools_look(void)
{
	struct pools_room r;

	look(&r);
	pthread_mutex_lock(&pools.seen_lock);
	pools.seen = r;
	pools.has_seen = true;
	pthread_mutex_unlock(&pools.seen_lock);
}

/*
 * Returns true if all announced pools, or @least pools if that is more, fit
 * into 1/@share of the space and memory that is left.
 */
static bool fits_in(const struct pools_room *r, unsigned least, unsigned share)
{
	uint64_t n = r->announced > least ? r->announced : least;
	uint64_t need = n * pool_size();

	return fits_shm(r, need, share) && fits_memory(&r->memory, need, share);
}

static bool fits(unsigned least)
{
	struct pools_room r;

	look(&r);
	return fits_in(&r, least, POOL_SHARE);
}

/* The application may have filled /dev/shm since the pools were announced. */
static bool still_fit(void)
{
	struct pools_room r;
	bool known, fit;

	pthread_mutex_lock(&pools.seen_lock);
	known = pools.has_seen;
	r = pools.seen;
	pthread_mutex_unlock(&pools.seen_lock);
	pools.keeping = true;
	fit = !known || fits_in(&r, 0, 1);
	pools.keeping = false;
	return fit;
}

static bool sees_all(unsigned unseen)
{
	struct nb_err err;

	if (!unseen)
		return true;
	nb_fail(&err, NB_E_FULL, 0,
		"no GPU times: the profiler's table of communicators is full, and NCCL "
		"would allocate %llu MiB of /dev/shm for each rank of %u communicators "
		"that are not in it",
		(unsigned long long)whole_mib(pool_size()), unseen);
	nb_hint(&err, "destroy communicators that are not used any more");
	return refuse(LIMIT_COMMS, &err);
}

bool nb_pools_take(const struct nb_pools_want *want)
{
	unsigned before = pools.announced;

	if (!__atomic_load_n(&pools.absent, __ATOMIC_RELAXED) && !sees_all(want->unseen))
		return false;
	if (want->here <= before)
		return !before || still_fit();
	/* NCCL without pools still starts a thread for each communicator */
	if (!fits_threads(want))
		return false;
	if (__atomic_load_n(&pools.absent, __ATOMIC_RELAXED))
		return true;
	/* first check limits that would end this process in the attempt */
	if (!fits_file_size() || !fits_descriptors(want) || !fits(want->host) ||
	    (!before && !fits_system(want)))
		return false;
	if (!announce(want->here)) {
		struct nb_err err;

		nb_fail(&err, NB_E_FULL, 0, "no GPU times: a file in /dev/shm: %s",
			strerror(errno));
		return refuse(LIMIT_SYSTEM, &err);
	}
	if (fits(want->host))
		return true;
	if (before)
		announce(before);
	else
		nb_pools_end();
	return false;
}
