// SPDX-License-Identifier: MIT
/*
 * Finds out whether a process is alive, from /proc and kill(2). A PID may have
 * been reused, and a process of another PID namespace cannot be found by its
 * PID.
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

/*
 * Returns the state letter from /proc/<pid>/stat, and the start time. Returns 0
 * if the file cannot be read.
 */
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
	/* the process name may contain blanks and parentheses */
	p = strrchr(text, ')');
	if (!p || p[1] != ' ')
		return 0;
	p += 2;
	/*
	 * p points to field 3; field 20 is the number of threads, field 22 the
	 * start time
	 */
	if (sscanf(p,
		   "%*c %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %*s %llu",
		   &threads, &ticks) != 2)
		return 0;
	*start = ticks;
	/*
	 * a zombie with more than one thread: the first thread has ended,
	 * others run
	 */
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
		/*
		 * /proc hides the process from us, so assume that it is alive
		 */
		return true;
	if (state == 'Z' || state == 'X')
		return false;
	return !start || now == start;
}

uint64_t nb_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}
