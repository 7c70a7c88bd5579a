// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/kernel_ch"): struct ncclbpf_kernel_ch. Columns and
 * ABI rules: core/defs/hook_coll_done.h. The GPU's clock differs from every
 * CPU's clock.
 */
/* The columns are name, type, access, label, unit, doc and source. */
FIELD(comm_id,        uint64_t, IN,    LOCAL,    "1",   "communicator's identity",                                     "profiler init commId")
FIELD(seq,            uint64_t, IN,    LOCAL,    "1",   "number of the collective; 0 if the parent event is not known", "Coll seqNumber")
FIELD(bytes,          uint64_t, IN,    LOCAL,    "B",   "bytes of the whole collective, send or receive",              "Coll or P2p count")
FIELD(start_ns,       uint64_t, IN,    LOCAL,    "ns",  "time when the CPU saw the channel begin",                     "KernelCh start")
FIELD(cpu_ns,         uint64_t, IN,    LOCAL,    "ns",  "duration of the channel as the CPU saw it",                   "KernelCh start to stop")
FIELD(gpu_start,      uint64_t, IN,    LOCAL,    "ns",  "GPU clock when the channel began; 0: not known (v3)",         "KernelCh pTimer")
FIELD(gpu_ns,         uint64_t, IN,    LOCAL,    "ns",  "duration of the channel by the GPU's clock; 0: not known",    "KernelChStop pTimer")
FIELD(func,           uint32_t, IN,    LOCAL,    "1",   "NCCL_COLL_*, or 6: send, 7: receive; 255: not known",         "Coll or P2p func")
FIELD(channel,        uint32_t, IN,    LOCAL,    "1",   "channel",                                                     "KernelCh channelId")
FIELD(algo,           int32_t,  IN,    LOCAL,    "1",   "algorithm that NCCL used, NCCL_ALGO_*; -1: not known",        "Coll algo")
FIELD(proto,          int32_t,  IN,    LOCAL,    "1",   "protocol that NCCL used, NCCL_PROTO_*; -1: not known",        "Coll proto")
FIELD(rank,           int32_t,  IN,    LOCAL,    "1",   "rank in the communicator",                                    "profiler init rank")
FIELD(ranks,          uint32_t, IN,    LOCAL,    "1",   "number of ranks of the communicator; 0: not known",                     "profiler init nRanks")

#undef FIELD
