// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/signal"): struct ncclbpf_gin_signal. It runs when a
 * peer's signal has been applied here. It does not run with a wrapped plugin,
 * whose network applies signals.
 */
CONTEXT(gin_signal)
FIELD(gin_signal, comm_id, uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known", "GIN init commId")
FIELD(gin_signal, now_ns,  uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(gin_signal, coll,    uint64_t, IN, LOCAL, "1",
	"number of the collComm in this process, from 1", "the plugin")
FIELD(gin_signal, signal,  uint64_t, IN, LOCAL, "1",
	"index of the signal in its region (offset / 8)", "iputSignal sigOff")
FIELD(gin_signal, value,   uint64_t, IN, LOCAL, "1",
	"number that was added", "iputSignal value")
FIELD(gin_signal, puts,    uint64_t, IN, LOCAL, "1",
	"number of puts from this peer since its last signal", "the transport")
FIELD(gin_signal, bytes,   uint64_t, IN, LOCAL, "B",
	"bytes of these puts", "the transport")
FIELD(gin_signal, ns,      uint64_t, IN, LOCAL, "ns",
	"time since the first of these puts arrived; 0: there were none", "the transport")
FIELD(gin_signal, peer,    uint32_t, IN, LOCAL, "1",
	"rank of the peer", "the transport")
FIELD(gin_signal, rank,    uint32_t, IN, LOCAL, "1",
	"our rank", "connect rank")
FIELD(gin_signal, nranks,  uint32_t, IN, LOCAL, "1",
	"ranks of the collComm", "connect nranks")
FIELD(gin_signal, region,  uint32_t, IN, LOCAL, "1",
	"registration number of the signal's memory", "iputSignal sigMh")
FIELD(gin_signal, op,      uint32_t, IN, LOCAL, "1",
	"1: increment, 2: add", "iputSignal op")
FIELD(gin_signal, spare,   uint32_t, IN, LOCAL, "1",
	"0", "-")
CONTEXT_END(gin_signal)
