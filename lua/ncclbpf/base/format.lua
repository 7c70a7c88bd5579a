-- SPDX-License-Identifier: MIT
-- Results to text. A command returns data and columns; only this file knows the formats table,
-- tsv, csv, json, ndjson and name.
--
-- result = {
--   schema   "map.list/1"
--   data     what stands under "data" in JSON; everything is there
--   rows     flat tables, one a line of tsv, csv, ndjson
--   merged   rows for people, processes merged (default: rows)
--   vertical for people: each row as lines of a title and a value
--   columns  { {"name", title=, num=true, show=function(v,row)} }; wide: only
--            in wide; people: not for programs; flat: not for people; drop: a screen that is
--            too narrow loses the highest first; wrap: its text may take several lines
--   head     text above the table    foot  lines below it
--   text     for people instead of the table; raw: its lines are not wrapped
--   id       field for -o name
-- }
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local M = {}

M.formats = { "table", "wide", "tsv", "csv", "json", "ndjson", "name" }

local function plain(v)
	if v == nil then return "" end
	if type(v) == "table" then
		if #v > 0 and type(v[1]) ~= "table" then
			local t = lists.map(v, tostring)
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

-- Return a Lua value as a user types it: {bytes=4, algo=ring}
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
	return lists.select(result.columns or {}, function(c)
		return not c.flat and (wide or not c.wide)
	end)
end

-- Return the columns for formats that programs read (JSON, CSV).
local function flat(result)
	return lists.select(result.columns or {}, function(c) return not c.people end)
end

-- ---- tables for people --------------------------------------------------------------

local LEAST = 16 -- smallest width to which a cell is wrapped, in columns

-- Split @text: return the characters that fit @limit columns (at least one), and the rest.
local function hard(text, limit)
	local take, used = "", 0
	for c in text:gmatch "[^\128-\191][\128-\191]*" do
		used = used + core.width(c)
		if take ~= "" and used > limit then break end
		take = take .. c
	end
	return take, text:sub(#take + 1)
end

-- Break @text at blanks into pieces. The first piece has at most @limit columns, each
-- further one at most @later.
-- @whole: do not break a longer word, such as a path.
local function pieces(text, limit, later, whole)
	local t, line = {}, ""
	local function room() return #t == 0 and limit or later end
	for gap, word in text:gmatch "(%s*)(%S+)" do
		local longer = line .. gap .. word
		if line == "" and #t > 0 then longer = word end
		if line ~= "" and core.width(longer) > room() then
			t[#t + 1] = line
			longer = word
		end
		while not whole and core.width(longer) > room() do
			t[#t + 1], longer = hard(longer, room())
		end
		line = longer
	end
	if line ~= "" or #t == 0 then t[#t + 1] = line end
	return t
end

-- Append the lines of @text to @out, broken to @width columns. If a line has a title on its
-- left ("key  value"), its continuation is indented to the value.
local function wrap(out, text, width)
	for line in (text .. "\n"):gmatch "([^\n]*)\n" do
		if not width or core.width(line) <= width then
			out[#out + 1] = line
		else
			local gap = line:match "^%s*%S.-%s%s+()%S"
			local indent = gap and gap - 1 <= width // 2 and gap - 1
				or math.min(#line:match "^%s*" + 2, width // 2)
			for i, piece in ipairs(pieces(line, width, width - indent, true)) do
				out[#out + 1] = (" "):rep(i > 1 and indent or 0) .. piece
			end
		end
	end
end
M.wrap = wrap

-- Return @text as lines of at most @width columns (nil: no limit), each with its line feed.
-- Lines of source code ("12 | text") stay whole, because a caret below them points at a
-- column.
function M.lines(text, width)
	local out = {}
	for line in (text .. "\n"):gmatch "([^\n]*)\n" do
		wrap(out, line, not line:find "^%s*%d*%s+|" and width or nil)
	end
	return table.concat(out, "\n") .. "\n"
end

local function pad(text, width, right)
	local fill = (" "):rep(width - core.width(text))
	return right and fill .. text or text .. fill
end

local function title(c)
	local name = c[1]:gsub("_us$", " us"):gsub("_bytes$", " bytes"):gsub("_", " ")
	return c.title or ascii.upper(name)
end

local function total(list, width)
	local sum = 2 * (#list - 1)
	for _, i in ipairs(list) do sum = sum + width[i] end
	return sum
end

-- Choose the columns for a screen of @limit columns, and their widths. Texts are wrapped first.
-- Then columns are dropped: those with the highest drop= first, then the last ones. The first
-- column stays. -> list of numbers, widths, list of dropped columns
local function fit(columns, natural, limit)
	local list, left = {}, {}
	for i = 1, #columns do list[i] = i end
	local function narrow(i)
		local c = columns[i]
		return c.wrap or i == list[#list] and not c.num
	end
	while true do
		local width, least = {}, {}
		for _, i in ipairs(list) do
			width[i] = natural[i]
			least[i] = narrow(i) and math.min(natural[i], LEAST) or natural[i]
		end
		if total(list, least) <= limit or #list == 1 then
			while total(list, width) > limit do
				local most
				for _, i in ipairs(list) do
					local longer = not most or width[i] > width[most]
					if width[i] > least[i] and longer then most = i end
				end
				if not most then break end
				width[most] = width[most] - 1
			end
			return list, width, left
		end
		local out = #list
		for k = 2, #list do
			local drop = columns[list[k]].drop or 0
			if drop > (columns[list[out]].drop or 0) then out = k end
		end
		table.insert(left, 1, table.remove(list, out))
	end
end

-- Return aligned lines of a header and rows, and the titles of columns that do not fit the screen.
-- @env: width (screen), quiet, color.
function M.table(columns, rows, env)
	local lines, natural = {}, {}
	local head = {}
	for i, c in ipairs(columns) do
		head[i] = title(c)
		natural[i] = core.width(head[i])
	end
	local cells = {}
	for r, row in ipairs(rows) do
		cells[r] = {}
		for i, c in ipairs(columns) do
			cells[r][i] = cell(c, row)
			natural[i] = math.max(natural[i], core.width(cells[r][i]))
		end
	end
	local list, width, left = fit(columns, natural, env.width or math.huge)
	local function add(values, bold)
		local parts, most = {}, 1
		for _, i in ipairs(list) do
			parts[i] = core.width(values[i]) > width[i]
				and pieces(values[i], width[i], width[i]) or { values[i] }
			most = math.max(most, #parts[i])
		end
		for k = 1, most do
			local t = {}
			for n, i in ipairs(list) do
				local text = parts[i][k] or ""
				t[n] = (n == #list and not columns[i].num) and text
					or pad(text, width[i], columns[i].num)
			end
			local text = table.concat(t, "  "):gsub(" +$", "")
			lines[#lines + 1] = bold and "\27[1m" .. text .. "\27[0m" or text
		end
	end
	if not env.quiet then add(head, env.color) end
	for r = 1, #rows do add(cells[r]) end
	for n, i in ipairs(left) do left[n] = head[i] end
	return lines, left
end

-- Return each row as several lines, each with a title and a value.
local function vertical(columns, rows)
	local list = {}
	for n, row in ipairs(rows) do
		if n > 1 then list[#list + 1] = { k = "", v = "" } end
		for _, c in ipairs(columns) do
			list[#list + 1] = { k = ascii.lower(title(c)), v = cell(c, row) }
		end
	end
	return M.table({ { "k" }, { "v" } }, list, { quiet = true })
end

local function people(result, env, wide)
	local out, left, width = {}, {}, nil
	if not wide then width = env.width end
	if result.head and not env.quiet then wrap(out, errors.tame(result.head), width) end
	if result.text then
		local text = result.text:gsub("\n$", "")
		wrap(out, errors.tame(text), not result.raw and width or nil)
	elseif result.columns then
		local rows = result.merged or result.rows
		if #rows > 0 or not result.empty then
			local lines
			if result.vertical then
				lines = {}
				for _, l in ipairs(vertical(shown(result, wide), rows)) do
					wrap(lines, l, width)
				end
			else
				lines, left = M.table(shown(result, wide), rows,
					{ width = width, quiet = env.quiet, color = env.color })
			end
			table.move(lines, 1, #lines, #out + 1, out)
		else
			wrap(out, result.empty, width)
		end
	end
	for _, l in ipairs(result.foot or {}) do wrap(out, errors.tame(l), width) end
	if #left > 0 and not env.quiet then
		wrap(out, ("not shown: %s (-o wide)"):format(table.concat(left, ", ")), width)
	end
	return #out > 0 and table.concat(out, "\n") .. "\n" or ""
end

-- Return columns that show the fields @names.
function M.columns(names)
	return lists.map(names, function(name) return { name } end)
end

-- Return a line for the names of the columns and one for each row; escape(text) makes a cell.
local function separated(result, env, escape, comma, ending)
	local columns, lines = flat(result), {}
	local function line(f)
		lines[#lines + 1] = table.concat(lists.map(columns, function(c)
			return escape(f(c))
		end), comma)
	end
	if not env.quiet then line(function(c) return c[1] end) end
	for _, row in ipairs(result.rows or {}) do line(function(c) return plain(row[c[1]]) end) end
	return #lines > 0 and table.concat(lines, ending) .. ending or ""
end

local ESCAPES = { ["\\"] = "\\\\", ["\t"] = "\\t", ["\n"] = "\\n", ["\r"] = "\\r" }

local function tsv(result, env)
	if #flat(result) == 0 then return result.text and people(result, env) or "" end
	return separated(result, env, function(s)
		return (s:gsub("[\\\t\n\r]", ESCAPES):gsub("%c", "?"))
	end, "\t", "\n")
end

local function csv(result, env)
	return separated(result, env, function(s)
		s = s:gsub("[%z\1-\8\11\12\14-\31\127]", "?")
		return s:find('[",\r\n]') and '"' .. s:gsub('"', '""') .. '"' or s
	end, ",", "\r\n")
end

-- Return the JSON envelope; @target: the job and its processes.
function M.envelope(result, env, data)
	return setmetatable({
		schema = "ncclbpf." .. result.schema,
		target = env.target or core.null,
		time = core.time(),
		data = data == nil and core.null or data,
	}, { order = { "schema", "target", "time", "data" } })
end

-- Break JSON text, as core.encode writes it, into indented lines.
function M.indent_json(text)
	local depth, texts = 0, {}
	local function line(by)
		depth = depth + by
		return "\n" .. ("  "):rep(depth)
	end
	-- JSON has no control characters: they stand for escapes, texts and empty containers
	text = text:gsub("\\(.)", function(c) return ("\1%02x"):format(c:byte()) end)
	text = text:gsub('"[^"]*"', function(s)
		texts[#texts + 1] = s
		return "\2"
	end):gsub("{}", "\3"):gsub("%[%]", "\4")
	text = text:gsub("[][{},:]", function(c)
		if c == ":" then return ": " end
		if c == "," then return c .. line(0) end
		return c:find "[[{]" and c .. line(1) or line(-1) .. c
	end)
	local n = 0
	text = text:gsub("\4", "[]"):gsub("\3", "{}"):gsub("\2", function()
		n = n + 1
		return texts[n]
	end)
	return (text:gsub("\1(%x%x)", function(x) return "\\" .. string.char(tonumber(x, 16)) end))
end

local function json(result, env)
	local text = core.encode(M.envelope(result, env, result.data))
	if env.pretty then text = M.indent_json(text) end
	return text .. "\n"
end

local function ndjson(result, env)
	local lines = lists.map(result.records or result.rows or { result.data }, function(row)
		return core.encode(M.envelope(result, env, row))
	end)
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

-- Return the text of a result in env.format.
function M.render(result, env)
	return makers[env.format](result, env)
end

function M.is_json(format)
	return format == "json" or format == "ndjson"
end

-- Is the format a table for people?
function M.for_people(format)
	return format == "table" or format == "wide"
end

M.short = function(digest)
	return type(digest) == "string" and digest:sub(1, 8) or nil
end
M.bytes = units.bytes

return M
