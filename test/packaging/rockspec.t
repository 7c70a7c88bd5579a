#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The rockspec is a proper one, of this version, and its build and install
# targets give a module that a plain lua5.4 requires.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
spec=$(ls "$TOP"/lua/*.rockspec)
version=$(sed -n 's/^VERSION := //p' "$TOP/Makefile")
cat >"$T/check.lua" <<'E'
local spec = {}
assert(loadfile(arg[1], "t", spec))()
local known = { rockspec_format = "string", package = "string", version = "string",
	source = "table", description = "table", supported_platforms = "table",
	dependencies = "table", external_dependencies = "table", build = "table" }
for k, v in pairs(spec) do assert(type(v) == known[k], "no field of a rockspec: " .. k) end
for k in pairs(known) do assert(spec[k], "missing: " .. k) end
assert(spec.version == arg[2] .. "-1", spec.version)
assert(arg[1]:match "[^/]*$" == ("%s-%s.rockspec"):format(spec.package, spec.version),
	"the file's name")
assert(type(spec.source.url) == "string" and type(spec.description.summary) == "string"
	and spec.description.license == "MIT")
local b = spec.build
assert(b.type == "make" and b.install_variables.INST_LUADIR == "$(LUADIR)"
	and b.install_variables.INST_LIBDIR == "$(LIBDIR)")
print(b.build_target, b.install_target)
E
lua5.4 "$T/check.lua" "$spec" "$version" >"$T/targets" 2>"$T/why"
ok "$(basename "$spec") is a rockspec of version $version" $?
read -r build inst <"$T/targets"
make -s -C "$TOP" B="$B" VARIANT="$(basename "$B")" "$build" "$inst" INST_LUADIR="$T/share" \
	INST_LIBDIR="$T/lib" >"$T/why" 2>&1
ok "its targets build and install" $?
preload=
for lib in asan tsan; do
	nm -D "$T/lib/ncclbpf.so" 2>/dev/null | grep -q "__${lib}_init" &&
		preload=$(gcc -print-file-name=lib$lib.so)
done
(cd "$T" && LD_PRELOAD=$preload ASAN_OPTIONS=detect_leaks=0 \
	LUA_PATH="$T/share/?.lua;$T/share/?/init.lua" LUA_CPATH="$T/lib/?.so" \
	lua5.4 -e 'local nb = require "ncclbpf" assert(nb.size "4M" == 4 << 20)') >"$T/why" 2>&1
ok "and plain lua5.4 requires it" $?
if command -v luarocks >/dev/null; then
	luarocks lint "$spec" >"$T/why" 2>&1
	ok "luarocks lint" $?
fi
