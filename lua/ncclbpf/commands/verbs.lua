-- SPDX-License-Identifier: MIT
-- The command `verbs`, and the line about the tap in `status`.
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local M = {}

-- Counters that should be 0, and unseen queues and contexts. The summary names those that are
-- not 0.
local WRONG = { "errors", "failed_changes", "events", "refused", "undone", "unseen", "strays",
	"overflows", "stalled", "extended_queues", "other_contexts" }
local SUMS = { "live", "sends", "sent_bytes", "completions", "tuned", table.unpack(WRONG) }

local function size(n) return units.bytes(read.number(n)) end

-- Return one line about the queue pairs of all processes; nil: no tap is loaded.
function M.line(list)
	local any, gpu_posts = false, false
	for _, v in ipairs(list) do
		any = any or v.live ~= nil
		gpu_posts = gpu_posts or v.gpu_posts == true
	end
	if not any then return nil end
	local sum = read.sums(list, SUMS)
	local wrong = read.nonzero(sum, WRONG)
	if gpu_posts then wrong[#wrong + 1] = "the tap does not see posts of GPUs" end
	return ("%s, %d sends of %s, %s%s%s"):format(units.count(sum.live, "queue pair"), sum.sends,
		size(sum.sent_bytes), units.count(sum.completions, "completion"),
		sum.tuned > 0 and (", %d tuned by policies"):format(sum.tuned) or "",
		#wrong > 0 and "; " .. table.concat(wrong, ", ") or "")
end

local function why_none(per)
	for _, r in ipairs(per) do
		local why = read.text(r.data.trouble)
		if why then return "no tap: " .. why end
	end
end

function M.cmd_verbs(ctx)
	return read.command(ctx, {
		schema = "verbs/1", line = "verbs", opts = { list = "queue_pairs" }, name = "qp",
		rows = function(d, member) return read.own_rows(d, member, "queue_pairs") end,
		-- Queue pair numbers are unique on one adapter in one process.
		id = function(row)
			return ("%s %s %s"):format(row.process, row.device, row.qp)
		end,
		arrange = function(merged)
			table.sort(merged, lists.by("on", "qp"))
			return merged
		end,
		head = function(per)
			local line = M.line(read.data_of(per))
			return line and "verbs: " .. line or why_none(per)
		end,
		empty = "no queue pairs are seen: NCCL uses no InfiniBand, "
			.. "or the tap is not in front of it (NCCLBPF_VERBS=on)",
		columns = {
			{ "qp", num = true, merge = "first" }, { "device", merge = "first" },
			{ "state", merge = "first" },
			{ "peer_qp", title = "PEER", num = true, merge = "first" },
			{ "age_ms", title = "AGE", num = true, merge = "first", show = function(v)
				return units.seconds(read.number(v) // 1000)
			end },
			{ "ready_us", title = "READY US", num = true, merge = "first" },
			{ "sends", num = true, merge = "first" },
			{ "sent_bytes", title = "SENT", num = true, merge = "first", show = size },
			{ "receives", num = true, merge = "first", wide = true },
			{ "received_bytes", title = "RECEIVED", num = true, merge = "first",
				show = size },
			{ "outstanding", title = "OPEN", num = true, merge = "first" },
			{ "waiting_ms", title = "WAITING", num = true, merge = "first",
				show = function(v)
					return units.seconds(read.number(v) // 1000)
				end },
			{ "errors", num = true, merge = "first" },
			{ "last_status", num = true, merge = "first", wide = true },
			{ "gid", wide = true, merge = "first" },
		},
	})
end

return M
