// SPDX-License-Identifier: MIT
/*
 * Does a process live? From /proc and kill(2): a pid may have been reused, and
 * a process of another PID namespace cannot be found by its pid.
 */
#include "plugin/job/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* State letter and start time from /proc/<pid>/stat; 0: cannot be read. */
static char read_stat(uint64_t pid, uint64_t *start)
{
	char path[48], text[1024];
	unsigned long long ticks = 0, threads = 0;
	const char *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%llu/stat",
		 (unsigned long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name may hold blanks and brackets */
	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	/* threads are field 20, start time is field 22; p stands at field 3 */
	if (sscanf(p,
		   "%*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %llu %*s %llu",
		   &threads, &ticks) != 2)
		return 0;
	*start = ticks;
	/* its first thread ended, others run */
	return *p == 'Z' && threads > 1 ? 'S' : *p;
}

uint64_t nb_process_start(pid_t pid)
{
	uint64_t start = 0;

	return read_stat((uint64_t)pid, &start) ? start : 0;
}

bool nb_process_alive(uint64_t pid, uint64_t start)
{
	uint64_t now = 0;
	char state;

	if (!pid || pid > INT_MAX)
		return false;
	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return false;
	state = read_stat(pid, &now);
	if (!state)
		return true; /* hidden from us: assume that it lives */
	if (state == 'Z' || state == 'X')
		return false;
	return !start || now == start;
}

uint64_t nb_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}
