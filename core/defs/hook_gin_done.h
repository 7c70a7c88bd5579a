// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/done"): struct ncclbpf_gin_done. It runs when NCCL learns
 * that an operation is done, or has failed.
 */
CONTEXT(gin_done)
FIELD(gin_done, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known", "GIN init commId")
FIELD(gin_done, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(gin_done, coll,        uint64_t, IN, LOCAL, "1",
	"number of the collComm in this process, from 1", "the plugin")
FIELD(gin_done, request,     uint64_t, IN, LOCAL, "1",
	"number of the operation on its collComm, from 0", "the plugin")
FIELD(gin_done, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes put or read", "iput size")
FIELD(gin_done, ns,          uint64_t, IN, LOCAL, "ns",
	"time since the operation was posted; 0: not known (the program was added later)",
	"the plugin")
FIELD(gin_done, held_ns,     uint64_t, IN, LOCAL, "ns",
	"time that a program held the operation back", "the plugin")
FIELD(gin_done, context,     uint32_t, IN, LOCAL, "1",
	"context", "iput context")
FIELD(gin_done, peer,        uint32_t, IN, LOCAL, "1",
	"rank of the peer", "iput rank")
FIELD(gin_done, rank,        uint32_t, IN, LOCAL, "1",
	"our rank", "connect rank")
FIELD(gin_done, nranks,      uint32_t, IN, LOCAL, "1",
	"ranks of the collComm", "connect nranks")
FIELD(gin_done, outstanding, uint32_t, IN, LOCAL, "1",
	"unfinished operations to this peer, including this one", "the plugin")
FIELD(gin_done, polls,       uint32_t, IN, LOCAL, "1",
	"how often NCCL asked", "test")
FIELD(gin_done, kind,        uint32_t, IN, LOCAL, "1",
	"0: put, 1: signal with or without a put, 2: get, 3: flush", "the plugin")
FIELD(gin_done, error,       int32_t,  IN, LOCAL, "1",
	"0: success, or NCCL's result code of the failure", "test")
CONTEXT_END(gin_done)
