/* SPDX-License-Identifier: MIT */
/*
 * What all ranks of a communicator must have alike, besides their policies,
 * for their answers to be alike: compared before the first decision. A row:
 * name, how people call it, and how its value is said: "" as a number, "v" as
 * a version, "x" as hexadecimal digits or none, "a|b" as a choice.
 */
SETTING(VERSION,          "ncclbpf's version",        "v")
SETTING(ABI,              "NCCL's tuner interface",   "")
SETTING(COHERENCE,        "NCCLBPF_COHERENCE",        "strict|off")
SETTING(MAX_CHANNELS,     "NCCLBPF_MAX_CHANNELS",     "")
SETTING(MAX_RUN,          "NCCLBPF_MAX_RUN",          "")
SETTING(FENCE_MARGIN,     "NCCLBPF_FENCE_MARGIN",     "")
SETTING(FENCE_TIMEOUT_MS, "NCCLBPF_FENCE_TIMEOUT_MS", "")
SETTING(CHAIN_TUNER,      "NCCLBPF_CHAIN_TUNER's file", "x")
#undef SETTING
