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
local function want(name, command)
	n = n + 1
	if not meta:find("\nfunction " .. name .. "(", 1, true) then
		missing[#missing + 1] = name
	end
	if not command and not page:find("| `" .. name .. "(", 1, true) then
		missing[#missing + 1] = name .. " in the page"
	end
end
local own = {}
for _, x in ipairs(require("ncclbpf.api.job").rows()) do
	own["nb." .. x.name], own["job:" .. x.name] = true, true
	local row = "| `" .. x.name
	if not (page:find(row .. "{", 1, true) or page:find(row .. "(", 1, true)) then
		missing[#missing + 1] = x.name .. " in the page"
	end
end
local function all(of, t)
	for name, f in pairs(t) do
		if type(f) == "function" and name:sub(1, 1) ~= "_" then
			want(of .. name, own[of .. name])
		end
	end
end
local job = require("ncclbpf.api.job").methods
all("nb.", nb)
all("nb.json.", nb.json)
all("job:", job)
table.sort(missing)
assert(n > 80 and #missing == 0,
	"no entry in lua/meta/ncclbpf.lua: " .. table.concat(missing, ", "))
-- and nothing that there is not
for name in meta:gmatch "\nfunction job:([%w_]+)%(" do
	assert(job[name], "job:" .. name .. ": no such method")
end
for name in meta:gmatch "\nfunction (nb[%w_.]+)%(" do
	local v = nb
	for part in name:sub(4):gmatch "[^.]+" do v = type(v) == "table" and v[part] or nil end
	assert(type(v) == "function", name .. ": no such function")
end
assert(load(meta, "=meta", "t"))
E
lua_run "$T/check.lua" "$T/meta.lua" "$T/page.md" 2>"$T/why"
ok "every function has an entry, every entry a function" $?
# The example of docs/lua.md is a file that another suite runs.
lua_run -e 'local top = os.getenv "TOP"
local doc = io.open(top .. "/docs/lua.md"):read "a"
local code = io.open(top .. "/examples/rollout/first.lua"):read "a"
assert(doc:find(code, 1, true))' 2>"$T/why"
ok "docs/lua.md has the example as it is" $?
