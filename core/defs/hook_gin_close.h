// SPDX-License-Identifier: MIT
/*
 * Context of SEC("gin/close"): struct ncclbpf_gin_close. It runs before a
 * collComm is closed, with the collComm's sums.
 */
CONTEXT(gin_close)
FIELD(gin_close, comm_id,     uint64_t, IN, LOCAL, "1",
	"communicator's identity; 0: not known", "GIN init commId")
FIELD(gin_close, now_ns,      uint64_t, IN, LOCAL, "ns",
	"now, CLOCK_MONOTONIC", "the plugin")
FIELD(gin_close, ns,          uint64_t, IN, LOCAL, "ns",
	"its life", "the plugin")
FIELD(gin_close, coll,        uint64_t, IN, LOCAL, "1",
	"number of the collComm in this process, from 1", "the plugin")
FIELD(gin_close, puts,        uint64_t, IN, LOCAL, "1",
	"puts that NCCL posted", "the plugin")
FIELD(gin_close, signals,     uint64_t, IN, LOCAL, "1",
	"signals that NCCL posted", "the plugin")
FIELD(gin_close, gets,        uint64_t, IN, LOCAL, "1",
	"gets that NCCL posted", "the plugin")
FIELD(gin_close, bytes,       uint64_t, IN, LOCAL, "B",
	"bytes of these operations", "the plugin")
FIELD(gin_close, in_puts,     uint64_t, IN, LOCAL, "1",
	"puts that arrived", "the transport")
FIELD(gin_close, in_signals,  uint64_t, IN, LOCAL, "1",
	"signals that arrived", "the transport")
FIELD(gin_close, in_bytes,    uint64_t, IN, LOCAL, "B",
	"bytes that arrived", "the transport")
FIELD(gin_close, held,        uint64_t, IN, LOCAL, "1",
	"number of operations that programs held back", "the plugin")
FIELD(gin_close, rank,        uint32_t, IN, LOCAL, "1",
	"our rank", "connect rank")
FIELD(gin_close, nranks,      uint32_t, IN, LOCAL, "1",
	"ranks of the collComm", "connect nranks")
FIELD(gin_close, errors,      uint32_t, IN, LOCAL, "1",
	"operations that failed", "the plugin")
FIELD(gin_close, outstanding, uint32_t, IN, LOCAL, "1",
	"number of unfinished operations", "the plugin")
CONTEXT_END(gin_close)
