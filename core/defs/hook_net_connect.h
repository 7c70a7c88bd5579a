// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/connect"): struct ncclbpf_net_connect. Columns and ABI
 * rules: core/defs/hook_net_listen.h. The program runs twice: when connecting
 * begins (it may then set traffic_class), and when it is done.
 */
CONTEXT(net_connect)
FIELD(net_connect, comm_id,       uint64_t, IN,  LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_connect, now_ns,        uint64_t, IN,  LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_connect, ns,            uint64_t, IN,  LOCAL, "ns",
	"time since connecting began; 0 when it begins", "the plugin")
FIELD(net_connect, conn,          uint64_t, IN,  LOCAL, "1",
	"number of the connection", "the plugin")
FIELD(net_connect, peer,          uint64_t, IN,  LOCAL, "1",
	"hash of the peer's address; "
	"0: not known (with a wrapped plugin, and when connecting begins)",
	"the transport")
FIELD(net_connect, link,          uint64_t, IN,  LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_connect, dev,           uint32_t, IN,  LOCAL, "1",
	"device", "connect dev")
FIELD(net_connect, speed,         uint32_t, IN,  LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
FIELD(net_connect, done,          uint32_t, IN,  LOCAL, "1",
	"1: connected; 0: connecting begins", "connect")
FIELD(net_connect, traffic_class, int32_t,  OUT, LOCAL, "1",
	"traffic class to request when connecting begins; -1: that of NCCL's configuration",
	"connect or init CommConfig")
CONTEXT_END(net_connect)
