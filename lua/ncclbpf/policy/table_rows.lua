-- SPDX-License-Identifier: MIT
-- The rows of decision tables (docs/tables.md): read from text and from Lua, written as text, and
-- packed for the image. NVIDIA's reader skips lines that it does not understand. This reader
-- reports the place of such lines and the allowed values.
--
-- A row has min and max (bytes, both inclusive), the fields of FIELDS (-1: no condition or no
-- opinion), and line (from 1).
local ascii = require "ncclbpf.base.ascii"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"

local M = {}

local MAX = math.maxinteger -- all sizes from here on count as equal; as an upper bound: none
local MAX_ROWS, MAX_LINE, MAX_FIELDS, LEAST_FIELDS, NVIDIA = 20000, 1024, 16, 8, 10
local SHOWN = 64 -- characters of a wrong value

local function named(kind)
	local words = {}
	while core.nccl(kind, #words) do words[#words + 1] = core.nccl(kind, #words) end
	return { kind = kind, words = words, least = 0, most = #words - 1,
		allowed = table.concat(words, ", ") .. ", or -1" }
end

local COUNT = { least = 1, most = 1 << 30, allowed = "1 or more, or -1," }
local FIELDS = {
	coll = named "coll", algo = named "algo", proto = named "proto",
	channels = { least = 1, most = 64, allowed = "1 to 64, or -1 for NCCL's own," },
	nodes = COUNT, ranks = COUNT, pipe_ops = COUNT,
	reg_buff = { least = 0, most = 1, allowed = "0, 1 or -1" },
}
M.COLLS = FIELDS.coll.most + 1
-- The conditions besides collective and size, in the order of the search tree.
M.CONDITIONS = { "nodes", "ranks", "pipe_ops", "reg_buff" }
-- The fields behind the sizes, in the order of NVIDIA's columns.
local ORDER = { "algo", "proto", "channels", table.unpack(M.CONDITIONS) }

-- The columns; the first ten are NVIDIA's, in their order.
-- sets      the field of FIELDS that the column sets
-- low, high the bounds of the size that the column sets
-- per_rank  the size is for each rank
-- aliases   other names in headers
local COLUMNS = {
	{ name = "collective", sets = "coll", aliases = { "coll", "colltype", "collectivetype" } },
	{ name = "min_bytes", low = true },
	{ name = "max_bytes", high = true },
	{ name = "algorithm", sets = "algo", aliases = { "algo" } },
	{ name = "protocol", sets = "proto", aliases = { "proto" } },
	{ name = "channels", sets = "channels", aliases = { "nchannels" } },
	{ name = "nodes", sets = "nodes", aliases = { "nnodes" } },
	{ name = "ranks", sets = "ranks", aliases = { "nranks" } },
	{ name = "pipe_ops", sets = "pipe_ops", aliases = { "numpipeops" } },
	{ name = "reg_buff", sets = "reg_buff", aliases = { "regbuf" } },
	{ name = "bytes", low = true, high = true },
	{ name = "min_bytes_per_rank", low = true, per_rank = true },
	{ name = "max_bytes_per_rank", high = true, per_rank = true },
	{ name = "bytes_per_rank", low = true, high = true, per_rank = true },
}
local NAMES, COLUMN = lists.map(COLUMNS, "name"), {}
for _, c in ipairs(COLUMNS) do
	COLUMN[c.name:gsub("_", "")] = c
	for _, name in ipairs(c.aliases or {}) do COLUMN[name] = c end
end

-- Return the column that a word of a header names. Case and _ do not matter.
local function column_named(word)
	return COLUMN[ascii.lower(word:gsub("_", ""))]
end

-- ---- faults ---------------------------------------------------------------------
-- A parser p has the line's number, the text of its cells, the columns where they begin (col), and
-- what they set (columns).

local function fault(p, i, code, message, hint)
	error(errors.new(code, message, { hint = hint, line = p.line, col = p.col[i] or 1,
		field = p.col[i] and p.columns[i] and p.columns[i].name }), 0)
end

local function bad(p, i, allowed, hint)
	fault(p, i, "malformed", ('%s "%s": %s expected'):format(
		p.columns[i].name, p.text[i]:sub(1, SHOWN), allowed), hint)
end

-- ---- cells ----------------------------------------------------------------------

local ANY = { [""] = true, ["-1"] = true }

local function is_any(text) return ANY[text] or ascii.lower(text) == "any" end

local SHIFT = { [""] = 0, k = 10, m = 20, g = 30, t = 40 }

-- Return the bytes of a size such as "4096", "4K", "4KiB" or "4MB": an integer; 2^63 as a float
-- from 2^63 on; math.huge from 2^64 on; nil: no size.
local function size(text)
	local digits, unit, rest = text:match "^0*(%d+)([kKmMgGtT]?)(.*)$"
	if not digits or rest ~= "" and not rest:find "^[bB]$"
		and not (unit ~= "" and rest:find "^[iI][bB]$") then
		return nil
	end
	local v, shift = math.tointeger(tonumber(digits)), SHIFT[ascii.lower(unit)]
	if not v then
		local large = #digits > 20 or shift > 0
			or #digits == 20 and digits > "18446744073709551615"
		return large and math.huge or 0x1p63
	end
	if v >> (63 - shift) == 0 then return v << shift end
	return shift > 0 and v >> (64 - shift) ~= 0 and math.huge or 0x1p63
end

local function read_bound(p, i, upper)
	local v = size(p.text[i])
	if not v then bad(p, i, "bytes (4194304, 4M, 4MiB) or -1") end
	if v == math.huge then bad(p, i, "less than 2^64 bytes") end
	if v > MAX and not upper then bad(p, i, "less than 2^63") end
	return v > MAX and MAX or v
end

local INTERVAL = "an interval of bytes (4M..32M, 4M.., ..32M, 4M) or -1"

local function read_interval(p, i)
	local a, b = p.text[i]:match "^(.-)[ \t]*%.%.[ \t]*(.*)$"
	if not a then a, b = p.text[i], p.text[i] end
	local lo, hi = a == "" and 0 or size(a), b == "" and MAX or size(b)
	if a == "" and b == "" or not lo or not hi or math.max(lo, hi) == math.huge then
		bad(p, i, INTERVAL)
	end
	if hi > MAX then hi = MAX end
	if lo > hi then bad(p, i, "the smaller size first") end
	return lo, hi
end

local function read_size(p, i, row)
	local c, lo, hi = p.columns[i], 0, MAX
	if is_any(p.text[i]) then
		lo, hi = 0, MAX
	elseif c.low and c.high then
		lo, hi = read_interval(p, i)
	elseif c.low then
		lo = read_bound(p, i, false)
	else
		hi = read_bound(p, i, true)
	end
	if c.per_rank and p.text[i] ~= "" then row.per_rank = row.per_rank or i end
	if c.low then row[c.per_rank and "rank_min" or "min"] = lo end
	if c.high then row[c.per_rank and "rank_max" or "max"] = hi end
end

local function read_value(p, i, field)
	local text = p.text[i]
	if is_any(text) then return -1 end
	local v
	if field.kind then
		v = core.nccl(field.kind, text)
	else
		v = text:find "^%d+$" and math.tointeger(tonumber(text))
	end
	if not v or v < field.least or v > field.most then
		bad(p, i, field.allowed, field.words and errors.nearest(text, field.words))
	end
	return v
end

-- ---- rows -----------------------------------------------------------------------

-- Multiply sizes for each rank by the number of ranks.
local function times_ranks(p, row)
	local i, ranks = row.per_rank, row.ranks
	if not i then return end
	if ranks < 0 then
		fault(p, i, "malformed", "sizes per rank need the number of ranks in the same row")
	end
	local min, max, most = row.rank_min or 0, row.rank_max or MAX, MAX // ranks
	if min > most then bad(p, i, "a size below 2^63 bytes over all ranks") end
	row.min = min * ranks
	row.max = max >= most and MAX or (max + 1) * ranks - 1
	row.per_rank, row.rank_min, row.rank_max = nil, nil, nil
end

-- Return the name of a column and a message if the row's values do not fit together.
local function check(row)
	if row.max < row.min then
		return "max_bytes", ("max_bytes %d: at least min_bytes, %d, expected"):format(
			row.max, row.min)
	end
	if row.algo < 0 and row.proto < 0 and row.channels < 0 then
		return "algorithm", "the row has no answer: algo, proto or channels expected"
	end
end

-- Return the number of the cell whose column has this name; 1: there is none.
local function cell_of(p, name)
	for i, c in ipairs(p.columns) do
		if p.text[i] and (c.name == name or c.name == name .. "_per_rank") then return i end
	end
	return 1
end

-- Make a row of the parser's cells.
local function read_row(p)
	local row = { min = 0, max = MAX, coll = -1, algo = -1, proto = -1, channels = -1,
		nodes = -1, ranks = -1, pipe_ops = -1, reg_buff = -1, line = p.line }
	for i = 1, #p.text do
		local field = p.columns[i].sets
		if field then
			row[field] = read_value(p, i, FIELDS[field])
		else
			read_size(p, i, row)
		end
	end
	times_ranks(p, row)
	local name, message = check(row)
	if name then fault(p, cell_of(p, name), "malformed", message) end
	p.lost = #p.rows == MAX_ROWS
	if p.lost then fault(p, 1, "over_limit", ("more than %d rows"):format(MAX_ROWS)) end
	p.rows[#p.rows + 1] = row
end

-- Do two columns set the same value, or one of them sizes and the other sizes per rank?
local function clash(a, b)
	local sizes = not a.sets and not b.sets
	return a == b or sizes and (a.low and b.low or a.high and b.high
		or a.per_rank ~= b.per_rank)
end

-- Append the column @name of a header or a Lua row to @columns.
local function add_column(p, columns, i, name)
	local c = column_named(name)
	local wrong = not c and "no such column"
	for _, other in ipairs(columns) do
		wrong = wrong or clash(other, c) and "another column sets the same value"
	end
	if wrong then
		p.lost, p.columns = true, {}
		fault(p, i, "malformed", ('column "%s": %s'):format(name:sub(1, SHOWN), wrong),
			errors.nearest(name, NAMES))
	end
	columns[i] = c
end

local function read_header(p)
	local columns = {}
	for i, name in ipairs(p.text) do add_column(p, columns, i, name) end
	p.columns, p.named = columns, true
end

local function count_cells(p)
	local n = #p.text
	if p.named and n ~= #p.columns then
		fault(p, n + 1, "malformed",
			("%d fields; the header names %d"):format(n, #p.columns))
	elseif not p.named and (n < LEAST_FIELDS or n > NVIDIA) then
		fault(p, n + 1, "malformed",
			("the row has %d fields, but a row of a table without a header has "
				.. "%d to %d: %s"):format(n, LEAST_FIELDS, NVIDIA,
				table.concat(NAMES, ", ", 1, NVIDIA)))
	end
end

-- ---- text -----------------------------------------------------------------------

local function split(p, text)
	for from, cell in (text .. ","):gmatch "()([^,]*)," do
		if #p.text == MAX_FIELDS then
			p.text, p.col = {}, {}
			fault(p, 1, "malformed", ("more than %d fields"):format(MAX_FIELDS))
		end
		local at, trimmed = cell:match "^[ \t]*()(.-)[ \t\r]*$"
		p.text[#p.text + 1], p.col[#p.col + 1] = trimmed, from + at - 1
	end
end

-- -> true | nil, the fault
local read_line = errors.catch(function(p, text)
	p.text, p.col = {}, {}
	if #text > MAX_LINE then
		fault(p, 1, "over_limit", ("the line has %d bytes; at most %d are allowed"):format(
			#text, MAX_LINE))
	end
	local control = text:find "[\0-\8\11\12\14-\31]"
	if control then
		local message = ("byte 0x%02x: not text"):format(text:byte(control))
		error(errors.new("malformed", message, { line = p.line, col = control }), 0)
	end
	if text:find "^[ \t]*#" or not text:find "[^ \t\r]" then return true end
	split(p, text)
	local first = not p.began
	p.began = true
	if first and column_named(p.text[1]) then
		read_header(p)
	else
		count_cells(p)
		read_row(p)
	end
	return true
end)

local function without_rows(rows, faults)
	if #faults == 0 and #rows == 0 then
		faults[1] = errors.new("malformed", "a table without rows")
	end
	return rows, faults
end

-- Read a table's text, and continue after a fault as long as the columns are known.
-- -> rows, at most @most faults in the order of the lines
function M.read(text, most)
	local p = { columns = table.move(COLUMNS, 1, NVIDIA, 1, {}), rows = {}, line = 0 }
	local at, faults = text:sub(1, 3) == "\xef\xbb\xbf" and 4 or 1, {}
	while at <= #text and #faults < most and not p.lost do
		local stop = text:find("\n", at, true) or #text + 1
		p.line = p.line + 1
		local _, err = read_line(p, text:sub(at, stop - 1))
		faults[#faults + 1] = err
		at = stop + 1
	end
	return without_rows(p.rows, faults)
end

-- Return a row in NVIDIA's columns.
function M.line(row)
	local t = { FIELDS.coll.words[row.coll + 1] or "-1", ("%d"):format(row.min),
		row.max == MAX and "18446744073709551615" or ("%d"):format(row.max) }
	for _, name in ipairs(ORDER) do
		local words = FIELDS[name].words
		t[#t + 1] = words and words[row[name] + 1] or ("%d"):format(row[name])
	end
	return table.concat(t, ",")
end

-- Return rows as text, from which M.read makes the same rows.
function M.text(rows)
	local t = lists.map(rows, M.line)
	table.insert(t, 1, "# " .. table.concat(NAMES, ",", 1, NVIDIA))
	t[#t + 1] = ""
	return table.concat(t, "\n")
end

-- ---- rows in Lua ----------------------------------------------------------------

-- The fields of a row in Lua, in the order in which they are read.
local LUA_FIELDS = { "coll", "bytes", "min_bytes", "max_bytes", "bytes_per_rank",
	table.unpack(ORDER) }

-- Return a value as a cell; nil: it cannot be one.
local function cell(v)
	if type(v) == "number" then
		v = math.tointeger(v)
		return v and tostring(v)
	elseif type(v) == "table" then
		local a, b = cell(v[1]), cell(v[2])
		if #v ~= 2 or not a or not b then return nil end
		return (is_any(a) and "" or a) .. ".." .. (is_any(b) and "" or b)
	end
	return type(v) == "string" and not v:find "[,%c]" and v:match "^ *(.-) *$" or nil
end

-- -> true | nil, the fault
local read_lua_row = errors.catch(function(p, values)
	p.text, p.col, p.columns = {}, {}, {}
	if type(values) ~= "table" then
		fault(p, 1, "malformed",
			("a table of fields expected, found %s"):format(type(values)))
	end
	for name in pairs(values) do
		if not lists.has(LUA_FIELDS, name) then
			fault(p, 1, "malformed", ("no field %s, %s"):format(tostring(name),
				errors.nearest(tostring(name), LUA_FIELDS)
					or "there are: " .. table.concat(LUA_FIELDS, ", ")))
		end
	end
	for _, name in ipairs(LUA_FIELDS) do
		local v, i = values[name], #p.text + 1
		if v ~= nil then
			p.text[i], p.col[i] = cell(v) or "", i
			add_column(p, p.columns, i, name)
			if not cell(v) then
				fault(p, i, "malformed", ("%s %s: %s expected"):format(
					name, format.value(v), p.columns[i].low and INTERVAL
						or "a word or a whole number"))
			end
		end
	end
	read_row(p)
	return true
end)

-- Read rows of Lua values; the number of a row stands for its line. -> as M.read
function M.read_lua(list, most)
	local p, faults = { rows = {} }, {}
	for i, values in ipairs(list) do
		if #faults == most or p.lost then break end
		p.line = i
		local _, err = read_lua_row(p, values)
		if err then err.col = nil end
		faults[#faults + 1] = err
	end
	return without_rows(p.rows, faults)
end

-- ---- rows in the image ----------------------------------------------------------

local PACKED = "<i8i8i1i1i1i1i4i4i4i1I4"

function M.pack(rows)
	return table.concat(lists.map(rows, function(r)
		return PACKED:pack(r.min, r.max, r.coll, r.algo, r.proto, r.channels, r.nodes,
			r.ranks, r.pipe_ops, r.reg_buff, r.line)
	end))
end

local function unpack_row(bytes, at)
	local r = {}
	r.min, r.max, r.coll, r.algo, r.proto, r.channels, r.nodes, r.ranks, r.pipe_ops, r.reg_buff,
		r.line = PACKED:unpack(bytes, at)
	for name, f in pairs(FIELDS) do
		if r[name] ~= -1 and (r[name] < f.least or r[name] > f.most) then return nil end
	end
	return r.min >= 0 and not check(r) and r or nil
end

-- Return the rows in an image, and its other read-only data. Nothing in the image is trusted.
-- -> rows, data | nil, err
M.of_image = errors.catch(function(bytes)
	local info, rows = errors.try(core.image(bytes)):info(), {}
	local packed, data
	for _, m in ipairs(info.maps) do
		if m.name == ".rodata.rows" and m.origin == "rodata" then packed = m.init end
		if m.name == ".rodata" and m.origin == "rodata" then data = m.init end
	end
	if not packed then
		return errors.fail("not_found", "policy %s was not made from a table", info.name)
	end
	local each = PACKED:packsize()
	for at = 1, #packed, each do
		local row = #rows < MAX_ROWS and at + each <= #packed + 1 and unpack_row(packed, at)
		if not row then
			return errors.fail("bad_image", "policy %s: row %d of its table is damaged",
				info.name, #rows + 1)
		end
		rows[#rows + 1] = row
	end
	return rows, data
end)

return M
