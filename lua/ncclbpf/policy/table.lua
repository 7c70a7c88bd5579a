-- SPDX-License-Identifier: MIT
-- Policies made without a compiler: decision tables in Lua, in the columns of NVIDIA's tuner files
-- or as NCCLX's rules (docs/tables.md). The result is an image, a policy like any other.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local ncclx = require "ncclbpf.policy.table_ncclx"
local params = require "ncclbpf.policy.table_params"
local rows = require "ncclbpf.policy.table_rows"
local tree = require "ncclbpf.policy.table_tree"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

M.save = errors.catch(function(image, path)
	return try(core.write(path, path:find "%.o$" and try(core.table_object(image)) or image))
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
	for i = 1, math.min(#list, MOST) do
		local row = list[i]
		local text = "reg_buff is %d, but must be -1: buffers may be registered on "
			.. "one rank and not on another"
		faults[i] = errors.new("malformed", text:format(row.reg_buff[1]), {
			line = row.line, field = "reg_buff",
			hint = "policy build FILE coherence=off compiles such a table, "
				.. "for jobs that run with NCCLBPF_COHERENCE=off" })
	end
	return faults
end

-- Return a note for each row of @left, which depend on reg_buff.
local function notes_of(left, file)
	local t = lists.map(left, function(row)
		return ("note: %s %d: reg_buff %d may differ between ranks, so NCCL decides "
			.. "where this row matches"):format(file and file .. ", line" or "row",
			row.line, row.reg_buff[1])
	end)
	return #t > 0 and table.concat(t, "\n") or nil
end

-- Return a note for each row that only won where a row that depends on reg_buff now leaves the
-- answer to NCCL. @before, @now: the rows that won and win
local function silenced(list, before, now, file)
	local t = {}
	for i, row in ipairs(list) do
		if before[i] and not now[i] and not row.left then
			t[#t + 1] = ("note: %s %d: the row never wins, because NCCL decides where "
				.. "rows with reg_buff match"):format(file and file .. ", line"
				or "row", row.line)
		end
	end
	return t
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

-- Compile rows to an image, or report the faults that were found when they were read. Where a row
-- that depends on reg_buff matches, neither it nor a later row decides, unless coherence is "off".
-- @notes: what the reader of the rows tells. -> image, notes (nil: none)
local function compile(list, faults, opts, notes)
	local data, won
	if #faults == 0 then
		data, won = try(tree.build(list))
		if opts.hidden ~= "keep" then faults = tree.hidden(list, won, MOST) end
	end
	if #faults == 0 and opts.coherence ~= "off" then
		local left = rows.leave(list)
		if #left == #list then
			faults = local_rows(list)
		elseif #left > 0 then
			local now
			data, now = try(tree.build(list))
			local told = { notes_of(left, opts.file),
				table.unpack(silenced(list, won, now, opts.file)) }
			if notes then table.insert(told, 1, notes) end
			notes = table.concat(told, "\n")
		end
	end
	if #faults > 0 then return nil, sum_up(faults, opts.file) end
	local function image(...)
		return try(core.table_image(opts.name, data, rows.pack(list), opts.file or "",
			list[1].line, "a table of " .. units.count(#list, "row"), ...)), notes
	end
	if not opts.source then return image() end
	return image(params.sections(opts.params, opts.source))
end

-- Compile a table's text to an image. opts: name, file, hidden="keep", coherence="off".
-- -> image, notes | nil, err
M.compile = errors.catch(function(text, opts)
	local list, faults = rows.read(text, MOST)
	return compile(list, faults, opts)
end)

-- Fields of a table beside its rows, with their types
local OPTIONS = { name = "string", hidden = "string", coherence = "string", params = "table" }

-- Return the fields of a table beside its rows. opts: the same fields, for a table that omits
-- them; raises errors
local function fields_of(spec, opts)
	local o = lists.copy(opts or {})
	for k, v in pairs(spec) do
		if math.type(k) ~= "integer" and type(v) ~= OPTIONS[k] then
			errors.raise("malformed", "field %s %s", tostring(k), OPTIONS[k]
				and ("is a %s, but must be a %s"):format(type(v), OPTIONS[k])
				or "is unknown; a table has rows, coherence, hidden, name, params")
		end
		if OPTIONS[k] then o[k] = v end
	end
	o.name = o.name or "table"
	return o
end

-- Compile a table whose parameters have the values {name = number}; nil: their defaults. -> image,
-- notes | nil, err
local function compile_rows(spec, o, values)
	local by, used
	if o.params then
		o.params, by = params.list(o.params, values), {}
		for _, p in ipairs(o.params) do by[p.name] = p.value end
		o.source = { rows = table.move(spec, 1, #spec, 1, core.array {}),
			hidden = o.hidden, coherence = o.coherence }
	end
	local list, faults
	list, faults, used = rows.read_lua(spec, MOST, by)
	if #faults == 0 and by then params.check_used(o.params, used) end
	return compile(list, faults, o, o.notes)
end

-- Compile the table in an image again, with other values of its parameters: "NAME=VALUE,...".
-- -> image, notes; nil: the image has no such table | nil, err
M.set = errors.catch(function(bytes, text)
	local info = try(core.image(bytes)):info()
	local source = params.source(info)
	if not source then return nil end
	local function with(list)
		local values = {}
		for _, p in ipairs(list) do values[p.name] = p.value end
		return compile_rows(source.rows, { name = info.name, params = source.params,
			hidden = source.hidden, coherence = source.coherence }, values)
	end
	local list = try(core.image_values(bytes, text))
	local now = try(with(info.params))
	if now ~= bytes then
		errors.raise("bad_image", "policy %s: it is not what its table compiles to; "
			.. "another version of ncclbpf may have made it", info.name)
	end
	return with(list)
end)

-- Compile { {coll=, bytes=, algo=, ...}, ..., name=, hidden="keep", coherence="off", params= }.
-- opts: the same fields, for a table that omits them; values: "NAME=VALUE,..."; notes: what else to
-- tell. -> image, notes | nil, err
M.rows = errors.catch(function(spec, opts)
	local o = fields_of(spec, opts)
	local image, notes = try(compile_rows(spec, o))
	if not o.values then return image, notes end
	if o.source then return M.set(image, o.values) end
	return try(core.image_set(image, o.values)), notes
end)

M.MAX_TEXT = 16 << 20

-- Is this a table that is compiled when the shell opens it: a script's rows, or a file of a table's
-- suffix?
function M.is_source(path)
	return type(path) == "table" or path:find "%.csv$" ~= nil or path:find "%.lua$" ~= nil
		or path:find "%.json$" ~= nil
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
		return errors.fail("malformed", "the file returned %s, but must return a table of "
			.. "rows", errors.kind(made))
	end
	return M.rows(made, opts)
end

-- Compile a .csv, .lua or .json file, or a script's table of rows, to an image. opts: name, hidden,
-- coherence, values. -> image, notes | nil, err
M.open = errors.catch(function(path, opts)
	if type(path) == "table" then return M.rows(path, opts) end
	local text = try(core.read(path, M.MAX_TEXT))
	local image, err
	if path:find "%.lua$" then
		image, err = run_lua(path, text, opts)
	elseif path:find "%.json$" then
		local o = lists.copy(opts)
		local spec
		spec = errors.about(path, ncclx.rows(text))
		image, err = M.rows(spec, o)
	else
		image, err = M.compile(text, { name = opts.name, file = path, hidden = opts.hidden,
			coherence = opts.coherence })
		-- rows of text have no parameters, which is an error then
		if image and opts.values then image, err = core.image_set(image, opts.values) end
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
