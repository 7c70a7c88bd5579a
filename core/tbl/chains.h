// SPDX-License-Identifier: MIT
/*
 * One row a kind of plugin that NCCL loads and that ours may have displaced:
 * the variable NCCLBPF_CHAIN_<name> names the other one, and ours calls it.
 *
 * word     what people call it
 * prefix   of the file's name, as NCCL has it
 * stem     of the exported table's name, up to the version
 * oldest   version that we can call
 */
/*    name      word        prefix                 stem                  oldest */
CHAIN(TUNER,    "tuner",    "libnccl-tuner",       "ncclTunerPlugin_v",  2)
#undef CHAIN
