#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# The meta file has an entry for every function of the Lua interface, and the
# reference page a line for each.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
status 0 "types and page are made" \
	-f "$TOP/lua/meta/make.lua" "$TOP/lua/meta/ncclbpf.lua" "$T/meta.lua" "$T/page.md"
cat >"$T/check.lua" <<'E'
local nb = require "ncclbpf"
local meta, page = io.open(arg[1]):read "a", io.open(arg[2]):read "a"
local missing, n = {}, 0
local function want(name)
	n = n + 1
	if not meta:find("\nfunction " .. name .. "(", 1, true) then
		missing[#missing + 1] = name
	end
	if not page:find("| `" .. name .. "(", 1, true) then
		missing[#missing + 1] = name .. " in the page"
	end
end
for k, v in pairs(nb) do
	if type(v) == "function" and k:sub(1, 1) ~= "_" then want("nb." .. k) end
	if type(v) == "table" and k:sub(1, 1) ~= "_" and k ~= "target" then
		for name, f in pairs(v) do
			if type(f) == "function" then want("nb." .. k .. "." .. name) end
		end
	end
end
local classes = { made = require("ncclbpf.policy.table").methods }
for class, methods in pairs(nb._methods) do classes[class] = methods end
for class, methods in pairs(classes) do
	for name in pairs(methods) do want(class .. ":" .. name) end
end
-- and no method that there is not
for class, name in meta:gmatch "\nfunction ([%w_]+):([%w_]+)%(" do
	assert(classes[class] and classes[class][name], class .. ":" .. name .. ": no such method")
end
table.sort(missing)
assert(n > 80 and #missing == 0,
	"no entry in lua/meta/ncclbpf.lua: " .. table.concat(missing, ", "))
-- and nothing that there is not
for name in meta:gmatch "\nfunction (nb[%w_.]+)%(" do
	local v = nb
	for part in name:sub(4):gmatch "[^.]+" do v = type(v) == "table" and v[part] or nil end
	assert(type(v) == "function", name .. ": no such function")
end
assert(load(meta, "=meta", "t"))
E
lua_run "$T/check.lua" "$T/meta.lua" "$T/page.md" 2>"$T/why"
ok "every function has an entry, every entry a function" $?
