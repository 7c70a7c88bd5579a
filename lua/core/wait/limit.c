// SPDX-License-Identifier: MIT
/*
 * A call of a script's function with a limit of time and one of memory. What only
 * computes has a limit of processor time, so a busy machine ends no call; what may
 * wait has a deadline. A hook halves the speed of Lua, so a timer's signal installs
 * it only at the end. From then on every instruction raises an error, and no wait
 * begins or continues. A script that catches the error cannot continue, and its
 * result is ignored. C functions of Lua's library are not interrupted, so a pattern
 * may run for ever (docs/lua.md). The memory that they allocate is counted.
 */
#include "lua/core/wait/wait.h"

#include <math.h>
#include <string.h>
#include <sys/time.h>

static struct limit {
	lua_State *L;
	volatile sig_atomic_t late;
	lua_Alloc alloc;
	void *ud;
	size_t used, most;
	bool running;
} limit;

/* Lua also reports freed bytes; these may be blocks from before the call. */
static void *limited_alloc(void *ud, void *p, size_t old, size_t size)
{
	struct limit *l = ud;
	size_t had = p ? old : 0;

	if (size > had && size - had > l->most - l->used)
		return NULL;
	void *q = l->alloc(l->ud, p, old, size);

	if (q || !size) {
		if (size >= had)
			l->used += size - had;
		else
			l->used -= had - size < l->used ? had - size : l->used;
	}
	return q;
}

static void limit_stop(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	lua_sethook(L, limit_stop, LUA_MASKCOUNT, 1);
	luaL_error(L, "runs too long");
}

static void on_alarm(int sig)
{
	(void)sig;
	limit.late = 1;
	/* Ctrl-C has armed its own hook, which ends the call too */
	if (limit.L && !lua_gethook(limit.L))
		lua_sethook(limit.L, limit_stop,
			    LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
}

bool nb_lua_late(void)
{
	return limit.running && limit.late;
}

static void limit_arm(int which, double seconds, struct itimerval *old)
{
	struct itimerval t = { .it_value = {
				       .tv_sec = (time_t)seconds,
				       .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6),
			       } };

	setitimer(which, &t, old);
}

/* NULL, or the error as text */
static const char *limit_text(int rc)
{
	if (limit.late)
		return "runs too long";
	if (rc == LUA_ERRMEM)
		return "takes too much memory";
	return NULL;
}

static int call_limited(lua_State *L, int which, int sig)
{
	double seconds = luaL_checknumber(L, 1);
	lua_Integer bytes = luaL_checkinteger(L, 2);
	struct sigaction sa = { .sa_handler = on_alarm }, old;
	struct itimerval timer;
	int rc, held = nb_lua_held;
	const char *why;

	luaL_argcheck(L, seconds >= 0.001 && seconds <= 3600, 1, "out of range");
	luaL_argcheck(L, bytes > 0, 2, "out of range");
	luaL_checktype(L, 3, LUA_TFUNCTION);
	if (limit.running)
		return luaL_error(L, "limited: within itself");
	lua_pushboolean(L, 0);
	lua_replace(L, 1); /* keep a slot for the result, so that no memory is
			      needed later */
	memset(&limit, 0, sizeof(limit));
	limit.running = true;
	limit.L = L;
	limit.most = (size_t)bytes;
	limit.alloc = lua_getallocf(L, &limit.ud);
	sigemptyset(&sa.sa_mask);
	sigaction(sig, &sa, &old);
	lua_setallocf(L, limited_alloc, &limit);
	limit_arm(which, seconds, &timer);
	rc = lua_pcall(L, lua_gettop(L) - 3, LUA_MULTRET, 0);
	setitimer(which, &timer, NULL);
	sigaction(sig, &old, NULL);
	limit.L = NULL;
	if (lua_gethook(L) == limit_stop)
		lua_sethook(L, NULL, 0, 0);
	lua_setallocf(L, limit.alloc, limit.ud);
	limit.running = false;
	/* the error may have skipped the call of hold(false) */
	nb_lua_held = held;
	why = limit_text(rc);
	if (why) {
		lua_settop(L, 1);
		lua_pushstring(L, why);
		lua_pushboolean(L, 1);
		return 3;
	}
	lua_pushboolean(L, rc == LUA_OK);
	lua_replace(L, 2);
	return lua_gettop(L) - 1;
}

/*
 * limited(seconds, bytes, f, ...) -> true, results | false, the raised error |
 * false, text, true if a limit was exceeded. Calls cannot be nested.
 */
static int do_limited(lua_State *L)
{
	return call_limited(L, ITIMER_REAL, SIGALRM);
}

/* computed(seconds, bytes, f, ...): the same with seconds of this process's processor time */
static int do_computed(lua_State *L)
{
	return call_limited(L, ITIMER_PROF, SIGPROF);
}

const luaL_Reg nb_lua_limit[] = {
	{ "limited", do_limited },
	{ "computed", do_computed },
	{ NULL, NULL },
};
