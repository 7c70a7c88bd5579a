-- SPDX-License-Identifier: MIT
-- Completion: grammar, live names, files, Lua globals. The prompt asks it
-- with a session; the user's shell through `ncclbpf-shell __complete WORDS`.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local collectives = require "ncclbpf.job.collectives"
local commands = require "ncclbpf.commands.rows"
local lists = require "ncclbpf.base.lists"
local words = require "ncclbpf.cli.words"
local format = require "ncclbpf.base.format"
local read = require "ncclbpf.job.read"
local target = require "ncclbpf.job.target"

local M = {}

local FILE_OPTIONS = { data = true, out = true, segment = true }

local function starting(list, prefix)
	local t = lists.unique(lists.select(list, function(w)
		return w:sub(1, #prefix) == prefix
	end))
	table.sort(t)
	return t
end

-- Names of objects in the target.

local lines = { policies = "policy list", maps = "map list", comms = "comm list" }

local function names_in(kind, data)
	local list = read.list(data, kind)
	if kind ~= "maps" then
		return lists.map(list, function(x)
			return tostring(x[kind == "policies" and "name" or "comm"])
		end)
	end
	local count = {}
	for _, m in ipairs(list) do
		m.map = tostring(m.map)
		count[m.map] = (count[m.map] or 0) + 1
	end
	return lists.map(list, function(m)
		return count[m.map] > 1 and tostring(m.policy) .. "/" .. m.map or m.map
	end)
end

-- Return the cached names of a kind of object in the attached group; {} if the group does not
-- answer at once.
local function live(group, kind)
	if kind == "collectives" then return collectives.words_of "coll" end
	if not group or group.closed then return {} end
	group.caches.names = group.caches.names or {}
	local known = group.caches.names[kind]
	if known and clock.now() - known.at < clock.times.names then return known.list end
	local m = group:living()[1]
	if not m then return {} end
	local was = group.timeout
	group.timeout = clock.times.complete
	local ok, r = pcall(group.ask, group, lines[kind], { members = { m } })
	group.timeout = was
	local list = ok and r[1].data and names_in(kind, r[1].data) or {}
	group.caches.names[kind] = { at = clock.now(), list = list }
	return list
end

-- ---- files and Lua -------------------------------------------------------------------

-- Return the folders, and the files that end in one of @suffixes (nil: any).
local function files(prefix, suffixes)
	local dir, name = prefix:match("^(.*/)([^/]*)$")
	if not dir then dir, name = "", prefix end
	local t = {}
	for _, f in ipairs(core.list(dir == "" and "." or dir) or {}) do
		if f:sub(1, #name) == name and (name ~= "" or f:sub(1, 1) ~= ".") then
			local st = core.stat(dir .. f)
			local folder = st and st.kind == "directory"
			local fits = folder or not suffixes
			for _, x in ipairs(suffixes or {}) do fits = fits or f:sub(-#x) == x end
			if fits then t[#t + 1] = dir .. f .. (folder and "/" or "") end
		end
	end
	table.sort(t)
	return t
end

local function members(value)
	local t = {}
	local function add(x)
		if type(x) ~= "table" then return end
		for k in next, x do
			if type(k) == "string" and k:match("^[%a_][%w_]*$")
				and k:sub(1, 1) ~= "_" then
				t[#t + 1] = k
			end
		end
	end
	local mt = debug.getmetatable(value)
	local methods = type(mt) == "table" and (rawget(mt, "methods") or rawget(mt, "__index"))
	if type(value) == "table" and not (type(mt) == "table" and rawget(mt, "__metatable")) then
		add(value)
	end
	if type(methods) == "table" then add(methods) end
	return t
end

-- Complete a Lua name: "nb.pol", "job:pol" -> candidates for the last name
local function lua_names(text)
	local path, last = text:match("([%a_][%w_.:]*[.:])([%w_]*)$")
	if not path then
		last = text:match("([%a_][%w_]*)$")
		if not last then return {}, "" end
		local t = {}
		for k in pairs(_G) do
			if type(k) == "string" then t[#t + 1] = k end
		end
		return starting(t, last), last
	end
	local value = _G
	for name in path:gmatch("[^.:]+") do
		if type(value) ~= "table" then return {}, last end
		local ok, v = pcall(rawget, value, name)
		if not ok or v == nil then return {}, last end
		value = v
	end
	return starting(members(value), last), last
end

-- ---- a command line --------------------------------------------------------------------

-- Return the words of the command before the last of @list, without options.
local function words_before(list)
	local before, skip = {}, false
	for i = 1, #list - 1 do
		local w = list[i]
		if skip then
			skip = false
		elseif w:match("^%-") and not w:match("^%-%d") then
			skip = w:match("^%-[pJrSToef]$") ~= nil
		else
			before[#before + 1] = w
		end
	end
	return before
end

-- Return the candidates for the last word of @list, which may be "".
function M.words(list, group)
	local current = list[#list] or ""
	local before = words_before(list)
	local prev = #list > 1 and list[#list - 1] or ""
	if prev == "-o" then return starting(format.formats, current) end
	if prev == "-f" or prev == "-S" then return files(current) end
	if prev == "-J" or prev == "-p" then
		return starting(lists.map((target.sockets()), function(s)
			return prev == "-J" and s.job or tostring(s.pid)
		end), current)
	end
	if current:match("^%-") then
		return starting(lists.map(lists.keys(words.options), function(name)
			return "--" .. name
		end), current)
	end
	if before[1] == "watch" and #before >= 2 then
		table.remove(before, 1)
		table.remove(before, 1)
	end
	if before[1] == "help" then table.remove(before, 1) end
	if #before == 0 then return starting(commands.nouns(), current) end
	local noun = before[1]
	local verbs = commands.verbs(noun)
	if #before == 1 and #verbs > 0 then return starting(verbs, current) end
	local row = commands.find(#verbs > 0 and noun .. " " .. before[2] or noun)
	if not row then return {} end
	if noun == "attach" then
		local t = {}
		for _, s in ipairs((target.sockets())) do
			t[#t + 1] = s.job
			t[#t + 1] = tostring(s.pid)
		end
		return starting(t, current)
	end
	local t = {}
	if row.names and (row.names ~= "maps" or #before == 2)
		and (row.names ~= "collectives" or #before == 1) then
		for _, n in ipairs(live(group, row.names)) do t[#t + 1] = n end
		if row.words == "policy use" then t[#t + 1] = "none" end
	end
	local option, value = current:match "^([%a_]+)=(.*)$"
	if option then
		if not FILE_OPTIONS[option] or not row.options[option] then return {} end
		t = files(value)
		for i, f in ipairs(t) do t[i] = option .. "=" .. f end
		return t
	end
	-- Offer options only after the required words.
	local given = 0
	for i = (#verbs > 0 and 3 or 2), #before do
		if not before[i]:match "^[%a_]+=" then given = given + 1 end
	end
	if given >= row.least then
		for name in pairs(row.options) do t[#t + 1] = name .. "=" end
	end
	t = starting(t, current)
	-- Offer files only for words with a slash, in places where names are more likely.
	if row.files and given < row.most and (not row.paths or current:find("/", 1, true)) then
		for _, f in ipairs(files(current, row.files ~= true and row.files)) do
			t[#t + 1] = f
		end
	end
	return t
end

-- Return the description of a candidate for the last word of @list; nil for a name or a file.
local function meaning(list, candidate)
	local before = words_before(list)
	if candidate:sub(1, 2) == "--" then
		local o = words.options[candidate:sub(3)]
		return o and o.help
	end
	if before[1] == "help" then table.remove(before, 1) end
	local row = commands.find(table.concat(before, " ", 1, math.min(#before, 2)))
		or commands.find(before[1] or "")
	if candidate:sub(-1) == "=" and row then return row.options[candidate:sub(1, -2)] end
	if #before > 1 then return nil end
	row = commands.find(before[1] and before[1] .. " " .. candidate or candidate)
	if row then return row.help end
	local verbs = #before == 0 and commands.verbs(candidate) or {}
	return #verbs > 0 and table.concat(verbs, ", ") or nil
end

-- ---- the prompt --------------------------------------------------------------------------

local function common(list)
	local p = list[1]
	for _, w in ipairs(list) do
		while w:sub(1, #p) ~= p do p = p:sub(1, -2) end
	end
	-- do not insert a part of a character
	return (p:gsub("[\192-\255][\128-\191]*$", function(c) return utf8.len(c) and c or "" end))
end

-- Complete the text before the cursor. -> text to insert, text to show
function M.line(text, group, columns)
	local typed = text:gsub("^%s*:?%s*", "")
	local list, _, open = words.split(typed)
	list = list or open
	local candidates, last
	if words.is_command(typed) or not typed:find("[=(.%[:{ ]") then
		if typed == "" or typed:match("%s$") then list[#list + 1] = "" end
		candidates = M.words(list, group)
		last = list[#list] or ""
		if #candidates == 0 and #list == 1 then candidates, last = lua_names(text) end
	else
		candidates, last = lua_names(text)
	end
	if #candidates == 0 then return nil end
	local whole = common(candidates)
	if #candidates == 1 then
		local tail = whole:sub(-1)
		local insert = whole:sub(#last + 1)
		-- add a blank after a complete word of a command
		local blank = tail ~= "/" and tail ~= "="
			and words.is_command(typed .. insert .. " ")
		return insert .. (blank and " " or "")
	end
	if #whole > #last then return whole:sub(#last + 1) end
	local shown, width = {}, 0
	for i, c in ipairs(candidates) do
		shown[i] = c:match("([^/]+/?)$") or c
		width = math.max(width, core.width(shown[i]))
	end
	local per = math.max(1, (columns or 80) // (width + 2))
	local out = {}
	for i = 1, #shown do
		out[#out + 1] = shown[i] .. ((i % per == 0 or i == #shown)
			and (i < #shown and "\n" or "")
			or (" "):rep(width + 2 - core.width(shown[i])))
	end
	return nil, table.concat(out)
end

-- Completion for the user's shell.

-- `__complete [--describe] WORDS...`: print candidates, one a line; none if the job does
-- not answer quickly. --describe: add a tab and the description of the candidate.
function M.main(app, list)
	local describe = list[1] == "--describe"
	if describe then table.remove(list, 1) end
	if #list == 0 then list = { "" } end
	local group
	local row = commands.find((list[1] or "") .. " " .. (list[2] or ""))
		or commands.find(list[1] or "")
	if row and row.names and row.names ~= "collectives" then
		local session = require "ncclbpf.job.session"
		local sockets = target.sockets()
		if sockets[1] then
			local ok, g = pcall(session.attach, { socket = sockets[1].path },
				clock.times.attach)
			group = ok and g or nil
		end
	end
	local t = M.words(list, group)
	if group then group:close() end
	for i, candidate in ipairs(t) do
		local text = describe and meaning(list, candidate)
		t[i] = text and candidate .. "\t" .. text or candidate
	end
	if #t > 0 then app:write(table.concat(t, "\n") .. "\n") end
	return 0
end

return M
