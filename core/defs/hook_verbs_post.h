// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/post"): struct ncclbpf_verbs_post. It runs after a list
 * of work requests was posted. Columns and ABI rules:
 * core/defs/hook_verbs_qp.h.
 */
CONTEXT(verbs_post)
FIELD(verbs_post, comm_id,     uint64_t, IN, LOCAL, "1",
	"always 0, because verbs know no communicator", "-")
FIELD(verbs_post, now_ns,      uint64_t, IN, LOCAL, "ns",
	"when the call began, CLOCK_MONOTONIC; when it ended, if ns is 0", "the plugin")
FIELD(verbs_post, ns,          uint64_t, IN, LOCAL, "ns",
	"how long the call took; 0: not known (the program was added during the call)",
	"the plugin")
FIELD(verbs_post, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes of all posted work requests", "ibv_sge length")
FIELD(verbs_post, device,      uint32_t, IN, LOCAL, "1",
	"number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(verbs_post, qp,          uint32_t, IN, LOCAL, "1",
	"number of the queue pair", "ibv_qp qp_num")
FIELD(verbs_post, send,        uint32_t, IN, LOCAL, "1",
	"1: posted to the send queue, 0: posted to the receive queue", "the plugin")
FIELD(verbs_post, opcode,      uint32_t, IN, LOCAL, "1",
	"operation of the first work request: 0 RDMA WRITE, 1 RDMA WRITE with immediate data, "
	"2 SEND, 3 SEND with immediate data, 4 RDMA READ, 5 and 6 atomic operations; "
	"0 for receives",
	"ibv_send_wr opcode")
FIELD(verbs_post, requests,    uint32_t, IN, LOCAL, "1",
	"number of work requests that were posted", "ibv_send_wr next")
FIELD(verbs_post, signaled,    uint32_t, IN, LOCAL, "1",
	"posted work requests that have a completion of their own", "ibv_send_wr send_flags")
FIELD(verbs_post, inlined,     uint32_t, IN, LOCAL, "1",
	"posted work requests with inline data", "ibv_send_wr send_flags")
FIELD(verbs_post, outstanding, uint32_t, IN, LOCAL, "1",
	"number of work requests of this queue that have no completion yet", "the plugin")
FIELD(verbs_post, error,       int32_t,  IN, LOCAL, "1",
	"0: success, or the errno of the failed call; "
	"requests then counts only the requests before the failure",
	"ibv_post_send")
FIELD(verbs_post, spare,       uint32_t, IN, LOCAL, "1",
	"0", "-")
CONTEXT_END(verbs_post)
