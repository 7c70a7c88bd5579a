-- SPDX-License-Identifier: MIT
-- map pop: records of ring buffers. They have the type <map>_record, or the one that as= names.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local map = require "ncclbpf.map.map"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

-- Return the type of a ring buffer's records: {id=, size=} | nil; raises errors
local function record_type(c, as)
	if c.map.type ~= "ringbuf" then
		if not as then return nil end
		errors.raise("usage", "as=%s is for ring buffers; the map has type %s", as,
			tostring(c.map.type))
	end
	local id, size
	if c.btf then id, size = c.btf:find(as or c.map.map .. "_record") end
	if as and not id then
		errors.raise("not_found",
			"as=%s: the policy's type information has no type of that name", as)
	end
	return id and size >= 0 and { id = id, size = size } or nil
end

-- Return the elements of a reply as {key, value}. A record without a type, or shorter than it, is
-- hexadecimal.
local function decode(c, kind, d, exact)
	local out = core.array {}
	for _, e in ipairs(read.list(d, "entries")) do
		local bytes, key = map.unhex(e.value), map.unhex(e.key)
		if bytes and key then
			local v
			if kind and #bytes >= kind.size then
				v = c.btf:decode(kind.id, bytes:sub(1, kind.size), exact)
			end
			if v == nil then v = map.decode(c, c.value, bytes, exact) end
			local cut = math.tointeger(e.size) and e.size > #bytes and e.size or nil
			out[#out + 1] = setmetatable({ key = map.decode(c, c.key, key, exact),
				value = v, size = cut }, { order = { "key", "value", "size" } })
		end
	end
	return out
end

-- Remove values in all members. opts: count, as, follow=function(entries, member,
-- dropped), exact. -> { {member, entries, dropped} }, failures | nil, err (or raised)
function M.pop(s, name, opts)
	local c = try(map.describe(s, name))
	local kind = record_type(c, opts.as)
	local line = session.line { "map", "pop", name }
	if opts.follow then
		return s:follow(line .. " follow=yes", function(d, m)
			return opts.follow(decode(c, kind, d, opts.exact), m,
				read.number(d.dropped))
		end)
	end
	local per, failures = {}, {}
	line = line .. " count=" .. (opts.count or 1)
	for _, r in ipairs(s:ask(line, { what = "map pop" })) do
		if r.err then
			failures[#failures + 1] = r
		else
			per[#per + 1] = { member = r.member,
				entries = decode(c, kind, r.data, opts.exact),
				dropped = read.number(r.data.dropped) }
		end
	end
	return per, failures
end

local columns = { { "rank", num = true }, { "pid", num = true, flat = true },
	{ "key", title = "NUMBER", num = true }, { "value" } }

local function rows_of(entries, member)
	local rows = {}
	local format = require "ncclbpf.base.format"
	for i, e in ipairs(entries) do
		local text = format.value(e.value)
		if e.size then text = ("%s... (%d bytes)"):format(text, e.size) end
		rows[i] = { rank = member.rank, pid = member.pid, key = e.key, value = text }
	end
	return rows
end

local function dropped_note(dropped, member)
	return ("note: rank %s: %d record%s dropped because the buffer was full"):format(
		tostring(member.rank or "?"), dropped, dropped == 1 and " was" or "s were")
end

-- Print records as they arrive, until Ctrl-C or count=N.
local function follow(ctx, s, most)
	local seen, began, drops = 0, false, {}
	local ok, err = M.pop(s, ctx.args[1], { as = ctx.opt.as, exact = not ctx.script,
		follow = function(entries, member, dropped)
		local rows = rows_of(entries, member)
		if #rows > 0 then
			ctx:emit({ schema = "map.pop/1", rows = rows, columns = columns, id = "key",
				data = { pid = member.pid, rank = member.rank,
					entries = entries, dropped = dropped } }, began)
			began = true
		end
		if dropped > (drops[member] or 0) and began and not ctx.flags.quiet
			and not ctx.script then
			ctx.app:complain(dropped_note(dropped, member) .. "\n")
		end
		drops[member] = dropped
		seen = seen + #rows
		return most and seen >= most
	end })
	if not ok then return nil, err end
	return {}
end

function M.cmd_pop(ctx)
	local count, goes_on = ctx:whole("count", 1, 65536), ctx:yes("follow")
	local s = try(ctx:session())
	if ctx.flags.dry_run then return require("ncclbpf.map.map").cmd_dump(ctx) end
	if goes_on then return follow(ctx, s, count) end
	local per, failures = try(M.pop(s, ctx.args[1], { count = count, as = ctx.opt.as,
		exact = not ctx.script }))
	local failure = session.sum_up(failures, #failures + #per)
	if #per == 0 then return nil, failure end
	local list, rows, foot = core.array {}, {}, {}
	for i, p in ipairs(per) do
		list[i] = setmetatable({ pid = p.member.pid, rank = p.member.rank,
			dropped = p.dropped, entries = p.entries },
			{ order = { "pid", "rank", "dropped", "entries" } })
		table.move(rows_of(p.entries, p.member), 1, #p.entries, #rows + 1, rows)
		if p.dropped > 0 then foot[#foot + 1] = dropped_note(p.dropped, p.member) end
	end
	return { schema = "map.pop/1", data = { processes = list }, rows = rows, columns = columns,
		id = "key", foot = foot,
		empty = "empty", failure = failure }
end

return M
