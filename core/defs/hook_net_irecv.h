// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/irecv"): struct ncclbpf_net_irecv.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
CONTEXT(net_irecv)
FIELD(net_irecv, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_irecv, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_irecv, conn,        uint64_t, IN, LOCAL, "1",
	"number of the connection", "the plugin")
FIELD(net_irecv, peer,        uint64_t, IN, LOCAL, "1",
	"hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(net_irecv, link,        uint64_t, IN, LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_irecv, bytes,       uint64_t, IN, LOCAL, "B",
	"size of all buffers together", "irecv sizes")
FIELD(net_irecv, request,     uint64_t, IN, LOCAL, "1",
	"number of the request on its connection, from 0", "the plugin")
FIELD(net_irecv, tag,         uint32_t, IN, LOCAL, "1",
	"NCCL's tag of the first buffer", "irecv tags")
FIELD(net_irecv, outstanding, uint32_t, IN, LOCAL, "1",
	"number of unfinished requests of the connection, including this one", "the plugin")
FIELD(net_irecv, dev,         uint32_t, IN, LOCAL, "1",
	"device", "listen dev")
FIELD(net_irecv, speed,       uint32_t, IN, LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
FIELD(net_irecv, buffers,     uint32_t, IN, LOCAL, "1",
	"buffers of the receive", "irecv n")
FIELD(net_irecv, spare,       uint32_t, IN, LOCAL, "1",
	"0", "-")
CONTEXT_END(net_irecv)
