// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/listen"): struct ncclbpf_net_listen. Columns and ABI
 * rules of all net hooks: core/defs/hook_coll_done.h. Each process numbers its
 * connections from 1; 0 means not known.
 */
CONTEXT(net_listen)
FIELD(net_listen, comm_id, uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_listen, now_ns,  uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_listen, conn,    uint64_t, IN, LOCAL, "1",
	"number of the listener", "the plugin")
FIELD(net_listen, dev,     uint32_t, IN, LOCAL, "1",
	"device", "listen dev")
FIELD(net_listen, speed,   uint32_t, IN, LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
CONTEXT_END(net_listen)
