-- SPDX-License-Identifier: MIT
-- Change elements of maps: map set, del and load, one request for all elements of a command. A
-- coherent map changes as a whole, at a fence on all ranks; a local map one element at a time, in
-- each process at once.
local changes = require "ncclbpf.job.change"
local core = require "ncclbpf.core"
local csv = require "ncclbpf.base.csv"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local map = require "ncclbpf.map.map"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local values = require "ncclbpf.map.values"
local vars = require "ncclbpf.map.variables"

local try = errors.try
local M = {}

-- Limits of a request line; larger requests use a memory file.
local LINE_SETS, LINE_DELS, LINE_BYTES = 31, 63, 60000
local OBJECT_BYTES = 4 << 20
local FILE_BYTES = 64 << 20
local READABLE = 4 -- largest number of elements in an audit entry

-- ---- elements to requests ------------------------------------------------------------

-- Encode elements in the form of `map load`'s memory file.
local function pack(list, from, to)
	local t = {}
	for i = from, to do
		local e = list[i]
		t[#t + 1] = e.value and "\0" .. e.key .. e.value or "\1" .. e.key
	end
	return table.concat(t)
end

-- Return the request that stores elements @from to @to of @list: {key=, value=, text=} (bytes);
-- without value the element is removed. @tail: more options. -> line, object
local function request(name, list, from, to, flags, tail)
	local sets, bytes = 0, 0
	for i = from, to do
		local e = list[i]
		if e.value then sets = sets + 1 end
		bytes = bytes + 2 * (#e.key + #(e.value or "")) + 2
	end
	local n = to - from + 1
	local words, object
	if bytes < LINE_BYTES and sets == n and n <= LINE_SETS then
		words = { "map", "set", name }
		for i = from, to do
			words[#words + 1] = map.hex(list[i].key)
			words[#words + 1] = map.hex(list[i].value)
		end
	elseif bytes < LINE_BYTES and sets == 0 and n <= LINE_DELS then
		words = { "map", "remove", name }
		for i = from, to do words[#words + 1] = map.hex(list[i].key) end
	else
		words, object = { "map", "load", name }, pack(list, from, to)
	end
	return session.line(words) .. (flags and sets > 0 and " flags=" .. flags or "")
		.. (tail or ""), object
end

-- Return the command that stores @list, with keys and values as a user reads and types them.
local function readable(c, name, list)
	local words, sets = {}, false
	for i = 1, math.min(#list, READABLE) do
		local e = list[i]
		words[#words + 1] = format.value(values.decode(c, c.key, e.key))
		if e.value then
			-- a per-CPU value contains the values of all CPUs
			local v = values.values(c, map.hex(e.value), c.map.ncpus)
			words[#words + 1] = v and format.value(#v == 1 and v[1] or v) or "?"
			sets = true
		end
	end
	if #list > READABLE then words[#words + 1] = ("... (%d elements)"):format(#list) end
	return ("map %s %s %s"):format(sets and "set" or "remove", name, table.concat(words, " "))
end

-- Return the index of the last element that fits a memory file.
local function fitting(list, from)
	local bytes, to = 0, from - 1
	while list[to + 1] do
		bytes = bytes + 1 + #list[to + 1].key + #(list[to + 1].value or "")
		if bytes > OBJECT_BYTES then break end
		to = to + 1
	end
	return to
end

-- Name the failed element of an error as the user typed it.
local function name_error(err, list, from, name)
	local e = err and math.tointeger(err.at)
	e = e and list[from + e - 1]
	if not e then return err end
	local before = from - 1
	map.name_key(err, e.text, name)
	if before > 0 then err.cause = ("the first %d elements are stored"):format(before) end
	err.at = nil
	return err
end

-- Send requests to all processes, one after the other, until one fails. next() -> line, object;
-- nil after the last; blame(err) -> the error of a request. -> results with the sums of changes
local function send_all(s, next, blame)
	local all
	for line, object in next do
		local results = s:ask(line, { object = object, what = line:match "^%a+ %a+" })
		local failed = false
		for i, r in ipairs(results) do
			if r.err then
				r.err, failed = blame(r.err), true
			elseif all and all[i].data then
				r.data.changed = read.number(r.data.changed) + read.number(
					all[i].data.changed)
			end
		end
		all = results
		if failed then break end
	end
	return all
end

-- Store (or remove) elements in all processes. opts: flags, dry_run,
-- if_generation.
-- -> the change (coherent), or results of each process (local); nil, err
function M.apply(s, c, name, list, opts)
	opts = opts or {}
	local to = fitting(list, 1)
	if to == 0 then
		return errors.fail("over_limit",
			"an element is larger than the %d bytes of a request", OBJECT_BYTES)
	end
	if c.map.coherent then
		if to < #list then
			return errors.fail("over_limit",
				"%d elements: one request of %d bytes holds only %d; " ..
				"a coherent map changes in one request", #list, OBJECT_BYTES, to)
		end
		local line, object = request(name, list, 1, #list, opts.flags,
			changes.if_generation(opts.if_generation))
		local data, err = s:change(line, { dry_run = opts.dry_run, object = object,
			readable = readable(c, name, list) })
		if not data then return nil, name_error(err, list, 1, name) end
		return data
	end
	if opts.if_generation then
		return errors.fail(
			"usage", "map %s is local and changes at once; " ..
			"if_generation is for coherent maps", name)
	end
	local from
	to = 0
	return send_all(s, function()
		from, to = to + 1, fitting(list, to + 1)
		if from > #list then return nil end
		return request(name, list, from, to, opts.flags, opts.dry_run and " commit=no")
	end, function(err) return name_error(err, list, from, name) end)
end

-- Return the bytes of a value. A per-CPU map gets the same value for each CPU, unless @v is a list
-- of values.
function M.value_bytes(c, v, what)
	local n = math.tointeger(read.number(c.map.ncpus)) or 1
	if n <= 1 then return map.encode(c, c.value, v, what) end
	local pad, t = (8 - c.value.size % 8) % 8, {}
	local list = type(v) == "table" and #v > 0 and v
	if list and #list ~= n then
		return errors.fail("bad_argument", "%s: %d values for %d CPUs", what, #list, n)
	end
	for cpu = 1, n do
		local bytes = try(map.encode(c, c.value, list and list[cpu] or v, what))
		t[cpu] = bytes .. ("\0"):rep(pad)
	end
	return table.concat(t)
end

-- ---- commands ------------------------------------------------------------------------

-- Return the result of a command from the values that M.apply returned.
local function result_of(ctx, c, got, verb)
	if c.map.coherent then
		return changes.result(ctx, got, verb)
	end
	return read.command(ctx, {
		schema = "map.change/1", id = "map",
		rows = function(d)
			return { { map = d.map, policy = d.policy, changed = d.changed } }
		end,
		columns = { { "map" }, { "policy" }, { "changed", num = true } },
		opts = { results = got },
		foot = ctx.flags.dry_run and function() return {
			"dry run: every process could store the elements; " ..
				"nothing has changed" } end or nil,
	})
end

local function finish(ctx, s, c, list, opts)
	local name = ctx.args[1]
	opts = opts or {}
	opts.dry_run = ctx.flags.dry_run
	opts.if_generation = opts.if_generation or ctx.opt.if_generation
	local got = try(M.apply(s, c, name, list, opts))
	return result_of(ctx, c, got, ctx.row.words .. " " .. name)
end

local FLAGS = { "any", "new", "old" }

-- Parse a typed key and value into an element. -> element | nil, err
local element = errors.catch(function(c, key_text, value_text)
	local text = values.text(key_text)
	return { key = try(map.typed(c, c.key, key_text, "key " .. text)), text = text,
		value = value_text
			and try(map.typed(c, c.value, value_text, "value", M.value_bytes)) }
end)

-- Return the value of {path, value as typed}; raises errors
local function value_of(x)
	local v, err = x[2], nil
	if type(v) == "string" then v, err = map.evaluate(v) end
	if v == nil then
		error(err or errors.new("bad_argument", x[1] .. ": nil is not a value"), 0)
	end
	return v
end

-- Store variables of a coherent data section: all of them change at one fence. The change writes
-- the whole section, so it is refused if somebody else has changed the job since it was read.
local function set_coherent(ctx, s, c, list)
	local now = try(read.one(ctx, "status")).generation
	local name = ctx.args[1]
	local d = try(read.one(ctx, session.line { "map", "get", name, map.hex(vars.KEY) }))
	local bytes, paths = try(map.unhex(d.value)), {}
	for i, x in ipairs(list) do
		bytes, paths[i] = vars.with(c, bytes, x[1], value_of(x)), x[1]
	end
	return finish(ctx, s, c, { { key = vars.KEY, value = bytes,
		text = table.concat(paths, ", ") } },
		{ if_generation = ctx.opt.if_generation or now and tostring(now) })
end

-- Store variables of a data section one by one. @list: {path, value as typed}
local function set_variables(ctx, s, c, list)
	local lines, at = {}, 0
	if c.map.coherent then return set_coherent(ctx, s, c, list) end
	for i, x in ipairs(list) do
		lines[i] = try(vars.line(c, ctx.args[1], x[1], value_of(x)))
			.. (ctx.flags.dry_run and " commit=no" or "")
	end
	return result_of(ctx, c, send_all(s, function()
		at = at + 1
		return lines[at]
	end, function(err)
		if at > 1 then
			err.cause = ("only the %d elements before %s were stored"):format(at - 1,
				list[at][1])
		end
		return err
	end), "map set")
end

-- Parse the arguments as variables of a data section. -> { {path, value} }, or nil if the
-- arguments are keys and values
local function variables(ctx, c)
	local list = {}
	for i = 2, #ctx.args do
		local word = ctx.args[i]
		local path, value = type(word) == "string" and word or "", nil
		path, value = path:match("^([%a_][%w_%.%[%]]*)=(.*)$")
		if not path then
			if i > 2 then
				return nil, errors.new("usage", values.text(word)
					.. " must be VARIABLE=VALUE, as the words before it")
			end
			path, value = type(word) == "string" and word:match("^[%a_][%w_%.%[%]]*$"),
				ctx.args[3]
			if path and #ctx.args == 3 and vars.is_section(c) then
				return { { path, value } }
			end
			return nil
		end
		list[i - 1] = { path, value }
	end
	if vars.is_section(c) then return list end
	return nil, errors.new("usage", ("%s is not a data section, so it has no variables"):format(
		ctx.args[1]),
		{ hint = ("write a table of fields as one word: {%s}"):format(
			table.concat(ctx.args, ", ", 2)) })
end

function M.cmd_set(ctx)
	local s = try(ctx:session())
	local c = try(map.describe(s, ctx.args[1]))
	local list, err = variables(ctx, c)
	if list and ctx.opt.if_generation and not c.map.coherent then
		return errors.fail(
			"usage", "map %s is local and changes at once; " ..
			"if_generation is for coherent maps", ctx.args[1])
	end
	if list then return set_variables(ctx, s, c, list) end
	if err then return nil, err end
	if #ctx.args % 2 == 0 then
		return nil, errors.new(
			"usage", ("keys and values come in pairs, %s has no value"):format(
			values.text(ctx.args[#ctx.args])),
			{ hint = ("usage: %s %s"):format(ctx.row.words, ctx.row.syntax) })
	end
	local flags = ctx:word("flags", FLAGS)
	list = {}
	for i = 2, #ctx.args, 2 do
		list[#list + 1] = try(element(c, ctx.args[i], ctx.args[i + 1]))
	end
	return finish(ctx, s, c, list, { flags = flags })
end

function M.cmd_remove(ctx)
	local s = try(ctx:session())
	local c = try(map.describe(s, ctx.args[1]))
	local list = {}
	for i = 2, #ctx.args do list[i - 1] = try(element(c, ctx.args[i])) end
	return finish(ctx, s, c, list)
end

-- ---- map load ------------------------------------------------------------------------

-- Return the records {key, value, rank, cpu, line} of a table with a header line.
local function of_table(text, each)
	local columns, n, fields = nil, 0, nil
	for line in (text:gsub("\n$", "") .. "\n"):gmatch("(.-)\r?\n") do
		n = n + 1
		if line ~= "" and not line:find("^#") then
			if not columns then
				fields = line:find("\t", 1, true) and csv.tab_fields or csv.fields
				columns = {}
				for i, name in ipairs((fields(line))) do
					columns[name] = i
				end
				if not columns.key or not columns.value then
					return errors.fail("malformed",
						"line %d must name the columns key and value, but "
							.. "is: %s", n, line:sub(1, 80))
				end
			else
				local f = fields(line)
				try(each { key = f[columns.key] or "",
					value = f[columns.value], line = n,
					rank = columns.rank and f[columns.rank], cpu = columns.cpu
						and f[columns.cpu] })
			end
		end
	end
	return true
end

-- Return the records of JSON that -o json or -o ndjson has written, or of a list of {key, value}.
local function of_json(text, each)
	local function entries(d, n)
		if type(d) ~= "table" then
			return errors.fail("malformed", "line %d: not an element {key, value}", n)
		end
		if d.data ~= nil then return entries(d.data, n) end
		for e, p in read.each(read.list(d, "processes"), "entries") do
			try(each { key = e.key, value = e.value == nil
				and e.values or e.value, rank = p.rank, line = n,
				data = true })
		end
		if d.processes then return true end
		if d.key ~= nil then
			return each { key = d.key, value = d.value, rank = d.rank, cpu = d.cpu,
				line = n, data = type(d.value) ~= "string" }
		end
		for _, e in ipairs(d) do try(entries(e, n)) end
		return true
	end
	local whole = core.decode(text)
	if whole then return entries(whole, 1) end
	local n = 0
	for line in text:gmatch("[^\n]+") do
		n = n + 1
		local d, err = core.decode(line)
		if not d then
			err.message = ("line %d: %s"):format(n, err.message)
			return nil, err
		end
		try(entries(d, n))
	end
	return true
end

-- Read the elements of a dump's file. If it has rows of several ranks, use only the rows of the
-- first.
local function elements(c, text, path)
	local list, rank, by = {}, nil, {}
	local function each(rec)
		if rank == nil then rank = rec.rank end
		if rec.rank ~= rank then return true end
		if rec.cpu and rec.cpu ~= "" then
			return errors.fail("not_supported",
				"line %d: values of single CPUs cannot be stored; write json, "
				.. "which has a list", rec.line)
		end
		local e, err
		if rec.data then
			local key
			key, err = type(rec.key) == "string" and map.typed(c, c.key, rec.key, "key")
				or map.encode(c, c.key, rec.key, "key")
			e = key and { key = key, text = tostring(rec.key) }
			if e then e.value, err = M.value_bytes(c, rec.value, "value") end
		else
			e, err = element(c, tostring(rec.key), rec.value)
		end
		if not e or rec.value ~= nil and not e.value then
			err.where = { file = path, line = rec.line }
			return nil, err
		end
		if rec.value == nil then
			return errors.fail("malformed", "line %d: no value", rec.line)
		end
		if by[e.key] then
			if by[e.key].value ~= e.value then
				return errors.fail("malformed",
					"line %d: key %s occurs twice, with different values",
					rec.line, e.text)
			end
			return true
		end
		by[e.key] = e
		list[#list + 1] = e
		return true
	end
	local ok, err = errors.catch(text:find("^%s*[{%[]") and of_json or of_table)(text, each)
	if not ok then
		err.where = err.where or { file = path }
		return nil, err
	end
	return list
end

function M.cmd_load(ctx)
	local s = try(ctx:session())
	local flags = ctx:word("flags", FLAGS)
	local text = try(core.read(ctx.args[2], FILE_BYTES))
	local c = try(map.describe(s, ctx.args[1]))
	local list = try(elements(c, text, ctx.args[2]))
	if #list == 0 then return errors.fail("malformed", "%s: no elements", ctx.args[2]) end
	return finish(ctx, s, c, list, { flags = flags })
end

return M
