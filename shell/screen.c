// SPDX-License-Identifier: MIT
/*
 * A full screen by ncurses, as a Lua object: draw rows of styled text, wait for
 * a key. Lua makes the contents of the rows (commands/top.lua). The terminal
 * gets its modes and its main screen back when the screen is closed or
 * collected, and when the process is terminated by a signal.
 */
#include "shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include <lauxlib.h>

#include "lua/core/support/support.h"
#include "lua/core/wait/wait.h"

/*
 * included after our headers, because both define a macro ERR, and
 * core/base/err.h undefines its own
 */
#include <ncurses.h>
#include <term.h>

#define SCREEN_TYPE "ncclbpf.screen"

enum { MAX_COLUMNS = 1024, MAX_RESTORE = 256 };

static struct {
	SCREEN *screen; /* NULL if it is not open */
	struct termios modes;
	char restore[MAX_RESTORE]; /* sequence that leaves the alternate screen
				    */
	size_t restore_size;
} scr;

static const int ENDS[] = { SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
enum { NENDS = sizeof(ENDS) / sizeof(ENDS[0]) };
static struct sigaction end_was[NENDS];

/* Ending the screen. */

void nb_screen_restore(void)
{
	if (!scr.screen)
		return;
	/* if the terminal is gone, nothing can be restored */
	ssize_t n = write(STDOUT_FILENO, scr.restore, scr.restore_size);

	(void)n;
	tcsetattr(STDIN_FILENO, TCSANOW, &scr.modes);
}

/*
 * ncurses' own handlers are not safe in a signal, and they hide the signal
 * that ended the process.
 */
static void on_end(int sig)
{
	nb_screen_restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void restore_add(const char *capability)
{
	const char *s = tigetstr(capability);

	if (!s || s == (const char *)-1 || scr.restore_size + strlen(s) > sizeof(scr.restore))
		return;
	memcpy(scr.restore + scr.restore_size, s, strlen(s));
	scr.restore_size += strlen(s);
}

static void screen_end(void)
{
	if (!scr.screen)
		return;
	endwin();
	delscreen(scr.screen);
	scr.screen = NULL;
	for (int i = 0; i < NENDS; i++)
		sigaction(ENDS[i], &end_was[i], NULL);
}

static int screen_close(lua_State *L)
{
	(void)L;
	screen_end();
	return 0;
}

/* ---- drawing ---- */

static attr_t style_of(const char *word)
{
	enum { RED = 1, GREEN, YELLOW };
	static const struct {
		const char *word;
		attr_t attr;
		short pair;
	} styles[] = {
		{ "bold", A_BOLD, 0 },	{ "dim", A_DIM, 0 },   { "reverse", A_REVERSE, 0 },
		{ "red", A_BOLD, RED }, { "green", 0, GREEN }, { "yellow", 0, YELLOW },
	};

	for (size_t i = 0; word && i < sizeof(styles) / sizeof(styles[0]); i++)
		if (!strcmp(styles[i].word, word))
			return styles[i].attr | (attr_t)COLOR_PAIR(styles[i].pair);
	return 0;
}

/* Write @text from column @x on, no further than the right edge. -> column */
static int screen_put_text(int y, int x, const char *text, size_t size)
{
	mbstate_t st = { 0 };
	int limit = COLS < MAX_COLUMNS ? COLS : MAX_COLUMNS;

	while (size) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, size, &st);
		int width;

		if (n == (size_t)-1 || n == (size_t)-2 || !n) {
			c = L'?';
			n = 1;
			memset(&st, 0, sizeof(st));
		}
		width = wcwidth(c);
		if (width < 0) {
			c = L'?';
			width = 1;
		}
		if (x + width > limit)
			break;
		mvaddnwstr(y, x, &c, 1);
		x += width;
		text += n;
		size -= n;
	}
	return x;
}

/*
 * Draw the row on top of the stack, a text or a list {text, style, text,
 * style...}.
 */
static void screen_put_row(lua_State *L, int y)
{
	int x = 0;
	size_t size;

	if (!lua_istable(L, -1)) {
		const char *text = lua_tolstring(L, -1, &size);

		if (text)
			screen_put_text(y, 0, text, size);
		return;
	}
	for (lua_Integer i = 1;; i += 2) {
		lua_rawgeti(L, -1, i);
		lua_rawgeti(L, -2, i + 1);
		const char *text = lua_tolstring(L, -2, &size);
		attr_t style = style_of(lua_tostring(L, -1));

		if (text) {
			attrset((int)style);
			x = screen_put_text(y, x, text, size);
			attrset(A_NORMAL);
		}
		lua_pop(L, 2);
		if (!text)
			return;
	}
}

/* screen:draw(rows): show these rows on the screen */
static int screen_draw(lua_State *L)
{
	luaL_checktype(L, 2, LUA_TTABLE);
	if (!scr.screen)
		return 0;
	erase();
	for (int y = 0; y < LINES; y++) {
		lua_rawgeti(L, 2, y + 1);
		screen_put_row(L, y);
		lua_pop(L, 1);
	}
	refresh();
	return 0;
}

/* ---- keys ---- */

static const char *name_of_key(int c)
{
	static char plain[2];

	switch (c) {
	case KEY_UP:
		return "up";
	case KEY_DOWN:
		return "down";
	case KEY_LEFT:
		return "left";
	case KEY_RIGHT:
		return "right";
	case KEY_PPAGE:
		return "page up";
	case KEY_NPAGE:
		return "page down";
	case KEY_HOME:
		return "home";
	case KEY_END:
		return "end";
	case KEY_RESIZE:
		return "resize";
	case KEY_ENTER:
	case '\r':
	case '\n':
		return "enter";
	case '\t':
		return "tab";
	case KEY_BACKSPACE:
	case '\b':
	case 127:
	case 27:
		return "back";
	case '\f':
		return "redraw";
	}
	if (c <= ' ' || c > '~')
		return c == ' ' ? "space" : "unknown";
	plain[0] = (char)c;
	return plain;
}

/*
 * screen:key(seconds) -> the key's name | nil: none came. Raises "interrupted"
 * at Ctrl-C, and an error when the terminal is gone.
 */
static int screen_key(lua_State *L)
{
	const double SLICE = 0.1; /* wake up to notice a new size */
	double end = nb_lua_mono() + luaL_checknumber(L, 2);

	luaL_argcheck(L, scr.screen, 1, "closed");
	for (;;) {
		struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
		double left = end - nb_lua_mono();
		int c = getch();

		if (c != ERR) {
			if (c == '\f')
				clearok(curscr, TRUE);
			lua_pushstring(L, name_of_key(c));
			return 1;
		}
		if (left <= 0)
			return 0;
		int n = nb_lua_poll(&p, 1, left < SLICE ? left : SLICE);

		if (n < 0)
			return nb_lua_interrupted(L);
		if (n && (p.revents & (POLLHUP | POLLERR | POLLNVAL)))
			return luaL_error(L, "the terminal is gone");
	}
}

/* screen:size() -> columns, rows */
static int screen_size(lua_State *L)
{
	lua_pushinteger(L, scr.screen ? COLS : 0);
	lua_pushinteger(L, scr.screen ? LINES : 0);
	return 2;
}

/* ---- the beginning ---- */

static void use_colors(void)
{
	if (getenv("NO_COLOR") || !has_colors())
		return;
	start_color();
	use_default_colors();
	init_pair(1, COLOR_RED, -1);
	init_pair(2, COLOR_GREEN, -1);
	init_pair(3, COLOR_YELLOW, -1);
}

/* screen() -> screen | nil, err */
int nb_screen_open(lua_State *L)
{
	static const luaL_Reg methods[] = { { "draw", screen_draw },
					    { "key", screen_key },
					    { "size", screen_size },
					    { "close", screen_close },
					    { "__gc", screen_close },
					    { "__close", screen_close },
					    { NULL, NULL } };
	struct sigaction end = { .sa_handler = on_end };

	if (scr.screen)
		return luaL_error(L, "the screen is open");
	if (tcgetattr(STDIN_FILENO, &scr.modes) || !isatty(STDOUT_FILENO))
		return nb_lua_failf(L, NB_E_USAGE, "a terminal is needed for input and output");
	for (int i = 0; i < NENDS; i++)
		sigaction(ENDS[i], NULL, &end_was[i]);
	scr.screen = newterm(NULL, stdout, stdin);
	if (!scr.screen)
		return nb_lua_failf(L, NB_E_SETTING, "TERM=%s: unknown type of terminal",
				    getenv("TERM") ? getenv("TERM") : "");
	scr.restore_size = 0;
	restore_add("sgr0");
	restore_add("cnorm");
	restore_add("rmkx");
	restore_add("rmcup");
	for (int i = 0; i < NENDS; i++)
		if (end_was[i].sa_handler != SIG_IGN)
			sigaction(ENDS[i], &end, NULL);
	set_escdelay(50);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	use_colors();
	lua_newuserdatauv(L, 1, 0);
	nb_lua_class(L, SCREEN_TYPE, methods);
	luaL_setmetatable(L, SCREEN_TYPE);
	return 1;
}
