// SPDX-License-Identifier: MIT
/*
 * NCCL's numbers that policies and people use, with the words of NVIDIA's
 * tuner configuration files. The including file defines the macros it wants.
 */
#ifdef NCCL_COLL
NCCL_COLL(BROADCAST,      0, "broadcast")
NCCL_COLL(REDUCE,         1, "reduce")
NCCL_COLL(ALL_GATHER,     2, "allgather")
NCCL_COLL(REDUCE_SCATTER, 3, "reducescatter")
NCCL_COLL(ALL_REDUCE,     4, "allreduce")
#undef NCCL_COLL
#endif
#ifdef NCCL_ALGO
NCCL_ALGO(TREE,           0, "tree")
NCCL_ALGO(RING,           1, "ring")
NCCL_ALGO(COLLNET_DIRECT, 2, "collnet_direct")
NCCL_ALGO(COLLNET_CHAIN,  3, "collnet_chain")
NCCL_ALGO(NVLS,           4, "nvls")
NCCL_ALGO(NVLS_TREE,      5, "nvls_tree")
NCCL_ALGO(PAT,            6, "pat")
#undef NCCL_ALGO
#endif
#ifdef NCCL_PROTO
NCCL_PROTO(LL,     0, "ll")
NCCL_PROTO(LL128,  1, "ll128")
NCCL_PROTO(SIMPLE, 2, "simple")
#undef NCCL_PROTO
#endif
