// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/coll_done"): struct ncclbpf_coll_done. This is ABI:
 * rows are added only at the end, and the order keeps every field aligned
 * without padding. core/defs/hook_tuner.h explains the columns. A time of 0 is
 * not known. start_ns is a time of CLOCK_MONOTONIC.
 */
CONTEXT(coll_done)
FIELD(coll_done, comm_id,    uint64_t, IN, LOCAL, "1",
	"communicator's identity",
	"commId of the profiler's init; with profiler v1-v3 commHash of the Coll event")
FIELD(coll_done, seq,        uint64_t, IN, LOCAL, "1",
	"number of this collective among those of the same kind, from 0", "Coll seqNumber")
FIELD(coll_done, bytes,      uint64_t, IN, LOCAL, "B",
	"bytes of the whole collective, over all ranks for AllGather and ReduceScatter",
	"Coll count, datatype")
FIELD(coll_done, start_ns,   uint64_t, IN, LOCAL, "ns",
	"time when NCCL began to enqueue the collective", "Coll start")
FIELD(coll_done, enqueue_ns, uint64_t, IN, LOCAL, "ns",
	"time that NCCL took to enqueue the collective", "Coll start to stop")
FIELD(coll_done, gpu_ns,     uint64_t, IN, LOCAL, "ns",
	"duration of its slowest kernel channel", "KernelCh pTimer")
FIELD(coll_done, proxy_ns,   uint64_t, IN, LOCAL, "ns",
	"time from the first start to the last end of its network operations",
	"ProxyOp start to stop")
FIELD(coll_done, exec_ns,    uint64_t, IN, LOCAL, "ns",
	"duration: gpu_ns, or proxy_ns if gpu_ns is not known", "see source")
FIELD(coll_done, coll,       uint32_t, IN, LOCAL, "1",
	"collective, NCCL_COLL_*", "Coll func")
FIELD(coll_done, ranks,      uint32_t, IN, LOCAL, "1",
	"number of ranks of the communicator; 0: not known",
	"nRanks of the profiler's init, or of the tuner's with profiler v1-v3")
FIELD(coll_done, nodes,      uint32_t, IN, LOCAL, "1",
	"number of nodes of the communicator; 0: not known",
	"nNodes of the profiler's init, or of the tuner's with profiler v1-v3")
FIELD(coll_done, channels,   uint32_t, IN, LOCAL, "1",
	"channels that NCCL used (v1-v3: upper bound)", "Coll nChannels")
FIELD(coll_done, algo,       int32_t,  IN, LOCAL, "1",
	"algorithm that NCCL used, NCCL_ALGO_*; -1: not known, or a symmetric kernel", "Coll algo")
FIELD(coll_done, proto,      int32_t,  IN, LOCAL, "1",
	"protocol that NCCL used, NCCL_PROTO_*; -1: not known", "Coll proto")
FIELD(coll_done, rank,       int32_t,  IN, LOCAL, "1",
	"rank in the communicator", "profiler init rank")
FIELD(coll_done, source,     uint32_t, IN, LOCAL, "1",
	"source of exec_ns: 0 none, 1 the GPU's clock, 2 kernels as the CPU saw them, 3 proxies",
	"the plugin")
FIELD(coll_done, tag,        uint64_t, IN, LOCAL, "1",
	"tag that the application gave the call (userProfilerTag); 0: none, or NCCL before 2.31",
	"Coll userTag")
FIELD(coll_done, decision,   uint64_t, IN, LOCAL, "1",
	"number of the decision that it ran with, from 1, in its communicator; 0: not known",
	"the plugin")
FIELD(coll_done, generation, uint32_t, IN, LOCAL, "1",
	"generation that decided; 0: not known", "the plugin")
FIELD(coll_done, chosen,     uint32_t, IN, LOCAL, "1",
	"1: a policy decided; 0: NCCL did, or not known", "the plugin")
FIELD(coll_done, chosen_algo, int32_t, IN, LOCAL, "1",
	"algorithm of that decision; -1: not known", "the plugin")
FIELD(coll_done, chosen_proto, int32_t, IN, LOCAL, "1",
	"protocol of that decision; -1: not known", "the plugin")
FIELD(coll_done, chosen_channels, uint32_t, IN, LOCAL, "1",
	"channels of that decision; 0: NCCL's own number, or not known", "the plugin")
FIELD(coll_done, chosen_chunk, uint32_t, IN, LOCAL, "B",
	"chunk size of that decision; 0: NCCL's own size, or not known", "the plugin")
CONTEXT_END(coll_done)
