// SPDX-License-Identifier: MIT
/*
 * One row an environment variable NCCLBPF_<name>, read once when the plugin
 * is initialised (the shell reads those marked SHELL).
 *
 * type     STR, INT (min..max), or ENUM (words of the choices, 0 first)
 * def      default, as text
 * choices  words of an ENUM, separated by |; else ""
 * who      PLUGIN, SHELL or BOTH
 */
/*    name              type  def       min max          choices            unit  who     doc */
PARAM(POLICY,           STR,  "",       0,  65536,       "",                "",   PLUGIN, "colon-separated policy images or .bpf.o files, in the order they run; each may end in @sha256:<64 hex digits>")
PARAM(DISABLE,          INT,  "0",      0,  1,           "",                "1",  PLUGIN, "1: load nothing, decide nothing, open no socket")
PARAM(CONTROL,          ENUM, "on",     0,  1,           "on|off",          "",   PLUGIN, "off: no control socket and no thread")
PARAM(COHERENCE,        ENUM, "strict", 0,  1,           "strict|off",      "",   PLUGIN, "off: accept policies whose answers may differ between ranks (single-process experiments only)")
PARAM(JIT,              ENUM, "on",     0,  1,           "on|off",          "",   PLUGIN, "off: policies are interpreted instead of compiled to machine code")
PARAM(PERF_MAP,         ENUM, "off",    0,  1,           "off|on",          "",   PLUGIN, "on: machine code is named for perf, in its map file of the process")
PARAM(GDB,              ENUM, "off",    0,  1,           "off|on",          "",   PLUGIN, "on: debuggers learn names, source lines and frames of machine code")
PARAM(JOB,              STR,  "",       0,  64,          "",                "",   BOTH,   "name of the job; else the launcher's, else \"local\"")
PARAM(SOCKET_DIR,       STR,  "",       0,  4096,        "",                "",   BOTH,   "directory of control sockets and the job segment")
PARAM(MAX_VERIFY,       INT,  "2000000", 1000, 1000000000,  "",               "1",  BOTH,   "instructions that the verifier may walk for all programs of a policy")
PARAM(MAX_POLICY_MEMORY, INT, "256",    1,  65536,       "",                "MiB", BOTH,  "memory that the maps of a policy may take; per-CPU maps count for 256 CPUs on every host")
PARAM(MAX_CHANNELS,     INT,  "64",     1,  64,          "",                "1",  PLUGIN, "largest number of channels a policy may ask for")
PARAM(MAX_RUN,          INT,  "1048576", 4096, 1073741824, "",              "",   BOTH,   "longest time that the policies on one hook may take for one decision or event, in weighted instructions of about a nanosecond")
PARAM(FENCE_MARGIN,     INT,  "4096",   1,  1048576,     "",                "1",  PLUGIN, "decisions, at most, between the furthest rank and the fence of a change")
PARAM(FENCE_TIMEOUT_MS, INT,  "2000",   10, 60000,       "",                "ms", PLUGIN, "longest wait of a rank at an undecided fence before it decides abort")
PARAM(API_CLOCK,        ENUM, "auto",   0,  2,           "auto|on|off",     "",   PLUGIN, "changes take effect at a call of NCCL's API, which the profiler counts on all ranks, instead of at a call of the tuner; auto: from NCCL 2.29 on, where tuner calls may differ in number; on: where the profiler is v5 or later")
PARAM(LOCK_TIMEOUT_MS,  INT,  "30000",  10, 600000,      "",                "ms", PLUGIN, "longest wait for other processes of the job when a communicator is made")
PARAM(ON_DIVERGENCE,    ENUM, "report", 0,  1,           "report|baseline", "",   PLUGIN, "where ranks have decided differently: report it, or also give all ranks back to NCCL's own choice at one decision, if they still count alike")
PARAM(CONTROLLER_MS,    INT,  "1000",   20, 3600000,     "",                "ms", PLUGIN, "between two runs of SEC(\"controller\") programs, until they ask for another time")
PARAM(LOG,              ENUM, "info",   0,  3,           "off|warn|info|debug", "", PLUGIN, "what is written through NCCL's logger")
PARAM(CHAIN_TUNER,      STR,  "",       0,  511,         "",                "",   PLUGIN, "the tuner that NCCL would load without ncclbpf, path or name: called first, its answer is what policies see as NCCL's own choice")
PARAM(NET,              ENUM, "on",     0,  1,           "on|off",          "",   PLUGIN, "off: no network device, even where NCCL_NET_PLUGIN names us: NCCL takes its own IB or Socket")
PARAM(CHAIN_NET,        STR,  "",       0,  511,         "",                "",   PLUGIN, "net plugin to wrap, where NCCL_NET_PLUGIN names us; empty: our own TCP transport")
PARAM(CHAIN_PROFILER,   STR,  "",       0,  511,         "",                "",   PLUGIN, "the profiler that NCCL would load without ncclbpf, path or name: gets every event it asks for")
PARAM(TIMES,            STR,  "",       0,  200,         "",                "",   PLUGIN, "what the job's times are, where nothing is measured, as \"replayed from b300.csv\": said wherever the shell shows times")
PARAM(ENV,              STR,  "",       0,  4096,        "",                "",   PLUGIN, "file of NAME=VALUE lines that NCCL finds in place of the environment's, where NCCL_ENV_PLUGIN names ncclbpf; \"unset NAME\" hides one")
PARAM(HISTORY,          STR,  "",       0,  4096,        "",                "",   SHELL,  "history file of the prompt; empty: the state directory's")
PARAM(PAGER,            STR,  "",       0,  4096,        "",                "",   SHELL,  "pager for long output on a terminal; empty: PAGER")

#undef PARAM
