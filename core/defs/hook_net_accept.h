// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/accept"): struct ncclbpf_net_accept.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
CONTEXT(net_accept)
FIELD(net_accept, comm_id,  uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_accept, now_ns,   uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_accept, ns,       uint64_t, IN, LOCAL, "ns",
	"time since the listener was created", "the plugin")
FIELD(net_accept, conn,     uint64_t, IN, LOCAL, "1",
	"number of the connection", "the plugin")
FIELD(net_accept, peer,     uint64_t, IN, LOCAL, "1",
	"hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(net_accept, link,     uint64_t, IN, LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_accept, listener, uint64_t, IN, LOCAL, "1",
	"number of the listener", "the plugin")
FIELD(net_accept, dev,      uint32_t, IN, LOCAL, "1",
	"device", "listen dev")
FIELD(net_accept, speed,    uint32_t, IN, LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
CONTEXT_END(net_accept)
