-- SPDX-License-Identifier: MIT
-- The metrics of verbs: sums of each process over its queue pairs, from `status`. Jobs with many
-- peers have too many queue pairs for a series each; `verbs` has them.
local read = require "ncclbpf.job.read"

local M = {}

-- { name, type, help, field }
local ROWS = {
	{ "ncclbpf_verbs_queue_pairs", "gauge", "Queue pairs of NCCL's InfiniBand transport",
		"live" },
	{ "ncclbpf_verbs_sends_total", "counter", "Work requests posted to send queues", "sends" },
	{ "ncclbpf_verbs_sent_bytes_total", "counter",
		"Bytes of completed work requests of send queues", "sent_bytes" },
	{ "ncclbpf_verbs_receives_total", "counter", "Work requests posted to receive queues",
		"receives" },
	{ "ncclbpf_verbs_received_bytes_total", "counter", "Bytes of completed receives",
		"received_bytes" },
	{ "ncclbpf_verbs_completions_total", "counter", "Completions that NCCL took",
		"completions" },
	{ "ncclbpf_verbs_events_total", "counter", "Asynchronous events of adapters", "events" },
	{ "ncclbpf_verbs_tuned_total", "counter",
		"Changes of state made with values of a policy", "tuned" },
	{ "ncclbpf_verbs_regions", "gauge", "Memory regions that are registered", "regions" },
	{ "ncclbpf_verbs_region_bytes", "gauge", "Bytes of memory regions that are registered",
		"region_bytes" },
	{ "ncclbpf_verbs_stalled", "gauge",
		"Queue pairs whose sends have no completion for 5 s", "stalled" },
	{ "ncclbpf_verbs_other_contexts", "gauge",
		"Open contexts of adapters that the tap does not see", "other_contexts" },
}

-- docs/verbs.md explains them.
local REASONS = { "errors", "failed_changes", "failures", "overflows", "refused", "strays",
	"undone", "unseen" }

-- @add(name, kind, help, value) adds a family of numbers from each process's status.
-- value(status) returns a list of { number, label... }.
function M.add(add)
	for _, f in ipairs(ROWS) do
		add(f[1], f[2], f[3], function(d)
			local v = read.record(d.verbs)[f[4]]
			return type(v) == "number" and { { v } } or {}
		end)
	end
	add("ncclbpf_verbs_faults_total", "counter",
		"Completions, changes of state and events that went wrong, by reason", function(d)
		local t, v = {}, read.record(d.verbs)
		for _, k in ipairs(REASONS) do
			if type(v[k]) == "number" then t[#t + 1] = { v[k], { "reason", k } } end
		end
		return t
	end)
end

return M
