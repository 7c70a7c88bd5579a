// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_VALUES_H
#define NB_LUA_CORE_VALUES_H

#include <lauxlib.h>
#include <lua.h>

/* image.c - set the limits of a policy from the environment, or else to the defaults */
struct nb_policy_opts;
void nb_lua_policy_limits(struct nb_policy_opts *opts);

/* The functions of core that the files of these names have. */
extern const luaL_Reg nb_lua_table[], nb_lua_code[], nb_lua_run[], nb_lua_bytes[];
/* Add one file's part to the module table, which is at the top of the stack. */
void nb_lua_open_btf(lua_State *L);
void nb_lua_open_image(lua_State *L);

#endif
