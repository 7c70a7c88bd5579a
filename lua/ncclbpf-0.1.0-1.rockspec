-- SPDX-License-Identifier: MIT
-- The Lua module alone, for LuaRocks: `luarocks make` in a checkout. The plugin,
-- the shell and the policies come of `make install`.
rockspec_format = "3.0"
package = "ncclbpf"
version = "0.1.0-1"
source = {
	url = "ncclbpf-0.1.0.tar.gz", -- `luarocks make` does not fetch it
}
description = {
	summary = "Look into running NCCL jobs and change what they decide",
	detailed = "Attaches to jobs that have loaded libncclbpf.so: policies, maps, decisions, telemetry, rollouts.",
	license = "MIT",
}
supported_platforms = { "linux" }
dependencies = { "lua >= 5.4, < 5.5" }
external_dependencies = {
	LIBBPF = { header = "bpf/libbpf.h" },
	LIBELF = { header = "gelf.h" },
	JANSSON = { header = "jansson.h" },
}
build = {
	type = "make",
	build_target = "lua-module",
	install_target = "install-lua",
	build_variables = { VARIANT = "release" },
	install_variables = { VARIANT = "release", INST_LUADIR = "$(LUADIR)", INST_LIBDIR = "$(LIBDIR)" },
}
