// SPDX-License-Identifier: MIT
/*
 * A program that reads what a command prints: a pager, or the program after `|`
 * at the prompt. It runs while the command runs, so it gets each line at once.
 * It has the terminal: Ctrl-C interrupts the command and the program, and once
 * the command has ended, the program alone. It may end before it has read all.
 */
#include "shell/shell.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"

#define PIPE "ncclbpf.pipe"

enum { NO_COMMAND = 127 };

struct pipe {
	FILE *f; /* NULL if it is closed */
	struct sigaction sigpipe_was;
};

static struct pipe *open_pipe(lua_State *L)
{
	struct pipe *p = luaL_checkudata(L, 1, PIPE);

	luaL_argcheck(L, p->f, 1, "the pipe is closed");
	return p;
}

/*
 * Write all of @text unless the program has ended or Ctrl-C was pressed. The
 * wait ends when the pipe has room for PIPE_BUF bytes, so no write blocks.
 */
static bool pipe_write_all(int fd, const char *text, size_t size)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (size && nb_lua_poll(&room, 1, -1) >= 0) {
		ssize_t n = write(fd, text, size < PIPE_BUF ? size : PIPE_BUF);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		text += n;
		size -= (size_t)n;
	}
	return !size;
}

/* p:write(text) -> true | nil (the program has ended). Raises "interrupted". */
static int pipe_write(lua_State *L)
{
	struct pipe *p = open_pipe(L);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);
	bool done = pipe_write_all(fileno(p->f), text, size);

	if (nb_lua_stopped())
		nb_lua_interrupted(L);
	if (!done)
		return 0;
	lua_pushboolean(L, 1);
	return 1;
}

/*
 * p:close([text]) -> true | nil (the command cannot be started). Write @text,
 * then wait until the program ends.
 */
static int pipe_close(lua_State *L)
{
	struct pipe *p = open_pipe(L);
	struct sigaction ignore = { .sa_handler = SIG_IGN }, int_was;
	size_t size;
	const char *text = luaL_optlstring(L, 2, "", &size);
	int rc;

	sigaction(SIGINT, &ignore, &int_was);
	pipe_write_all(fileno(p->f), text, size);
	rc = pclose(p->f);
	p->f = NULL;
	sigaction(SIGINT, &int_was, NULL);
	sigaction(SIGPIPE, &p->sigpipe_was, NULL);
	if (WIFEXITED(rc) && WEXITSTATUS(rc) == NO_COMMAND)
		return 0;
	lua_pushboolean(L, 1);
	return 1;
}

static int pipe_gc(lua_State *L)
{
	const struct pipe *p = luaL_checkudata(L, 1, PIPE);

	return p->f ? pipe_close(L) : 0;
}

/*
 * If $LESS is not set, set it to FRX: less then ends if one screen is enough,
 * shows colours and leaves the text on the screen.
 */
int nb_pipe_open(lua_State *L)
{
	static const luaL_Reg methods[] = { { "write", pipe_write },
					    { "close", pipe_close },
					    { "__gc", pipe_gc },
					    { NULL, NULL } };
	const char *command = luaL_checkstring(L, 1);
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct pipe *p = lua_newuserdatauv(L, sizeof(*p), 0);

	p->f = NULL;
	nb_lua_class(L, PIPE, methods);
	luaL_setmetatable(L, PIPE);
	setenv("LESS", "FRX", 0);
	/* $PAGER is a command line by POSIX. NOLINTNEXTLINE(cert-env33-c) */
	p->f = popen(command, "w");
	if (!p->f)
		return 0;
	sigaction(SIGPIPE, &ignore, &p->sigpipe_was);
	return 1;
}
