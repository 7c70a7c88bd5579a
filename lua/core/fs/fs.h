// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_FS_H
#define NB_LUA_CORE_FS_H

#include <stdbool.h>

#include <lauxlib.h>
#include <lua.h>

/*
 * file.c - push nil and the error in errno; its code is "cannot_create" with @create. Returns 2.
 */
int nb_lua_write_error(lua_State *L, const char *path, bool create);

/* The functions of core that the files of these names have. */
extern const luaL_Reg nb_lua_file[], nb_lua_folder[], nb_lua_segment[], nb_lua_lock[];

#endif
