// SPDX-License-Identifier: MIT
/*
 * What the limits of this process leave. A control group inside a container
 * may be mounted at its own root, so the path of /proc/self/cgroup may not
 * exist below /sys/fs/cgroup. Each directory from that path up to the mount is
 * therefore tried, and one that is missing is no limit.
 */
#include "plugin/runtime/room.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Longest path that is read. */
enum { ROOM_PATH = 1024 };

/*
 * A control group file system with a limit, the number that is in use, and the
 * file and key of the part that can be reclaimed.
 */
struct cgroup_files {
	const char *controller; /* in /proc/self/cgroup; "": version 2 */
	const char *mount;
	const char *limit, *used, *stat, *key;
};

static const struct cgroup_files MEMORY[] = {
	{ "", "/sys/fs/cgroup", "memory.max", "memory.current", "memory.stat", "inactive_file" },
	{ "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "memory.stat", "total_inactive_file" },
};
static const struct cgroup_files PIDS[] = {
	{ "", "/sys/fs/cgroup", "pids.max", "pids.current", NULL, NULL },
	{ "pids", "/sys/fs/cgroup/pids", "pids.max", "pids.current", NULL, NULL },
};

/* Read a small file. Returns false if it cannot be read. */
static bool room_read(const char *root, const char *path, char *text, size_t size)
{
	char full[ROOM_PATH];
	size_t have = 0;
	ssize_t n;
	int fd;

	if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full))
		return false;
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (have < size - 1 && (n = read(fd, text + have, size - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	text[have] = '\0';
	return have > 0;
}

/* Read the number that follows @key at the start of a line of @text. */
static bool keyed_number(const char *text, const char *key, uint64_t *n)
{
	size_t size = strlen(key);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, key, size) || !strchr(" \t:", p[size]))
			continue;
		p += size + strspn(p + size, " \t:");
		if (!isdigit((unsigned char)*p))
			return false;
		*n = strtoull(p, NULL, 10);
		return true;
	}
	return false;
}

/* Store the limit in @r if it leaves less than all earlier ones. @fmt: name */
static void __attribute__((format(printf, 4, 5)))
take_limit(struct nb_room *r, uint64_t all, uint64_t used, const char *fmt, ...)
{
	uint64_t left = used < all ? all - used : 0;
	va_list ap;

	if (left >= r->left)
		return;
	r->left = left;
	r->all = all;
	va_start(ap, fmt);
	vsnprintf(r->limit, sizeof(r->limit), fmt, ap);
	va_end(ap);
}

/* Take the limit of one control group, the directory @dir. */
static void __attribute__((noinline))
take_cgroup(const char *root, const struct cgroup_files *f, const char *dir, struct nb_room *r)
{
	char path[ROOM_PATH], text[4096];
	uint64_t all, used, freed = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, f->limit);
	/* version 2 says "max" where there is no limit */
	if (!room_read(root, path, text, sizeof(text)) || !isdigit((unsigned char)text[0]))
		return;
	all = strtoull(text, NULL, 10);
	snprintf(path, sizeof(path), "%s/%s", dir, f->used);
	if (!room_read(root, path, text, sizeof(text)))
		return;
	used = strtoull(text, NULL, 10);
	if (f->stat) {
		snprintf(path, sizeof(path), "%s/%s", dir, f->stat);
		if (room_read(root, path, text, sizeof(text)))
			(void)keyed_number(text, f->key, &freed);
	}
	/* version 1 has numbers near 2^63 where there is no limit */
	if (all < UINT64_C(1) << 60)
		take_limit(r, all, used - (freed < used ? freed : used), "%s of control group %s",
			   f->limit, dir);
}

/* Returns true if the list @names of controllers has @name. */
static bool has_controller(const char *names, size_t size, const char *name)
{
	size_t n = strlen(name);

	if (!n)
		return !size;
	for (const char *p = names; p < names + size; p++) {
		const char *end = memchr(p, ',', (size_t)(names + size - p));

		if (!end)
			end = names + size;
		if ((size_t)(end - p) == n && !memcmp(p, name, n))
			return true;
		p = end;
	}
	return false;
}

/* Take the limits of the control group and all its parents. */
static void take_cgroups(const char *root, const struct cgroup_files *f, struct nb_room *r)
{
	char text[4096], dir[ROOM_PATH];
	size_t mount = strlen(f->mount);

	if (!room_read(root, "/proc/self/cgroup", text, sizeof(text)))
		return;
	for (char *line = text, *next; line && *line; line = next) {
		char *names = strchr(line, ':'), *path;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		path = names ? strchr(names + 1, ':') : NULL;
		if (!path || !has_controller(names + 1, (size_t)(path - names - 1), f->controller))
			continue;
		if ((size_t)snprintf(dir, sizeof(dir), "%s%s", f->mount, path + 1) >=
		    sizeof(dir) - 64)
			return;
		for (;;) {
			char *slash;

			take_cgroup(root, f, dir, r);
			slash = strrchr(dir, '/');
			if (!slash || (size_t)(slash - dir) < mount)
				return;
			*slash = '\0';
		}
	}
}

static void no_limit(struct nb_room *r)
{
	r->left = r->all = UINT64_MAX;
	r->limit[0] = '\0';
}

void nb_room_memory(const char *root, struct nb_room *r)
{
	char text[4096];
	uint64_t kib, all;

	no_limit(r);
	if (room_read(root, "/proc/meminfo", text, sizeof(text)) &&
	    keyed_number(text, "MemAvailable", &kib) && keyed_number(text, "MemTotal", &all))
		take_limit(r, all << 10, (all - (kib < all ? kib : all)) << 10, "the machine");
	for (size_t i = 0; i < sizeof(MEMORY) / sizeof(MEMORY[0]); i++)
		take_cgroups(root, &MEMORY[i], r);
}

/*
 * Returns true if RLIMIT_NPROC holds for this process: root of the first user
 * namespace is free of it.
 */
static bool has_user_limit(const char *root)
{
	char text[256];
	unsigned long in, out, count;

	if (getuid())
		return true;
	return room_read(root, "/proc/self/uid_map", text, sizeof(text)) &&
	       (sscanf(text, "%lu %lu %lu", &in, &out, &count) != 3 || out);
}

/* Returns the number of threads of this user, by the list of processes. */
static uint64_t user_threads(const char *root)
{
	char path[ROOM_PATH], text[4096];
	uint64_t n = 0, uid, threads;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/proc", root);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/status", e->d_name);
		if (room_read(root, path, text, sizeof(text)) && keyed_number(text, "Uid", &uid) &&
		    uid == getuid() && keyed_number(text, "Threads", &threads))
			n += threads;
	}
	closedir(d);
	return n;
}

/*
 * Apply the user's limit on threads. Counting the user's threads reads all of
 * /proc. Skip it while the machine's total, an upper bound, is at least NEAR
 * below the limit.
 */
static void take_user_limit(const char *root, struct nb_room *r)
{
	enum { NEAR = 1024 };
	uint64_t machine = UINT64_MAX;
	struct rlimit limit;
	char text[256], *slash;

	if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	    !has_user_limit(root))
		return;
	if (room_read(root, "/proc/loadavg", text, sizeof(text)) && (slash = strchr(text, '/')))
		machine = strtoull(slash + 1, NULL, 10);
	if (machine < limit.rlim_cur && limit.rlim_cur - machine >= NEAR)
		return;
	take_limit(r, limit.rlim_cur, user_threads(root), "the user's limit (ulimit -u)");
}

void nb_room_threads(const char *root, struct nb_room *r)
{
	no_limit(r);
	for (size_t i = 0; i < sizeof(PIDS) / sizeof(PIDS[0]); i++)
		take_cgroups(root, &PIDS[i], r);
	take_user_limit(root, r);
}

void nb_room_descriptors(const char *root, struct nb_room *r)
{
	char path[ROOM_PATH];
	struct rlimit limit;
	uint64_t n = 0;
	DIR *d;

	no_limit(r);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return;
	snprintf(path, sizeof(path), "%s/proc/self/fd", root);
	d = opendir(path);
	if (!d)
		return;
	while (readdir(d))
		n++;
	closedir(d);
	/* "." and "..", and the directory itself */
	take_limit(r, limit.rlim_cur, n > 3 ? n - 3 : 0, "the process's limit (ulimit -n)");
}
