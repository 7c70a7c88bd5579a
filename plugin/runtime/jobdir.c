// SPDX-License-Identifier: MIT
/*
 * The job directory. Other users may write to its parents (/tmp), so it is
 * opened without following a link and checked through its descriptor, which is
 * used from then on. An attacker cannot exchange the directory after the check.
 */
#include "plugin/runtime/jobdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/runtime/clock.h"

/* age of a socket, in seconds, at which its process surely listens */
enum { STARTING_S = 10 };
/* seconds in which a directory that was made has its mode */
enum { MAKING_S = 2 };

/* A candidate that is tried. */
struct attempt {
	const struct nb_jobdir_search *search;
	struct nb_jobdir *place;
	bool make;  /* create the directory if it is missing */
	bool quiet; /* do not report a missing parent, which is common */
};

void nb_jobdir_pass_over(const struct nb_jobdir_search *s, const char *dir, const char *why)
{
	char line[640];

	if (!s->say)
		return;
	snprintf(line, sizeof(line), "control directory %.300s: %s", dir, why);
	s->say(s->arg, line);
}

static void pass_over(const struct attempt *t, const char *dir, const char *why)
{
	nb_jobdir_pass_over(t->search, dir, why);
}

/*
 * Returns true if only processes of this kernel can map files of this file
 * system type. Other file systems may be shared between hosts: PIDs and sockets
 * of other hosts look dead here, and a mapping may differ from the file. FUSE
 * and virtiofs cannot be told apart by their type.
 */
bool nb_jobdir_shares_memory(long type)
{
	static const unsigned long types[] = {
		TMPFS_MAGIC,
		RAMFS_MAGIC,
		EXT4_SUPER_MAGIC,
		XFS_SUPER_MAGIC,
		BTRFS_SUPER_MAGIC,
		F2FS_SUPER_MAGIC,
		OVERLAYFS_SUPER_MAGIC,
		0x2fc12fc1, /* ZFS, by its magic number */
		0xca451a4e, /* bcachefs, by its magic number */
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (((unsigned long)type & 0xffffffff) == types[i])
			return true;
	return false;
}

/* Returns why the open directory cannot be used, or NULL if it can be used. */
static const char *why_unfit(int fd, char *text, size_t size)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st)) {
		snprintf(text, size, "cannot be read: %s", strerror(errno));
		return text;
	}
	if (!nb_jobdir_shares_memory((long)fs.f_type)) {
		snprintf(text, size,
			 "file system type 0x%lx may be shared with other hosts; tmpfs, ext4, "
			 "xfs, btrfs, f2fs, zfs, bcachefs and overlay are known to be local",
			 (unsigned long)fs.f_type & 0xffffffff);
		return text;
	}
	if (st.st_uid != geteuid()) {
		snprintf(text, size, "belongs to uid %u, not to uid %u", (unsigned)st.st_uid,
			 (unsigned)geteuid());
		return text;
	}
	if (st.st_mode & 077) {
		snprintf(text, size, "mode %04o gives others access; 0700 is required",
			 (unsigned)st.st_mode & 07777);
		return text;
	}
	return NULL;
}

/*
 * Returns the length of the longest name of a socket, with its slash. All ranks
 * use this limit, so they choose the same directory. Linux has PIDs up to 2^22
 * and namespaces' numbers below 2^32.
 */
static size_t longest_name(const struct nb_jobdir *p)
{
	return strlen(p->job) + sizeof("/.9999999.4294967295.4194304.sock") - 1;
}

/*
 * Give the directory that we have just made mode 0700, which the umask may have
 * reduced. A directory without it would block this user's later jobs.
 */
static bool set_mode(const char *dir)
{
	int fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[40];
	struct stat st;
	bool fine;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fine = !fstat(fd, &st) && st.st_uid == geteuid() &&
	       ((st.st_mode & 07777) == 0700 || !chmod(path, 0700));
	close(fd);
	return fine;
}

static bool make_dir(const struct attempt *t, const char *dir)
{
	char text[240];

	if (!mkdir(dir, 0700)) {
		if (set_mode(dir))
			return true;
		rmdir(dir);
		errno = EACCES;
	}
	if (errno == EEXIST)
		return true;
	snprintf(text, sizeof(text), "cannot be made: %s", strerror(errno));
	if (!t->quiet || errno != ENOENT)
		pass_over(t, dir, text);
	return false;
}

/*
 * Another process of the job may have just made the directory, and not yet
 * given it its mode (set_mode). One that passed it over would be alone.
 */
static void await_mode(const char *dir)
{
	struct stat st;

	for (int n = 0; n < MAKING_S * 1000; n++) {
		if (lstat(dir, &st) || st.st_uid != geteuid() || (st.st_mode & 0700) == 0700 ||
		    time(NULL) > st.st_ctime + MAKING_S)
			return;
		nb_clock_sleep(1000000);
	}
}

/* Returns an open directory, or -1. */
static int jobdir_open_dir(const struct attempt *t, const char *dir)
{
	char text[240];
	struct stat st;
	int fd;

	await_mode(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 || (errno == ENOENT && !t->make))
		return fd;
	if (errno == ELOOP || errno == ENOTDIR)
		snprintf(text, sizeof(text),
			 "cannot be opened: "
			 "the path is a link, or not a directory");
	else if (errno == EACCES && !lstat(dir, &st) && st.st_uid == geteuid())
		snprintf(text, sizeof(text), "mode %04o denies its owner access; 0700 is required",
			 (unsigned)st.st_mode & 07777);
	else
		snprintf(text, sizeof(text), "cannot be opened: %s", strerror(errno));
	pass_over(t, dir, text);
	return -1;
}

/* Try to use directory @dir. */
static bool try_dir(const struct attempt *t, const char *dir)
{
	struct nb_jobdir *p = t->place;
	size_t n = strlen(dir);
	char text[240];
	const char *why;
	int fd;

	if (!n || dir[0] != '/' || n >= sizeof(p->dir)) {
		pass_over(t, dir, n < sizeof(p->dir) ? "is not an absolute path" : "is too long");
		return false;
	}
	memcpy(p->dir, dir, n + 1);
	/* remove trailing slashes, which would make open follow a link */
	while (n > 1 && p->dir[n - 1] == '/')
		p->dir[--n] = '\0';
	if (n + longest_name(p) > NB_JOBDIR_SUN - 1) {
		snprintf(text, sizeof(text),
			 "%zu bytes are too long for socket addresses: job %s allows %zu", n,
			 p->job, NB_JOBDIR_SUN - 1 - longest_name(p));
		pass_over(t, p->dir, text);
		return false;
	}
	if (t->make && !make_dir(t, p->dir))
		return false;
	fd = jobdir_open_dir(t, p->dir);
	if (fd < 0)
		return false;
	why = why_unfit(fd, text, sizeof(text));
	if (why) {
		pass_over(t, p->dir, why);
		close(fd);
		return false;
	}
	/* systemd-tmpfiles does not remove a locked directory and its files */
	(void)flock(fd, LOCK_SH | LOCK_NB);
	p->dirfd = fd;
	return true;
}

/*
 * Write the path of candidate @i. XDG_RUNTIME_DIR is none of them, because it
 * disappears at logout, and ranks that start later would not share a segment
 * with running ranks.
 */
static bool candidate(const struct nb_jobdir_search *s, unsigned i, char dir[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");
	unsigned uid = (unsigned)geteuid();
	int n = 0;

	switch (i) {
	case 0:
		n = snprintf(dir, PATH_MAX, "%s", s->socket_dir);
		break;
	case 1:
		n = snprintf(dir, PATH_MAX, "/run/ncclbpf/%u", uid);
		break;
	case 2:
		n = snprintf(dir, PATH_MAX, "%s/ncclbpf-%u", tmp && tmp[0] ? tmp : "/tmp", uid);
		break;
	case 3:
		n = snprintf(dir, PATH_MAX, "/dev/shm/ncclbpf-%u", uid);
		break;
	}
	return n > 0 && n < PATH_MAX;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static void name_job(struct nb_jobdir *p, const char *job)
{
	static const char *const vars[] = { "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID",
					    "PMIX_NAMESPACE" };
	size_t n;

	for (size_t i = 0; !job[0] && i < sizeof(vars) / sizeof(vars[0]); i++) {
		const char *v = getenv(vars[i]);

		job = v ? v : "";
	}
	if (!job[0])
		job = "local";
	for (n = 0; job[n] && n + 1 < sizeof(p->job); n++)
		p->job[n] = is_plain(job[n]) ? job[n] : '_';
	p->job[n] = '\0';
}

/*
 * Returns the value of the first variable of @vars that contains a number, or
 * -1. @vars ends with NULL.
 */
static int first_number(const char *const *vars)
{
	for (; *vars; vars++) {
		const char *v = getenv(*vars);
		size_t n = v ? strspn(v, "0123456789") : 0;

		if (n && n <= 7 && !v[n])
			return (int)strtol(v, NULL, 10);
	}
	return -1;
}

static void name_rank(struct nb_jobdir *p)
{
	static const char *const rank[] = {
		"RANK",	     "SLURM_PROCID",	     "OMPI_COMM_WORLD_RANK",
		"PMIX_RANK", "JOB_COMPLETION_INDEX", NULL
	};
	static const char *const ranks[] = { "WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE",
					     NULL };

	p->rank = first_number(rank);
	p->ranks = first_number(ranks);
}

bool nb_jobdir_try(const struct nb_jobdir_search *s, unsigned i, bool make, struct nb_jobdir *out)
{
	const struct attempt t = { s, out, make, i == 1 };
	char dir[PATH_MAX];

	memset(out, 0, sizeof(*out));
	out->dirfd = -1;
	name_job(out, s->job);
	name_rank(out);
	if (candidate(s, i, dir) && try_dir(&t, dir))
		return true;
	out->dir[0] = '\0';
	return false;
}

int nb_jobdir_first(const struct nb_jobdir_search *s, struct nb_jobdir *out, struct nb_err *err)
{
	unsigned uid = (unsigned)geteuid();

	for (unsigned i = 0; i < NB_JOBDIR_CANDIDATES; i++)
		if (nb_jobdir_try(s, i, true, out))
			return 0;
	nb_fail(err, NB_E_IO, 0,
		"no directory for the control socket: NCCLBPF_SOCKET_DIR, "
		"/run/ncclbpf/%u, TMPDIR/ncclbpf-%u and /dev/shm/ncclbpf-%u cannot be used",
		uid, uid, uid);
	return nb_hint(err,
		       "set NCCLBPF_SOCKET_DIR to a short local directory of yours with mode 0700");
}

int nb_jobdir_open(struct nb_jobdir *out, const char *socket_dir, const char *job,
		   nb_jobdir_say_fn *say, void *arg, struct nb_err *err)
{
	const struct nb_jobdir_search s = { socket_dir, job, say, arg };

	return nb_jobdir_first(&s, out, err);
}

int nb_jobdir_again(const struct nb_jobdir *p, struct nb_err *err)
{
	const struct nb_jobdir_search s = { "", "", NULL, NULL };
	struct nb_jobdir made = *p;
	const struct attempt t = { &s, &made, true, false };
	struct stat have, named;
	bool fine;

	if (!fstat(p->dirfd, &have) && !lstat(p->dir, &named) && have.st_dev == named.st_dev &&
	    have.st_ino == named.st_ino)
		return 0;
	fine = try_dir(&t, p->dir);
	if (fine) {
		fine = dup3(made.dirfd, p->dirfd, O_CLOEXEC) >= 0;
		close(made.dirfd);
	}
	return fine ? 0
		    : nb_fail(err, NB_E_IO, 0, "job directory %s cannot be created again", p->dir);
}

void nb_jobdir_close(struct nb_jobdir *p)
{
	if (p->dir[0] && p->dirfd >= 0)
		close(p->dirfd);
	p->dirfd = -1;
	p->dir[0] = '\0';
}

bool nb_jobdir_address(const struct nb_jobdir *p, const char *name, char *path)
{
	int n = snprintf(path, NB_JOBDIR_SUN, "%s/%s", p->dir, name);

	return n > 0 && n < NB_JOBDIR_SUN;
}

int nb_jobdir_served(const struct nb_jobdir *p, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, rc;

	if (!nb_jobdir_address(p, name, a.sun_path))
		return 1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 1;
	rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
	rc = !rc ? 1 : errno == ENOENT ? -1 : errno == ECONNREFUSED ? 0 : 1;
	close(fd);
	return rc;
}

void nb_jobdir_name(const struct nb_jobdir *p, const struct nb_jobdir_process *of,
		    char name[NB_JOBDIR_NAME])
{
	char rank[12] = "-";

	if (of->rank >= 0)
		snprintf(rank, sizeof(rank), "%d", of->rank);
	snprintf(name, NB_JOBDIR_NAME, "%s.%s.%llu.%d.sock", p->job, rank,
		 (unsigned long long)of->ns, of->pid);
}

/*
 * Split the name of a socket of any job. Returns the length of the job's name,
 * or 0 if @name is not such a name.
 */
static size_t split_name(const char *name, struct nb_jobdir_process *of)
{
	const size_t job = strcspn(name, ".");
	unsigned long long ns;
	int end = 0;

	of->rank = -1;
	if (sscanf(name + job, ".%7d.%10llu.%7d.sock%n", &of->rank, &ns, &of->pid, &end) != 3 ||
	    of->rank < 0) {
		of->rank = -1;
		if (sscanf(name + job, ".-.%10llu.%7d.sock%n", &ns, &of->pid, &end) != 2)
			return 0;
	}
	of->ns = ns;
	return end && !name[job + (size_t)end] && of->pid > 0 ? job : 0;
}

bool nb_jobdir_parse(const struct nb_jobdir *p, const char *name, struct nb_jobdir_process *of)
{
	const size_t job = split_name(name, of);

	return job && job == strlen(p->job) && !memcmp(name, p->job, job);
}

/*
 * Returns true if the process of a socket that refuses a connection is dead. A
 * process that starts refuses, too, between bind and listen. If it is in
 * another PID namespace, only the age of its socket tells that it is not such a
 * process.
 */
static bool is_dead(const struct nb_jobdir_process *of, const struct stat *st)
{
	if (of->ns == nb_pid_namespace())
		return !nb_process_alive((uint64_t)of->pid, 0);
	return time(NULL) > st->st_mtim.tv_sec + STARTING_S;
}

static bool is_stale(const struct nb_jobdir *p, const char *name)
{
	struct nb_jobdir_process of;
	struct stat st;

	return split_name(name, &of) && !fstatat(p->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       S_ISSOCK(st.st_mode) && is_dead(&of, &st) && nb_jobdir_served(p, name) == 0;
}

unsigned nb_jobdir_clean(const struct nb_jobdir *p)
{
	int fd = openat(p->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	unsigned n = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(dir))) {
		if (is_stale(p, e->d_name) && unlinkat(p->dirfd, e->d_name, 0) == 0)
			n++;
	}
	closedir(dir);
	return n;
}
