-- SPDX-License-Identifier: MIT
-- Policies made without a compiler: decision tables in Lua or in the columns of NVIDIA's tuner
-- files (docs/tables.md). The result is an image, a policy like any other.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local rows = require "ncclbpf.policy.table_rows"
local tree = require "ncclbpf.policy.table_tree"
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

-- ---- text and rows ---------------------------------------------------------------

-- The rows from which an image was made, as CSV. -> text, number of rows | nil, err
M.csv_of = errors.catch(function(image)
	local list = try(tree.of_image(image))
	return rows.text(list), #list
end)

local MOST = 10 -- faults that are reported

-- Return faults of rows whose conditions differ between ranks.
local function local_rows(list)
	local faults = {}
	for _, row in ipairs(list) do
		if #faults == MOST then break end
		if row.reg_buff >= 0 then
			local text = "reg_buff %d: buffers may be registered on one rank "
				.. "and not on another; -1 expected"
			faults[#faults + 1] = errors.new("malformed", text:format(row.reg_buff), {
				line = row.line, field = "reg_buff",
				hint = "policy build FILE coherence=off compiles such a table, "
					.. "for jobs that run with NCCLBPF_COHERENCE=off" })
		end
	end
	return faults
end

-- Return the first fault, with its place and the other faults in its detail. Rows made in Lua have
-- no file: a line is a row.
local function sum_up(faults, file)
	local err, t = faults[1], {}
	for i, f in ipairs(faults) do
		t[i] = f.message
		if f.line and not file then
			t[i] = ("row %d: %s"):format(f.line,
				f.message:gsub("line (%d+)", "row %1"))
		elseif i > 1 then
			t[i] = ("%s:%d:%s %s"):format(file, f.line, f.col and f.col .. ":" or "",
				f.message)
		end
	end
	err.message = t[1]
	if #t == MOST then t[#t + 1] = ("these are the first %d faults"):format(MOST) end
	if #t > 1 then err.detail = table.concat(t, "\n") end
	if err.line and file then
		err.where = { file = file, line = err.line, col = err.col }
	else
		err.row = err.line
	end
	err.line, err.col = nil, nil
	return err
end

-- Compile rows to an image, or report the faults that were found when they were read.
local function compile(list, faults, opts)
	if #faults == 0 and opts.coherence ~= "off" then faults = local_rows(list) end
	local data, won
	if #faults == 0 then
		data, won = try(tree.build(list))
		if opts.hidden ~= "keep" then faults = tree.hidden(list, won, MOST) end
	end
	if #faults > 0 then return nil, sum_up(faults, opts.file) end
	return try(core.table_image(opts.name, data, rows.pack(list), opts.file or "", list[1].line,
		"a table of " .. units.count(#list, "row")))
end

-- Compile a table's text to an image. opts: name, file, hidden="keep", coherence="off".
M.compile = errors.catch(function(text, opts)
	local list, faults = rows.read(text, MOST)
	return compile(list, faults, opts)
end)

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
	o.name = o.name or "table"
	local list, faults = rows.read_lua(spec, MOST)
	return compile(list, faults, o)
end)

M.MAX_TEXT = 16 << 20

-- Suffixes of files that are compiled when the shell opens them.

function M.is_source(path)
	return type(path) == "table" or path:find "%.csv$" ~= nil or path:find "%.lua$" ~= nil
end

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
	local made, err = require("ncclbpf.base.sandbox").run(text, "@" .. path, environment())
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
	local x, y = tree.of_image(a), tree.of_image(b)
	if not x or not y then return nil end
	return lists.map(x, rows.line), lists.map(y, rows.line)
end

return M
