// SPDX-License-Identifier: MIT
/*
 * The entry of the Lua module `ncclbpf.core`: the primitives that Lua cannot
 * do itself (sockets with credentials and descriptors, type information,
 * images, verdicts) and the rows of core/defs as Lua tables. Everything that
 * a person would call an interface is Lua, in lua/ncclbpf.
 */
#include "lua/core/module.h"

#include "lua/core/fs/fs.h"
#include "lua/core/process/process.h"
#include "lua/core/support/support.h"
#include "lua/core/values/values.h"
#include "lua/core/wait/wait.h"

static const luaL_Reg *const functions[] = { nb_lua_rows,      nb_lua_judge, nb_lua_clock,
					     nb_lua_interrupt, nb_lua_limit, nb_lua_descriptors,
					     nb_lua_table,     nb_lua_code,  nb_lua_run,
					     nb_lua_bytes,     nb_lua_file,  nb_lua_folder,
					     nb_lua_segment,   nb_lua_host,  nb_lua_terminal,
					     nb_lua_clang,     nb_lua_lock,  nb_lua_native_tuner };

__attribute__((visibility("default"))) int luaopen_ncclbpf_core(lua_State *L)
{
	luaL_checkversion(L);
	lua_newtable(L);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		luaL_setfuncs(L, functions[i], 0);
	nb_lua_open_support(L);
	nb_lua_open_json(L);
	nb_lua_open_socket(L);
	nb_lua_open_fleet(L);
	nb_lua_open_store(L);
	nb_lua_open_agents(L);
	nb_lua_open_btf(L);
	nb_lua_open_image(L);
	nb_lua_open_guardian(L);
	nb_lua_open_uprobes(L);
	nb_lua_open_rdma(L);
	nb_lua_set_str(L, "version", NCCLBPF_VERSION);
	return 1;
}
