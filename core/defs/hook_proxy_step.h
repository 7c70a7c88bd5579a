// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/proxy_step"): struct ncclbpf_proxy_step. Columns and
 * ABI rules: core/defs/hook_coll_done.h. The waiting times are computed from
 * the states of the step.
 */
CONTEXT(proxy_step)
FIELD(proxy_step, comm_id,       uint64_t, IN, LOCAL, "1",
	"communicator's identity", "profiler init commId")
FIELD(proxy_step, bytes,         uint64_t, IN, LOCAL, "B",
	"bytes of the transfer; 0: not known", "state transSize")
FIELD(proxy_step, start_ns,      uint64_t, IN, LOCAL, "ns",
	"when the step began", "ProxyStep start")
FIELD(proxy_step, ns,            uint64_t, IN, LOCAL, "ns",
	"how long it took", "ProxyStep start to stop")
FIELD(proxy_step, gpu_wait_ns,   uint64_t, IN, LOCAL, "ns",
	"part of ns in which the step waited for the GPU", "states 8, 12")
FIELD(proxy_step, peer_wait_ns,  uint64_t, IN, LOCAL, "ns",
	"part of ns in which the step waited for the peer's credit", "state 20 (v4 and later)")
FIELD(proxy_step, net_wait_ns,   uint64_t, IN, LOCAL, "ns",
	"part of ns in which the step waited for the network", "states 9, 10")
FIELD(proxy_step, flush_wait_ns, uint64_t, IN, LOCAL, "ns",
	"part of ns in which the step waited for a flush", "state 11")
FIELD(proxy_step, func,          uint32_t, IN, LOCAL, "1",
	"NCCL_COLL_*, or 6: send, 7: receive; 255: not known", "its ProxyOp's parent")
FIELD(proxy_step, channel,       uint32_t, IN, LOCAL, "1",
	"channel; 255: not known", "its ProxyOp")
FIELD(proxy_step, step,          uint32_t, IN, LOCAL, "1",
	"number within the operation", "ProxyStep step")
FIELD(proxy_step, send,          uint32_t, IN, LOCAL, "1",
	"1: sending, 0: receiving", "its ProxyOp")
FIELD(proxy_step, peer,          int32_t,  IN, LOCAL, "1",
	"rank at the other end; -1: not known", "its ProxyOp")
FIELD(proxy_step, rank,          int32_t,  IN, LOCAL, "1",
	"rank in the communicator", "profiler init rank")
CONTEXT_END(proxy_step)
