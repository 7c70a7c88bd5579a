-- SPDX-License-Identifier: MIT
-- Results to text. A command returns data and columns; only this file knows the formats table,
-- tsv, csv, json, ndjson and name.
--
-- result = {
--   schema   "map.list/1"
--   data     what stands under "data" in JSON; everything is there
--   rows     flat tables, one a line of tsv, csv, ndjson
--   merged   rows for people, processes merged (default: rows)
--   columns  { {"name", title=, num=true, show=function(v,row)} }; wide: only
--            in wide; people: not for programs; flat: not for people
--   head     text above the table    foot  lines below it
--   text     for people instead of the table
--   id       field for -o name
-- }
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local units = require "ncclbpf.base.units"

local M = {}

M.formats = { "table", "wide", "tsv", "csv", "json", "ndjson", "name" }

local function plain(v)
	if v == nil then return "" end
	if type(v) == "table" then
		if #v > 0 and type(v[1]) ~= "table" then
			local t = {}
			for i, x in ipairs(v) do t[i] = tostring(x) end
			return table.concat(t, ",")
		end
		return core.encode(v)
	end
	return tostring(v)
end
M.plain = plain

local order_of = function(t)
	local mt = getmetatable(t)
	return type(mt) == "table" and mt.order or nil
end

-- A Lua value as a user types it: {bytes=4, algo=ring}
function M.value(v, depth)
	depth = depth or 0
	if type(v) ~= "table" then
		if type(v) == "string" and not v:match("^[%a_][%w_]*$") then
			return ("%q"):format(v)
		end
		return tostring(v)
	end
	if depth > 8 then return "{...}" end
	local t, seen = {}, {}
	for i, x in ipairs(v) do
		t[i] = M.value(x, depth + 1)
		seen[i] = true
	end
	local names = order_of(v)
	if not names then
		names = {}
		for k in pairs(v) do
			if not seen[k] then names[#names + 1] = k end
		end
		table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
	end
	for _, k in ipairs(names) do
		if v[k] ~= nil and not seen[k] then
			t[#t + 1] = tostring(k) .. "=" .. M.value(v[k], depth + 1)
		end
	end
	return "{" .. table.concat(t, ", ") .. "}"
end

local function cell(column, row)
	local v = row[column[1]]
	if column.show then v = column.show(v, row) end
	if v == nil then return "-" end
	if v == true then return "yes" end
	if v == false then return "no" end
	if type(v) == "table" and getmetatable(v) and #v == 0 then return "-" end
	if type(v) == "table" then v = plain(v) end
	if math.type(v) == "float" then return ("%.1f"):format(v) end
	v = errors.tame(tostring(v)):gsub("[%c]", "?")
	return v == "" and "-" or v
end

local function shown(result, wide)
	local columns = {}
	for _, c in ipairs(result.columns or {}) do
		if not c.flat and (wide or not c.wide) then columns[#columns + 1] = c end
	end
	return columns
end

-- The columns of formats for programs.
local function flat(result)
	local columns = {}
	for _, c in ipairs(result.columns or {}) do
		if not c.people then columns[#columns + 1] = c end
	end
	return columns
end

-- Cut to @limit columns without splitting a character.
local function cut(text, limit)
	if not limit or core.width(text) <= limit then return text end
	while text ~= "" and core.width(text) > limit - 1 do
		text = text:gsub("[^\128-\191][\128-\191]*$", "")
	end
	return text .. ">"
end

local function pad(text, width, right)
	local fill = (" "):rep(width - core.width(text))
	return right and fill .. text or text .. fill
end

-- Aligned lines of a header and rows. @env: columns (screen), quiet, bold.
function M.table(columns, rows, env)
	local lines, width = {}, {}
	local head = {}
	for i, c in ipairs(columns) do
		head[i] = c.title or c[1]:gsub("_us$", " us"):gsub("_bytes$", " bytes"):gsub(
			"_", " "):upper()
		width[i] = core.width(head[i])
	end
	local cells = {}
	for r, row in ipairs(rows) do
		cells[r] = {}
		for i, c in ipairs(columns) do
			cells[r][i] = cell(c, row)
			width[i] = math.max(width[i], core.width(cells[r][i]))
		end
	end
	local function line(values)
		local t = {}
		for i, c in ipairs(columns) do
			t[i] = (i == #columns and not c.num) and values[i]
				or pad(values[i], width[i], c.num)
		end
		return cut(table.concat(t, "  "):gsub(" +$", ""), env.width)
	end
	if not env.quiet then
		local text = line(head)
		lines[1] = env.color and "\27[1m" .. text .. "\27[0m" or text
	end
	for r = 1, #rows do lines[#lines + 1] = line(cells[r]) end
	return lines
end

local function people(result, env, wide)
	local out = {}
	if result.head and not env.quiet then out[#out + 1] = errors.tame(result.head) end
	if result.text then
		out[#out + 1] = errors.tame((result.text:gsub("\n$", "")))
	elseif result.columns then
		local rows = result.merged or result.rows
		if #rows > 0 or not result.empty then
			for _, l in ipairs(M.table(shown(result, wide), rows, env)) do
				out[#out + 1] = l
			end
		else
			out[#out + 1] = result.empty
		end
	end
	for _, l in ipairs(result.foot or {}) do out[#out + 1] = errors.tame(l) end
	return #out > 0 and table.concat(out, "\n") .. "\n" or ""
end

local function tsv(result, env)
	local columns, lines = flat(result), {}
	local function esc(s)
		return (s:gsub("[\\\t\n\r]", { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n",
			["\r"] = "\\r" })):gsub("[%c]", function(c)
			return c == "\t" and c or "?"
		end)
	end
	local function line(f)
		local t = {}
		for i, c in ipairs(columns) do t[i] = esc(f(c)) end
		lines[#lines + 1] = table.concat(t, "\t")
	end
	if #columns == 0 then return result.text and people(result, env) or "" end
	if not env.quiet then line(function(c) return c[1] end) end
	for _, row in ipairs(result.rows or {}) do
		line(function(c) return plain(row[c[1]]) end)
	end
	return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

local function csv(result, env)
	local columns, lines = flat(result), {}
	local function line(f)
		local t = {}
		for i, c in ipairs(columns) do
			local s = f(c):gsub("[%z\1-\8\11\12\14-\31\127]", "?")
			t[i] = s:find('[",\r\n]') and '"' .. s:gsub('"', '""') .. '"' or s
		end
		lines[#lines + 1] = table.concat(t, ",")
	end
	if not env.quiet then line(function(c) return c[1] end) end
	for _, row in ipairs(result.rows or {}) do line(function(c) return plain(row[c[1]]) end) end
	return #lines > 0 and table.concat(lines, "\r\n") .. "\r\n" or ""
end

-- The JSON envelope; @target: the job and its processes.
function M.envelope(result, env, data)
	return setmetatable({
		schema = "ncclbpf." .. result.schema,
		target = env.target or core.null,
		time = core.time(),
		data = data == nil and core.null or data,
	}, { order = { "schema", "target", "time", "data" } })
end

-- Break JSON text into indented lines.
function M.indent_json(text)
	local out, depth, i = {}, 0, 1
	local function nl() out[#out + 1] = "\n" .. ("  "):rep(depth) end
	while i <= #text do
		local c = text:sub(i, i)
		if c == '"' then
			local j = i + 1
			while text:sub(j, j) ~= '"' do
				j = j + (text:sub(j, j) == "\\" and 2 or 1)
			end
			out[#out + 1] = text:sub(i, j)
			i = j
		elseif c == "{" or c == "[" then
			local close = text:sub(i + 1, i + 1)
			if close == "}" or close == "]" then
				out[#out + 1] = c .. close
				i = i + 1
			else
				out[#out + 1] = c
				depth = depth + 1
				nl()
			end
		elseif c == "}" or c == "]" then
			depth = depth - 1
			nl()
			out[#out + 1] = c
		elseif c == "," then
			out[#out + 1] = c
			nl()
		elseif c == ":" then
			out[#out + 1] = ": "
		else
			local j = text:find('[",%]}]', i) or #text + 1
			out[#out + 1] = text:sub(i, j - 1)
			i = j - 1
		end
		i = i + 1
	end
	return table.concat(out)
end

local function json(result, env)
	local text = core.encode(M.envelope(result, env, result.data))
	if env.pretty then text = M.indent_json(text) end
	return text .. "\n"
end

local function ndjson(result, env)
	local lines = {}
	for i, row in ipairs(result.records or result.rows or { result.data }) do
		lines[i] = core.encode(M.envelope(result, env, row))
	end
	return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

local function name(result)
	local lines, seen = {}, {}
	for _, row in ipairs(result.rows or {}) do
		local v = plain(row[result.id or (result.columns and result.columns[1]
			and result.columns[1][1])])
		if v ~= "" and not seen[v] then
			seen[v] = true
			lines[#lines + 1] = (v:gsub("%c", "?"))
		end
	end
	return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
end

local makers = {
	table = function(r, env) return people(r, env, false) end,
	wide = function(r, env) return people(r, env, true) end,
	tsv = tsv, csv = csv, json = json, ndjson = ndjson, name = name,
}

-- Text of a result in env.format.
function M.render(result, env)
	return makers[env.format](result, env)
end

function M.is_json(format)
	return format == "json" or format == "ndjson"
end

M.short = function(digest)
	return type(digest) == "string" and digest:sub(1, 8) or nil
end
M.bytes = units.bytes

return M
