// SPDX-License-Identifier: MIT
/*
 * Output fields that answer NCCL, with the range of values that NCCL or RCCL
 * can accept. NCCL decides itself if a program sets none of the fields, or sets
 * one to a value outside its range.
 *
 * hook:        name in core/defs/hooks.h;
 * context:     struct of the hook's context;
 * field:       member of that struct;
 * least, most: the range, inclusive.
 */
/* The columns are hook, context, field, least and most. */
ANSWER(TUNER, ncclbpf_tuner, algo,     -1,    NCCL_NUM_ALGOS - 1)
ANSWER(TUNER, ncclbpf_tuner, proto,    -1,    NCCL_NUM_PROTOS - 1)
ANSWER(TUNER, ncclbpf_tuner, channels, 0,     128)
ANSWER(TUNER, ncclbpf_tuner, chunk_size, 0,   NCCL_CHUNK_MOST)
ANSWER(ENV,   ncclbpf_env,   answer,   0,     2)

#undef ANSWER
