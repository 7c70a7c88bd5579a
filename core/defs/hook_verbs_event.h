// SPDX-License-Identifier: MIT
/*
 * Context of SEC("verbs/event"): struct ncclbpf_verbs_event. It runs when
 * NCCL's thread takes an asynchronous event of an adapter. Columns and ABI
 * rules: core/defs/hook_verbs_qp.h.
 */
CONTEXT(verbs_event)
FIELD(verbs_event, comm_id, uint64_t, IN, LOCAL, "1",
	"always 0, because verbs know no communicator", "-")
FIELD(verbs_event, now_ns,  uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(verbs_event, device,  uint32_t, IN, LOCAL, "1",
	"number of the opened adapter in this process, from 0", "ibv_open_device")
FIELD(verbs_event, event,   uint32_t, IN, LOCAL, "1",
	"type: 1 QP fatal, 2 and 3 QP request or access error, 8 device fatal, "
	"9 port active, 10 port down, 18 GID changed, others as in enum ibv_event_type",
	"ibv_async_event event_type")
FIELD(verbs_event, qp,      uint32_t, IN, LOCAL, "1",
	"number of the queue pair concerned; 0: none", "ibv_async_event element.qp")
FIELD(verbs_event, port,    uint32_t, IN, LOCAL, "1",
	"number of the port concerned; 0: none", "ibv_async_event element.port_num")
CONTEXT_END(verbs_event)
