// SPDX-License-Identifier: MIT
/*
 * Each row is an environment variable NCCLBPF_<name>, read once when the plugin
 * is initialised (the shell reads those marked SHELL).
 *
 * type:    STR, INT (min..max), or ENUM (words of the choices, 0 first);
 * def:     default value, as text;
 * choices: words of an ENUM, separated by |; else "";
 * who:     the reader: PLUGIN, SHELL or BOTH.
 */
/* The columns are name, type, def, min, max, choices, unit, who and doc. */
PARAM(POLICY,              STR,  "",        0,    65536,      "",                    "",    PLUGIN,
	"policy images or .bpf.o files in running order, separated by colons; "
	"?NAME=VALUE,NAME=VALUE after a file sets parameters of the policy; "
	"each may end in @sha256:<64 hex digits>, the digest of the file")
PARAM(DISABLE,             INT,  "0",       0,    1,          "",                    "1",   PLUGIN,
	"1: the plugin loads no policy, opens no socket and lets NCCL decide")
PARAM(CONTROL,             ENUM, "on",      0,    1,          "on|off",              "",    PLUGIN,
	"off: the plugin opens no control socket and starts no thread")
PARAM(COHERENCE,           ENUM, "strict",  0,    1,          "strict|off",          "",    PLUGIN,
	"off: accept policies whose answers may differ between ranks "
	"(single-process experiments only)")
PARAM(JIT,                 ENUM, "on",      0,    1,          "on|off",              "",    PLUGIN,
	"off: interpret policies instead of compiling them to machine code")
PARAM(PERF_MAP,            ENUM, "off",     0,    1,          "off|on",              "",    PLUGIN,
	"on: write the names of machine code to the process's map file for perf")
PARAM(JOB,                 STR,  "",        0,    64,         "",                    "",    BOTH,
	"name of the job; empty: the launcher's name for it, else \"local\"")
PARAM(SOCKET_DIR,          STR,  "",        0,    4096,       "",                    "",    BOTH,
	"directory of control sockets and the job segment; "
	"it must belong to the user and have mode 0700")
PARAM(KEEP_SEGMENTS,       INT,  "16",      0,    100000,     "",                    "1",   PLUGIN,
	"number of segments of ended jobs to keep for post-mortem analysis, the newest ones; "
	"the first process of the next job removes the others")
PARAM(KEEP_SEGMENTS_HOURS, INT,  "168",     0,    100000,     "",                    "h",   PLUGIN,
	"largest age of a segment that NCCLBPF_KEEP_SEGMENTS keeps")
PARAM(MAX_VERIFY,          INT,  "2000000", 1000, 1000000000, "",                    "1",   BOTH,
	"instructions that the verifier may walk for all programs of a policy")
PARAM(MAX_POLICY_MEMORY,   INT,  "256",     1,    65536,      "",                    "MiB", BOTH,
	"memory that the maps of a policy may take; per-CPU maps count for 256 CPUs on every host")
PARAM(MAX_CHANNELS,        INT,  "128",     1,    128,        "",                    "1",   PLUGIN,
	"largest number of channels that a policy may request; NCCL has at most 64, RCCL 128")
PARAM(MAX_RUN,             INT,  "1048576", 4096, 1073741824, "",                    "",    BOTH,
	"longest time that the policies on one hook may take for one decision or event, "
	"in weighted instructions of about a nanosecond")
PARAM(FENCE_MARGIN,        INT,  "4096",    1,    1048576,    "",                    "1",   PLUGIN,
	"a change takes effect at most this many decisions after the newest decision of any rank")
PARAM(FENCE_TIMEOUT_MS,    INT,  "2000",    10,   60000,      "",                    "ms",  PLUGIN,
	"longest wait of a rank at an undecided fence before the rank aborts the change")
PARAM(API_CLOCK,           ENUM, "auto",    0,    2,          "auto|on|off",         "",    PLUGIN,
	"whether changes take effect at a call of NCCL's API "
	"(the profiler counts these on all ranks) instead of a call of the tuner; "
	"auto: from NCCL 2.29 on, since ranks may then call the tuner a different number of times; "
	"on: if the profiler is v5 or later; "
	"off: never, so no change reaches communicators of NCCL 2.29 and later")
PARAM(LOCK_TIMEOUT_MS,     INT,  "30000",   10,   600000,     "",                    "ms",  PLUGIN,
	"longest wait for other processes of the job when a communicator is made")
PARAM(ON_DIVERGENCE,       ENUM, "report",  0,    1,          "report|baseline",     "",    PLUGIN,
	"action if ranks have decided differently: report it, or also return all ranks "
	"to NCCL's own choice at one decision, if they still count decisions alike")
PARAM(CONTROLLER_MS,       INT,  "1000",    20,   3600000,    "",                    "ms",  PLUGIN,
	"time between two runs of SEC(\"controller\") programs; the programs may change it")
PARAM(PLATFORM,            STR,  "",        0,    200,        "",                    "",    PLUGIN,
	"facts about this host that policies see instead of those that the plugin finds, such as "
	"gpu_arch=90,gpus_per_node=8,nics=8,nic_mbps=400000; 0: not known")
PARAM(LOG,                 ENUM, "info",    0,    3,          "off|warn|info|debug", "",    PLUGIN,
	"lowest level of messages that the plugin writes to NCCL's log")
PARAM(CHAIN_TUNER,         STR,  "",        0,    511,        "",                    "",    PLUGIN,
	"path or name of the tuner that NCCL would load without ncclbpf; "
	"ncclbpf calls it first, and policies see its answer as NCCL's own choice")
PARAM(NET,                 ENUM, "on",      0,    1,          "on|off",              "",    PLUGIN,
	"off: ncclbpf offers no network device, even if NCCL_NET_PLUGIN names it, "
	"and NCCL uses its own IB or Socket")
PARAM(VERBS,               ENUM, "off",     0,    1,          "off|on",              "",    PLUGIN,
	"on: open libncclbpf-verbs.so before NCCL's own InfiniBand transport, so policies "
	"and the shell see its queue pairs; needs ncclbpf in NCCL_NET_PLUGIN or NCCL_ENV_PLUGIN")
PARAM(CHAIN_NET,           STR,  "",        0,    511,        "",                    "",    PLUGIN,
	"net plugin to wrap, if NCCL_NET_PLUGIN names ncclbpf; "
	"tcp or empty: libnccl-net-tcp.so, which is installed beside libncclbpf.so")
PARAM(PROFILER_CONNECT,    ENUM, "on",      0,    1,          "on|off",              "",    PLUGIN,
	"when NCCL connects its profiler channels. on: at a communicator's first collective; "
	"off: at the first collective whose GPU time is measured, which waits for the connection")
PARAM(GIN,                 ENUM, "off",     0,    1,          "off|on",              "",    PLUGIN,
	"on: carry puts and signals of GPU kernels (NCCL's GIN), instead of NCCL's own or another "
	"plugin; over TCP, if NCCLBPF_CHAIN_GIN names no plugin")
PARAM(CHAIN_GIN,           STR,  "",        0,    511,        "",                    "",    PLUGIN,
	"GIN or RMA plugin to wrap; tcp: libnccl-net-tcp.so, which is installed beside "
	"libncclbpf.so; empty: none, or tcp with NCCLBPF_GIN=on")
PARAM(GIN_QUEUE,           INT,  "256",     32,   32768,      "",                    "1",   PLUGIN,
	"outstanding operations of a GIN context to a peer; a power of two")
PARAM(GIN_CONNECT_MS,      INT,  "60000",   10,   3600000,    "",                    "ms",  PLUGIN,
	"longest wait for all ranks to connect GIN; after that the log names the missing ranks")
PARAM(GIN_STALL_MS,        INT,  "10000",   10,   3600000,    "",                    "ms",  PLUGIN,
	"time after which a peer that takes no data counts as stalled: "
	"the log then names this peer, and all puts to this peer fail")
PARAM(CHAIN_PROFILER,      STR,  "",        0,    511,        "",                    "",    PLUGIN,
	"path or name of the profiler that NCCL would load without ncclbpf; "
	"it gets every event that it requests")
PARAM(TIMES,               STR,  "",        0,    200,        "",                    "",    PLUGIN,
	"origin of the job's times if they are not measured, such as \"replayed from b300.csv\"; "
	"the shell names it wherever it shows times")
PARAM(FLEET,               STR,  "",        0,    4096,       "",                    "",    BOTH,
	"URLs of etcd's members, with commas between; "
	"through etcd the hosts of a job agree on changes (docs/fleet.md). "
	"Set it in all processes of a job, or in none")
PARAM(FLEET_CACERT,        STR,  "",        0,    4096,       "",                    "",    BOTH,
	"PEM file of the authority that signed the members' certificates")
PARAM(FLEET_CERT,          STR,  "",        0,    4096,       "",                    "",    BOTH,
	"PEM file of the client certificate for etcd")
PARAM(FLEET_KEY,           STR,  "",        0,    4096,       "",                    "",    BOTH,
	"PEM file of the key of NCCLBPF_FLEET_CERT")
PARAM(FLEET_USER,          STR,  "",        0,    256,        "",                    "",    BOTH,
	"etcd user")
PARAM(FLEET_PASSWORD_FILE, STR,  "",        0,    4096,       "",                    "",    BOTH,
	"file with the etcd user's password, which only its owner may read")
PARAM(FLEET_AUDIT,         INT,  "1000",    16,   1000000,    "",                    "1",   PLUGIN,
	"entries of audit that ncclbpf-agent keeps in the store for a job; older ones are deleted")
PARAM(AGENT_LISTEN,        STR,  "",        0,    120,        "",                    "",    PLUGIN,
	"address and port at which ncclbpf-agent answers shells: 10.0.0.1:7070, [::]:0, :7070; "
	"empty: any free port, on all addresses if NCCLBPF_FLEET_CERT is set, "
	"otherwise on 127.0.0.1")
PARAM(AGENT_METRICS,       STR,  "",        0,    120,        "",                    "",    PLUGIN,
	"address and port at which ncclbpf-agent serves /metrics for Prometheus: 127.0.0.1:9400, "
	":9400 (on 127.0.0.1), 0.0.0.0:9400; empty: nowhere")
PARAM(ENV,                 STR,  "",        0,    4096,       "",                    "",    PLUGIN,
	"file of NAME=VALUE lines that replace variables of the environment for NCCL, "
	"if NCCL_ENV_PLUGIN names ncclbpf; \"unset NAME\" hides a variable")
PARAM(HISTORY,             STR,  "",        0,    4096,       "",                    "",    SHELL,
	"history file of the prompt; empty: a file in the state directory")
PARAM(PAGER,               STR,  "",        0,    4096,       "",                    "",    SHELL,
	"pager for long output on a terminal; unset: that of PAGER; empty: none")
PARAM(CLANG,               STR,  "",        0,    4096,       "",                    "",    SHELL,
	"program that compiles policies in C; empty: clang")
PARAM(INCLUDE,             STR,  "",        0,    4096,       "",                    "",    SHELL,
	"folder of ncclbpf_policy.h, for policies in C; "
	"empty: beside the shell, /usr/local or /usr")

#undef PARAM
