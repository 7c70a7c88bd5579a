// SPDX-License-Identifier: MIT
/*
 * Context of SEC("tuner"): struct ncclbpf_tuner. This is ABI: rows are added
 * only at the end, and the order keeps every field aligned without padding.
 *
 * access: IN: programs read the field; OUT: programs read and write it. It
 *         starts as "no opinion" or as the answer of the previous policy;
 * label:  COHERENT: equal on all ranks of the communicator at the same
 *         decision; LOCAL: anything else;
 * unit:   unit of the value; "1" for plain numbers.
 */
CONTEXT(tuner)
FIELD(tuner, comm_id,       uint64_t, IN,  COHERENT, "1",
	"communicator's identity; 0 if NCCL gives none (tuner v2-v4)", "tuner v5 init commId")
FIELD(tuner, bytes,         uint64_t, IN,  COHERENT, "B",
	"bytes of the whole collective, over all ranks for AllGather and ReduceScatter",
	"getCollInfo nBytes")
FIELD(tuner, seq,           uint64_t, IN,  COHERENT, "1",
	"number of this decision of its communicator, from 0; "
	"with NCCLBPF_API_CLOCK, the number of earlier calls of NCCL's API; "
	"0 if NCCL may ask some tuners only and not all ranks count API calls",
	"counted by the plugin")
FIELD(tuner, coll,          uint32_t, IN,  COHERENT, "1",
	"collective, NCCL_COLL_*", "getCollInfo collType")
FIELD(tuner, ranks,         uint32_t, IN,  COHERENT, "1",
	"ranks of the communicator", "init nRanks")
FIELD(tuner, nodes,         uint32_t, IN,  COHERENT, "1",
	"nodes of the communicator, as NCCL counts them", "init nNodes")
FIELD(tuner, pipe_ops,      uint32_t, IN,  COHERENT, "1",
	"number of operations that NCCL aggregates in a channel, from 1", "getCollInfo numPipeOps")
FIELD(tuner, nvl_domains,   uint32_t, IN,  COHERENT, "1",
	"number of NVLink domains; 0 if NCCL does not say (tuner v2-v4)",
	"tuner v5 init nvlDomainInfo")
FIELD(tuner, nvl_min_ranks, uint32_t, IN,  COHERENT, "1",
	"fewest ranks in one NVLink domain; 0: not known", "tuner v5 init nvlDomainInfo")
FIELD(tuner, nvl_max_ranks, uint32_t, IN,  COHERENT, "1",
	"most ranks in one NVLink domain; 0: not known", "tuner v5 init nvlDomainInfo")
FIELD(tuner, usable,        uint32_t, IN,  COHERENT, "1",
	"bit algo * 3 + proto is set if NCCL offers this combination", "getCollInfo collCostTable")
FIELD(tuner, nccl_algo,     int32_t,  IN,  COHERENT, "1",
	"algorithm of NCCL's own choice, NCCL_ALGO_*; -1: none", "cheapest entry of collCostTable")
FIELD(tuner, nccl_proto,    int32_t,  IN,  COHERENT, "1",
	"protocol of NCCL's own choice, NCCL_PROTO_*; -1: none", "cheapest entry of collCostTable")
FIELD(tuner, reg_buff,      uint32_t, IN,  LOCAL,    "1",
	"1 if both buffers are registered on this rank", "getCollInfo regBuff")
FIELD(tuner, algo,          int32_t,  OUT, COHERENT, "1",
	"algorithm to use, NCCL_ALGO_*; -1: no opinion", "entry of collCostTable set to 0")
FIELD(tuner, proto,         int32_t,  OUT, COHERENT, "1",
	"protocol to use, NCCL_PROTO_*; -1: no opinion", "entry of collCostTable set to 0")
FIELD(tuner, channels,      uint32_t, OUT, COHERENT, "1",
	"largest number of channels to use; 0: no opinion; "
	"ignored for CollNet, and for NVLS on several nodes", "getCollInfo nChannels")
FIELD(tuner, chunk_size,    uint32_t, OUT, COHERENT, "B",
	"bytes of a chunk, at least NCCL_CHUNK_LEAST; 0: no opinion. NCCL lowers it to its "
	"buffers' size and rounds it down to whole lines; before 2.30 it does not ask",
	"getChunkSize chunkSize (tuner v6)")
FIELD(tuner, gpu_arch,       uint32_t, IN, COHERENT, "1",
	"architecture of the GPUs: 10 * major + minor of NVIDIA's compute capability, such as 90, "
	"or AMD's gfx number, such as 942; 0: not known; NCCLBPF_MIXED: they differ",
	"PCI devices or KFD's topology in sysfs")
FIELD(tuner, gpus_per_node,  uint32_t, IN, COHERENT, "1",
	"GPUs of a host; 0: not known; NCCLBPF_MIXED: the hosts differ",
	"PCI devices or KFD's topology in sysfs")
FIELD(tuner, nics,           uint32_t, IN, COHERENT, "1",
	"active ports of a host's RDMA adapters that have the highest rate; 0: not known; "
	"NCCLBPF_MIXED: the hosts differ", "class infiniband of sysfs")
FIELD(tuner, nic_mbps,       uint32_t, IN, COHERENT, "Mbit/s",
	"rate of each of these ports; 0: not known; NCCLBPF_MIXED: the hosts differ",
	"class infiniband of sysfs")
FIELD(tuner, ranks_per_node, uint32_t, IN, COHERENT, "1",
	"ranks / nodes, or NCCLBPF_MIXED if that leaves a remainder", "init nRanks and nNodes")
/* NCCL's cost table of this decision, for helpers that take the context: NCCL_NUM_ALGOS rows of
 * NCCL_NUM_PROTOS predicted times in microseconds, negative for combinations that NCCL does not
 * offer; NULL if not known. Programs cannot access it. */
HIDDEN_FIELD(tuner, costs, const float *)
/* The replicated maps of the communicator; NULL: those of the maps themselves. */
HIDDEN_FIELD(tuner, state, unsigned char *)
CONTEXT_END(tuner)
