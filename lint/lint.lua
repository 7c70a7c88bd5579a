-- SPDX-License-Identifier: MIT
-- lint.lua FILE...: Lua that does not compile, assigns a global, reads one that Lua does not have,
-- folds case by the locale of the process, or waits by another clock or for another length than
-- ncclbpf.base.clock has. Status 1 if a file has any of these.
-- Globals of Lua that the shell replaces, so that files may assign them.
local ASSIGNED = { load = true, loadfile = true, dofile = true, arg = true }
local bad = 0

local function complain(path, line, fmt, ...)
	bad = bad + 1
	io.stderr:write(("%s:%d: %s\n"):format(path, line, fmt:format(...)))
end

-- The globals that a file reads, from the listing of its bytecode.
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

-- ---- rooms ----

-- Read the table of rooms (folders of modules) in @path: room -> set of rooms whose modules it may
-- require.
local function read_rooms(path)
	local rooms, n = {}, 0
	local f = io.open(path)
	if not f then return complain(path, 1, "missing") or rooms end
	for line in f:lines() do
		n = n + 1
		local room, list = line:match "^(%l+):(.*)$"
		if room then
			local may = { [room] = true, core = true, edit = true }
			for other in list:gmatch "%l+" do
				if not rooms[other] then
					complain(path, n, "%s may require %s, " ..
						"which no line above has", room, other)
				end
				may[other] = true
			end
			rooms[room] = may
		end
	end
	f:close()
	return rooms
end

local rooms_of = {} -- by folder

-- Check that @line requires only modules that the folder of @path may require. A row of the command
-- table counts as a require of the module that it names in `run`.
local function check_requires(path, n, line)
	local top, room = path:match "^(.*)ncclbpf/(%l+)/[^/]+%.lua$"
	if not top then top, room = path:match "^(.*)ncclbpf/(init)%.lua$", "init" end
	if not top then return end
	local file = top:gsub("[^/]+/$", "") .. "lint/rooms.txt"
	rooms_of[top] = rooms_of[top] or read_rooms(file)
	local may = rooms_of[top][room]
	if not may then
		complain(path, n, "room %s has no line in %s", room, file)
		rooms_of[top][room] = {}
		return
	end
	local function check(other)
		if other and not may[other] then
			complain(path, n, "%s may not require %s", room, other)
		end
	end
	for name in line:gmatch 'require *%(?"ncclbpf([%l_.]*)"' do
		check(name == "" and "init" or name:match "^%.(%l+)")
		local file = top .. "ncclbpf" .. name:gsub("%.", "/") .. ".lua"
		if name:find "%..+%." and not io.open(file) then
			complain(path, n, "requires %s, which is not there", file)
		end
	end
	local module = line:match 'run = "(%l+)%.[%l_]+:'
	if module then check(module) end
end

-- What depends on the locale of the process; shell/host.lua keeps the shell's.
local LOCAL = { "string%.(upper)%f[%W]", "string%.(lower)%f[%W]", ":(upper)%f[%W]",
	":(lower)%f[%W]", "os%.(setlocale)%f[%W]" }

local function check_locale(path, n, line)
	line = line:gsub('"[^"]*"', ""):gsub("%-%-.*", "")
	for _, pattern in ipairs(LOCAL) do
		local word = line:match(pattern)
		if word and not path:match "ncclbpf/shell/host%.lua$" then
			complain(path, n, "%s depends on the locale; ncclbpf.base.ascii folds case",
				word)
		end
	end
end

-- Clocks beside ncclbpf.base.clock, and lengths of time beside its table.
local CLOCKS = { "core%.mono%f[%W]", "core%.sleep%f[%W]", "os%.clock%f[%W]", "os%.time%(%)" }
local LENGTHS = { "%u_S%s*=", "%u_MS%s*=", "SECONDS%s*=", "PATIENCE%s*=", "sleep%s*%(%s*[%d.]",
	"clock%.now%(%)%s*[-+]%s*%d", "timeout%s*or%s*%d", "reconnect%(%d",
	"attach%(.*,%s*[%d.]+%)",
	"connect%(.*,%s*[%d.]+%)" }

local function check_clock(path, n, line)
	if not path:match "ncclbpf/" or path:match "ncclbpf/base/clock%.lua$" then return end
	line = line:gsub('"[^"]*"', ""):gsub("%-%-.*", "")
	for _, pattern in ipairs(CLOCKS) do
		local word = line:match(pattern)
		if word then complain(path, n, "%s: ncclbpf.base.clock is the clock", word) end
	end
	for _, pattern in ipairs(LENGTHS) do
		local word = line:match(pattern)
		if word then
			complain(path, n, "%s: lengths of time are in ncclbpf.base.clock", word)
		end
	end
end

for _, path in ipairs(arg) do
	local ok, why = loadfile(path, "t")
	if not ok then complain(path, 1, "%s", why) end
	local n = 0
	for line in io.lines(path) do
		n = n + 1
		check_requires(path, n, line)
		if not path:match "^lua/meta/" and not path:match "^shell/" then
			check_locale(path, n, line)
		end
		check_clock(path, n, line)
	end
	if ok then globals(path) end
end
if bad == 0 then print(("lua: %d files"):format(#arg)) end
os.exit(bad == 0)
