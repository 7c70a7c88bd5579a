// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/connect"): struct ncclbpf_net_connect. Columns and ABI
 * rules: core/defs/hook_net_listen.h. The program runs twice: when connecting
 * begins (it may then set traffic_class), and when it is done.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",     "time since connecting began; 0 when it begins", "the plugin")
FIELD(conn,           uint64_t, IN,    LOCAL,    "1",      "number of the connection", "the plugin")
FIELD(peer,           uint64_t, IN,    LOCAL,    "1",      "hash of the peer's address; 0: not known (with a wrapped plugin, and when connecting begins)", "the transport")
FIELD(link,           uint64_t, IN,    LOCAL,    "1",      "number of the connection, equal at both ends; 0: not known", "the transport")
FIELD(dev,            uint32_t, IN,    LOCAL,    "1",      "device", "connect dev")
FIELD(speed,          uint32_t, IN,    LOCAL,    "Mbit/s", "speed of the device", "getProperties speed")
FIELD(done,           uint32_t, IN,    LOCAL,    "1",      "1: connected; 0: connecting begins", "connect")
FIELD(traffic_class,  int32_t,  OUT,   LOCAL,    "1",      "traffic class to request when connecting begins; -1: that of NCCL's configuration", "connect or init CommConfig")

#undef FIELD
