-- SPDX-License-Identifier: MIT
-- Maps of policies, typed: keys and values travel as hexadecimal bytes and
-- become tables by the type information of the policy's image.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local merge = require "ncclbpf.job.merge"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"
local values = require "ncclbpf.map.values"

local try = errors.try
local M = {}

local line_formats = { tsv = true, csv = true, ndjson = true, name = true }
local DUMP_LIMIT, DUMP_MOST = 10000, 1 << 20

for name, f in pairs(values) do M[name] = f end

-- ---- dumping ---------------------------------------------------------------------

local entry_meta = { order = { "key", "value", "values" } }

-- Return an element. @list: its value, or its value on each CPU. @d: the reply
local function entry(key, list, d)
	local many = read.number(d.ncpus) > 1
	local e = { key = key, values = many and core.array(list) or nil }
	if not many then e.value = list[1] end
	return setmetatable(e, entry_meta)
end

local function line_of(words, opts)
	local t = session.line(words)
	for _, o in ipairs(opts) do t = t .. " " .. o end
	return t
end

-- Decode the entries of a reply and append them to @entries.
local function decode_entries(c, d, entries, exact)
	for _, e in ipairs(read.list(d, "entries")) do
		local key, list = values.unhex(e.key), values.values(c, e.value, d.ncpus, exact)
		if key and list then
			entries[#entries + 1] = entry(values.decode(c, c.key, key, exact), list, d)
		end
	end
	local n = #read.list(d, "entries")
	d.entries = nil
	return n
end

-- Iterate over the elements of one process, a page at a time; elements may be stored and removed
-- meanwhile. opts: limit, after, exact, first (a reply received already). -> function that
-- returns {member, data, codec, entries}, nil at the end; raises errors
local function pages(s, name, member, opts)
	local left, after, reply, c, ended = opts.limit or DUMP_MOST, opts.after, opts.first, nil,
		false
	return function()
		if ended then return nil end
		if not reply then
			local words = { "limit=" .. left }
			if after then words[2] = "after=" .. after end
			local r = s:ask(line_of({ "map", "dump", name }, words),
				{ what = "map dump", members = { member } })[1]
			if r.err then error(r.err, 0) end
			reply = r.data
		end
		local d, err = reply, nil
		reply = nil
		if not c then c, err = values.codec(s, member, d) end
		if not c then error(err, 0) end
		local entries = core.array {}
		local n = decode_entries(c, d, entries, opts.exact)
		left = left - n
		after = d.more and d.next
		ended = type(after) ~= "string" or n == 0 or left <= 0
		return { member = member, data = d, codec = c, entries = entries }
	end
end

-- Read and decode the entries of all members.
-- -> { {member, data, codec, entries: [{key, value | values, raw}]} }, failures
function M.dump(s, name, opts)
	opts = opts or {}
	local limit = opts.limit or DUMP_LIMIT
	local words = { "limit=" .. limit }
	if opts.after then words[2] = "after=" .. opts.after end
	local per, failures = {}, {}
	local function all(r)
		local whole
		for p in pages(s, name, r.member, { limit = limit, exact = opts.exact,
			first = r.data }) do
			if whole then
				table.move(p.entries, 1, #p.entries, #whole.entries + 1,
					whole.entries)
			end
			whole = whole or p
			whole.data.more, whole.data.next = p.data.more, p.data.next
		end
		return whole
	end
	for _, r in ipairs(s:ask(line_of({ "map", "dump", name }, words),
		{ what = "map dump" })) do
		local ok, p = r.data ~= nil, r.err
		if ok then ok, p = pcall(all, r) end
		if ok then
			per[#per + 1] = p
		else
			failures[#failures + 1] = { member = r.member, err = errors.caught(p) }
		end
	end
	return per, failures
end

local function is_zero(v)
	if type(v) == "table" then
		for _, x in pairs(v) do
			if not is_zero(x) then return false end
		end
		return true
	end
	return v == 0 or v == "" or v == false or type(v) == "string" and v:match("^hex:0*$") ~= nil
end

-- @short: without the CPUs on which an element is all zero
local function entry_rows(p, short)
	local rows = {}
	for i, e in ipairs(p.entries) do
		local before = #rows
		local function add(cpu, v)
			rows[#rows + 1] = { key = format.value(e.key), cpu = cpu,
				value = format.value(v), at = i }
		end
		for cpu, v in ipairs(e.values or {}) do
			if not short or not is_zero(v) then add(cpu - 1, v) end
		end
		if not e.values then
			add(nil, e.value)
		elseif short and #rows == before then
			add("all", e.values[1])
		end
	end
	return rows
end

-- Return the type of keys or values as text. @part: c.key or c.value
local function type_of(c, part)
	return c.btf and part.id > 0 and c.btf:name(part.id) or part.size .. " bytes"
end

local function head_of(p)
	local d, c = p.data, p.codec
	return ("%s/%s: %s, %s -> %s, %s%s of %s entries"):format(
		tostring(d.policy), tostring(d.map), tostring(d.type), type_of(c, c.key),
		type_of(c, c.value), d.coherent and "coherent, " or "",
		tostring(d.count or #p.entries), tostring(d.max_entries))
end

local function flat_columns(percpu)
	local columns = { { "rank", num = true, flat = true }, { "pid", num = true, flat = true },
		{ "key" }, { "value" } }
	if percpu then table.insert(columns, 4, { "cpu", num = true }) end
	return columns
end

local function flat_rows(per)
	local flat = {}
	for _, p in ipairs(per) do
		for _, row in ipairs(entry_rows(p)) do
			row.rank, row.pid, row.site = p.member.rank, p.member.pid, p.member.site
			flat[#flat + 1] = row
		end
	end
	return flat
end

-- Return rows of all processes for people, in the order of the first one's dump.
local function merged_rows(per, columns)
	local replies = lists.map(per, function(p)
		return { member = p.member, rows = entry_rows(p, true) }
	end)
	local merged = merge.rows(replies, { { "key" }, { "value" } }, function(row)
		return row.key .. "\0" .. tostring(row.cpu) .. "\0" .. row.value
	end)
	for i, row in ipairs(merged) do row.n = i end
	table.sort(merged, lists.by("at", "n"))
	for _, row in ipairs(merged) do
		if row.on and row.on ~= "all" then
			columns[#columns + 1] = { "on", title = "ON", people = true }
			break
		end
	end
	return merged
end

-- Return the result of a command from decoded dumps. Make rows only for formats that need them.
local function dump_result(ctx, per, failures, schema)
	local list = core.array {}
	for i, p in ipairs(per) do
		local d = lists.copy(p.data)
		d.entries = p.entries
		list[i] = setmetatable({ pid = p.member.pid, rank = p.member.rank,
			site = p.member.site, data = setmetatable(d, getmetatable(p.data)) },
			{ order = { "pid", "rank", "site", "data" } })
	end
	for _, f in ipairs(failures) do
		list[#list + 1] = { pid = f.member.pid, rank = f.member.rank,
			site = f.member.site, error = f.err }
	end
	local foot = {}
	for _, p in ipairs(per) do
		if p.data.more then
			foot[1] = ("more entries; limit=N or limit=all shows more than %d"):format(
				#p.entries)
		end
	end
	local columns = flat_columns(per[1] and read.number(per[1].data.ncpus) > 1)
	return setmetatable({
		schema = schema, data = { processes = list }, columns = columns, id = "key",
		head = per[1] and head_of(per[1]), foot = foot, empty = "no entries",
		failure = session.sum_up(failures),
	}, { __index = function(t, k)
		if k == "rows" then t.rows = flat_rows(per) end
		if k == "merged" then t.merged = merged_rows(per, columns) end
		return rawget(t, k)
	end })
end

-- Print a large dump page by page, in a format with one line for each element.
local function stream(ctx, s, name, opts)
	local failures, began, answered = {}, false, 0
	local function one(member)
		for p in pages(s, name, member, opts) do
			local percpu = read.number(p.data.ncpus) > 1
			ctx:emit({ schema = "map.dump/1", rows = flat_rows { p },
				columns = flat_columns(percpu), id = "key" }, began)
			began = true
		end
		answered = answered + 1
	end
	for _, member in ipairs(s.members) do
		local ok, err = member.conn ~= nil, member.lost
		if ok then ok, err = pcall(one, member) end
		if not ok then
			failures[#failures + 1] = { member = member, err = errors.caught(err) }
		end
	end
	local failure = session.sum_up(failures, #s.members)
	if answered == 0 then return nil, failure end
	return { failure = failure }
end

-- ---- commands --------------------------------------------------------------------

-- Format the nanoseconds since a host map was written, for example "12s".
local function age(ns)
	return type(ns) == "number" and units.seconds(ns / 1e9) or "-"
end

local map_columns = {
	{ "map" }, { "policy" }, { "type" }, { "key_size", title = "KEY", num = true },
	{ "value_size", title = "VALUE", num = true },
	{ "count", title = "USED", num = true, merge = "range" },
	{ "max_entries", title = "ENTRIES", num = true }, { "coherent" }, { "shared" },
	{ "origin", wide = true }, { "flags", num = true, wide = true },
	{ "memory_bytes", title = "MEMORY", num = true, wide = true, merge = "first",
	show = format.bytes },
	{ "policy_digest", title = "DIGEST", wide = true, show = format.short },
	{ "attached", wide = true },
	{ "age_ns", title = "AGE", num = true, wide = true, merge = "first", show = age },
}

local function map_row(m)
	local row = lists.copy(m)
	row.name = tostring(m.policy) .. "/" .. tostring(m.map)
	return row
end

function M.cmd_list(ctx)
	return read.command(ctx, {
		schema = "map.list/1", line = "map list", columns = map_columns, id = "name",
		empty = "no maps",
		rows = function(d)
			return lists.map(read.list(d, "maps"), map_row)
		end,
	})
end

function M.cmd_show(ctx)
	local s = try(ctx:session())
	local result = try(read.command(ctx, {
		schema = "map.show/1", line = session.line { "map", "show", ctx.args[1] },
		columns = map_columns, id = "name",
		rows = function(d) return { map_row(d) } end,
	}))
	local first = result.data.processes[1]
	local m = first and first.data
	if m and m.attached ~= nil then
		local written = m.age_ns ~= nil and type(m.age_ns) == "number"
		result.foot[#result.foot + 1] = "host map: " .. (not m.attached
			and "not attached, all zeroes" or written and "last written "
			.. age(m.age_ns) .. " ago" or "attached, never written")
			.. (read.number(m.unfinished) > 0 and (
				"; %d in mid-update: a writer is changing them or has died"):format(
				m.unfinished) or "")
	end
	if m then
		local c = values.codec(s, s:living()[1], m)
		if c and c.btf then
			result.foot[#result.foot + 1] = ("key %s, value %s"):format(
				type_of(c, c.key), type_of(c, c.value))
			local fields = c.value.id > 0 and c.btf:order(c.value.id)
			if fields then
				result.foot[#result.foot + 1] = "fields: "
					.. table.concat(fields, ", ")
			end
		end
	end
	return result
end

local follow

function M.cmd_dump(ctx)
	if ctx:yes("follow") then return follow(ctx) end
	for _, k in ipairs { "every", "count" } do
		if ctx.opt[k] then
			return errors.fail("usage", "%s=%s needs follow=yes", k, ctx.opt[k])
		end
	end
	local s = try(ctx:session())
	local limit = ctx.opt.limit == "all" and DUMP_MOST or ctx:whole("limit", 1)
	local after = ctx.opt.after
	if after then
		local key = try(M.key_bytes(s, ctx.args[1], after))
		after = values.hex(key)
	end
	local opts = { limit = limit, after = after, exact = not ctx.script }
	if (limit or 0) > DUMP_LIMIT and not ctx.script and line_formats[ctx:format()] then
		return stream(ctx, s, ctx.args[1], opts)
	end
	local per, failures = M.dump(s, ctx.args[1], opts)
	if #per == 0 then return nil, session.sum_up(failures, #failures) end
	return dump_result(ctx, per, failures, "map.dump/1")
end

-- Get the map's definition from each process. The codec comes from the first process.
function M.describe(s, name)
	local results = s:ask(session.line { "map", "show", name }, { what = "map show" })
	local first, failures = nil, {}
	for _, r in ipairs(results) do
		if r.err then failures[#failures + 1] = r else first = first or r end
	end
	if not first then return nil, session.sum_up(failures, #results) end
	local c = try(values.codec(s, first.member, first.data))
	return c, results
end

function M.key_bytes(s, name, text)
	local c = try(M.describe(s, name))
	return values.typed(c, c.key, text, "key " .. values.text(text))
end

-- In a data section a key may be the path of a variable, such as limits[2].bytes.
local function variable(c, text)
	local name = c.map.origin ~= "defined" and type(text) == "string"
		and text:match("^([%a_][%w_]*)[%w_%.%[%]]*$")
	local order = name and c.btf and c.value.id > 0 and c.btf:order(c.value.id)
	for _, field in ipairs(order or {}) do
		if field == name then return text end
	end
end

-- Get the values of @keys ({bytes, text}) from each process, in requests that fit the limit.
-- decoded(c, value, ncpus) -> list of values | nil, err
local GET_KEYS = 63
local function get_many(s, name, keys, exact, decoded)
	local per, failures, of, from = {}, {}, {}, 1
	while from <= #keys do
		local words = { "map", "get", name }
		for i = from, math.min(#keys, from + GET_KEYS - 1) do
			words[#words + 1] = values.hex(keys[i][1])
		end
		-- With two keys the reply is a list.
		if #words == 4 then words[5] = words[4] end
		local left = 0
		for _, r in ipairs(s:ask(session.line(words), { what = "map get" })) do
			local c
			if r.data then c, r.err = values.codec(s, r.member, r.data) end
			local p = of[r.member]
			if c and not p then
				p = { member = r.member, data = r.data, codec = c,
					entries = core.array {} }
				of[r.member], per[#per + 1] = p, p
			end
			for i, e in ipairs(c and read.list(r.data, "entries") or {}) do
				local k, list = keys[from + i - 1], nil
				if k and type(e.value) == "string" then
					list, r.err = decoded(c, e.value, r.data.ncpus)
				end
				if list then
					p.entries[#p.entries + 1], k.found = entry(k.name
						or values.decode(c, c.key, k[1], exact), list,
						r.data), true
				end
			end
			left = math.max(left, c and math.tointeger(read.number(r.data.left)) or 0)
			if r.err then failures[#failures + 1] = r end
		end
		from = from + math.max(1, math.min(GET_KEYS, #keys - from + 1) - left)
	end
	return per, failures
end

-- The target's error has the key's bytes, so replace them by the typed text.
function M.name_key(err, text, name)
	if err.code == "no_such_key" then
		err.object, err.message = "key " .. text,
			("map %s has no such element"):format(name)
	elseif err.code == "exists" then
		err.object = "key " .. text
		err.message = ("map %s has this element already"):format(name)
	elseif err.code == "map_full" or err.code == "too_big" or err.code == "bad_flags" then
		err.object = "key " .. text
	end
	return err
end

function M.cmd_get(ctx)
	local s, map = try(ctx:session()), ctx.args[1]
	local c, exact, keys = try(M.describe(s, map)), not ctx.script, {}
	local name = #ctx.args == 2 and variable(c, ctx.args[2]) or nil
	for i = 2, #ctx.args do
		local text = values.text(ctx.args[i])
		keys[i - 1] = { name and ("\0"):rep(4)
			or try(values.typed(c, c.key, ctx.args[i], "key " .. text)), text,
			name = name }
	end
	local per, failures = get_many(s, map, keys, exact, function(codec, text, ncpus)
		local list, err = values.values(codec, text, ncpus, exact), nil
		if list and name then
			list[1], err = require("ncclbpf.map.variables").value(codec, name,
				values.unhex(text), exact)
			return not err and list or nil, err
		end
		return list or errors.fail("protocol", "the value is not hexadecimal")
	end)
	if #keys == 1 then -- the processes without the element have failed
		local all, failed = per, lists.set(lists.map(failures, "member"))
		per = lists.select(all, function(p) return #p.entries > 0 end)
		for _, p in ipairs(all) do
			if #p.entries == 0 and not failed[p.member] then
				failures[#failures + 1] = { member = p.member,
					err = errors.new("no_such_key", "") }
			end
		end
		for _, r in ipairs(failures) do M.name_key(r.err, keys[1][2], map) end
	end
	if #per == 0 then return nil, session.sum_up(failures, #failures) end
	local result = dump_result(ctx, per, failures, "map.get/1")
	local missing = lists.select(keys, function(k) return not k.found end)
	result.head = nil
	if #missing > 0 then
		result.failure = result.failure or errors.new(
			"no_such_key", ("map %s has no element of %s %s"):format(
			map, #missing == 1 and "key" or "the keys",
			table.concat(lists.map(missing, function(k) return k[2] end), ", ", 1,
				math.min(#missing, 10))))
	end
	return result
end

-- ---- following ---------------------------------------------------------------------

local function snapshot(per)
	local t = {}
	for _, p in ipairs(per) do
		for _, row in ipairs(entry_rows(p)) do
			local who = #per > 1 and merge.who { p.member } or ""
			local key = who .. "\0" .. row.key .. "\0" .. tostring(row.cpu or "")
			t[#t + 1] = key
			t[key] = { who = who, rank = p.member.rank, pid = p.member.pid,
				key = row.key, cpu = row.cpu, value = row.value }
		end
	end
	return t
end

local function changes(old, new)
	local rows = {}
	for _, k in ipairs(new) do
		local was, is = old[k], new[k]
		if not was then
			rows[#rows + 1] = { row = is, old = nil, new = is.value }
		elseif was.value ~= is.value then
			rows[#rows + 1] = { row = is, old = was.value, new = is.value }
		end
	end
	for _, k in ipairs(old) do
		if not new[k] then
			rows[#rows + 1] = { row = old[k], old = old[k].value, new = nil }
		end
	end
	return lists.map(rows, function(c)
		return { rank = c.row.rank, pid = c.row.pid, who = c.row.who, key = c.row.key,
			cpu = c.row.cpu, old = c.old, new = c.new }
	end)
end

-- Show the elements, then each change of them, until Ctrl-C or count= rounds.
function follow(ctx)
	local interval = ctx:duration("every", 0.05) or 1
	local count = ctx:whole("count", 1)
	local s = try(ctx:session())
	local old, rounds = nil, 0
	local columns = { { "time" }, { "who", title = "RANK", people = true },
		{ "rank", num = true, flat = true },
		{ "pid", num = true, flat = true }, { "key" }, { "cpu" }, { "old" }, { "new" } }
	while true do
		local per, failures = M.dump(s, ctx.args[1], { exact = not ctx.script })
		if #failures > 0 then return nil, session.sum_up(failures) end
		local new = snapshot(per)
		if not old then
			ctx:emit(dump_result(ctx, per, {}, "map.dump/1"))
		else
			local rows = changes(old, new)
			local now = core.time()
			for _, row in ipairs(rows) do row.time = now end
			if #rows > 0 then
				ctx:emit { schema = "map.changes/1", data = rows, rows = rows,
					columns = columns }
			end
		end
		old = new
		rounds = rounds + 1
		if count and rounds > count then return {} end
		clock.sleep(interval)
	end
end

return M
