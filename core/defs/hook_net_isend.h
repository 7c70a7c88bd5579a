// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/isend"): struct ncclbpf_net_isend.
 * Columns and ABI rules: core/defs/hook_net_listen.h.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(conn,           uint64_t, IN,    LOCAL,    "1",      "number of the connection", "the plugin")
FIELD(peer,           uint64_t, IN,    LOCAL,    "1",      "hash of the peer's address; 0: not known (with a wrapped plugin)", "the transport")
FIELD(link,           uint64_t, IN,    LOCAL,    "1",      "number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",      "bytes to send", "isend size")
FIELD(request,        uint64_t, IN,    LOCAL,    "1",      "number of the request on its connection, from 0", "the plugin")
FIELD(tag,            uint32_t, IN,    LOCAL,    "1",      "NCCL's tag", "isend tag")
FIELD(outstanding,    uint32_t, IN,    LOCAL,    "1",      "unfinished requests of the connection, including this one",       "the plugin")
FIELD(dev,            uint32_t, IN,    LOCAL,    "1",      "device", "connect dev")
FIELD(speed,          uint32_t, IN,    LOCAL,    "Mbit/s", "speed of the device", "getProperties speed")

#undef FIELD
