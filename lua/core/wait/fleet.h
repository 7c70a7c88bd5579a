// SPDX-License-Identifier: MIT
#ifndef NB_LUA_WAIT_FLEET_H
#define NB_LUA_WAIT_FLEET_H

#include "lua/core/wait/wait.h"
#include "plugin/store/store.h"

/* The object of Lua that store.c and agents.c give their methods. */
#define NB_FLEET "ncclbpf.fleet"

/* A store, its agents, and the loop of HTTP requests that both use. */
struct nb_fleet {
	struct nb_http *http;
	struct nb_store *store; /* NULL if the object is closed */
	char *cacert, *cert, *key;
	struct nb_http_tls tls;
};

/* The open fleet at index @at; raises an error if it is closed. */
struct nb_fleet *nb_fleet_of(lua_State *L, int at);
/*
 * Wait until something happened or the time @end of nb_lua_mono is reached (negative: no limit).
 * Raises an error after Ctrl-C.
 */
void nb_fleet_wait(lua_State *L, const struct nb_fleet *f, double end);
/* Like nb_lua_fail, for an error of the store or of an agent. */
int nb_fleet_fail(lua_State *L, const struct nb_err *err);

#endif
