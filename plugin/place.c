// SPDX-License-Identifier: MIT
// The directory in which sockets and the job segment lie. Other users may
// write to its parents (/tmp), so it is opened without following a link and
// checked through the descriptor, and everything later goes through that
// descriptor: what was checked is what is used.
#include "plugin/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

struct search {
	struct nb_place *place;
	nb_place_say_fn *say;
	void *arg;
};

static void pass_over(const struct search *s, const char *dir, const char *why)
{
	char line[512];

	if (!s->say)
		return;
	snprintf(line, sizeof(line), "control directory %.300s: %s", dir, why);
	s->say(s->arg, line);
}

bool nb_place_network(long type)
{
	static const unsigned long types[] = {
		0x6969,	    /* nfs */
		0x517b,	    /* smb */
		0xff534d42, /* cifs */
		0xfe534d42, /* smb2 */
		0x5346414f, /* afs */
		0x0bd00bd0, /* lustre */
		0x47504653, /* gpfs */
		0x19830326, /* beegfs */
		0xaad7aaea, /* panfs */
		0x00c36400, /* ceph */
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (((unsigned long)type & 0xffffffff) == types[i])
			return true;
	return false;
}

/* Why the open directory may not be used; NULL when it may. */
static const char *unfit(int fd, char *text, size_t size)
{
	struct statfs fs;
	struct stat st;

	if (!fstatfs(fd, &fs) && nb_place_network((long)fs.f_type)) {
		snprintf(text, size,
			 "is on a network file system (type 0x%lx), where "
			 "processes of other hosts look like dead ones of this",
			 (unsigned long)fs.f_type & 0xffffffff);
		return text;
	}

	if (fstat(fd, &st)) {
		snprintf(text, size, "cannot be looked at: %s",
			 strerror(errno));
		return text;
	}
	if (st.st_uid != geteuid()) {
		snprintf(text, size, "belongs to uid %u, not to uid %u",
			 (unsigned)st.st_uid, (unsigned)geteuid());
		return text;
	}
	if (st.st_mode & 077) {
		snprintf(text, size, "mode %04o lets others in; 0700 is needed",
			 (unsigned)st.st_mode & 07777);
		return text;
	}
	return NULL;
}

/* @quiet: a missing parent is the rule and not worth a line. */
static bool try_dir(const struct search *s, const char *dir, bool quiet)
{
	struct nb_place *p = s->place;
	size_t n = strlen(dir);
	char text[160];
	const char *why;
	int fd;

	if (!n || dir[0] != '/' || n >= sizeof(p->dir)) {
		pass_over(s, dir,
			  n < sizeof(p->dir) ? "is not an absolute path"
					     : "is too long");
		return false;
	}
	memcpy(p->dir, dir, n + 1);
	while (n > 1 && p->dir[n - 1] == '/') /* or a link would be followed */
		p->dir[--n] = '\0';
	if (mkdir(p->dir, 0700) && errno != EEXIST) {
		snprintf(text, sizeof(text), "cannot be made: %s",
			 strerror(errno));
		if (!quiet || errno != ENOENT)
			pass_over(s, p->dir, text);
		return false;
	}
	fd = open(p->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		snprintf(text, sizeof(text), "cannot be opened: %s",
			 errno == ELOOP || errno == ENOTDIR
				 ? "it is a link or no directory"
				 : strerror(errno));
		pass_over(s, p->dir, text);
		return false;
	}
	why = unfit(fd, text, sizeof(text));
	if (why) {
		pass_over(s, p->dir, why);
		close(fd);
		return false;
	}
	p->dirfd = fd;
	return true;
}

static bool find_dir(const struct search *s, const char *socket_dir)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *tmp = getenv("TMPDIR");
	char dir[PATH_MAX];
	unsigned uid = (unsigned)geteuid();

	if (socket_dir[0] && try_dir(s, socket_dir, false))
		return true;
	if (run && run[0] &&
	    (size_t)snprintf(dir, sizeof(dir), "%s/ncclbpf", run) <
		    sizeof(dir) &&
	    try_dir(s, dir, true))
		return true;
	snprintf(dir, sizeof(dir), "/run/ncclbpf/%u", uid);
	if (try_dir(s, dir, true))
		return true;
	return (size_t)snprintf(dir, sizeof(dir), "%s/ncclbpf-%u",
				tmp && tmp[0] ? tmp : "/tmp",
				uid) < sizeof(dir) &&
	       try_dir(s, dir, false);
}

static bool plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static void name_job(struct nb_place *p, const char *job)
{
	static const char *const vars[] = { "SLURM_JOB_ID",
					    "TORCHELASTIC_RUN_ID",
					    "PMIX_NAMESPACE" };
	size_t n;

	for (size_t i = 0; !job[0] && i < sizeof(vars) / sizeof(vars[0]); i++) {
		const char *v = getenv(vars[i]);

		job = v ? v : "";
	}
	if (!job[0])
		job = "local";
	for (n = 0; job[n] && n + 1 < sizeof(p->job); n++)
		p->job[n] = plain(job[n]) ? job[n] : '_';
	p->job[n] = '\0';
}

/* The first variable that holds a number; others are passed over. */
static void name_rank(struct nb_place *p)
{
	static const char *const vars[] = { "RANK", "SLURM_PROCID",
					    "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
					    "JOB_COMPLETION_INDEX" };

	p->rank = -1;
	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		const char *v = getenv(vars[i]);
		size_t n = v ? strspn(v, "0123456789") : 0;

		if (n && n <= 9 && !v[n]) {
			p->rank = (int)strtol(v, NULL, 10);
			return;
		}
	}
}

int nb_place_open(struct nb_place *out, const char *socket_dir, const char *job,
		  nb_place_say_fn *say, void *arg, struct nb_err *err)
{
	struct search s = { out, say, arg };

	memset(out, 0, sizeof(*out));
	out->dirfd = -1;
	name_job(out, job);
	name_rank(out);
	if (find_dir(&s, socket_dir))
		return 0;
	out->dir[0] = '\0';
	nb_fail(err, NB_E_IO, 0,
		"no directory for the control socket: none of "
		"NCCLBPF_SOCKET_DIR, XDG_RUNTIME_DIR/ncclbpf, "
		"/run/ncclbpf/%u and TMPDIR/ncclbpf-%u is or can be made a "
		"directory of uid %u with mode 0700",
		(unsigned)geteuid(), (unsigned)geteuid(), (unsigned)geteuid());
	return nb_hint(err, "set NCCLBPF_SOCKET_DIR to a directory of yours "
			    "with mode 0700");
}

void nb_place_close(struct nb_place *p)
{
	if (p->dir[0] && p->dirfd >= 0)
		close(p->dirfd);
	p->dirfd = -1;
	p->dir[0] = '\0';
}

bool nb_place_address(const struct nb_place *p, const char *name, char *path)
{
	int n;

	snprintf(path, NB_PLACE_SUN, "/proc/self/fd/%d", p->dirfd);
	if (access(path, X_OK) == 0) {
		n = snprintf(path, NB_PLACE_SUN, "/proc/self/fd/%d/%s",
			     p->dirfd, name);
		if (n > 0 && n < NB_PLACE_SUN)
			return true;
	}
	n = snprintf(path, NB_PLACE_SUN, "%s/%s", p->dir, name);
	return n > 0 && n < NB_PLACE_SUN;
}

int nb_place_served(const struct nb_place *p, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, rc;

	if (!nb_place_address(p, name, a.sun_path))
		return 1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return 1;
	rc = connect(fd, (struct sockaddr *)&a, sizeof(a));
	rc = !rc ? 1 : errno == ENOENT ? -1 : errno == ECONNREFUSED ? 0 : 1;
	close(fd);
	return rc;
}

/* The pid in "<job>.<rank>.<pid>.sock"; 0 when it is no such name. */
static pid_t pid_of(const char *name)
{
	const char *dot = strchr(name, '.');
	char *end;
	long pid;

	dot = dot ? strchr(dot + 1, '.') : NULL;
	if (!dot || dot[1] < '1' || dot[1] > '9')
		return 0;
	pid = strtol(dot + 1, &end, 10);
	return !strcmp(end, ".sock") && pid > 0 && pid <= INT_MAX ? (pid_t)pid
								  : 0;
}

unsigned nb_place_clean(const struct nb_place *p)
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
		pid_t pid = pid_of(e->d_name);

		if (pid && kill(pid, 0) && errno == ESRCH &&
		    nb_place_served(p, e->d_name) == 0 &&
		    unlinkat(p->dirfd, e->d_name, 0) == 0)
			n++;
	}
	closedir(dir);
	return n;
}
