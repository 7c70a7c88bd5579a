// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/irecv"): struct ncclbpf_net_irecv.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(conn,           uint64_t, IN,    LOCAL,    "1",      "number of the connection", "the plugin")
FIELD(peer,           uint64_t, IN,    LOCAL,    "1",      "hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(link,           uint64_t, IN,    LOCAL,    "1",      "number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",      "size of all buffers together",        "irecv sizes")
FIELD(request,        uint64_t, IN,    LOCAL,    "1",      "number of the request on its connection, from 0", "the plugin")
FIELD(tag,            uint32_t, IN,    LOCAL,    "1",      "NCCL's tag of the first buffer", "irecv tags")
FIELD(outstanding,    uint32_t, IN,    LOCAL,    "1",      "unfinished requests of the connection, including this one",       "the plugin")
FIELD(dev,            uint32_t, IN,    LOCAL,    "1",      "device", "listen dev")
FIELD(speed,          uint32_t, IN,    LOCAL,    "Mbit/s", "speed of the device", "getProperties speed")
FIELD(buffers,        uint32_t, IN,    LOCAL,    "1",      "buffers of the receive", "irecv n")
FIELD(spare,          uint32_t, IN,    LOCAL,    "1",      "0", "-")

#undef FIELD
