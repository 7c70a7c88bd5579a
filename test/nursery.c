// SPDX-License-Identifier: MIT
/*
 * nursery LOG SECONDS COMMAND...: run one test program; nothing of it outlives
 * this process.
 *
 * Orphans of the command come back here (PR_SET_CHILD_SUBREAPER), so all
 * descendants are found, whatever session or process group they have made. They
 * are killed when the command ends, when SECONDS have passed, on SIGTERM, and
 * when the parent of this process dies. Where more threads want to run than
 * there are processors, SECONDS pass more slowly: they are those of a machine
 * that has nothing else to do. Output goes to LOG. The last line on stdout, for
 * test/run:
 *
 *     exit|signal|limit|stopped VALUE wall SECONDS cpu SECONDS left N
 *
 * left: processes that still ran when the command had ended. cpu: of all
 * descendants.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8192 };

struct process {
	pid_t pid;
	pid_t parent;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The share of a processor that a thread of this machine gets now, at most 1.
 */
static double share(void)
{
	double running = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
	FILE *f = fopen("/proc/loadavg", "re");

	if (f) {
		if (fscanf(f, "%*s %*s %*s %lf/", &running) != 1)
			running = 0;
		fclose(f);
	}
	return running > cores ? cores / running : 1;
}

/* The parent of a process, 0: it has gone. */
static pid_t parent_of(const char *pid)
{
	char path[64], text[512];
	const char *end;
	ssize_t n;
	int fd, parent;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	/* The name in parentheses may contain anything. */
	end = strrchr(text, ')');
	return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static int list_processes(struct process *list)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	if (!dir)
		return 0;
	while (n < MOST && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		list[n].pid = atoi(entry->d_name);
		list[n].parent = parent_of(entry->d_name);
		n += list[n].parent > 0;
	}
	closedir(dir);
	return n;
}

/* Kill all descendants of this process that the list names; returns their
 * number. */
static int kill_descendants(void)
{
	static struct process list[MOST];
	static char ours[MOST];
	int n = list_processes(list), found = 0;
	int again = 1;

	memset(ours, 0, sizeof(ours));
	while (again) {
		again = 0;
		for (int i = 0; i < n; i++) {
			int child = list[i].parent == getpid();

			for (int k = 0; !child && k < n; k++)
				child = ours[k] && list[k].pid == list[i].parent;
			if (!child || ours[i])
				continue;
			ours[i] = 1;
			again = 1;
			kill(list[i].pid, SIGKILL);
			found++;
		}
	}
	return found;
}

/* Until no child is left: a process may have forked between list and signal. */
static int end_all(void)
{
	int most = 0;

	for (;;) {
		int found = kill_descendants();
		pid_t pid;

		if (found > most)
			most = found;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return most;
		usleep(2000);
	}
}

static void run(char **command, int log, const sigset_t *mask)
{
	int in = open("/dev/null", O_RDONLY);

	sigprocmask(SIG_SETMASK, mask, NULL);
	setsid();
	dup2(in, 0);
	dup2(log, 1);
	dup2(log, 2);
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	execvp(command[0], command);
	dprintf(2, "not ok 1 - %s starts: %s\n", command[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	struct timespec step = { 0, 200 * 1000 * 1000 };
	const char *how = NULL;
	sigset_t wanted, before;
	struct rusage used;
	double began = now(), last = began, passed = 0, limit;
	int log, value = 0, left;
	pid_t child, parent = getppid();

	if (argc < 4)
		return 64;
	limit = atof(argv[2]);
	log = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (log < 0) {
		perror(argv[1]);
		return 73;
	}
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	sigaddset(&wanted, SIGTERM);
	sigaddset(&wanted, SIGINT);
	sigprocmask(SIG_BLOCK, &wanted, &before);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return 1;
	child = fork();
	if (child < 0)
		return 71;
	if (child == 0)
		run(argv + 3, log, &before);
	while (!how) {
		int sig = sigtimedwait(&wanted, NULL, &step), status;
		pid_t pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == child && WIFEXITED(status))
				how = "exit", value = WEXITSTATUS(status);
			else if (pid == child)
				how = "signal", value = WTERMSIG(status);
		if (!how && (sig == SIGTERM || sig == SIGINT))
			how = "stopped";
		passed += (now() - last) * share();
		last = now();
		if (!how && passed > limit)
			how = "limit", value = (int)limit;
	}
	left = end_all();
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%s %d wall %.2f cpu %.2f left %d\n", how, value, now() - began,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       left);
	return 0;
}
