// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/done"): struct ncclbpf_gin_done. It runs when NCCL learns
 * that an operation is done, or has failed.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known", "GIN init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(coll,           uint64_t, IN,    LOCAL,    "1",      "number of the collComm in this process, from 1", "the plugin")
FIELD(request,        uint64_t, IN,    LOCAL,    "1",      "number of the operation on its collComm, from 0", "the plugin")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",      "bytes put or read", "iput size")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",     "time since the operation was posted; 0: not known (the program was added later)", "the plugin")
FIELD(held_ns,        uint64_t, IN,    LOCAL,    "ns",     "time that a program held the operation back", "the plugin")
FIELD(context,        uint32_t, IN,    LOCAL,    "1",      "context", "iput context")
FIELD(peer,           uint32_t, IN,    LOCAL,    "1",      "rank of the peer", "iput rank")
FIELD(rank,           uint32_t, IN,    LOCAL,    "1",      "our rank", "connect rank")
FIELD(nranks,         uint32_t, IN,    LOCAL,    "1",      "ranks of the collComm", "connect nranks")
FIELD(outstanding,    uint32_t, IN,    LOCAL,    "1",      "unfinished operations to this peer, including this one",       "the plugin")
FIELD(polls,          uint32_t, IN,    LOCAL,    "1",      "how often NCCL asked", "test")
FIELD(kind,           uint32_t, IN,    LOCAL,    "1",      "0: put, 1: signal with or without a put, 2: get, 3: flush", "the plugin")
FIELD(error,          int32_t,  IN,    LOCAL,    "1",      "0: success, or NCCL's result code of the failure", "test")

#undef FIELD
