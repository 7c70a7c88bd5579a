// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/connect"): struct ncclbpf_gin_connect. Collective
 * communication objects (collComms) connect all ranks. The program runs twice:
 * before connecting, when it may set traffic_class, and when all ranks are
 * connected.
 */
CONTEXT(gin_connect)
FIELD(gin_connect, comm_id,       uint64_t, IN,  LOCAL, "1",
	"communicator's identity; 0: not known", "GIN init commId")
FIELD(gin_connect, now_ns,        uint64_t, IN,  LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(gin_connect, ns,            uint64_t, IN,  LOCAL, "ns",
	"time since the ranks began to connect; 0 if done is 0", "the plugin")
FIELD(gin_connect, coll,          uint64_t, IN,  LOCAL, "1",
	"number of the collComm in this process, from 1", "the plugin")
FIELD(gin_connect, rank,          uint32_t, IN,  LOCAL, "1",
	"our rank", "connect rank")
FIELD(gin_connect, nranks,        uint32_t, IN,  LOCAL, "1",
	"ranks of the collComm", "connect nranks")
FIELD(gin_connect, dev,           uint32_t, IN,  LOCAL, "1",
	"device", "listen dev")
FIELD(gin_connect, speed,         uint32_t, IN,  LOCAL, "Mbit/s",
	"speed of the device", "getProperties speed")
FIELD(gin_connect, done,          uint32_t, IN,  LOCAL, "1",
	"1: connected; 0: before", "connect")
FIELD(gin_connect, traffic_class, int32_t,  OUT, LOCAL, "1",
	"traffic class to request before connecting; -1: no opinion", "GIN config")
CONTEXT_END(gin_connect)
