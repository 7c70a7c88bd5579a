// SPDX-License-Identifier: MIT
/*
 * Ctrl-C: what it may stop, and who defers it. The shell's signal handler sets the flag
 * (shell/interrupt.c); plain lua5.4 never does.
 */
#include "lua/core/wait/wait.h"

#include "lua/core/support/support.h"

volatile sig_atomic_t nb_lua_stop;
volatile sig_atomic_t nb_lua_held;
volatile sig_atomic_t nb_lua_guarded;

bool nb_lua_stopped(void)
{
	return nb_lua_stop && nb_lua_guarded && !nb_lua_held;
}

void nb_lua_push_interrupted(lua_State *L)
{
	lua_createtable(L, 0, 2);
	nb_lua_set_str(L, "code", "interrupted");
	nb_lua_set_str(L, "message", "interrupted");
	luaL_setmetatable(L, NB_LUA_ERROR);
}

int nb_lua_interrupted(lua_State *L)
{
	nb_lua_push_interrupted(L);
	return lua_error(L);
}

/* hold(true): defer Ctrl-C until hold(false). */
static int interrupt_hold(lua_State *L)
{
	nb_lua_held = nb_lua_held + (lua_toboolean(L, 1) ? 1 : -1);
	if (nb_lua_held < 0)
		nb_lua_held = 0;
	return 0;
}

/*
 * held(f, ...) -> like pcall, but defer Ctrl-C afterwards: a pending Ctrl-C
 * would otherwise raise again at the next instruction
 */
static int interrupt_held(lua_State *L)
{
	int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);

	nb_lua_held = nb_lua_held + 1;
	lua_pushboolean(L, rc == LUA_OK);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/*
 * settled(f, ...) -> did Ctrl-C end f, then the results of pcall(f, ...).
 * Clears the Ctrl-C.
 */
static int interrupt_settled(lua_State *L)
{
	int rc = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
	bool stopped = nb_lua_stopped();

	if (stopped) {
		lua_sethook(L, NULL, 0, 0);
		nb_lua_stop = 0;
	}
	lua_pushboolean(L, rc == LUA_OK);
	lua_insert(L, 1);
	lua_pushboolean(L, stopped);
	lua_insert(L, 1);
	return lua_gettop(L);
}

/* stopped() -> is a Ctrl-C pending? For callers of hold(true) */
static int interrupt_stopped(lua_State *L)
{
	lua_pushboolean(L, nb_lua_stop != 0);
	return 1;
}

static int with_trace(lua_State *L)
{
	if (lua_type(L, 1) == LUA_TSTRING)
		luaL_traceback(L, L, lua_tostring(L, 1), 1);
	return 1;
}

/*
 * guard(trace, f, ...) -> as pcall(f, ...); with a trace of the stack behind a
 * string error if trace is true. Ctrl-C stops only code that runs within a
 * guard. A script's pcall may catch its error, so guard checks again at the
 * end; the outermost guard clears the Ctrl-C.
 */
static int interrupt_guard(lua_State *L)
{
	int trace = lua_toboolean(L, 1), rc, held = nb_lua_held;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushcfunction(L, with_trace);
	lua_replace(L, 1);
	nb_lua_guarded = nb_lua_guarded + 1;
	rc = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, trace ? 1 : 0);
	nb_lua_guarded = nb_lua_guarded - 1;
	/* an error in f may have skipped the call of hold(false) */
	nb_lua_held = held;
	if (nb_lua_stop && !nb_lua_held) {
		if (!nb_lua_guarded) {
			lua_sethook(L, NULL, 0, 0);
			nb_lua_stop = 0;
		}
		lua_settop(L, 1);
		nb_lua_push_interrupted(L);
		rc = LUA_ERRRUN;
	}
	lua_pushboolean(L, rc == LUA_OK);
	lua_replace(L, 1);
	return lua_gettop(L);
}

const luaL_Reg nb_lua_interrupt[] = {
	{ "hold", interrupt_hold },	  { "guard", interrupt_guard },
	{ "held", interrupt_held },	  { "settled", interrupt_settled },
	{ "stopped", interrupt_stopped }, { NULL, NULL }
};
