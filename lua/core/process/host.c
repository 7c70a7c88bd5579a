// SPDX-License-Identifier: MIT
/*
 * Processes of this host, by their PIDs, and who this process is.
 */
#include "lua/core/process/process.h"

#include <unistd.h>

#include "core/base/liveness.h"

/*
 * alive(pid) -> is there such a process that is not a zombie, and is it
 * stopped? For PIDs of this PID namespace.
 */
static int pid_alive(lua_State *L)
{
	lua_Integer pid = luaL_checkinteger(L, 1);
	bool alive = pid > 0 && nb_process_alive((uint64_t)pid, 0);

	lua_pushboolean(L, alive);
	lua_pushboolean(L, alive && nb_process_stopped((uint64_t)pid));
	return 2;
}

/* namespace() -> inode of this process's PID namespace */
static int pid_namespace(lua_State *L)
{
	lua_pushinteger(L, (lua_Integer)nb_pid_namespace());
	return 1;
}

static int own_ids(lua_State *L)
{
	lua_pushinteger(L, geteuid());
	lua_pushinteger(L, getpid());
	return 2;
}

const luaL_Reg nb_lua_host[] = {
	{ "alive", pid_alive }, { "namespace", pid_namespace }, { "ids", own_ids }, { NULL, NULL }
};
