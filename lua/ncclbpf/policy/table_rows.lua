-- SPDX-License-Identifier: MIT
-- The rows of decision tables (docs/tables.md): read from text and from Lua, written as text, and
-- packed for the image. NVIDIA's reader skips lines that it does not understand. This reader
-- reports the place of such lines and the allowed values.
--
-- A row has coll, algo, proto, channels, chunk_size (-1: any or no opinion), line (from 1), and for
-- each of M.CONDITIONS that it names {lowest, highest}, both inclusive. near = true: the row also
-- matches where no other such value is nearer. left = true: NCCL decides where the row matches.
local ascii = require "ncclbpf.base.ascii"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local params = require "ncclbpf.policy.table_params"

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

M.CHANNELS = 128 -- the most of RCCL; NCCL has half of them, and its plugin refuses more
M.CHUNK_LEAST, M.CHUNK_MOST = 4 << 10, 1 << 30 -- NCCL_CHUNK_LEAST, NCCL_CHUNK_MOST

local function count(near)
	return { least = 1, most = 1 << 30, range = true, near = near,
		allowed = ("1 or more (4, 2..8, 2..%s), or -1"):format(near and ", ~4" or "") }
end
local SIZE = { size = true, least = 0, most = MAX }
local FIELDS = {
	coll = named "coll", algo = named "algo", proto = named "proto",
	channels = { least = 1, most = M.CHANNELS,
		allowed = ("1 to %d, or -1 for NCCL's own"):format(M.CHANNELS) },
	chunk_size = { size = true, least = M.CHUNK_LEAST, most = M.CHUNK_MOST,
		allowed = "4K to 1G, or -1 for NCCL's own" },
	nodes = count(true), ranks_per_node = count(true), ranks = count(true),
	pipe_ops = count(false),
	reg_buff = { least = 0, most = 1, range = true, allowed = "0, 1 or -1" },
	bytes_per_rank = SIZE, bytes = SIZE,
}
M.COLLS = FIELDS.coll.most + 1
-- The conditions besides the collective, in the order of the search tree.
M.CONDITIONS = { "nodes", "ranks_per_node", "ranks", "pipe_ops", "reg_buff", "bytes_per_rank",
	"bytes" }
-- The fields behind the sizes, in the order of NVIDIA's columns.
local ORDER = { "algo", "proto", "channels", "nodes", "ranks", "pipe_ops", "reg_buff" }

-- The columns; the first ten are NVIDIA's, in their order.
-- sets      the field of FIELDS that the column sets
-- size      the size whose bounds the column sets: low, high, or both
-- aliases   other names in headers
local COLUMNS = {
	{ name = "collective", sets = "coll", aliases = { "coll", "colltype", "collectivetype" } },
	{ name = "min_bytes", size = "bytes", low = true },
	{ name = "max_bytes", size = "bytes", high = true },
	{ name = "algorithm", sets = "algo", aliases = { "algo" } },
	{ name = "protocol", sets = "proto", aliases = { "proto" } },
	{ name = "channels", sets = "channels", aliases = { "nchannels" } },
	{ name = "nodes", sets = "nodes", aliases = { "nnodes" } },
	{ name = "ranks", sets = "ranks", aliases = { "nranks" } },
	{ name = "pipe_ops", sets = "pipe_ops", aliases = { "numpipeops" } },
	{ name = "reg_buff", sets = "reg_buff", aliases = { "regbuf" } },
	{ name = "bytes", size = "bytes", low = true, high = true },
	{ name = "min_bytes_per_rank", size = "bytes_per_rank", low = true },
	{ name = "max_bytes_per_rank", size = "bytes_per_rank", high = true },
	{ name = "bytes_per_rank", size = "bytes_per_rank", low = true, high = true },
	{ name = "ranks_per_node", sets = "ranks_per_node", aliases = { "nlocalranks" } },
	{ name = "chunk_size", sets = "chunk_size" },
}
local NAMES, COLUMN = lists.map(COLUMNS, "name"), {}
for _, c in ipairs(COLUMNS) do
	COLUMN[c.name:gsub("_", "")] = c
	for _, name in ipairs(c.aliases or {}) do COLUMN[name] = c end
end

-- Return the combinations (3 * algorithm + protocol) of the bit mask @usable with @a.algo and
-- @a.proto; -1: any.
function M.fitting(usable, a)
	local t = {}
	for i = 0, 20 do
		if usable >> i & 1 == 1 and (a.algo < 0 or a.algo == i // 3)
			and (a.proto < 0 or a.proto == i % 3) then
			t[#t + 1] = i
		end
	end
	return t
end

-- Is the measured value @a a better one for @v than @b: nearer by ratio, or as near and smaller?
local function nearer(a, b, v)
	if a > b then return not nearer(b, a, v) end
	v = math.min(v, 1 << 30) -- no measured value is larger
	return v * v <= a * b
end

-- Return the rows of @list that match the value @v of a condition. Of values that match the nearest
-- (~), the nearest one is looked for among these rows.
local function matching(list, name, v)
	local nearest
	for _, x in ipairs(list) do
		local r = x.row[name]
		if r and r.near and (not nearest or nearer(r[1], nearest, v)) then
			nearest = r[1]
		end
	end
	return lists.select(list, function(x)
		local r = x.row[name]
		if not r or x.row.left and name == "reg_buff" then return true end
		if r.near then return r[1] == nearest end
		return v >= r[1] and v <= r[2]
	end)
end

-- Divide as BPF does.
local function ratio(a, b) return b ~= 0 and a // b or 0 end

-- Return the number of the row that decides in the context @x (coll, bytes, nodes, ranks, ...);
-- nil: none. Also return the numbers of earlier rows whose answer NCCL does not offer.
function M.match(rows, x)
	local list, skipped = {}, {}
	local bytes = math.ult(x.bytes, MAX) and x.bytes or MAX
	local v = { nodes = x.nodes, ranks = x.ranks, pipe_ops = x.pipe_ops, reg_buff = x.reg_buff,
		ranks_per_node = ratio(x.ranks, x.nodes), bytes_per_rank = ratio(bytes, x.ranks),
		bytes = bytes }
	for i, row in ipairs(rows) do
		if row.coll < 0 or row.coll == x.coll then
			list[#list + 1] = { i = i, row = row }
		end
	end
	for _, name in ipairs(M.CONDITIONS) do list = matching(list, name, v[name]) end
	for _, found in ipairs(list) do
		local r = found.row
		if r.algo < 0 and r.proto < 0 or #M.fitting(x.usable, r) > 0 then
			return found.i, skipped
		end
		skipped[#skipped + 1] = found.i
	end
	return nil, skipped
end

-- Mark the rows that depend on reg_buff, which may differ between ranks: NCCL decides where they
-- match. -> these rows
function M.leave(rows)
	return lists.select(rows, function(row)
		row.left = row.reg_buff and true or nil
		return row.left
	end)
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
	fault(p, i, "malformed", ('%s is "%s", but must be %s'):format(
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
	if lo > hi then bad(p, i, "a range with the smaller size first") end
	return lo, hi
end

-- Return a condition on sizes; nil: any size.
local function interval(lo, hi)
	if lo > 0 or hi < MAX then return { lo, hi } end
end

local function read_size(p, i, row)
	local c = p.columns[i]
	local lo, hi = table.unpack(row[c.size] or { 0, MAX })
	if is_any(p.text[i]) then return end
	if c.low and c.high then
		lo, hi = read_interval(p, i)
	elseif c.low then
		lo = read_bound(p, i, false)
	else
		hi = read_bound(p, i, true)
	end
	row[c.size] = interval(lo, hi)
end

local function read_number(text)
	return text:find "^%d+$" and math.tointeger(tonumber(text)) or nil
end

-- Return {lowest, highest} of a cell such as 4, 2..8, 2.., ..8 or ~4; nil: any.
local function read_range(p, i, field)
	local text = p.text[i]
	if is_any(text) then return nil end
	local near = field.near and text:match "^~[ \t]*(%d+)$"
	local a, b = text:match "^(%d*)[ \t]*%.%.[ \t]*(%d*)$"
	local lo, hi = read_number(near or a or text), read_number(near or b or text)
	if a == "" then lo = hi and field.least end
	if b == "" then hi = lo and MAX end
	if not lo or not hi or lo < field.least or lo > field.most
		or hi > field.most and b ~= "" then
		bad(p, i, field.allowed)
	end
	if lo > hi then bad(p, i, "a range with the smaller number first") end
	return { lo, hi, near = near and true or nil }
end

local function read_value(p, i, field)
	local text = p.text[i]
	if is_any(text) then return -1 end
	local v = field.kind and core.nccl(field.kind, text)
		or not field.kind and (field.size and size or read_number)(text)
	if math.type(v) ~= "integer" or v < field.least or v > field.most then
		bad(p, i, field.allowed, field.words and errors.nearest(text, field.words))
	end
	return v
end

-- ---- rows -----------------------------------------------------------------------

-- Return the lowest and the highest size at which a row matches with this number of ranks. A row
-- that no size matches has a lowest size above the highest.
function M.sizes(row, ranks)
	local lo, hi = table.unpack(row.bytes or { 0, MAX })
	local per_rank, most = row.bytes_per_rank, MAX // math.max(ranks, 1)
	if per_rank then
		lo = per_rank[1] > most and MAX or math.max(lo, per_rank[1] * ranks)
		hi = math.min(hi, per_rank[2] >= most and MAX or (per_rank[2] + 1) * ranks - 1)
	end
	return lo, hi
end

-- Replace sizes for each rank by sizes, where the row names one number of ranks: the program then
-- need not divide.
local function times_ranks(p, row)
	local ranks, per_rank = row.ranks, row.bytes_per_rank
	if not per_rank or not ranks or ranks[1] < ranks[2] or ranks.near then return end
	if per_rank[1] > MAX // ranks[1] then
		local i = 1
		while p.columns[i].size ~= "bytes_per_rank" or not p.columns[i].low do i = i + 1 end
		bad(p, i, "a size below 2^63 bytes over all ranks")
	end
	local lo, hi = M.sizes(row, ranks[1])
	if lo > hi then
		fault(p, 1, "malformed", "no size lies in both bytes and bytes_per_rank")
	end
	row.bytes, row.bytes_per_rank = interval(lo, hi), nil
end

-- Return the name of a column and a message if the row's values do not fit together.
local function check(row)
	for _, name in ipairs { "bytes", "bytes_per_rank" } do
		local r = row[name]
		if r and r[2] < r[1] then
			return "max_" .. name, ("max_%s is %d, but must be at least min_%s, %d")
				:format(name, r[2], name, r[1])
		end
	end
	if row.algo < 0 and row.proto < 0 and row.channels < 0 and row.chunk_size < 0 then
		return "algorithm",
			"the row has no answer: it must set algo, proto, channels or chunk_size"
	end
end

-- Return the number of the cell whose column has this name; 1: there is none.
local function cell_of(p, name)
	for i, c in ipairs(p.columns) do
		if p.text[i] and c.name == name then return i end
	end
	return 1
end

-- Make a row of the parser's cells.
local function read_row(p)
	local row = { coll = -1, algo = -1, proto = -1, channels = -1, chunk_size = -1,
		line = p.line }
	for i = 1, #p.text do
		local name = p.columns[i].sets
		local field = FIELDS[name]
		if not field then
			read_size(p, i, row)
		elseif field.range then
			row[name] = read_range(p, i, field)
		else
			row[name] = read_value(p, i, field)
		end
	end
	local name, message = check(row)
	if name then fault(p, cell_of(p, name), "malformed", message) end
	times_ranks(p, row)
	p.lost = #p.rows == MAX_ROWS
	if p.lost then fault(p, 1, "over_limit", ("more than %d rows"):format(MAX_ROWS)) end
	p.rows[#p.rows + 1] = row
end

-- Do two columns set the same value, or the same bound of a size?
local function clash(a, b)
	return a == b or a.size and a.size == b.size and (a.low and b.low or a.high and b.high)
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
			("the line has %d fields, but the header has %d"):format(n, #p.columns))
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

local UNBOUNDED = "18446744073709551615"


-- Return a condition as a cell has it.
local function range_text(r)
	if not r then return "-1" end
	if r[1] == r[2] then return (r.near and "~%d" or "%d"):format(r[1]) end
	return ("%d..%s"):format(r[1], r[2] < MAX and ("%d"):format(r[2]) or "")
end

-- The fields for which NVIDIA has no column, and the columns of a table that has one of them.
local EXTRA = { "ranks_per_node", "bytes_per_rank", "chunk_size" }
local WIDE = table.concat(NAMES, ",", 1, NVIDIA) .. "," .. table.concat(EXTRA, ",")

-- Return such a field as a cell has it; nil: any, or no opinion.
local function extra_text(row, name)
	if name == "chunk_size" then return row[name] >= 0 and ("%d"):format(row[name]) or nil end
	return row[name] and range_text(row[name])
end

-- Return a row in NVIDIA's columns. Fields without such a column follow, with their names.
function M.line(row)
	local bytes = row.bytes or { 0, MAX }
	local t = { FIELDS.coll.words[row.coll + 1] or "-1", ("%d"):format(bytes[1]),
		bytes[2] < MAX and ("%d"):format(bytes[2]) or UNBOUNDED }
	for _, name in ipairs(ORDER) do
		local field = FIELDS[name]
		t[#t + 1] = field.range and range_text(row[name])
			or field.words and field.words[row[name] + 1] or ("%d"):format(row[name])
	end
	for _, name in ipairs(EXTRA) do
		local text = extra_text(row, name)
		if text then t[#t + 1] = name .. "=" .. text end
	end
	return table.concat(t, ",")
end

-- Return rows as text, from which M.read makes the same rows.
function M.text(rows)
	local wide = #lists.select(rows, function(r)
		return r.ranks_per_node or r.bytes_per_rank or r.chunk_size >= 0
	end) > 0
	local t = lists.map(rows, function(r)
		if not wide then return M.line(r) end
		local plain, cells = lists.copy(r), {}
		plain.ranks_per_node, plain.bytes_per_rank, plain.chunk_size = nil, nil, -1
		for i, name in ipairs(EXTRA) do cells[i] = extra_text(r, name) or "-1" end
		return M.line(plain) .. "," .. table.concat(cells, ",")
	end)
	table.insert(t, 1, wide and WIDE or "# " .. table.concat(NAMES, ",", 1, NVIDIA))
	t[#t + 1] = ""
	return table.concat(t, "\n")
end

-- ---- rows in Lua ----------------------------------------------------------------

-- The fields of a row in Lua, in the order in which they are read.
local LUA_FIELDS = { "coll", "bytes", "min_bytes", "max_bytes", "bytes_per_rank",
	"ranks_per_node", "chunk_size", table.unpack(ORDER) }

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
			("the row is a %s, but must be a table of fields"):format(type(values)))
	end
	for name in pairs(values) do
		if not lists.has(LUA_FIELDS, name) then
			fault(p, 1, "malformed", ("no field %s, %s"):format(tostring(name),
				errors.nearest(tostring(name), LUA_FIELDS)
					or "the fields are: " .. table.concat(LUA_FIELDS, ", ")))
		end
	end
	for _, name in ipairs(LUA_FIELDS) do
		local v, i = values[name], #p.text + 1
		if v ~= nil then
			local text = cell(v)
			local words = FIELDS[name] and FIELDS[name].words
			p.text[i] = text and not words and params.replace(p, text) or text or ""
			p.col[i] = i
			add_column(p, p.columns, i, name)
			if not text then
				fault(p, i, "malformed", ("%s is %s, but must be %s"):format(
					name, format.value(v), p.columns[i].low and INTERVAL
						or "a word, a whole number or a range"))
			end
		end
	end
	read_row(p)
	return true
end)

-- Read rows of Lua values; the number of a row stands for its line. @numbers: the values of
-- parameters that rows may name, by name, or nil. -> as M.read, the names of parameters in rows
function M.read_lua(list, most, numbers)
	local p, faults = { rows = {}, params = numbers, used = {} }, {}
	for i, values in ipairs(list) do
		if #faults == most or p.lost then break end
		p.line = i
		local _, err = read_lua_row(p, values)
		if err then err.col = nil end
		faults[#faults + 1] = err
	end
	without_rows(p.rows, faults)
	return p.rows, faults, p.used
end

-- ---- rows in the image ----------------------------------------------------------

-- The version, then the rows: two masks of M.CONDITIONS (which a row names, which are near), the
-- other fields, and the named conditions.
local VERSION, FIXED = "\3", "<I1I1i1i1i1i1i4I4"

local function packing(field) return field.size and "<i8i8" or "<i4i4" end

local function pack_row(r)
	local named, near, t = 0, 0, {}
	for bit, name in ipairs(M.CONDITIONS) do
		local c, field = r[name], FIELDS[name]
		if c then
			local open = not field.size and c[2] == MAX
			named = named | 1 << bit - 1
			near = near | (c.near and 1 << bit - 1 or 0)
			t[#t + 1] = packing(field):pack(c[1], open and -1 or c[2])
		end
	end
	return FIXED:pack(named, near, r.coll, r.algo, r.proto, r.channels, r.chunk_size, r.line)
		.. table.concat(t)
end

function M.pack(rows) return VERSION .. table.concat(lists.map(rows, pack_row)) end

-- Return the row at @at of packed rows, and where the next one begins; nil: they are damaged.
local function unpack_row(bytes, at)
	local r, named, near = {}, nil, nil
	if at + FIXED:packsize() > #bytes + 1 then return nil end
	named, near, r.coll, r.algo, r.proto, r.channels, r.chunk_size, r.line, at =
		FIXED:unpack(bytes, at)
	for bit, name in ipairs(M.CONDITIONS) do
		local field, fmt = FIELDS[name], packing(FIELDS[name])
		if named >> bit - 1 & 1 == 1 then
			if at + fmt:packsize() > #bytes + 1 then return nil end
			local lo, hi, stop = fmt:unpack(bytes, at)
			if not field.size and hi == -1 then hi = MAX end
			r[name], at = { lo, hi, near = near >> bit - 1 & 1 == 1 or nil }, stop
			if lo < field.least or lo > hi or lo > field.most
				or hi > field.most and hi < MAX
				or r[name].near and (not field.near or lo < hi) then
				return nil
			end
		end
	end
	for _, name in ipairs { "coll", "algo", "proto", "channels", "chunk_size" } do
		local f = FIELDS[name]
		if r[name] ~= -1 and (r[name] < f.least or r[name] > f.most) then return nil end
	end
	if named >> #M.CONDITIONS ~= 0 or near & ~named ~= 0 or check(r) then return nil end
	return r, at
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
	if packed:sub(1, #VERSION) ~= VERSION then
		return errors.fail("bad_image",
			"policy %s: another version of ncclbpf made its table", info.name)
	end
	local at = #VERSION + 1
	while at <= #packed do
		local row
		if #rows < MAX_ROWS then row, at = unpack_row(packed, at) end
		if not row then
			return errors.fail("bad_image", "policy %s: row %d of its table is damaged",
				info.name, #rows + 1)
		end
		rows[#rows + 1] = row
	end
	return rows, data
end)

return M
