// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/p2p_done"): struct ncclbpf_p2p_done.
 * Columns and ABI rules: core/defs/hook_coll_done.h.
 */
CONTEXT(p2p_done)
FIELD(p2p_done, comm_id,    uint64_t, IN, LOCAL, "1",
	"communicator's identity",
	"commId of the profiler's init; with profiler v1-v3 commHash of the P2p event")
FIELD(p2p_done, bytes,      uint64_t, IN, LOCAL, "B",
	"bytes sent or received", "P2p count, datatype")
FIELD(p2p_done, start_ns,   uint64_t, IN, LOCAL, "ns",
	"time when NCCL began to enqueue the operation", "P2p start")
FIELD(p2p_done, enqueue_ns, uint64_t, IN, LOCAL, "ns",
	"time that NCCL took to enqueue the operation", "P2p start to stop")
FIELD(p2p_done, gpu_ns,     uint64_t, IN, LOCAL, "ns",
	"duration of its slowest kernel channel; 0: not known", "KernelCh pTimer")
FIELD(p2p_done, proxy_ns,   uint64_t, IN, LOCAL, "ns",
	"time from the first start to the last end of its network operations; 0: not known",
	"ProxyOp start to stop")
FIELD(p2p_done, exec_ns,    uint64_t, IN, LOCAL, "ns",
	"duration: gpu_ns, or proxy_ns if gpu_ns is not known", "see source")
FIELD(p2p_done, send,       uint32_t, IN, LOCAL, "1",
	"1: a send, 0: a receive", "P2p func")
FIELD(p2p_done, peer,       int32_t,  IN, LOCAL, "1",
	"rank at the other end", "P2p peer")
FIELD(p2p_done, ranks,      uint32_t, IN, LOCAL, "1",
	"number of ranks of the communicator; 0: not known",
	"nRanks of the profiler's init, or of the tuner's with profiler v1-v3")
FIELD(p2p_done, channels,   uint32_t, IN, LOCAL, "1",
	"channels that NCCL used; 0: not known (v1-v4)", "P2p nChannels")
FIELD(p2p_done, rank,       int32_t,  IN, LOCAL, "1",
	"rank in the communicator", "profiler init rank")
FIELD(p2p_done, source,     uint32_t, IN, LOCAL, "1",
	"source of exec_ns: 0 none, 1 the GPU's clock, 2 kernels as the CPU saw them, 3 proxies",
	"the plugin")
FIELD(p2p_done, tag,        uint64_t, IN, LOCAL, "1",
	"tag that the application gave the call (userProfilerTag); 0: none, or NCCL before 2.31",
	"P2p userTag")
CONTEXT_END(p2p_done)
