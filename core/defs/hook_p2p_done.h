// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/p2p_done"): struct ncclbpf_p2p_done.
 * Columns and ABI rules: core/defs/hook_coll_done.h.
 */
/* The columns are name, type, access, label, unit, doc and source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",   "communicator's identity",                                     "commId of the profiler's init; with profiler v1-v3 commHash of the P2p event")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",   "bytes sent or received",                                      "P2p count, datatype")
FIELD(start_ns,       uint64_t, IN,    LOCAL,    "ns",  "time when NCCL began to enqueue the operation",               "P2p start")
FIELD(enqueue_ns,     uint64_t, IN,    LOCAL,    "ns",  "time that NCCL took to enqueue the operation",                "P2p start to stop")
FIELD(gpu_ns,         uint64_t, IN,    LOCAL,    "ns",  "duration of the longest channel of its kernels; 0: not known", "KernelCh pTimer")
FIELD(proxy_ns,       uint64_t, IN,    LOCAL,    "ns",  "time from the first start to the last end of its network operations; 0: not known", "ProxyOp start to stop")
FIELD(exec_ns,        uint64_t, IN,    LOCAL,    "ns",  "duration: gpu_ns, or proxy_ns if gpu_ns is not known",        "see source")
FIELD(send,           uint32_t, IN,    LOCAL,    "1",   "1: a send, 0: a receive",                                     "P2p func")
FIELD(peer,           int32_t,  IN,    LOCAL,    "1",   "rank at the other end",                                       "P2p peer")
FIELD(ranks,          uint32_t, IN,    LOCAL,    "1",   "number of ranks of the communicator; 0: not known",                     "nRanks of the profiler's init, or of the tuner's with profiler v1-v3")
FIELD(channels,       uint32_t, IN,    LOCAL,    "1",   "channels that NCCL used; 0: not known (v1-v4)",               "P2p nChannels")
FIELD(rank,           int32_t,  IN,    LOCAL,    "1",   "rank in the communicator",                                    "profiler init rank")
FIELD(source,         uint32_t, IN,    LOCAL,    "1",   "source of exec_ns: 0 none, 1 the GPU's clock, 2 kernels as the CPU saw them, 3 proxies", "the plugin")

#undef FIELD
