// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/put"): struct ncclbpf_gin_put. It runs before a put, a
 * put with a signal, or a signal is sent.
 */
CONTEXT(gin_put)
FIELD(gin_put, comm_id,      uint64_t, IN,  LOCAL, "1",
	"communicator's identity; 0: not known", "GIN init commId")
FIELD(gin_put, now_ns,       uint64_t, IN,  LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(gin_put, coll,         uint64_t, IN,  LOCAL, "1",
	"number of the collComm in this process, from 1", "the plugin")
FIELD(gin_put, request,      uint64_t, IN,  LOCAL, "1",
	"number of the operation on its collComm, from 0", "the plugin")
FIELD(gin_put, bytes,        uint64_t, IN,  LOCAL, "B",
	"bytes to put; 0: a signal without data", "iput size")
FIELD(gin_put, offset,       uint64_t, IN,  LOCAL, "B",
	"offset in the peer's region", "iput dstOff")
FIELD(gin_put, signal,       uint64_t, IN,  LOCAL, "1",
	"index of the signal in its region (offset / 8); all bits set: no signal",
	"iputSignal sigOff")
FIELD(gin_put, value,        uint64_t, IN,  LOCAL, "1",
	"number to add to the signal", "iputSignal value")
FIELD(gin_put, queued_bytes, uint64_t, IN,  LOCAL, "B",
	"bytes that wait to be sent to this peer; 0 with a wrapped plugin", "the transport")
FIELD(gin_put, behind_ns,    uint64_t, IN,  LOCAL, "ns",
	"time until the previous held operation is sent; 0: none is held", "the plugin")
FIELD(gin_put, hold_ns,      uint64_t, OUT, LOCAL, "ns",
	"time to hold the operation back, "
	"from now on or from the sending of the previous operation; at most 10 ms",
	"-")
FIELD(gin_put, context,      uint32_t, IN,  LOCAL, "1",
	"context", "iput context")
FIELD(gin_put, peer,         uint32_t, IN,  LOCAL, "1",
	"rank of the peer", "iput rank")
FIELD(gin_put, rank,         uint32_t, IN,  LOCAL, "1",
	"our rank", "connect rank")
FIELD(gin_put, nranks,       uint32_t, IN,  LOCAL, "1",
	"ranks of the collComm", "connect nranks")
FIELD(gin_put, region,       uint32_t, IN,  LOCAL, "1",
	"registration number of the target memory; "
	"all bits set: none, or not known (a wrapped plugin)",
	"iput dstMh")
FIELD(gin_put, op,           uint32_t, IN,  LOCAL, "1",
	"0: no signal, 1: increment, 2: add", "iputSignal op")
FIELD(gin_put, outstanding,  uint32_t, IN,  LOCAL, "1",
	"unfinished operations to this peer, including this one", "the plugin")
FIELD(gin_put, more,         uint32_t, IN,  LOCAL, "1",
	"1: NCCL announces that another operation follows at once (RMA v15)", "iput optFlags")
CONTEXT_END(gin_put)
