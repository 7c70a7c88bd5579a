-- SPDX-License-Identifier: MIT
-- The metrics of verbs: sums of each process over its queue pairs, from `status`. Jobs with many
-- peers have too many queue pairs for a series each; `verbs` has them.
local M = {}

-- { name, type, help, field }
M.ROWS = {
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

-- docs/transports.md explains them.
M.REASONS = { "errors", "failed_changes", "failures", "overflows", "refused", "strays",
	"undone", "unseen" }

return M
