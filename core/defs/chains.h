// SPDX-License-Identifier: MIT
/*
 * One row a kind of plugin that NCCL loads and that ours may have displaced:
 * the variable NCCLBPF_CHAIN_<name> names the other one, and ours calls it.
 *
 * word     of it in answers and names of checks
 * noun     what people call it
 * late     1: opened at NCCL's first call, as our file may be loaded for
 *          another kind and never called for this one
 * prefix   of the file's name, as NCCL has it
 * stem     of the exported table's name, up to the version
 * oldest   version that we can call
 * error    what is said of it where a call of its failed
 * refused  and where the other counter is not zero, which counts this
 */
/*    name      word        noun          late  prefix              stem                  oldest  error  refused */
CHAIN(TUNER,    "tuner",    "tuner",      0,    "libnccl-tuner",    "ncclTunerPlugin_v",  2,      "an error: NCCL's own choice stood",  "an answer that NCCL could not use and that was not taken")
CHAIN(PROFILER, "profiler", "profiler",   0,    "libnccl-profiler", "ncclProfiler_v",     1,      "an error, which NCCL would ignore",  "nothing, as too many events were open for all of them to reach it")
CHAIN(NET,      "net",      "net plugin", 1,    "libnccl-net",      "ncclNetPlugin_v",    5,      "an error, which NCCL was given",     "nothing")
CHAIN(GIN,      "gin",      "GIN plugin", 1,    "libnccl-gin",      "ncclGinPlugin_v",    11,     "an error, which NCCL was given",     "nothing")
#undef CHAIN
