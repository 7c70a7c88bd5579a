// SPDX-License-Identifier: MIT
#ifndef NB_LUA_CORE_MODULE_H
#define NB_LUA_CORE_MODULE_H

#include <lua.h>

/* The module's entry point; the shell preloads it. */
int luaopen_ncclbpf_core(lua_State *L);

#endif
