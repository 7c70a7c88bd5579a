// SPDX-License-Identifier: MIT
/*
 * Context of SEC("profiler/coll_api"): struct ncclbpf_coll_api, a call of a
 * collective. NCCL demands that all ranks make it with these values, so all
 * fields are coherent. The tag of a call is not among them, because NCCL lets
 * ranks give one call different tags. Columns and ABI rules:
 * core/defs/hook_tuner.h.
 */
CONTEXT(coll_api)
FIELD(coll_api, comm_id, uint64_t, IN, COHERENT, "1",
	"communicator's identity", "tuner v5 init commId")
FIELD(coll_api, bytes,   uint64_t, IN, COHERENT, "B",
	"bytes of the whole collective, over all ranks for AllGather and ReduceScatter",
	"CollApi count, datatype")
FIELD(coll_api, seq,     uint64_t, IN, COHERENT, "1",
	"number of this call of its communicator, from 1; "
	"a decision after it has at least this seq", "counted by the plugin")
FIELD(coll_api, coll,    uint32_t, IN, COHERENT, "1",
	"collective, NCCL_COLL_*; NCCL_NUM_COLLS: one that the tuner is not asked about",
	"CollApi func")
FIELD(coll_api, ranks,   uint32_t, IN, COHERENT, "1",
	"ranks of the communicator", "init nRanks")
FIELD(coll_api, nodes,   uint32_t, IN, COHERENT, "1",
	"nodes of the communicator, as NCCL counts them", "init nNodes")
/* The replicated maps of the communicator; NULL: those of the maps themselves. */
HIDDEN_FIELD(coll_api, state, unsigned char *)
CONTEXT_END(coll_api)
