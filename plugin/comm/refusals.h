// SPDX-License-Identifier: MIT
/*
 * One row a reason why a policy's answer, or a whole decision, was left to
 * NCCL. Counted for each communicator and shown by `status` and
 * `decision tail`.
 *
 * name  enumerator NB_REFUSED_<name>
 * word  on the wire
 * text  what happened
 */
/* clang-format off */
/*      name             word                  text */
REFUSED(ALGO_RANGE,      "algo_range",         "the policy answered an algorithm that NCCL does not have")
REFUSED(PROTO_RANGE,     "proto_range",        "the policy answered a protocol that NCCL does not have")
REFUSED(UNUSABLE,        "unusable",           "NCCL does not offer the combination of algorithm and protocol here")
REFUSED(NO_PARTNER,      "no_partner",         "NCCL offers no combination with the one part that the policy asked for")
REFUSED(CHANNELS_RANGE,  "channels_range",     "the number of channels is above NCCLBPF_MAX_CHANNELS")
REFUSED(CHANNELS_ALGO,   "channels_algo",      "NCCL does not bound the channels of this algorithm, so none are asked for")
REFUSED(COST_TABLE,      "cost_table",         "NCCL's cost table is missing or has no shape that is known")
REFUSED(COLLECTIVE,      "collective",         "NCCL asked about a collective that is not known")
REFUSED(NO_CONTEXT,      "no_context",         "NCCL asked without a context: memory was short at init")
REFUSED(MISMATCH,        "ranks_mismatch",     "ranks of the communicator started with different policies")
REFUSED(FENCE_TIMEOUT,   "fence_timeout",      "no decision about a change came in time; this rank decided abort")
REFUSED(GEN_MISSING,     "generation_missing", "a committed generation is not held by this process")
/* clang-format on */

#undef REFUSED
