// SPDX-License-Identifier: MIT
/*
 * Context of SEC("net/listen"): struct ncclbpf_net_listen. Columns and ABI rules of
 * all net hooks: core/defs/hook_coll_done.h. Numbers of connections are the process's own, from 1;
 * 0: not known.
 */
/*    name            type      access label     unit      doc and source */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known (before v11)", "net init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(conn,           uint64_t, IN,    LOCAL,    "1",      "number of the listener", "the plugin")
FIELD(dev,            uint32_t, IN,    LOCAL,    "1",      "device", "listen dev")
FIELD(speed,          uint32_t, IN,    LOCAL,    "Mbit/s", "speed of the device", "getProperties speed")

#undef FIELD
