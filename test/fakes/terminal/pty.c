// SPDX-License-Identifier: MIT
// A person at a terminal, for tests: starts a program on a pseudo-terminal
// and follows a script on standard input.
//
//	pty PROGRAM ARGS... <<END
//	expect TEXT      wait (30 s) until TEXT comes after the last match
//	absent TEXT      for 0.3 s no TEXT comes
//	send TEXT        type it; \t \n \e \xHH \\ are understood
//	run COMMAND      run a shell command beside it
//	size ROWS COLS   change the size of the terminal
//	status N         wait (30 s) for the end and its status; signal: 128+n
//	END
//
// Exit status 0, or 1 after a message that says which line failed and what
// the terminal showed.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_OUT = 1 << 20, LINE = 2048, PATIENCE_S = 300 };

static char out[MAX_OUT + 1];
static size_t out_size, matched;
static int master = -1, number;
static pid_t child;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What the terminal showed, with control characters made visible. */
static int failed(const char *line, const char *why)
{
	size_t from = matched;

	printf("# line %d: %s: %s\n# after the last match:\n# ", number, line, why);
	for (size_t i = from; i < out_size && i < from + 2000; i++) {
		unsigned char c = (unsigned char)out[i];

		if (c == '\n')
			printf("\n# ");
		else if (isprint(c) || c >= 0x80)
			putchar(c);
		else if (c != '\r')
			printf("\\x%02x", c);
	}
	putchar('\n');
	kill(child, SIGKILL);
	return 1;
}

/* Read what comes within @seconds; false at the end of the program. */
static bool pump(double seconds)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	char part[4096];

	if (poll(&p, 1, (int)(seconds * 1000)) <= 0)
		return true;
	ssize_t n = read(master, part, sizeof(part));

	if (n <= 0)
		return false;
	if ((size_t)n > MAX_OUT - out_size)
		n = (ssize_t)(MAX_OUT - out_size);
	memcpy(out + out_size, part, (size_t)n);
	out_size += (size_t)n;
	out[out_size] = '\0';
	return true;
}

static bool find(const char *text)
{
	char *p = memmem(out + matched, out_size - matched, text, strlen(text));

	if (p)
		matched = (size_t)(p - out) + strlen(text);
	return p != NULL;
}

static int expect(const char *line, const char *text)
{
	double end = now() + PATIENCE_S;

	while (!find(text)) {
		bool more = pump(0.1);

		if (find(text))
			break;
		if (!more)
			return failed(line, "the program ended");
		if (now() > end)
			return failed(line, "not shown within 30 s");
	}
	return 0;
}

static int absent(const char *line, const char *text)
{
	double end = now() + 0.3;

	while (now() < end && pump(0.05))
		;
	if (memmem(out + matched, out_size - matched, text, strlen(text)))
		return failed(line, "it is shown");
	return 0;
}

static size_t unescape(char *to, const char *s)
{
	size_t n = 0;

	for (; *s; s++) {
		if (*s != '\\' || !s[1]) {
			to[n++] = *s;
			continue;
		}
		s++;
		if (*s == 't')
			to[n++] = '\t';
		else if (*s == 'n')
			to[n++] = '\n';
		else if (*s == 'e')
			to[n++] = '\033';
		else if (*s == 'x' && isxdigit((unsigned char)s[1]) &&
			 isxdigit((unsigned char)s[2])) {
			char hex[3] = { s[1], s[2], 0 };

			to[n++] = (char)strtol(hex, NULL, 16);
			s += 2;
		} else
			to[n++] = *s;
	}
	return n;
}

static int type(const char *line, const char *text)
{
	char keys[LINE];
	size_t n = unescape(keys, text);

	if (write(master, keys, n) != (ssize_t)n)
		return failed(line, strerror(errno));
	return 0;
}

static int status(const char *line, int want)
{
	double end = now() + PATIENCE_S;
	char why[64];
	int st;

	while (pump(0.1) && now() < end)
		;
	while (waitpid(child, &st, WNOHANG) == 0) {
		if (now() > end)
			return failed(line, "still running after 30 s");
		usleep(10000);
	}
	st = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	if (st == want)
		return 0;
	snprintf(why, sizeof(why), "the status is %d", st);
	return failed(line, why);
}

static int step(char *line)
{
	char *arg = strchr(line, ' ');

	if (arg)
		*arg++ = '\0';
	else
		arg = line + strlen(line);
	if (!strcmp(line, "expect"))
		return expect(arg, arg);
	if (!strcmp(line, "absent"))
		return absent(arg, arg);
	if (!strcmp(line, "send"))
		return type(arg, arg);
	if (!strcmp(line, "status"))
		return status(arg, atoi(arg));
	if (!strcmp(line, "run"))
		return system(arg) ? failed(arg, "the command failed") : 0;
	if (!strcmp(line, "size")) {
		struct winsize w = { 0 };

		sscanf(arg, "%hu %hu", &w.ws_row, &w.ws_col);
		return ioctl(master, TIOCSWINSZ, &w) ? failed(arg, "ioctl") : 0;
	}
	return failed(line, "unknown step");
}

int main(int argc, char **argv)
{
	struct winsize size = { .ws_row = 40, .ws_col = 160 };
	char line[LINE];
	int rc = 0;

	if (argc < 2)
		return 2;
	child = forkpty(&master, NULL, NULL, &size);
	if (child < 0)
		return 2;
	if (!child) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	fcntl(master, F_SETFD, FD_CLOEXEC);
	while (!rc && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		number++;
		if (line[0] && line[0] != '#')
			rc = step(line);
	}
	kill(child, SIGKILL);
	return rc;
}
