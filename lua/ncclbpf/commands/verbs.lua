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
		read.bytes(sum.sent_bytes), units.count(sum.completions, "completion"),
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
	return read.own(ctx, {
		schema = "verbs/1", line = "verbs", word = "verbs", list = "queue_pairs",
		name = "qp", line_of = M.line, why_none = why_none,
		-- Queue pair numbers are unique on one adapter in one process.
		key = { "qp", "device" },
		empty = "no queue pairs are seen: NCCL uses no InfiniBand, "
			.. "or the tap is not in front of it (NCCLBPF_VERBS=on)",
		columns = {
			{ "qp", num = true }, { "device" }, { "state" },
			{ "peer_qp", title = "PEER", num = true },
			{ "age_ms", title = "AGE", num = true, show = read.age },
			{ "ready_us", title = "READY US", num = true }, { "sends", num = true },
			{ "sent_bytes", title = "SENT", num = true, show = read.bytes },
			{ "receives", num = true, wide = true },
			{ "received_bytes", title = "RECEIVED", num = true, show = read.bytes },
			{ "outstanding", title = "OPEN", num = true },
			{ "waiting_ms", title = "WAITING", num = true, show = read.age },
			{ "errors", num = true }, { "last_status", num = true, wide = true },
			{ "gid", wide = true },
		},
	})
end

return M
