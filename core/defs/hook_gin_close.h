// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/close"): struct ncclbpf_gin_close. It runs before a
 * collComm is closed, with the collComm's sums.
 */
/* The columns are name, type, access, label, unit, and doc with its source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",      "communicator's identity; 0: not known", "GIN init commId")
FIELD(now_ns,         uint64_t, IN,    LOCAL,    "ns",     "now, CLOCK_MONOTONIC", "the plugin")
FIELD(ns,             uint64_t, IN,    LOCAL,    "ns",     "its life", "the plugin")
FIELD(coll,           uint64_t, IN,    LOCAL,    "1",      "number of the collComm in this process, from 1", "the plugin")
FIELD(puts,           uint64_t, IN,    LOCAL,    "1",      "puts that NCCL posted", "the plugin")
FIELD(signals,        uint64_t, IN,    LOCAL,    "1",      "signals that NCCL posted", "the plugin")
FIELD(gets,           uint64_t, IN,    LOCAL,    "1",      "gets that NCCL posted", "the plugin")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",      "bytes of these operations", "the plugin")
FIELD(in_puts,        uint64_t, IN,    LOCAL,    "1",      "puts that arrived", "the transport")
FIELD(in_signals,     uint64_t, IN,    LOCAL,    "1",      "signals that arrived", "the transport")
FIELD(in_bytes,       uint64_t, IN,    LOCAL,    "B",      "bytes that arrived", "the transport")
FIELD(held,           uint64_t, IN,    LOCAL,    "1",      "number of operations that programs held back", "the plugin")
FIELD(rank,           uint32_t, IN,    LOCAL,    "1",      "our rank", "connect rank")
FIELD(nranks,         uint32_t, IN,    LOCAL,    "1",      "ranks of the collComm", "connect nranks")
FIELD(errors,         uint32_t, IN,    LOCAL,    "1",      "operations that failed", "the plugin")
FIELD(outstanding,    uint32_t, IN,    LOCAL,    "1",      "number of unfinished operations", "the plugin")

#undef FIELD
