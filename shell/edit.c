// SPDX-License-Identifier: MIT
/*
 * The line editor: libedit with completion and events from Lua. While a line
 * is edited, terminal and sockets are waited for together, so that a lost
 * target shows at once above the line. Lua is called under pcall only:
 * nothing may jump through libedit's frames.
 */
#include "shell/shell.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include <histedit.h>
#include <lauxlib.h>

#include "lua/core/wait/wait.h"

enum { MAX_FDS = 1024, HISTORY_SIZE = 10000 };

static struct editor {
	EditLine *el;
	History *history;
	lua_State *L;
	int callbacks; /* registry reference of the table that edit_start() got */
	char prompt[512];
	mbstate_t mb;
	bool modes_saved, ended, stopped, typed;
	bool fresh; /* no key of this line has been read yet */
	struct termios modes;
} ed;

static volatile sig_atomic_t resized;

static void on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

void nb_edit_restore(void)
{
	if (ed.modes_saved)
		tcsetattr(STDIN_FILENO, TCSANOW, &ed.modes);
}

void nb_edit_interrupted(void)
{
	if (ed.modes_saved)
		tcflush(STDIN_FILENO, TCIFLUSH);
}

void nb_edit_close(void)
{
	if (ed.el)
		el_end(ed.el);
	if (ed.history)
		history_end(ed.history);
	ed.el = NULL;
	ed.history = NULL;
	nb_edit_restore();
	ed.modes_saved = false;
}

static char *prompt(EditLine *el)
{
	(void)el;
	return ed.prompt;
}

static void set_prompt(const char *text)
{
	snprintf(ed.prompt, sizeof(ed.prompt), "%s", text ? text : "");
}

/*
 * Call callbacks[name] with @nargs values on the stack. Returns false on
 * failure; otherwise @nresults values are on the stack.
 */
static bool edit_call(const char *name, int nargs, int nresults)
{
	lua_State *L = ed.L;

	lua_rawgeti(L, LUA_REGISTRYINDEX, ed.callbacks);
	lua_getfield(L, -1, name);
	lua_remove(L, -2);
	if (!lua_isfunction(L, -1)) {
		lua_pop(L, nargs + 1);
		return false;
	}
	lua_insert(L, -nargs - 1);
	if (lua_pcall(L, nargs, nresults, 0)) {
		lua_pop(L, 1);
		return false;
	}
	return true;
}

/* While a line is edited, events of sockets that Lua watches are handled too.
 */

/* Descriptors that Lua watches, after the terminal's. */
static unsigned edit_wanted(struct pollfd *fds)
{
	unsigned n = 0;

	fds[n++] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
	if (!edit_call("descriptors", 0, 1))
		return n;
	for (lua_Integer i = 1; lua_istable(ed.L, -1) && n < MAX_FDS; i++) {
		if (lua_rawgeti(ed.L, -1, i) == LUA_TNIL) {
			lua_pop(ed.L, 1);
			break;
		}
		fds[n].fd = (int)lua_tointeger(ed.L, -1);
		fds[n].events = POLLIN;
		fds[n++].revents = 0;
		lua_pop(ed.L, 1);
	}
	lua_pop(ed.L, 1);
	return n;
}

/*
 * A descriptor is readable. Lua returns the text to print above the line, and
 * the prompt.
 */
static void event(void)
{
	lua_State *L = ed.L;

	if (!edit_call("event", 0, 2))
		return;
	if (lua_isstring(L, -2)) {
		fputs("\r\033[K", stdout);
		fputs(lua_tostring(L, -2), stdout);
		fputs("\n", stdout);
		fflush(stdout);
	}
	if (lua_isstring(L, -1))
		set_prompt(lua_tostring(L, -1));
	if (lua_isstring(L, -1) || lua_isstring(L, -2))
		el_set(ed.el, EL_REFRESH);
	lua_pop(L, 2);
}

/*
 * Read a byte that poll has announced. Returns -1 and EAGAIN if a Ctrl-C has
 * discarded the byte meanwhile. SIGINT is blocked, because otherwise the read
 * could sleep after it.
 */
static ssize_t take_byte(unsigned char *c, const struct pollfd *p)
{
	sigset_t block, old;
	ssize_t got = -1;
	int n = 0;

	sigemptyset(&block);
	sigaddset(&block, SIGINT);
	sigprocmask(SIG_BLOCK, &block, &old);
	ioctl(STDIN_FILENO, FIONREAD, &n);
	if (n > 0 || p->revents & (POLLHUP | POLLERR | POLLNVAL))
		got = read(STDIN_FILENO, c, 1);
	else
		errno = EAGAIN;
	int e = errno;

	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = e;
	return got;
}

/* Wait for a byte. Returns 1, or 0 at the end, or -1 after Ctrl-C. */
static int get_byte(unsigned char *c)
{
	static struct pollfd fds[MAX_FDS];

	for (;;) {
		unsigned n = edit_wanted(fds);
		int rc = nb_lua_poll(fds, n, -1);

		if (resized) {
			resized = 0;
			el_resize(ed.el);
		}
		if (rc < 0)
			return -1;
		if (fds[0].revents) {
			ssize_t got = take_byte(c, &fds[0]);

			if (got < 0 && (errno == EINTR || errno == EAGAIN))
				continue;
			return got == 1 ? 1 : 0;
		}
		if (rc > 0)
			event();
	}
}

static int get_char(EditLine *el, wchar_t *out)
{
	const LineInfo *li = el_line(el);
	unsigned char c;

	fflush(stdout);
	for (;;) {
		int rc = get_byte(&c);

		if (rc <= 0) {
			ed.ended = rc == 0;
			ed.stopped = rc < 0;
			/* libedit discards the line when it leaves */
			ed.typed = li->lastchar > li->buffer;
			return rc;
		}
		/*
		 * the kernel turns a Ctrl-D into a NUL if it was typed before
		 * the terminal was in our mode
		 */
		if (ed.fresh && !c)
			c = 4;
		ed.fresh = false;
		size_t n = mbrtowc(out, (char *)&c, 1, &ed.mb);

		if (n == (size_t)-1) {
			/*
			 * the byte is no character of this locale: use it
			 * unchanged
			 */
			memset(&ed.mb, 0, sizeof(ed.mb));
			*out = L'?';
			return 1;
		}
		if (n != (size_t)-2)
			return 1;
	}
}

/* ---- completion ---- */

/*
 * complete(text before the cursor) -> text to insert or nil, candidates to
 * show as text or nil
 */
static unsigned char complete(EditLine *el, int ch)
{
	const LineInfo *li = el_line(el);
	lua_State *L = ed.L;
	unsigned char rc = CC_ERROR;

	(void)ch;
	lua_pushlstring(L, li->buffer, (size_t)(li->cursor - li->buffer));
	if (!edit_call("complete", 1, 2))
		return CC_ERROR;
	if (lua_isstring(L, -2) && lua_rawlen(L, -2) > 0 && !el_insertstr(el, lua_tostring(L, -2)))
		rc = CC_REFRESH;
	if (lua_isstring(L, -1)) {
		fputs("\n", stdout);
		fputs(lua_tostring(L, -1), stdout);
		fputs("\n", stdout);
		fflush(stdout);
		rc = CC_REDISPLAY;
	}
	lua_pop(L, 2);
	return rc;
}

/* ---- the Lua side ---- */

static int edit_fail(lua_State *L)
{
	nb_edit_close();
	return luaL_error(L, "the line editor cannot start on this terminal");
}

/* start{complete=, descriptors=, event=} */
static int edit_start(lua_State *L)
{
	struct sigaction sa = { .sa_handler = on_resize };
	HistEvent ev;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	ed.callbacks = luaL_ref(L, LUA_REGISTRYINDEX);
	ed.L = L;
	ed.modes_saved = !tcgetattr(STDIN_FILENO, &ed.modes);
	ed.el = el_init("ncclbpf-shell", stdin, stdout, stderr);
	ed.history = history_init();
	if (!ed.el || !ed.history)
		return edit_fail(L);
	history(ed.history, &ev, H_SETSIZE, HISTORY_SIZE);
	el_set(ed.el, EL_PROMPT_ESC, prompt, '\1');
	el_set(ed.el, EL_EDITOR, "emacs");
	el_set(ed.el, EL_SIGNAL, 0);
	el_set(ed.el, EL_HIST, history, ed.history);
	el_set(ed.el, EL_GETCFN, get_char);
	el_set(ed.el, EL_ADDFN, "ncclbpf-complete", "complete the word", complete);
	/*
	 * At Ctrl-C the kernel would empty the terminal's queues, perhaps after
	 * we have printed the reply. nb_edit_interrupted discards the typed keys.
	 */
	el_set(ed.el, EL_SETTY, "-d", "+noflsh", NULL);
	el_set(ed.el, EL_SETTY, "-x", "+noflsh", NULL);
	el_set(ed.el, EL_BIND, "^I", "ncclbpf-complete", NULL);
	el_set(ed.el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(ed.el, NULL);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGWINCH, &sa, NULL);
	return 0;
}

/*
 * line(prompt) -> text without its newline | nil at the end | false after
 * Ctrl-C, and whether Ctrl-C discarded a text
 */
static int edit_line(lua_State *L)
{
	const char *text;
	int n = 0;

	set_prompt(luaL_checkstring(L, 1));
	if (!ed.el)
		return luaL_error(L, "no editor");
	ed.L = L;
	ed.ended = ed.stopped = false;
	ed.fresh = true;
	memset(&ed.mb, 0, sizeof(ed.mb));
	/*
	 * call this before the prompt appears, because the terminal could
	 * receive keys
	 */
	el_set(ed.el, EL_PREP_TERM, 1);
	nb_lua_guarded = nb_lua_guarded + 1;
	text = el_gets(ed.el, &n);
	nb_lua_guarded = nb_lua_guarded - 1;
	if (ed.stopped) {
		/* the next line starts empty and in the first column */
		nb_interrupt_clear(L);
		el_reset(ed.el);
		fputs("^C\n", stdout);
		fflush(stdout);
		lua_pushboolean(L, 0);
		lua_pushboolean(L, ed.typed);
		return 2;
	}
	if (!text || n <= 0) {
		fputs("\n", stdout);
		fflush(stdout);
		return 0;
	}
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	lua_pushlstring(L, text, (size_t)n);
	return 1;
}

/* remember(text): one line of history */
static int edit_remember(lua_State *L)
{
	HistEvent ev;

	if (ed.history)
		history(ed.history, &ev, H_ENTER, luaL_checkstring(L, 1));
	return 0;
}

int nb_edit_open(lua_State *L)
{
	static const luaL_Reg fns[] = { { "start", edit_start },
					{ "line", edit_line },
					{ "remember", edit_remember },
					{ NULL, NULL } };

	luaL_newlib(L, fns);
	return 1;
}
