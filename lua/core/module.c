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

__attribute__((visibility("default"))) int luaopen_ncclbpf_core(lua_State *L)
{
	luaL_checkversion(L);
	lua_newtable(L);
	nb_lua_open_support(L);
	nb_lua_open_rows(L);
	nb_lua_open_json(L);
	nb_lua_open_judge(L);
	nb_lua_open_clock(L);
	nb_lua_open_interrupt(L);
	nb_lua_open_limit(L);
	nb_lua_open_socket(L);
	nb_lua_open_descriptor(L);
	nb_lua_open_fleet(L);
	nb_lua_open_store(L);
	nb_lua_open_agents(L);
	nb_lua_open_btf(L);
	nb_lua_open_image(L);
	nb_lua_open_table(L);
	nb_lua_open_code(L);
	nb_lua_open_bytes(L);
	nb_lua_open_file(L);
	nb_lua_open_folder(L);
	nb_lua_open_lock(L);
	nb_lua_open_segment(L);
	nb_lua_open_host(L);
	nb_lua_open_terminal(L);
	nb_lua_open_guardian(L);
	nb_lua_open_clang(L);
	nb_lua_open_uprobes(L);
	nb_lua_open_rdma(L);
	nb_lua_set_str(L, "version", NCCLBPF_VERSION);
	return 1;
}
