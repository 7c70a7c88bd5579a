// SPDX-License-Identifier: MIT
/*
 * The terminal: its size, and how wide a text is on it.
 */
#include "lua/core/process/process.h"

#include <langinfo.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

static int terminal_is(lua_State *L)
{
	lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
	return 1;
}

/* winsize([fd]) -> columns, rows of the terminal on fd (default: stdout); nil
 * if none */
static int terminal_size(lua_State *L)
{
	int fd = (int)luaL_optinteger(L, 1, STDOUT_FILENO);
	struct winsize w;

	if (ioctl(fd, TIOCGWINSZ, &w) || !w.ws_col)
		return 0;
	lua_pushinteger(L, w.ws_col);
	lua_pushinteger(L, w.ws_row);
	return 2;
}

/*
 * width(text) -> columns of the text on a terminal; an invalid byte counts one
 */
static int terminal_width(lua_State *L)
{
	size_t size;
	const char *s = luaL_checklstring(L, 1, &size);
	lua_Integer columns = 0;
	mbstate_t st = { 0 };

	while (size) {
		wchar_t c;
		size_t n = mbrtowc(&c, s, size, &st);

		if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
			memset(&st, 0, sizeof(st));
			/*
			 * without a locale, count the first byte of each
			 * character
			 */
			columns += ((unsigned char)*s & 0xc0) != 0x80;
			n = 1;
		} else {
			int w = wcwidth(c);

			columns += w < 0 ? 1 : w;
		}
		s += n;
		size -= n;
	}
	lua_pushinteger(L, columns);
	return 1;
}

/* utf8() -> does the locale say that the terminal uses UTF-8 */
static int terminal_utf8(lua_State *L)
{
	lua_pushboolean(L, !strcmp(nl_langinfo(CODESET), "UTF-8"));
	return 1;
}

const luaL_Reg nb_lua_terminal[] = { { "isatty", terminal_is },
				     { "winsize", terminal_size },
				     { "width", terminal_width },
				     { "utf8", terminal_utf8 },
				     { NULL, NULL } };
