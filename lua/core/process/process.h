// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_PROCESS_H
#define NB_LUA_CORE_PROCESS_H

#include <lauxlib.h>
#include <lua.h>

/* The functions of core that the files of these names have. */
extern const luaL_Reg nb_lua_host[], nb_lua_terminal[], nb_lua_clang[], nb_lua_native_tuner[];
/* Add one file's part to the module table, which is at the top of the stack. */
void nb_lua_open_guardian(lua_State *L);
void nb_lua_open_uprobes(lua_State *L);
void nb_lua_open_rdma(lua_State *L);

#endif
