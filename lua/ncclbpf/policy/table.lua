-- SPDX-License-Identifier: MIT
-- Policies made without a compiler: decision tables in Lua or in the columns of NVIDIA's tuner
-- files (docs/tables.md). The result is an image, a policy like any other.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- Convert a context whose words and sizes may be text.
local KINDS = { coll = "coll", nccl_algo = "algo", nccl_proto = "proto", algo = "algo",
	proto = "proto" }

-- Return the bit mask of "ring/ll128" words, as in ctx->usable. -> number | nil, the wrong word
local function offered(list)
	local bits = 0
	for _, w in ipairs(list) do
		local a, p = tostring(w):match "^([%w_]+)/([%w_]+)$"
		a, p = a and core.nccl("algo", a), p and core.nccl("proto", p)
		if not a or not p then return nil, tostring(w) end
		bits = bits | 1 << a * 3 + p
	end
	return bits
end

-- Return a context with words and sizes as numbers. -> context | nil, what is wrong
function M.context(c)
	if type(c) ~= "table" then return nil, "a table of fields expected, found " .. type(c) end
	local known, t = {}, {}
	for _, f in ipairs(core.fields "tuner") do known[f.name] = true end
	for k, v in pairs(c) do
		if not known[k] then
			local names = {}
			for name in pairs(known) do names[#names + 1] = name end
			return nil, ("no field %s, %s"):format(tostring(k),
				errors.nearest(tostring(k), names) or "see docs/policies.md")
		end
		local n = type(v) == "string" and (KINDS[k] and core.nccl(KINDS[k], v)
			or units.size(v)) or math.type(v) == "integer" and v
		if k == "usable" and type(v) == "table" then
			local wrong
			n, wrong = offered(v)
			if not n then
				return nil, ("field usable: " ..
					"%s is no combination such as ring/ll128"):format(wrong)
			end
		end
		if not n then
			return nil, ("field %s: %s is neither a number nor a word"):format(k,
				format.value(v))
		end
		t[k] = n
	end
	if t.usable == nil then t.usable = (1 << 21) - 1 end
	return t
end

M.save = errors.catch(function(image, path)
	return try(core.write(path, path:find "%.o$" and try(core.image_object(image)) or image))
end)

-- ---- text -----------------------------------------------------------------------

-- The rows from which an image was made, as CSV. -> text, number of rows | nil, err
M.csv_of = errors.catch(function(image)
	return try(core.table_csv(image))
end)

local MOST = 10 -- faults that core.table_image tells

-- Add the table's other faults to the first. Rows made in Lua have no file: a line is a row.
local function with_others(err, file)
	local more = err.more or {}
	err.more = nil
	if not file and err.line then
		err.message = ("row %d: %s"):format(err.line, err.message)
	end
	local t = { err.message }
	for _, f in ipairs(more) do
		t[#t + 1] = (file and ("%s:%d:%d: "):format(file, f.line, f.col)
			or ("row %d: "):format(f.line)) .. f.message
	end
	if not file then
		for i, text in ipairs(t) do t[i] = text:gsub("line (%d+)", "row %1") end
		err.message = t[1]
	end
	if #t == 1 then return end
	if #t == MOST then t[#t + 1] = ("these are the first %d faults"):format(MOST) end
	err.detail = table.concat(t, "\n")
end

-- Compile a table's text to an image. opts: name, file, hidden="keep", coherence="off".
function M.compile(text, opts)
	local image, err = core.table_image(text, {
		name = opts.name, file = opts.file, keep_hidden = opts.hidden == "keep",
		reg_buff = opts.coherence == "off",
	})
	if image then return image end
	err = errors.from_reply(err)
	with_others(err, opts.file)
	if err.line and opts.file then
		err.where = { file = opts.file, line = err.line, col = err.col }
		err.line, err.col = nil, nil
	end
	if err.field == "" then err.field = nil end
	return nil, err
end

-- ---- rows in Lua ----------------------------------------------------------------

local FIELDS = { coll = true, bytes = true, min_bytes = true, max_bytes = true,
	bytes_per_rank = true, algo = true,
	proto = true, channels = true, nodes = true, ranks = true, pipe_ops = true,
		reg_buff = true }
local ORDER = { "algo", "proto", "channels", "nodes", "ranks", "pipe_ops", "reg_buff" }

local function bad(i, field, v, want)
	error(errors.new("malformed", ("row %d: %s %s: %s expected"):format(
		i, field, format.value(v), want), { field = field, row = i }), 0)
end

local function check_fields(i, row)
	if type(row) ~= "table" then
		errors.raise("malformed", "row %d: a table of fields expected, found %s", i,
			type(row))
	end
	for k in pairs(row) do
		if not FIELDS[k] then
			local names = lists.keys(FIELDS)
			errors.raise("malformed", "row %d: no field %s, %s", i, tostring(k),
				type(k) == "string" and errors.nearest(k, names)
					or "there are: " .. table.concat(names, ", "))
		end
	end
end

-- Return a value as text for the compiler, which checks it.
local function plain(v)
	if math.type(v) == "integer" then return tostring(v) end
	if type(v) == "number" and math.tointeger(v) then return tostring(math.tointeger(v)) end
	if type(v) == "string" and v:match "^[%w_%-%. ]+$" then return v end
end

-- Return the lowest and the highest size of a range: "4M..32M", 4096 or {4096, 8191}; nil: not a
-- range.
local function interval(v)
	if type(v) == "table" then
		if #v ~= 2 then return nil end
		return plain(v[1]), plain(v[2])
	end
	local text = plain(v)
	if not text then return nil end
	local a, b = text:match "^%s*(.-)%s*%.%.%s*(.-)%s*$"
	if not a then return text, text end
	if a == "" and b == "" then return nil end
	return a == "" and "0" or a, b == "" and "-1" or b
end

local INTERVAL = 'an interval of bytes ("4M..32M", "4M..", {4096, 8191}, 4096)'

-- Convert sizes for each rank to sizes of the whole collective.
local function times_ranks(i, row, lo, hi)
	local ranks = row.ranks
	if math.type(ranks) ~= "integer" or ranks < 1 then
		return bad(i, "bytes_per_rank", row.bytes_per_rank, "ranks in the same row")
	end
	local a, b = units.size(lo), hi == "-1" and -1 or units.size(hi)
	if not a or not b then return bad(i, "bytes_per_rank", row.bytes_per_rank, INTERVAL) end
	if a > math.maxinteger // ranks or b > math.maxinteger // ranks - 1 then
		return bad(i, "bytes_per_rank", row.bytes_per_rank,
			"a size below 2^63 bytes over all ranks")
	end
	return tostring(a * ranks), b < 0 and "-1" or tostring((b + 1) * ranks - 1)
end

-- Return both ends of a row's sizes as text. -> lo, hi; raises errors
local function sizes(i, row)
	local ways = (row.bytes ~= nil and 1 or 0) + (row.bytes_per_rank ~= nil and 1 or 0)
		+ ((row.min_bytes ~= nil or row.max_bytes ~= nil) and 1 or 0)
	if ways > 1 then
		return bad(i, "bytes", row.bytes or row.min_bytes or row.max_bytes,
			"sizes in one way only")
	end
	if ways == 0 then return "0", "-1" end
	local name = row.bytes ~= nil and "bytes" or "bytes_per_rank"
	local lo, hi
	if row.bytes ~= nil or row.bytes_per_rank ~= nil then
		lo, hi = interval(row[name])
		if not lo or not hi then return bad(i, name, row[name], INTERVAL) end
	else
		lo = row.min_bytes == nil and "0" or plain(row.min_bytes)
		hi = row.max_bytes == nil and "-1" or plain(row.max_bytes)
		if not lo then return bad(i, "min_bytes", row.min_bytes, "bytes") end
		if not hi then return bad(i, "max_bytes", row.max_bytes, "bytes") end
	end
	if row.bytes_per_rank ~= nil then return times_ranks(i, row, lo, hi) end
	return lo, hi
end

local function row_text(i, row)
	local lo, hi = sizes(i, row)
	local t = { plain(row.coll == nil and -1 or row.coll), lo, hi }
	if not t[1] then return bad(i, "coll", row.coll, "the name of a collective") end
	for k, name in ipairs(ORDER) do
		local v = row[name]
		if v == nil then v = -1 end
		t[3 + k] = plain(v)
		if not t[3 + k] then return bad(i, name, v, "a word or a whole number") end
	end
	return table.concat(t, ",")
end

-- Fields of a table beside its rows
local OPTIONS = { name = true, hidden = true, coherence = true }

-- Compile { {coll=, bytes=, algo=, ...}, ..., name=, hidden="keep", coherence="off" }. opts: the
-- same fields, for a table that omits them. -> image | nil, err
M.rows = errors.catch(function(spec, opts)
	local o = lists.copy(opts or {})
	for k, v in pairs(spec) do
		if math.type(k) ~= "integer" and (not OPTIONS[k] or type(v) ~= "string") then
			errors.raise("malformed", "field %s: %s", tostring(k), OPTIONS[k]
				and "a text expected, found a " .. type(v)
				or "a table has rows and the fields coherence, hidden and name")
		end
		if OPTIONS[k] then o[k] = v end
	end
	local lines = {}
	for i, row in ipairs(spec) do
		check_fields(i, row)
		lines[i] = row_text(i, row)
	end
	local image, err = M.compile(table.concat(lines, "\n"),
		{ name = o.name or "table", hidden = o.hidden, coherence = o.coherence })
	if image or not err.line then return image, err end
	err.row = err.line
	err.line, err.col = nil, nil
	return nil, err
end)

M.MAX_TEXT = 16 << 20

-- Suffixes of files that are compiled when the shell opens them.

function M.is_source(path)
	return type(path) == "table" or path:find "%.csv$" ~= nil or path:find "%.lua$" ~= nil
end

local STEPS = 100000000 -- some seconds

-- Return the functions that a .lua file of a policy may call.
local function environment()
	local env = require("ncclbpf.base.sandbox").pure()
	env.nb = { size = units.size }
	function env.require(name)
		if name == "ncclbpf" then return env.nb end
		error(("%s: no such module for a policy's file (allowed: ncclbpf)"):format(
			tostring(name)), 2)
	end
	return env
end

local function run_lua(path, text, opts)
	local made, err = require("ncclbpf.base.sandbox").run(
		text, "@" .. path, environment(), STEPS)
	if made == nil and errors.is(err) then return nil, err end
	if type(made) ~= "table" then
		return errors.fail("malformed", "the file returned %s; a table of rows expected",
			type(made))
	end
	return M.rows(made, opts)
end

-- Compile a .csv or .lua file, or a script's table of rows, to an image. opts: name, hidden,
-- coherence.
M.open = errors.catch(function(path, opts)
	if type(path) == "table" then return M.rows(path, opts) end
	local text = try(core.read(path, M.MAX_TEXT))
	local image, err
	if path:find "%.lua$" then
		image, err = run_lua(path, text, opts)
	else
		image, err = M.compile(text, { name = opts.name, file = path, hidden = opts.hidden,
			coherence = opts.coherence })
	end
	if not image and not err.where then err.object = err.object or path end
	return image, err
end)

-- Return the rows of two tables for a comparison; nil: one of the images is no table.
function M.listings(a, b)
	local x, y = M.csv_of(a), M.csv_of(b)
	if not x or not y then return nil end
	local function lines(text)
		local t = {}
		for line in text:gmatch "[^\n]+" do
			if line:sub(1, 1) ~= "#" then t[#t + 1] = line end
		end
		return t
	end
	return lines(x), lines(y)
end

return M
