// SPDX-License-Identifier: MIT
/*
 * A guardian and a detached process are copies of this process that outlive it,
 * each in a session of its own. A guardian waits until this process has ended
 * and then calls a function. It reads from a socket whose other end only this
 * process holds. It therefore notices the end of this process in every case,
 * without signals or polling. A detached process calls its function at once.
 * Neither keeps the terminal or an inherited pipe open. The process that forks
 * must have only one thread.
 */
#include "lua/core/process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"

#define GUARDIAN "ncclbpf.guardian"

struct guardian {
	int fd; /* connection to the guardian; -1: closed */
	pid_t pid;
	struct guardian *next; /* next in open_guardians */
};

/* The guardians with an open descriptor. A forked process closes its copies of
 * them, or the guardians would wait for its end too. */
static struct guardian *open_guardians;

/*
 * Redirect standard output and error to @out (-1: to /dev/null). A descriptor
 * without FD_CLOEXEC was inherited, such as the pipe of $(...), whose reader
 * would wait for us. It is replaced and not closed, because a Lua file may hold
 * its number.
 */
static void replace_files(int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	DIR *dir = opendir("/proc/self/fd");

	if (null < 0)
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		dup2(fd && out >= 0 ? out : null, fd);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		int fd = atoi(e->d_name);
		int flags = fcntl(fd, F_GETFD);

		if (fd >= 3 && flags >= 0 && !(flags & FD_CLOEXEC))
			dup2(null, fd);
	}
	if (dir)
		closedir(dir);
	if (null >= 3)
		close(null);
}

/* Ignore Ctrl-C, which is meant for the shell; other signals end this process
 * as usual. */
static void leave_session(int out)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], i ? SIG_DFL : SIG_IGN);
	setsid();
	for (; open_guardians; open_guardians = open_guardians->next) {
		close(open_guardians->fd);
		open_guardians->fd = -1;
	}
	replace_files(out);
	nb_lua_stop = 0;
}

/*
 * Wait for the end of the parent, which shows as the end of @fd; then call the
 * function at the top of the stack. If a byte arrives, the parent needs no
 * guardian.
 */
static _Noreturn void guard(lua_State *L, int fd)
{
	char byte;
	ssize_t n;

	leave_session(-1);
	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		lua_pcall(L, 0, 0, 0);
	fflush(NULL);
	_exit(0);
}

static void close_both(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/*
 * Make a pair of sockets. Their numbers are above those of the standard files,
 * because replace_files() overwrites the standard files.
 */
static int connected(int fds[2])
{
	int low[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low))
		return -1;
	for (int i = 0; i < 2; i++)
		fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close_both(low);
	if (fds[0] >= 0 && fds[1] >= 0)
		return 0;
	close_both(fds);
	return -1;
}

/* guardian(f) -> guardian, which calls f when this process has ended | nil, err
 */
static int guardian(lua_State *L)
{
	struct guardian *g;
	int fds[2];

	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	g = lua_newuserdatauv(L, sizeof(*g), 0);
	*g = (struct guardian){ .fd = -1 };
	luaL_setmetatable(L, GUARDIAN);
	if (connected(fds))
		return nb_lua_failf(L, NB_E_IO, "cannot start the guardian: no socket");
	fflush(NULL); /* otherwise both processes would write the buffered
			 output */
	g->pid = fork();
	if (g->pid < 0) {
		close_both(fds);
		return nb_lua_failf(L, NB_E_NOMEM, "cannot start the guardian: no process");
	}
	if (!g->pid) {
		close(fds[1]);
		lua_settop(L, 1);
		guard(L, fds[0]);
	}
	close(fds[0]);
	g->fd = fds[1];
	g->next = open_guardians;
	open_guardians = g;
	return 1;
}

/*
 * End the guardian. If @well is false, it calls its function, as if this
 * process had ended.
 */
static void guardian_leave(struct guardian *g, bool well)
{
	struct guardian **at = &open_guardians;

	if (g->fd < 0)
		return;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	/* if the guardian was killed, this write fails harmlessly */
	if (well) {
		while (send(g->fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
			;
	}
	close(g->fd);
	g->fd = -1;
	while (well && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* g:done(): end the guardian without calling its function */
static int guardian_done(lua_State *L)
{
	guardian_leave(luaL_checkudata(L, 1, GUARDIAN), true);
	return 0;
}

/* g:close(): the guardian calls its function now; we do not wait for it */
static int guardian_close(lua_State *L)
{
	guardian_leave(luaL_checkudata(L, 1, GUARDIAN), false);
	return 0;
}

/* g:pid() -> PID of the guardian */
static int guardian_pid(lua_State *L)
{
	struct guardian *g = luaL_checkudata(L, 1, GUARDIAN);

	lua_pushinteger(L, g->pid);
	return 1;
}

/* The detached process. Its parent ends at once, so that init reaps it and no
 * zombie is left to the shell. The PID goes to @fd. */
static _Noreturn void run_detached(lua_State *L, int fd, int out)
{
	pid_t pid;
	int rc;

	leave_session(out);
	pid = fork();
	if (pid)
		_exit(write(fd, &pid, sizeof(pid)) != sizeof(pid));
	close(fd);
	close(out);
	rc = lua_pcall(L, 0, 0, 0);
	if (rc)
		(void)!dprintf(STDERR_FILENO, "%s\n", luaL_tolstring(L, -1, NULL));
	fflush(NULL);
	_exit(rc != 0);
}

/* Open the log, with a number above the standard files, as in connected() */
static int open_log(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd >= 0)
		close(fd);
	return high;
}

/* detach(f, log) -> PID of a process that calls f and ends; what it prints is
 * appended to the file log | nil, err */
static int detach(lua_State *L)
{
	const char *path = luaL_checkstring(L, 2);
	pid_t child, pid = -1;
	ssize_t n;
	int fds[2], out;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	out = open_log(path);
	if (out < 0)
		return nb_lua_failf(L, NB_E_IO, "%s: %s", path, strerror(errno));
	lua_settop(L, 1);
	if (connected(fds)) {
		close(out);
		return nb_lua_failf(L, NB_E_IO, "cannot start a process: no socket");
	}
	fflush(NULL);
	child = fork();
	if (!child) {
		close(fds[0]);
		run_detached(L, fds[1], out);
	}
	close(fds[1]);
	close(out);
	do
		n = read(fds[0], &pid, sizeof(pid));
	while (n < 0 && errno == EINTR);
	close(fds[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || n != sizeof(pid) || pid < 0)
		return nb_lua_failf(L, NB_E_NOMEM, "cannot start a process");
	lua_pushinteger(L, pid);
	return 1;
}

void nb_lua_open_guardian(lua_State *L)
{
	static const luaL_Reg methods[] = { { "done", guardian_done },
					    { "close", guardian_close },
					    { "pid", guardian_pid },
					    { "__gc", guardian_close },
					    { NULL, NULL } };
	static const luaL_Reg fns[] = { { "guardian", guardian },
					{ "detach", detach },
					{ NULL, NULL } };

	nb_lua_class(L, GUARDIAN, methods);
	luaL_setfuncs(L, fns, 0);
}
