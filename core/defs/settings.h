/* SPDX-License-Identifier: MIT */
/*
 * Each row is a setting that must be the same on all ranks of a communicator,
 * like their policies, so that their answers are the same. Ranks compare these
 * settings before the first decision.
 *
 * name:   enumerator NB_SETTING_<name>;
 * text:   name for people;
 * format: format of the value: "" is a number, "v" a version, "x" hexadecimal
 *         digits or none, "a|b" a choice.
 */
SETTING(VERSION,          "ncclbpf's version",        "v")
SETTING(ABI,              "NCCL's tuner interface",   "")
SETTING(COHERENCE,        "NCCLBPF_COHERENCE",        "strict|off")
SETTING(MAX_CHANNELS,     "NCCLBPF_MAX_CHANNELS",     "")
SETTING(MAX_RUN,          "NCCLBPF_MAX_RUN",          "")
SETTING(FENCE_MARGIN,     "NCCLBPF_FENCE_MARGIN",     "")
SETTING(FENCE_TIMEOUT_MS, "NCCLBPF_FENCE_TIMEOUT_MS", "")
SETTING(FLEET,            "NCCLBPF_FLEET",            "not set|set")
SETTING(CHAIN_TUNER,      "NCCLBPF_CHAIN_TUNER's file", "x")
#undef SETTING
