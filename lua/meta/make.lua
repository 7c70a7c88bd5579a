-- SPDX-License-Identifier: MIT
-- make.lua META OUT PAGE MAN: OUT is the meta file with its generated part (the
-- context's fields, two functions for each command), PAGE the reference made of it and
-- of the table of commands, MAN the same as a manual page. Run by the shell, in `make docs`.
local core = require "ncclbpf.core"
local jobs = require "ncclbpf.api.job"
local lists = require "ncclbpf.base.lists"

local META, OUT, PAGE, MAN = arg[1], arg[2], arg[3], arg[4]

local function write(path, text) assert(core.write(path, text)) end

-- ---- the generated part --------------------------------------------------------

local rows = jobs.rows()

-- The type of a command's argument: words in the list part, options as fields.
local function argument(row)
	local t = { "[integer]: string|number" .. (row.tables and "|table" or "") }
	for _, name in ipairs(lists.keys(row.options)) do
		t[#t + 1] = name .. "?: " .. (name == "follow"
			and "boolean|fun(part: table): boolean?" or "any")
	end
	if row.dry then t[#t + 1] = "dry_run?: boolean" end
	return "{" .. table.concat(t, ", ") .. "}"
end

local function generated()
	local t = { "---The context of a tuner program, which sets algo, proto, channels and "
			.. "chunk_size.",
		"---@class ncclbpf.context" }
	for _, f in ipairs(core.fields "tuner") do
		t[#t + 1] = ("---@field %s integer|string"):format(f.name)
	end
	for _, of in ipairs { "nb.", "job:" } do
		for _, x in ipairs(rows) do
			t[#t + 1] = ("\n---%s\n---`%s`\n---@param words? string|%s\n"
				.. "---@return table? result\n---@return ncclbpf.error? err\n"
				.. "function %s%s(words) end"):format(x.row.help,
				(x.row.words .. " " .. x.row.syntax):gsub(" $", ""),
				argument(x.row), of, x.name)
		end
	end
	return table.concat(t, "\n")
end

local meta = assert(core.read(META))
local head, tail = meta:match "^(.-\n%-%- <generated>\n).-(%-%- </generated>\n.*)$"
assert(head, META .. ": no marks")
meta = head .. generated() .. "\n" .. tail
write(OUT, meta)

-- Reading the types.

local TITLES = { nb = "nb", job = "A job" }
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

local doc, params, returns, fields = {}, {}, {}, nil
local function flush() doc, params, returns = {}, {}, {} end

-- A row of a call: {name, what, gives}; of a field: {name, type, what}.
local function call(name)
	local what = table.concat(doc, " ")
	-- commands have a table of their own
	if params[1] and params[1]:find "^`words" then return end
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

local list = section "Commands"
list.doc = "Each command is a function of nb and a method of a job. Its words are the list part "
	.. "of the table, its options (`name=`) are fields. A single word needs no table. It "
	.. "returns the data of the command's JSON form, or nil and an error (docs/lua.md)."
for _, x in ipairs(rows) do
	local words = (x.row.syntax:gsub("%s*%[?[%l_]+=%S*", ""))
	local fields = lists.map(lists.keys(x.row.options), function(name) return name .. "=" end)
	if x.row.dry then fields[#fields + 1] = "dry_run=" end
	table.sort(fields)
	local inner = words .. (words ~= "" and #fields > 0 and ", " or "")
		.. table.concat(fields, ", ")
	inner = inner == "" and "()" or "{" .. inner .. "}"
	list[#list + 1] = { x.name .. inner, x.row.help, "" }
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
