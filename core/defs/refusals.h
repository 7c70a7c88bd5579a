// SPDX-License-Identifier: MIT
/*
 * Reasons to ignore a policy's answer, or all policies in a decision, and let
 * NCCL decide. There is one row for each. Refusals are counted for each
 * communicator and shown by `status` and `decision tail`.
 *
 * name: enumerator NB_REFUSED_<name>
 *
 * word: name in the protocol
 *
 * text: what happened
 */
// clang-format off
/* The columns are name, word and text. */
REFUSED(ALGO_RANGE,     "algo_range",
	"the policy answered an algorithm that NCCL does not have")
REFUSED(PROTO_RANGE,    "proto_range",
	"the policy answered a protocol that NCCL does not have")
REFUSED(UNUSABLE,       "unusable",
	"NCCL does not offer the combination of algorithm and protocol here")
REFUSED(NO_PARTNER,     "no_partner",
	"NCCL offers no combination with the algorithm or protocol that the policy set alone")
REFUSED(CHANNELS_RANGE, "channels_range",
	"the number of channels is above NCCLBPF_MAX_CHANNELS or NCCL's own limit")
REFUSED(CHANNELS_ALGO,  "channels_algo",
	"NCCL does not limit the channels of this algorithm, so the number is ignored")
REFUSED(CHUNK_OFFER,    "chunk_not_offered",
	"this NCCL does not ask its tuner for chunk sizes (tuner v6 of NCCL 2.30 does)")
REFUSED(CHUNK_RANGE,    "chunk_range",
	"NCCL may round chunks of this size down to nothing, or no buffer is that large")
REFUSED(CHUNK_ALGO,     "chunk_algo",
	"the chunk size is above NCCL's own, which is the largest for NVLS and CollNet")
REFUSED(COST_TABLE,     "cost_table",
	"NCCL's cost table is missing or has an unknown shape")
REFUSED(COLLECTIVE,     "collective",
	"NCCL asked about an unknown collective")
REFUSED(NO_CONTEXT,     "no_context",
	"NCCL asked without a context: memory was short at init")
REFUSED(MISMATCH,       "ranks_mismatch",
	"ranks of the communicator started with different policies")
REFUSED(FENCE_TIMEOUT,  "fence_timeout",
	"a change was not decided in time; this rank aborted it")
REFUSED(GEN_MISSING,    "generation_missing",
	"a committed generation is not held by this process")
REFUSED(UNCOUNTED,      "calls_not_counted",
	"replicated maps need ranks that all count API calls "
	"(NCCL_PROFILER_PLUGIN=ncclbpf), and on several nodes a fleet")
// clang-format on

#undef REFUSED
