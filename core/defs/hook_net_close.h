// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/close"): struct ncclbpf_net_close.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
CONTEXT(net_close)
FIELD(net_close, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_close, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_close, ns,          uint64_t, IN, LOCAL, "ns",
	"its life", "the plugin")
FIELD(net_close, conn,        uint64_t, IN, LOCAL, "1",
	"number of the connection or listener", "the plugin")
FIELD(net_close, peer,        uint64_t, IN, LOCAL, "1",
	"hash of the peer's address; 0: not known", "the transport")
FIELD(net_close, link,        uint64_t, IN, LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_close, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes of the finished requests", "the plugin")
FIELD(net_close, requests,    uint64_t, IN, LOCAL, "1",
	"its requests", "the plugin")
FIELD(net_close, errors,      uint32_t, IN, LOCAL, "1",
	"calls on it that failed", "the plugin")
FIELD(net_close, outstanding, uint32_t, IN, LOCAL, "1",
	"number of unfinished requests", "the plugin")
FIELD(net_close, kind,        uint32_t, IN, LOCAL, "1",
	"0: a receiving connection, 1: a sending connection, 2: a listener", "the plugin")
FIELD(net_close, dev,         uint32_t, IN, LOCAL, "1",
	"device", "connect or listen dev")
CONTEXT_END(net_close)
