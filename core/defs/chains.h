// SPDX-License-Identifier: MIT
/*
 * Each row is a kind of plugin that NCCL loads and that our plugin may have
 * replaced: the variable NCCLBPF_CHAIN_<name> names the replaced plugin, which
 * ours then calls (the wrapped plugin).
 *
 * word:    name of the kind in replies and in names of checks;
 * noun:    name of the kind for people;
 * late:    1: the plugin is opened at NCCL's first call, because our file may
 *          be loaded for another kind and never called for this one;
 * prefix:  prefix of the file's name, as in NCCL;
 * stem:    name of the exported table, up to the version;
 * oldest:  oldest version that we can call in place of a newer one; if NCCL
 *          calls an older version of ours, only that one;
 * error:   text for a call of the wrapped plugin that failed;
 * refused: text for the counter of refused calls, if it is not zero.
 */
/* The columns of a row: name, word, noun, late, prefix, stem, oldest, error, refused. */
CHAIN(TUNER,    "tuner",    "tuner",      0, "libnccl-tuner",    "ncclTunerPlugin_v", 2,
	"an error, so NCCL's own choice was used",
	"an answer that NCCL cannot use, which was dropped")
CHAIN(PROFILER, "profiler", "profiler",   0, "libnccl-profiler", "ncclProfiler_v",    5,
	"an error, which NCCL would ignore",
	"nothing, but missed some events, because too many were open")
CHAIN(NET,      "net",      "net plugin", 1, "libnccl-net",      "ncclNetPlugin_v",   6,
	"an error, which ncclbpf passed to NCCL",
	"nothing")
CHAIN(GIN,      "gin",      "GIN plugin", 1, "libnccl-gin",      "ncclGinPlugin_v",   11,
	"an error, which ncclbpf passed to NCCL",
	"nothing")
#undef CHAIN
