-- SPDX-License-Identifier: MIT
-- The command `net`, and the line about the net plugin in `status`.
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local M = {}

-- Counters of failures and their names for people
local WRONG = { "errors", "lost", "garbage", "oversized", "stalls", "strangers", "silent" }

local function size(n) return units.bytes(read.number(n)) end

-- Return one line about the net plugin of all processes; nil: none is in use.
function M.line(list)
	list = lists.select(list, function(n) return read.text(n.transport) end)
	if #list == 0 then return nil end
	local names = lists.unique(lists.map(list, "transport"))
	local sum = read.sums(list, { "sent_bytes", "received_bytes", table.unpack(WRONG) })
	local live = read.sums(lists.map(list, function(n) return read.record(n.live) end),
		{ "send", "recv" })
	table.sort(names)
	local wrong = read.nonzero(sum, WRONG)
	return ("%s, %s, %s sent, %s received%s"):format(
		table.concat(names, " and "), units.count(live.send + live.recv, "connection"),
		size(sum.sent_bytes), size(sum.received_bytes), #wrong > 0
			and "; " .. table.concat(wrong, ", ") or "")
end

function M.cmd_net(ctx)
	return read.command(ctx, {
		schema = "net/1", line = "net", opts = { list = "connections" }, name = "conn",
		rows = function(d, member) return read.own_rows(d, member, "connections") end,
		-- connection numbers are unique only within a process
		id = function(row)
			return ("%s %s"):format(row.process, row.conn)
		end,
		arrange = function(merged)
			table.sort(merged, lists.by("on", "conn"))
			return merged
		end,
		head = function(per)
			return M.line(read.data_of(per)) and "net: " .. M.line(read.data_of(per))
		end,
		empty = "no connections: NCCL uses no net plugin of ours, or its ranks need none",
		columns = {
			{ "conn", num = true, merge = "first" }, { "kind", drop = 1 },
			{ "comm", wide = true, merge = "first" },
			{ "dev", num = true, merge = "first", drop = 3 },
			{ "peer", merge = "first" }, { "link", wide = true, merge = "first" },
			{ "age_ms", title = "AGE", num = true, merge = "first", drop = 4,
				show = function(v)
				return units.seconds(read.number(v) // 1000)
			end },
			{ "requests", num = true, merge = "first" },
			{ "bytes", num = true, merge = "first", show = size },
			{ "outstanding", title = "OPEN", num = true, merge = "first" },
			{ "errors", num = true, merge = "first" },
		},
	})
end

return M
