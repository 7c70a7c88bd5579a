-- SPDX-License-Identifier: MIT
-- The commands `gin` and `stats gin`, and the line about the GIN plugin in `status`.
local ascii = require "ncclbpf.base.ascii"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local try = require("ncclbpf.base.errors").try
local M = {}

local PARTS = { "count", "sum_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns" }
local SUMS = { "live", "puts", "signals", "bytes", "in_bytes", "held", "errors", "broken" }

-- The summary line names at most this many lost or stalled peers.
local NAMED = 4

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
		read.bytes(sum.bytes), read.bytes(sum.in_bytes),
		sum.held > 0 and (", %d held back"):format(sum.held) or "", #wrong > 0
			and "; " .. table.concat(wrong, ", ") or "")
end

-- Return the bytes per second since the collComm was made.
local function rate(row)
	local ms = read.number(row.age_ms)
	return ms > 0 and read.number(row.bytes) * 1000 // ms or nil
end

-- ---- rows ------------------------------------------------------------------------------

local function complete(row)
	row.rate = rate(row)
	return read.flatten(row, { "put", "get" }, PARTS)
end

-- Return the columns that identify a row for people.
local function whose(contexts)
	local c = { { "coll", num = true }, { "comm", wide = true },
		{ "comm_rank", title = "RANK", num = true } }
	if contexts then
		c[#c + 1] = { "devcomm", num = true, wide = true }
		c[#c + 1] = { "context", title = "CTX", num = true }
	end
	c[#c + 1] = { "peer", num = true }
	return c
end

local COUNTS = {
	{ "puts", num = true }, { "signals", num = true }, { "gets", num = true, wide = true },
	{ "bytes", num = true, show = read.bytes },
}
local OPEN = { { "outstanding", title = "OPEN", num = true }, { "held", num = true } }

-- Return the columns of times. People see the columns @shown without -o wide.
local function times(shown)
	local c = {}
	for _, name in ipairs { "put", "get" } do
		for _, part in ipairs(PARTS) do
			local key = name .. "_" .. part
			local title = part:match "^(%w+)_ns$"
			c[#c + 1] = { key, num = true, flat = not shown[key] or nil,
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
	{ "in_bytes", title = "ARRIVED", num = true, show = read.bytes },
	{ "in_signals", title = "SIG IN", wide = true, num = true },
	{ "errors", num = true }, { "offence", wide = true }, { "address", wide = true },
}

local function show(ctx, contexts, spec)
	spec.line = "gin" .. (contexts and " contexts=yes" or "") .. reach.words(ctx.opt.comm)
	spec.word, spec.list, spec.name, spec.complete = "gin", "peers", "coll", complete
	spec.key, spec.line_of = { "coll", "devcomm", "context", "peer" }, M.line
	spec.empty = "no peers: NCCL uses no GIN plugin of ours, or no kernel needs one"
	return read.own(ctx, spec)
end

function M.cmd_gin(ctx)
	local contexts = ctx:yes("contexts", false)
	return show(ctx, contexts, {
		schema = "gin/1", columns = contexts
			and all(whose(true), COUNTS, OPEN, { { "errors", num = true } }, times {})
			or all(whose(false), { { "state" }, { "contexts", title = "CTX", num = true,
				wide = true } }, COUNTS, { { "rate", title = "BYTES/S", num = true,
				show = read.bytes } }, OPEN, LINK, times {}),
	})
end

-- `stats gin`: times from post to done, which telemetry has measured.
function M.stats(ctx)
	return show(ctx, true, {
		schema = "stats.gin/1",
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
