-- SPDX-License-Identifier: MIT
-- embed.lua FILE...: a C file that holds each Lua file of the shell, compiled,
-- since reading their text anew took more than half of the shell's start. Names
-- and lines stay, so errors say where they are from.
local list = {}
io.write '#include "shell/embed.h"\n'
for i, path in ipairs(arg) do
	local module = path:match("^lua/(.+)%.lua$"):gsub("/init$", ""):gsub("/", ".")
	local f = assert(io.open(path))
	local code = string.dump(assert(load(f:read "a", "=" .. module, "t")))
	f:close()
	local bytes = code:gsub(".", function(c)
		return c:byte() .. ","
	end):gsub(("[^,]*,"):rep(20), "%0\n")
	io.write(("static const unsigned char lua_%d[] = {\n%s\n};\n"):format(i, bytes))
	list[i] = ('{ "%s", lua_%d, sizeof(lua_%d) },\n'):format(module, i, i)
end
io.write("const struct nb_embedded nb_embedded[] = {\n", table.concat(list), "{ 0, 0, 0 } };\n")
