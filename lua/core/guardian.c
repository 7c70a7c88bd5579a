// SPDX-License-Identifier: MIT
/*
 * A guardian: a copy of this process that waits for its end, and then does
 * what was agreed before. It waits on a socket whose other end only we have, so
 * it needs no signal and no look at the clock, and no way of dying goes past
 * it. It has a session of its own, for what ends the shell's ends not it, and
 * it holds neither terminal nor output.
 */
#include "lua/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARDIAN "ncclbpf.guardian"

struct guardian {
	int fd; /* -1: closed */
	pid_t pid;
};

static void silence(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < 3; i++)
		dup2(fd, i);
}

/* Never returns. @fd: a byte: all is well; the end of the stream: we are
 * alone. The function is at the top of the stack. */
static _Noreturn void guard(lua_State *L, int fd)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
				       SIGTSTP };
	char byte;
	ssize_t n;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		signal(signals[i], i ? SIG_DFL : SIG_IGN);
	setsid();
	silence();
	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 0) {
		nb_lua_stop = 0;
		lua_pcall(L, 0, 0, 0);
	}
	_exit(0);
}

static void close_both(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* Two ends, none of them where standard files are: these may be closed, and
 * then somebody writes to that number, or silence replaces it. */
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

/* guardian(f) -> one that calls f when this process has ended | nil, err.
 * Only processes of one thread. */
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
		return nb_lua_failf(L, NB_E_IO, "no socket for the guardian");
	g->pid = fork();
	if (g->pid < 0) {
		close_both(fds);
		return nb_lua_failf(L, NB_E_NOMEM, "no guardian process");
	}
	if (!g->pid) {
		close(fds[1]);
		lua_settop(L, 1);
		guard(L, fds[0]);
	}
	close(fds[0]);
	g->fd = fds[1];
	return 1;
}

/* It acts as if we had ended, unless @well. */
static void leave(struct guardian *g, bool well)
{
	if (g->fd < 0)
		return;
	if (well) { /* where it is gone already there is nothing to say */
		while (send(g->fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
			;
	}
	close(g->fd);
	g->fd = -1;
	while (well && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* g:done(): all is well, it goes away */
static int done(lua_State *L)
{
	leave(luaL_checkudata(L, 1, GUARDIAN), true);
	return 0;
}

/* g:close(): it does now what it is for; not waited for */
static int done_not(lua_State *L)
{
	leave(luaL_checkudata(L, 1, GUARDIAN), false);
	return 0;
}

/* g:pid() */
static int pid(lua_State *L)
{
	struct guardian *g = luaL_checkudata(L, 1, GUARDIAN);

	lua_pushinteger(L, g->pid);
	return 1;
}

void nb_lua_open_guardian(lua_State *L)
{
	static const luaL_Reg methods[] = { { "done", done },
					    { "close", done_not },
					    { "pid", pid },
					    { NULL, NULL } };

	luaL_newmetatable(L, GUARDIAN);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, done_not);
	lua_setfield(L, -2, "__gc");
	lua_pop(L, 1);
	lua_pushcfunction(L, guardian);
	lua_setfield(L, -2, "guardian");
}
