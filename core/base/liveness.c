// SPDX-License-Identifier: MIT
/*
 * Finds out whether a process is alive, from /proc and kill(2). A PID may have
 * been reused. /proc may be missing, or belong to another PID namespace, where
 * our PIDs name other processes.
 */
#include "core/base/liveness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns true if /proc has the PIDs of our PID namespace. */
static bool proc_is_ours(void)
{
	char text[24];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return strtoll(text, NULL, 10) == getpid();
}

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

	snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)pid);
	fd = proc_is_ours() ? open(path, O_RDONLY | O_CLOEXEC) : -1;
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

bool nb_process_stopped(uint64_t pid)
{
	uint64_t start;
	char state = pid && pid <= INT_MAX ? read_stat(pid, &start) : 0;

	return state == 'T' || state == 't';
}

uint64_t nb_process_token(void)
{
	struct timespec now = { 0, 0 };
	uint64_t n;

	if (syscall(SYS_getrandom, &n, sizeof(n), GRND_NONBLOCK) == (long)sizeof(n))
		return n | 2;
	/* the kernel is older than 3.17, or has just started */
	clock_gettime(CLOCK_MONOTONIC, &now);
	n = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	n ^= (uint64_t)getpid() << 40 ^ (uint64_t)(uintptr_t)&now << 16;
	n *= UINT64_C(0x9e3779b97f4a7c15);
	return (n ^ n >> 31) | 2;
}

uint64_t nb_pid_namespace(void)
{
	/* a random number in place of the inode; above it the PID of the process that has it */
	static uint64_t made;
	uint64_t pid = (uint64_t)getpid(), is, mine;
	struct stat st;

	if (!stat("/proc/self/ns/pid", &st))
		return (uint64_t)st.st_ino;
	is = __atomic_load_n(&made, __ATOMIC_RELAXED);
	if (is >> 32 != pid) {
		/* the kernel numbers namespaces from 0xeffffff0 upwards */
		mine = pid << 32 | (nb_process_token() & 0x7fffffff);
		/* the number of the thread that is first counts */
		if (__atomic_compare_exchange_n(&made, &is, mine, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			is = mine;
	}
	return (uint32_t)is;
}
