// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_WAIT_H
#define NB_LUA_CORE_WAIT_H

#include <signal.h>
#include <stdbool.h>

#include <lauxlib.h>
#include <lua.h>

/*
 * The clock, Ctrl-C, deadlines, and what waits. Everything that waits asks nb_lua_mono for the
 * time and waits in nb_lua_poll.
 */

/*
 * Set by the shell's signal handler, cleared at the prompt. While it is set
 * (and core.hold is not active), every wait of this module raises
 * "interrupted".
 */
extern volatile sig_atomic_t nb_lua_stop;
/* Greater than 0 while Ctrl-C must wait (core.hold). */
extern volatile sig_atomic_t nb_lua_held;
/* Greater than 0 while Ctrl-C may stop the running code (core.guard). */
extern volatile sig_atomic_t nb_lua_guarded;
bool nb_lua_stopped(void);
/* Has the time of the running call of core.limited passed? */
bool nb_lua_late(void);

struct pollfd;
/*
 * Like poll(2), but Ctrl-C and the deadline of core.limited interrupt it
 * without a race. Returns the result of poll, or -1 with errno EINTR after
 * one of these. @timeout: seconds; negative: no limit.
 */
int nb_lua_poll(struct pollfd *fds, unsigned n, double timeout);
/* Seconds of CLOCK_MONOTONIC. */
double nb_lua_mono(void);
/* Push, or raise, the error table of an interrupted command. */
void nb_lua_push_interrupted(lua_State *L);
int nb_lua_interrupted(lua_State *L);

/* The descriptor that the userdata at @index holds; -1: another value. */
int nb_lua_descriptor(lua_State *L, int index);

/* The functions of core that the files of these names have. */
extern const luaL_Reg nb_lua_clock[], nb_lua_interrupt[], nb_lua_limit[], nb_lua_descriptors[];
/* Add one file's part to the module table, which is at the top of the stack. */
void nb_lua_open_socket(lua_State *L);
void nb_lua_open_fleet(lua_State *L);
void nb_lua_open_store(lua_State *L);
void nb_lua_open_agents(lua_State *L);

#endif
