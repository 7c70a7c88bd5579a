// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/kernel_ch"): struct ncclbpf_kernel_ch. Columns and
 * ABI rules: core/defs/hook_coll_done.h. The GPU's clock differs from every
 * CPU's clock.
 */
CONTEXT(kernel_ch)
FIELD(kernel_ch, comm_id,   uint64_t, IN, LOCAL, "1",
	"communicator's identity", "profiler init commId")
FIELD(kernel_ch, seq,       uint64_t, IN, LOCAL, "1",
	"number of the collective; 0 if the parent event is not known", "Coll seqNumber")
FIELD(kernel_ch, bytes,     uint64_t, IN, LOCAL, "B",
	"bytes of the whole collective, send or receive", "Coll or P2p count")
FIELD(kernel_ch, start_ns,  uint64_t, IN, LOCAL, "ns",
	"time when the CPU saw the channel begin", "KernelCh start")
FIELD(kernel_ch, cpu_ns,    uint64_t, IN, LOCAL, "ns",
	"duration of the channel as the CPU saw it", "KernelCh start to stop")
FIELD(kernel_ch, gpu_start, uint64_t, IN, LOCAL, "ns",
	"GPU clock when the channel began; 0: not known (v3)", "KernelCh pTimer")
FIELD(kernel_ch, gpu_ns,    uint64_t, IN, LOCAL, "ns",
	"duration of the channel by the GPU's clock; 0: not known", "KernelChStop pTimer")
FIELD(kernel_ch, func,      uint32_t, IN, LOCAL, "1",
	"NCCL_COLL_*, or 6: send, 7: receive; 255: not known", "Coll or P2p func")
FIELD(kernel_ch, channel,   uint32_t, IN, LOCAL, "1",
	"channel", "KernelCh channelId")
FIELD(kernel_ch, algo,      int32_t,  IN, LOCAL, "1",
	"algorithm that NCCL used, NCCL_ALGO_*; -1: not known, or a symmetric kernel", "Coll algo")
FIELD(kernel_ch, proto,     int32_t,  IN, LOCAL, "1",
	"protocol that NCCL used, NCCL_PROTO_*; -1: not known", "Coll proto")
FIELD(kernel_ch, rank,      int32_t,  IN, LOCAL, "1",
	"rank in the communicator", "profiler init rank")
FIELD(kernel_ch, ranks,     uint32_t, IN, LOCAL, "1",
	"number of ranks of the communicator; 0: not known", "profiler init nRanks")
CONTEXT_END(kernel_ch)
