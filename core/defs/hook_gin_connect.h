// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/connect"): struct ncclbpf_gin_connect. Collective
 * communication objects (collComms) connect all ranks. The program runs twice:
 * before connecting, when it may set traffic_class, and when all ranks are
 * connected.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known", "GIN init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",     "time since the ranks began to connect; 0 if done is 0", "the plugin")
FIELD(coll,           uint64_t, IN,    LOCAL,    "1",      "number of the collComm in this process, from 1", "the plugin")
FIELD(rank,           uint32_t, IN,    LOCAL,    "1",      "our rank", "connect rank")
FIELD(nranks,         uint32_t, IN,    LOCAL,    "1",      "ranks of the collComm", "connect nranks")
FIELD(dev,            uint32_t, IN,    LOCAL,    "1",      "device", "listen dev")
FIELD(speed,          uint32_t, IN,    LOCAL,    "Mbit/s", "speed of the device", "getProperties speed")
FIELD(done,           uint32_t, IN,    LOCAL,    "1",      "1: connected; 0: before", "connect")
FIELD(traffic_class,  int32_t,  OUT,   LOCAL,    "1",      "traffic class to request before connecting; -1: no opinion", "GIN config")

#undef FIELD
