// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/done"): struct ncclbpf_verbs_done. It runs for each
 * completion that NCCL takes from a queue. Columns and ABI rules:
 * core/defs/hook_verbs_qp.h.
 */
CONTEXT(verbs_done)
FIELD(verbs_done, comm_id,      uint64_t, IN, LOCAL, "1",
	"always 0, because verbs know no communicator", "-")
FIELD(verbs_done, now_ns,       uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(verbs_done, ns,           uint64_t, IN, LOCAL, "ns",
	"time since the work request was posted; 0: not known (the program was added later)",
	"the plugin")
FIELD(verbs_done, bytes,        uint64_t, IN, LOCAL, "B",
	"sends: bytes of all work requests that this completion ends; "
	"receives: bytes that the completion reports",
	"ibv_sge length, ibv_wc byte_len")
FIELD(verbs_done, device,       uint32_t, IN, LOCAL, "1",
	"number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(verbs_done, qp,           uint32_t, IN, LOCAL, "1",
	"number of the queue pair", "ibv_wc qp_num")
FIELD(verbs_done, send,         uint32_t, IN, LOCAL, "1",
	"1: the send queue's completion, 0: the receive queue's", "ibv_wc opcode")
FIELD(verbs_done, opcode,       uint32_t, IN, LOCAL, "1",
	"operation: 0 SEND, 1 RDMA WRITE, 2 RDMA READ, 3 and 4 atomic operations, "
	"128 receive, 129 receive of RDMA WRITE; not known for errors",
	"ibv_wc opcode")
FIELD(verbs_done, status,       uint32_t, IN, LOCAL, "1",
	"0: success, or the failure: "
	"5 flushed, 10 remote access, 12 retries used up, 13 receiver not ready",
	"ibv_wc status")
FIELD(verbs_done, vendor_error, uint32_t, IN, LOCAL, "1",
	"the adapter's own code for the failure", "ibv_wc vendor_err")
FIELD(verbs_done, retired,      uint32_t, IN, LOCAL, "1",
	"number of work requests that this completion ends: its own request, "
	"and earlier requests of the queue pair that asked for no completion",
	"the plugin")
FIELD(verbs_done, outstanding,  uint32_t, IN, LOCAL, "1",
	"number of work requests of this queue that have no completion yet", "the plugin")
CONTEXT_END(verbs_done)
