// SPDX-License-Identifier: MIT
/*
 * Outputs that are a program's answer to NCCL, and the values that NCCL can
 * ever take. Whoever gives no such answer, or only others, leaves the choice
 * to NCCL.
 *
 * hook   of core/defs/hooks.h, with its context struct
 * field  of that struct
 * least, most  inclusive
 */
/*     hook   context        field     least  most */
ANSWER(TUNER, ncclbpf_tuner, algo,     -1,    NCCL_NUM_ALGOS - 1)
ANSWER(TUNER, ncclbpf_tuner, proto,    -1,    NCCL_NUM_PROTOS - 1)
ANSWER(TUNER, ncclbpf_tuner, channels, 0,     64)
ANSWER(ENV,   ncclbpf_env,   answer,   0,     2)

#undef ANSWER
