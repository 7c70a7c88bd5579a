-- SPDX-License-Identifier: MIT
-- The command `net`, and the line about the net plugin in `status`.
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local M = {}

-- Counters of failures and their names for people
local WRONG = { "errors", "lost", "garbage", "oversized", "stalls", "strangers", "silent" }

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
		read.bytes(sum.sent_bytes), read.bytes(sum.received_bytes), #wrong > 0
			and "; " .. table.concat(wrong, ", ") or "")
end

function M.cmd_net(ctx)
	return read.own(ctx, {
		schema = "net/1", line = "net", word = "net", list = "connections", name = "conn",
		key = { "conn" }, line_of = M.line,
		empty = "no connections: NCCL uses no net plugin of ours, or its ranks need none",
		columns = {
			{ "conn", num = true }, { "kind", drop = 1 }, { "comm", wide = true },
			{ "dev", num = true, drop = 3 }, { "peer" }, { "link", wide = true },
			{ "age_ms", title = "AGE", num = true, drop = 4, show = read.age },
			{ "requests", num = true }, { "bytes", num = true, show = read.bytes },
			{ "outstanding", title = "OPEN", num = true }, { "errors", num = true },
		},
	})
end

return M
