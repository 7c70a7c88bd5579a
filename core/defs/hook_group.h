// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/group"): struct ncclbpf_group. It describes one
 * kernel plan. Columns and ABI rules: core/defs/hook_coll_done.h.
 */
CONTEXT(group)
FIELD(group, comm_id,  uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known yet (v1-v3)", "profiler init commId")
FIELD(group, start_ns, uint64_t, IN, LOCAL, "ns",
	"when it began", "Group start")
FIELD(group, ns,       uint64_t, IN, LOCAL, "ns",
	"time that NCCL took to enqueue the plan", "Group start to stop")
FIELD(group, rank,     int32_t,  IN, LOCAL, "1",
	"rank in the communicator", "profiler init rank")
FIELD(group, ranks,    uint32_t, IN, LOCAL, "1",
	"number of ranks of the communicator; 0: not known", "profiler init nRanks")
CONTEXT_END(group)
