-- SPDX-License-Identifier: MIT
-- lint.lua FILE...: Lua that does not compile, assigns a global, reads one that Lua does
-- not have, has a line over 100 columns (tabs of 8) or more than 800 lines. Status 1 if
-- a file has any of these. Annotations (---@) of types for editors are one line each,
-- so no limit holds there.
local COLUMNS, LINES = 100, 800
-- The shell replaces these.
local ASSIGNED = { load = true, loadfile = true, dofile = true, arg = true }
local bad = 0

local function complain(path, line, fmt, ...)
	bad = bad + 1
	io.stderr:write(("%s:%d: %s\n"):format(path, line, fmt:format(...)))
end

local function columns(line)
	local n = 0
	for _, c in utf8.codes(line, true) do n = c == 9 and (n // 8 + 1) * 8 or n + 1 end
	return n
end

-- The globals of a file, by the listing of its bytecode.
local function globals(path)
	local p = assert(io.popen(("luac5.4 -l -p %q"):format(path)))
	for l in p:lines() do
		local line, name = l:match "%[(%d+)%]%s+SETTABUP%s.*; _ENV \"([^\"]*)\""
		if name and not ASSIGNED[name] then
			complain(path, line, "assigns the global %s", name)
		end
		line, name = l:match "%[(%d+)%]%s+GETTABUP%s.*; _ENV \"([^\"]*)\""
		if name and _G[name] == nil then
			complain(path, line, "reads the global %s, which Lua does not have", name)
		end
	end
	p:close()
end

for _, path in ipairs(arg) do
	local ok, why = loadfile(path, "t")
	if not ok then complain(path, 1, "%s", why) end
	local n = 0
	for line in io.lines(path) do
		n = n + 1
		local width = columns(line)
		if width > COLUMNS and not line:find "^%-%-%-@" then
			complain(path, n, "%d columns, %d allowed", width, COLUMNS)
		end
	end
	if n > LINES then complain(path, n, "%d lines, %d allowed", n, LINES) end
	if ok then globals(path) end
end
if bad == 0 then print(("lua: %d files"):format(#arg)) end
os.exit(bad == 0)
