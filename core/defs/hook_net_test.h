// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/test"): struct ncclbpf_net_test.
 * Columns and ABI rules: core/defs/hook_net_listen.h. It runs when a
 * request is done, or has failed.
 */
CONTEXT(net_test)
FIELD(net_test, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(net_test, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(net_test, ns,          uint64_t, IN, LOCAL, "ns",
	"time since the request was posted; 0: not known (the program was added later)",
	"the plugin")
FIELD(net_test, conn,        uint64_t, IN, LOCAL, "1",
	"number of the connection", "the plugin")
FIELD(net_test, peer,        uint64_t, IN, LOCAL, "1",
	"hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(net_test, link,        uint64_t, IN, LOCAL, "1",
	"number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(net_test, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes that the request has sent or received, in all its buffers", "isend size, test sizes")
FIELD(net_test, request,     uint64_t, IN, LOCAL, "1",
	"number of the request on its connection, from 0", "the plugin")
FIELD(net_test, tag,         uint32_t, IN, LOCAL, "1",
	"NCCL's tag", "isend tag, irecv tags")
FIELD(net_test, outstanding, uint32_t, IN, LOCAL, "1",
	"number of unfinished requests of the connection", "the plugin")
FIELD(net_test, polls,       uint32_t, IN, LOCAL, "1",
	"how often NCCL asked", "the plugin")
FIELD(net_test, kind,        uint32_t, IN, LOCAL, "1",
	"0: receive, 1: send, 2: flush", "the plugin")
FIELD(net_test, dev,         uint32_t, IN, LOCAL, "1",
	"device", "connect or listen dev")
FIELD(net_test, speed,       uint32_t, IN, LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
FIELD(net_test, error,       int32_t,  IN, LOCAL, "1",
	"0: success, or NCCL's result code of the failure", "test")
FIELD(net_test, spare,       uint32_t, IN, LOCAL, "1",
	"0", "-")
CONTEXT_END(net_test)
