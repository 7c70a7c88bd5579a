// SPDX-License-Identifier: MIT
/*
 * Ctrl-C. The handler only sets a flag and installs a hook; signal handlers may
 * do both. The hook is installed only by the handler, because it makes a script
 * take twice as long. It stays armed until the prompt clears it: a script's
 * pcall can catch one error, but the next instruction raises it again.
 *
 * A hook belongs to one coroutine, so the handler arms it in each coroutine
 * that runs or waits for one it resumed. coroutine.resume and coroutine.wrap
 * are replaced by functions that keep the list of these.
 */
#include "shell/shell.h"

#include <signal.h>
#include <unistd.h>

#include <lauxlib.h>

#include "lua/core/wait/wait.h"

/* The running coroutines, the innermost first. */
struct running {
	lua_State *L;
	struct running *outer;
};
static struct running first;
static struct running *volatile running = &first;
static volatile sig_atomic_t came_twice;
static double last_time; /* of a Ctrl-C; only the handler uses it */

static void interrupt_stop(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	if (nb_lua_stopped())
		nb_lua_interrupted(L);
	/* the hook was installed in a coroutine that outlived the stop */
	if (!nb_lua_stop)
		lua_sethook(L, NULL, 0, 0);
}

static void interrupt_arm(lua_State *L)
{
	lua_sethook(L, interrupt_stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
		    1);
}

static void on_interrupt(int sig)
{
	double now = nb_lua_mono();

	(void)sig;
	came_twice = last_time && now - last_time < 2;
	if (came_twice && nb_lua_stop) {
		/* the first Ctrl-C is still pending, so it stopped nothing */
		nb_edit_restore();
		nb_screen_restore();
		_exit(130);
	}
	last_time = now;
	nb_edit_interrupted();
	nb_lua_stop = 1;
	for (const struct running *r = running; r; r = r->outer)
		interrupt_arm(r->L);
}

/* Call the function below @nargs arguments, which resumes coroutine @co. */
static int call_resume(lua_State *L, lua_State *co, int nargs)
{
	struct running frame = { .L = co, .outer = running };
	int rc;

	if (nb_lua_stop)
		interrupt_arm(co);
	running = &frame;
	rc = lua_pcall(L, nargs, LUA_MULTRET, 0);
	running = frame.outer;
	return rc ? lua_error(L) : lua_gettop(L);
}

/* coroutine.resume; upvalue 1: Lua's own */
static int coroutine_resume(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTHREAD);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	return call_resume(L, lua_tothread(L, 2), lua_gettop(L) - 1);
}

/*
 * The function that coroutine.wrap returns. Upvalues: Lua's own function, and
 * its coroutine.
 */
static int resume_wrapped(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	return call_resume(L, lua_tothread(L, lua_upvalueindex(2)), lua_gettop(L) - 1);
}

/* Replaces coroutine.wrap. Upvalue 1 is Lua's own function. */
static int wrap(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TFUNCTION);
	lua_settop(L, 1);
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 1, 1);
	lua_getupvalue(L, -1, 1); /* Lua keeps the coroutine in this upvalue */
	lua_pushcclosure(L, resume_wrapped, 2);
	return 1;
}

static void replace(lua_State *L, const char *name, lua_CFunction f)
{
	lua_getfield(L, -1, name);
	lua_pushcclosure(L, f, 1);
	lua_setfield(L, -2, name);
}

void nb_interrupt_install(lua_State *L)
{
	struct sigaction sa = { .sa_handler = on_interrupt };

	first.L = L;
	lua_getglobal(L, "coroutine");
	replace(L, "resume", coroutine_resume);
	replace(L, "wrap", wrap);
	lua_pop(L, 1);
	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL); /* without SA_RESTART, so that Ctrl-C ends
					 system calls that wait */
}

void nb_interrupt_clear(lua_State *L)
{
	lua_sethook(L, NULL, 0, 0);
	nb_lua_stop = 0;
}

bool nb_interrupt_deep(int calls)
{
	lua_Debug ar;

	return running->L && lua_getstack(running->L, calls, &ar);
}

int nb_interrupt_twice(void)
{
	return came_twice;
}
