// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/isend"): struct ncclbpf_net_isend.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
CONTEXT(net_isend)
FIELD(net_isend, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_isend, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_isend, conn,        uint64_t, IN, LOCAL, "1",
	"number of the connection", "the plugin")
FIELD(net_isend, peer,        uint64_t, IN, LOCAL, "1",
	"hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(net_isend, link,        uint64_t, IN, LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_isend, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes to send", "isend size")
FIELD(net_isend, request,     uint64_t, IN, LOCAL, "1",
	"number of the request on its connection, from 0", "the plugin")
FIELD(net_isend, tag,         uint32_t, IN, LOCAL, "1",
	"NCCL's tag", "isend tag")
FIELD(net_isend, outstanding, uint32_t, IN, LOCAL, "1",
	"number of unfinished requests of the connection, including this one", "the plugin")
FIELD(net_isend, dev,         uint32_t, IN, LOCAL, "1",
	"device", "connect dev")
FIELD(net_isend, speed,       uint32_t, IN, LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
CONTEXT_END(net_isend)
