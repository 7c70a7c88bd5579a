-- SPDX-License-Identifier: MIT
-- make.lua META OUT PAGE MAN: OUT is the meta file with its generated part (the
-- context's fields, each command under its words), PAGE the reference made of
-- it, MAN the same as a manual page. Run by the shell, in `make docs`.
local core = require "ncclbpf.core"
local commands = require "ncclbpf.commands.rows"

local META, OUT, PAGE, MAN = arg[1], arg[2], arg[3], arg[4]

local function read(path)
	local f = assert(io.open(path))
	local text = f:read "a"
	f:close()
	return text
end

local function write(path, text)
	local f = assert(io.open(path, "w"))
	f:write(text)
	f:close()
end

-- ---- the generated part --------------------------------------------------------

local function generated(text)
	local t = { "---The context of a tuner program, which sets algo, proto and channels.",
		"---@class ncclbpf.context" }
	for _, f in ipairs(core.fields "tuner") do
		t[#t + 1] = ("---@field %s integer|string"):format(f.name)
	end
	-- names that annotations above already describe
	local seen = {}
	for name in text:gmatch "\nnb%.([%a_]+) = {}" do seen[name] = true end
	for name in text:gmatch "\nfunction nb%.([%w_.]+)%(" do seen[name] = true end
	for _, row in ipairs(commands.all()) do
		local noun, verb = row.words:match "^(%S+) (%S+)$"
		local name = noun and noun .. "." .. verb or type(row.run) == "function"
			and row.words
		if noun and not seen[noun] then
			seen[noun] = true
			t[#t + 1] = ("\n---@class nb.%s\nnb.%s = {}"):format(noun, noun)
		end
		if name and not seen[name] then
			t[#t + 1] = (
				"\n---%s\n---`%s`\n---@param words? " ..
				"table words in the list, name=value as fields\n" ..
				"---@return table? data\n---@return ncclbpf.error? " ..
				"err\nfunction nb.%s(words) end")
				:format(row.help, (row.words .. " " .. row.syntax):gsub(" $", ""),
					name)
		end
	end
	return table.concat(t, "\n")
end

local meta = read(META)
local head, tail = meta:match "^(.-\n%-%- <generated>\n).-(%-%- </generated>\n.*)$"
assert(head, META .. ": no marks")
meta = head .. generated(head) .. "\n" .. tail
write(OUT, meta)

-- Reading the types.

local TITLES = { nb = "nb", made = "A policy made here", target = "A target", map = "A map",
	policy = "A policy of a job",
	comm = "A communicator", decision = "A decision", series = "A series",
		rollout = "A rollout" }
local sections, order = {}, {}
local function section(title)
	if not sections[title] then
		sections[title] = {}
		order[#order + 1] = title
	end
	return sections[title]
end

-- A type's text up to the first blank outside of brackets, and the rest.
local function type_of(text)
	local depth = 0
	for i = 1, #text do
		local c = text:sub(i, i)
		if c:find "[{(<]" then
			depth = depth + 1
		elseif c:find "[})>]" then
			depth = depth - 1
		end
		if c == " " and depth == 0 and not text:sub(1, i - 1):find "[:,]$" then
			return text:sub(1, i - 1), text:sub(i + 1)
		end
	end
	return text, ""
end

local doc, params, returns, fields, class_of = {}, {}, {}, nil, nil
local function flush() doc, params, returns = {}, {}, {} end

-- A row of a call: {name, what, gives}; of a field: {name, type, what}.
local function call(name)
	local what = table.concat(doc, " ")
	if params[1] and params[1]:find "^`words`" then params = {} end
	if #params > 0 then
		what = what .. (what ~= "" and " " or "") .. table.concat(params, "; ")
	end
	local t = section(TITLES[name:match "^%a+"] or "nb")
	t[#t + 1] = { name, what, (table.concat(returns, ", "):gsub(
		", ncclbpf%.error%?$", ", err")) }
end

for line in meta:gmatch "([^\n]*)\n" do
	local tag, rest = line:match "^%-%-%-@(%a+) ?(.*)$"
	if tag == "class" then
		fields = section("`" .. rest:match "^%S+" .. "`")
		fields.of = "fields"
		if #doc > 0 then fields.doc = table.concat(doc, " ") end
		flush()
		class_of = rest
	elseif tag == "overload" then
		-- the class has a call operator
		local want, gives = rest:match "^fun(%b()): ?(.*)$"
		doc, returns = { fields.doc }, { gives }
		for name, kind in want:sub(2, -2):gmatch "([%w_?]+): ([^,]+)" do
			params[#params + 1] = ("`%s`: `%s`"):format(name, kind)
		end
		call(class_of .. "(" .. want:sub(2, -2):gsub("%??: [^,]+", "") .. ")")
		flush()
	elseif tag == "field" then
		local name, kind = rest:match "^(%[?[%w_]+%]?%??) (.*)$"
		fields[#fields + 1] = { name, type_of(kind) }
	elseif tag == "param" then
		local name, kind = rest:match "^(%S+) (.*)$"
		local want, why = type_of(kind)
		params[#params + 1] = ("`%s`: `%s`%s"):format(
			name, want, why ~= "" and ", " .. why or "")
	elseif tag == "return" then
		returns[#returns + 1] = type_of(rest)
	elseif line:match "^%-%-%-" then
		doc[#doc + 1] = line:sub(4)
	else
		local name = line:match "^function ([%w_.:]+%b())"
		if name then call(name) end
		if line ~= "" then flush() end
	end
end

-- ---- the page ----------------------------------------------------------------------

local function cell(text) return (text:gsub("|", "\\|")) end
local function code(text) return text ~= "" and "`" .. cell(text) .. "`" or "" end

local t = { "# The Lua interface, all of it", "",
	"`make docs` generates this page from the types in `share/ncclbpf/meta/ncclbpf.lua`. "
		.. "Editors that know LuaCATS read",
	"these types if you set that folder as a library (`workspace.library`). " ..
		"`docs/lua.md` describes the use of the interface.", "" }
for _, title in ipairs(order) do
	local s = sections[title]
	if #s > 0 then
		t[#t + 1] = "## " .. title .. "\n"
		if s.doc then t[#t + 1] = s.doc .. "\n" end
		t[#t + 1] = s.of and "| field | type | |\n|---|---|---|"
			or "| call | what | gives |\n|---|---|---|"
		for _, r in ipairs(s) do
			t[#t + 1] = s.of and ("| `%s` | %s | %s |"):format(
				r[1], code(r[2]), cell(r[3]))
				or ("| `%s` | %s | %s |"):format(cell(r[1]), cell(r[2]), code(r[3]))
		end
		t[#t + 1] = ""
	end
end
write(PAGE, table.concat(t, "\n"))

-- ---- the manual page ---------------------------------------------------------------

if MAN then write(MAN, dofile((META:gsub("[^/]*$", "man.lua"))).lua(order, sections)) end
