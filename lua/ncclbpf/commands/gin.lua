-- SPDX-License-Identifier: MIT
-- The commands `gin` and `stats gin`, and the line about the GIN plugin in `status`.
local ascii = require "ncclbpf.base.ascii"
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local try = require("ncclbpf.base.errors").try
local M = {}

local PARTS = { "count", "sum_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns" }
local SUMS = { "live", "puts", "signals", "bytes", "in_bytes", "held", "errors", "broken" }

-- The summary line names at most this many lost or stalled peers.
local NAMED = 4

local function size(n) return units.bytes(read.number(n)) end

-- Add up the messages of all kinds that the transport has refused.
local function offences_of(d)
	local n = 0
	for _, v in pairs(read.record(d.offences)) do n = n + read.number(v) end
	return n
end

-- Append to @to a text for each lost or stalled peer that one process names.
local function broken_of(to, d)
	for _, b in ipairs(read.list(d, "broken_peers")) do
		to[#to + 1] = ("rank %s is %s to rank %s"):format(read.number(b.peer),
			read.text(b.state) or "broken", read.number(b.comm_rank))
	end
end

-- Return one line about the GIN plugin of all processes; nil: none is in use.
function M.line(list)
	list = lists.select(list, function(d) return read.text(d.transport) end)
	if #list == 0 then return nil end
	local names = lists.unique(lists.map(list, "transport"))
	local sum, broken = read.sums(list, SUMS), {}
	sum.offences = 0
	for _, d in ipairs(list) do
		sum.offences = sum.offences + offences_of(d)
		broken_of(broken, d)
	end
	table.sort(names)
	local wrong = read.nonzero(sum, { "errors", "broken", "offences" })
	table.move(broken, 1, math.min(#broken, NAMED), #wrong + 1, wrong)
	return ("%s, %s, %s, %s, %s put, %s arrived%s%s"):format(
		table.concat(names, " and "), units.count(sum.live, "collComm"),
		units.count(sum.puts, "put"), units.count(sum.signals, "signal"),
		size(sum.bytes), size(sum.in_bytes),
		sum.held > 0 and (", %d held back"):format(sum.held) or "", #wrong > 0
			and "; " .. table.concat(wrong, ", ") or "")
end

-- Return the bytes per second since the collComm was made.
local function rate(row)
	local ms = read.number(row.age_ms)
	return ms > 0 and read.number(row.bytes) * 1000 // ms or nil
end

-- ---- rows ------------------------------------------------------------------------------

-- put = {p50_ns=1} becomes put_p50_ns = 1
local function flatten(row)
	for _, name in ipairs { "put", "get" } do
		local time = read.record(row[name])
		row[name] = nil
		for _, part in ipairs(PARTS) do row[name .. "_" .. part] = time[part] end
	end
	return row
end

local function rows_of(d, member)
	local rows = read.own_rows(d, member, "peers")
	for _, row in ipairs(rows) do
		flatten(row).rate = rate(row)
	end
	return rows
end

-- A row's key has the process, because collComm numbers are unique only within a process.
local function row_id(row)
	return ("%s %s %s %s %s"):format(row.process, row.coll, row.devcomm or "",
		row.context or "", row.peer)
end

local function sorted(merged)
	table.sort(merged, lists.by("on", "coll", "devcomm", "context", "peer"))
	return merged
end

-- Return the columns that identify a row for people.
local function whose(contexts)
	local c = { { "coll", num = true, merge = "first" },
		{ "comm", wide = true, merge = "first" },
		{ "comm_rank", title = "RANK", num = true, merge = "first" } }
	if contexts then
		c[#c + 1] = { "devcomm", num = true, wide = true, merge = "first" }
		c[#c + 1] = { "context", title = "CTX", num = true, merge = "first" }
	end
	c[#c + 1] = { "peer", num = true, merge = "first" }
	return c
end

local COUNTS = {
	{ "puts", num = true, merge = "first" }, { "signals", num = true, merge = "first" },
	{ "gets", num = true, wide = true, merge = "first" },
	{ "bytes", num = true, merge = "first", show = size },
}
local OPEN = {
	{ "outstanding", title = "OPEN", num = true, merge = "first" },
	{ "held", num = true, merge = "first" },
}

-- Return the columns of times. People see the columns @shown without -o wide.
local function times(shown)
	local c = {}
	for _, name in ipairs { "put", "get" } do
		for _, part in ipairs(PARTS) do
			local key = name .. "_" .. part
			local title = part:match "^(%w+)_ns$"
			c[#c + 1] = { key, num = true, merge = "first",
				flat = not shown[key] or nil,
				title = title and ascii.upper(name .. " " .. title) .. " us",
				show = part ~= "count" and units.ns_us or nil }
		end
	end
	return c
end

local function all(...)
	local c = {}
	for _, list in ipairs { ... } do table.move(list, 1, #list, #c + 1, c) end
	return c
end

local LINK = {
	{ "in_bytes", title = "ARRIVED", num = true, merge = "first", show = size },
	{ "in_signals", title = "SIG IN", wide = true, num = true, merge = "first" },
	{ "errors", num = true, merge = "first" }, { "offence", wide = true, merge = "first" },
	{ "address", wide = true, merge = "first" },
}

local function line_of(comm, contexts)
	return "gin" .. (contexts and " contexts=yes" or "")
		.. (comm and " comm=" .. session.quote(comm) or "")
end

local function head(per)
	local line = M.line(read.data_of(per))
	return line and "gin: " .. line
end

local EMPTY = "no peers: NCCL uses no GIN plugin of ours, or no kernel needs one"

function M.cmd_gin(ctx)
	local contexts = ctx:yes("contexts", false)
	return read.command(ctx, {
		schema = "gin/1", line = line_of(ctx.opt.comm, contexts), opts = { list = "peers" },
		name = "coll",
		rows = rows_of, id = row_id, arrange = sorted, head = head, empty = EMPTY,
		columns = contexts
			and all(whose(true), COUNTS, OPEN, { { "errors", num = true,
				merge = "first" } }, times {})
			or all(whose(false), { { "state", merge = "first" }, { "contexts",
				title = "CTX", wide = true, num = true, merge = "first" } }, COUNTS,
				{ { "rate", title = "BYTES/S", num = true, merge = "first",
					show = size } }, OPEN, LINK, times {}),
	})
end

-- `stats gin`: times from post to done, which telemetry has measured.
function M.stats(ctx)
	return read.command(ctx, {
		schema = "stats.gin/1", line = line_of(ctx.opt.comm, true),
		opts = { list = "peers" }, name = "coll",
		rows = rows_of, id = row_id, arrange = sorted, head = head, empty = EMPTY,
		foot = function(per, merged)
			local timed = false
			for _, row in ipairs(merged) do
				timed = timed or read.number(row.put_count) > 0
					or read.number(row.get_count) > 0
			end
			return #merged > 0 and not timed
				and { "hint: telemetry on measures times from now on" } or {}
		end,
		columns = all(whose(true), COUNTS, OPEN,
			times { put_p50_ns = true, put_p99_ns = true, put_max_ns = true,
				get_p50_ns = true }),
	})
end

return M
