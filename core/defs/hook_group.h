// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/group"): struct ncclbpf_group. It describes one
 * kernel plan. Columns and ABI rules: core/defs/hook_coll_done.h.
 */
/* The columns are name, type, access, label, unit, doc and source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",   "communicator's identity; 0: not known yet (v1-v3)",           "profiler init commId")
FIELD(start_ns,       uint64_t, IN,    LOCAL,    "ns",  "when it began",                                               "Group start")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",  "time that NCCL took to enqueue the plan",                     "Group start to stop")
FIELD(rank,           int32_t,  IN,    LOCAL,    "1",   "rank in the communicator",                                    "profiler init rank")
FIELD(ranks,          uint32_t, IN,    LOCAL,    "1",   "number of ranks of the communicator; 0: not known",                     "profiler init nRanks")

#undef FIELD
