// SPDX-License-Identifier: MIT
/*
 * ncclbpf-shell: a Lua state with a memory limit, the module and the Lua
 * files of lua/ncclbpf built in, Ctrl-C, and the line editor. Everything else
 * (options, commands, output) is Lua: ncclbpf.shell.main.
 */
#include "shell/shell.h"

#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "lua/core/module.h"
#include "shell/embed.h"

enum { MEMORY_LIMIT = 64 << 20, EX_BUG = 70 };

static int load_embedded(lua_State *L)
{
	const struct nb_embedded *e = lua_touserdata(L, lua_upvalueindex(1));
	const char *name = lua_pushfstring(L, "=%s", e->module);

	if (luaL_loadbufferx(L, (const char *)e->code, e->size, name, "b"))
		return lua_error(L);
	lua_call(L, 0, 1);
	return 1;
}

/* The module, the editor and each embedded file into package.preload. */
static void preload(lua_State *L)
{
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	lua_pushcfunction(L, luaopen_ncclbpf_core);
	lua_setfield(L, -2, "ncclbpf.core");
	lua_pushcfunction(L, nb_edit_open);
	lua_setfield(L, -2, "ncclbpf.edit");
	for (const struct nb_embedded *e = nb_embedded; e->module; e++) {
		lua_pushlightuserdata(L, (void *)(uintptr_t)e);
		lua_pushcclosure(L, load_embedded, 1);
		lua_setfield(L, -2, e->module);
	}
	lua_pop(L, 1);
}

static int interrupt_clear(lua_State *L)
{
	nb_interrupt_clear(L);
	return 0;
}

static int interrupt_twice(lua_State *L)
{
	lua_pushboolean(L, nb_interrupt_twice());
	return 1;
}

static int deep(lua_State *L)
{
	void *ud;

	lua_getallocf(L, &ud);
	struct nb_memory *m = ud;

	lua_pushboolean(L, m->deep);
	m->deep = false;
	return 1;
}

/* Run ncclbpf.shell.host.main(arguments, {clear, twice, deep, pipe, screen}) ->
 * status
 */
static int shell_run(lua_State *L)
{
	static const luaL_Reg host[] = {
		{ "clear", interrupt_clear }, { "twice", interrupt_twice }, { "deep", deep },
		{ "pipe", nb_pipe_open },     { "screen", nb_screen_open }, { NULL, NULL }
	};
	int argc = (int)lua_tointeger(L, 1);
	char **argv = lua_touserdata(L, 2);

	luaL_openlibs(L);
	preload(L);
	lua_gc(L, LUA_GCGEN, 0, 0);
	nb_interrupt_install(L);
	lua_getglobal(L, "require");
	lua_pushliteral(L, "ncclbpf.shell.host");
	lua_call(L, 1, 1);
	lua_getfield(L, -1, "main");
	lua_createtable(L, argc, 0);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i);
	}
	luaL_newlib(L, host);
	lua_call(L, 2, 1);
	return 1;
}

/*
 * Take the terminal's character set from the user's locale, and nothing else:
 * words and numbers that we read and write are data. A script's string.upper
 * is that of C.UTF-8; our own code asks no locale (core/base/ascii.h,
 * lua/ncclbpf/base/ascii.lua).
 */
static void take_charset(void)
{
	setlocale(LC_CTYPE, "");
	if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8");
}

/*
 * Give closed standard streams a descriptor that they cannot be used with, so
 * that no socket gets their numbers, and an error says what is missing.
 */
static void fill_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	struct nb_memory m = { .limit = MEMORY_LIMIT };
	int status = EX_BUG;

	fill_streams();
	take_charset();
	signal(SIGPIPE, SIG_DFL);
	lua_State *L = lua_newstate(nb_memory_alloc, &m);

	if (!L) {
		fputs("ncclbpf-shell: not enough memory\n", stderr);
		return EX_BUG;
	}
	lua_pushcfunction(L, shell_run);
	lua_pushinteger(L, argc);
	lua_pushlightuserdata(L, argv);
	int failed = lua_pcall(L, 2, 1, 0);

	nb_interrupt_clear(L); /* Ctrl-C must not stop the code below */
	if (failed) {
		const char *text = luaL_tolstring(L, -1, NULL);

		fprintf(stderr, "ncclbpf-shell: internal: %s\n", text);
	} else {
		status = (int)lua_tointeger(L, -1);
	}
	nb_edit_close();
	lua_settop(L, 0);
	lua_close(L);
	return status;
}
