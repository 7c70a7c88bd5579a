// SPDX-License-Identifier: MIT
/*
 * Ctrl-C. The handler only sets a flag and arms a hook, both allowed there;
 * the hook is armed from nowhere else, because an armed hook slows a script
 * down by half. It stays armed until the prompt clears it: a script's pcall
 * can eat one error, but the next instruction raises it again.
 */
#include "shell/shell.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/core.h"

static lua_State *state;
static volatile sig_atomic_t twice;
static volatile time_t last;

static void stop(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	if (nb_lua_stopped())
		nb_lua_interrupted(L);
}

static void on_interrupt(int sig)
{
	struct timespec now;

	(void)sig;
	clock_gettime(CLOCK_MONOTONIC, &now);
	twice = last && now.tv_sec - last < 2;
	if (twice && nb_lua_stop) {
		/* the first is still pending: something cannot be stopped */
		nb_edit_restore();
		_exit(130);
	}
	last = now.tv_sec;
	nb_edit_interrupted();
	nb_lua_stop = 1;
	lua_sethook(state, stop,
		    LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
		    1);
}

void nb_interrupt_install(lua_State *L)
{
	struct sigaction sa = { .sa_handler = on_interrupt };

	state = L;
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL); /* no SA_RESTART: waits must end */
}

void nb_interrupt_clear(lua_State *L)
{
	lua_sethook(L, NULL, 0, 0);
	nb_lua_stop = 0;
}

int nb_interrupt_twice(void)
{
	return twice;
}
