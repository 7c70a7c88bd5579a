-- SPDX-License-Identifier: MIT
-- The one description of each command of the shell: grammar, help, completion, manual
-- page, docs/shell.md and the functions of the Lua interface are made from it. A row without
-- syntax, role or help has those of the row of the same words in core/defs/commands.h, which
-- targets serve.
--
-- least    fewest arguments; without it: the words of the syntax outside of brackets
-- most     most arguments; without it: all words of the syntax, apart from options
-- run      "module:function" below ncclbpf, or a name that cli/app.lua knows
-- files    arguments may be files, of these suffixes (true: any)
-- paths    of these only words with a / complete as files
-- names    completes arguments: policies, maps, comms, collectives
-- many     this option may be given several times; its value is a list
-- dry      supports -n, which makes every check
-- tables   a script may pass a Lua table in place of a word: a key, a value, a plan, rows
-- fields   a script may pass a table as this option
-- variables  arguments behind the first may be NAME=VALUE, unless NAME is an option
-- details  examples and notes, for help and the manual page
local M = {}

local OBJECTS = { ".bpf.c", ".o", ".csv", ".lua", ".json" }
local POLICIES = { ".policy", table.unpack(OBJECTS) }
local COMPARED = { ".so", table.unpack(POLICIES) }
local PLANS = { ".lua", ".json" }

-- Options (name=VALUE) by name. A row's syntax says which it takes.
M.options = {
	["after"] = "continue after this key",
	["as"] = "show records as values of this type",
	["baseline"] = "compare with this combination",
	["before"] = "insert before this policy",
	["coherence"] = "off: accept answers that may differ between ranks",
	["comm"] = "only these communicators: identities, ranks:N, nodes:N, or others",
	["costs"] = "take NCCL's costs from the recorded decisions in this file",
	["count"] = "show the last N; with follow=yes or watch: show the next N, then end",
	["data"] = "read this file instead of asking the job",
	["events"] = "record only these events",
	["flags"] = "new: store only absent elements; old: store only existing elements",
	["every"] = "interval between two requests (1s, 200ms)",
	["follow"] = "yes: show new items until Ctrl-C, count= or the end; no: return at once",
	["format"] = "chrome or ndjson",
	["gpu"] = "no: do not measure kernel times, which cost some latency",
	["hidden"] = "keep: accept rows that never win",
	["if_generation"] = "refuse the change unless the job has this generation",
	["keep"] = "keep the last N files of size=",
	["label"] = "title of the report",
	["limit"] = "show at most this many items; all: no limit",
	["name"] = "name of the policy",
	["out"] = "write to this file",
	["over"] = "fields of the contexts, and their values",
	["position"] = "put the policy first or last among the policies in use",
	["proxy"] = "no: do not measure network times",
	["seconds"] = "stop after this time",
	["segment"] = "read the segment file of a job that has ended",
	["size"] = "stop, or begin the next file, when the file has this size (256M)",
	["start"] = "yes: later jobs of this name also start with these policies, as with job set",
	["to"] = "number of a generation of policy history",
	["contexts"] = "yes: show a row for each used context and peer",
	["uprobes"] = "no: time calls only by NCCL's events, not by uprobes",
}

-- Groups of help, by nouns. Nouns without a group belong to the last one.
M.groups = {
	{ name = "job", help = "Find jobs and look at one as a whole",
		nouns = { "list", "attach", "detach", "status", "doctor", "net", "gin", "verbs",
			"env", "controller", "change", "segment" } },
	{ name = "policies", help = "Verify, load, use and remove policies", nouns = { "policy" } },
	{ name = "maps", help = "Read and change the data of policies", nouns = { "map" } },
	{ name = "decisions", help =
		"Show decisions and their reasons, and check whether ranks agree",
		nouns = { "comm", "decision", "explain", "choices", "check" } },
	{ name = "measurements", help = "Measure the times of collectives, and record events",
		nouns = { "telemetry", "top", "stats", "sample", "trace", "metrics" } },
	{ name = "rollouts", help = "Compare policies on live traffic, and find the best table",
		nouns = { "rollout", "sweep" } },
	{ name = "several hosts", help =
		"Set the policies with which a job starts, and list its changes",
		nouns = { "job", "audit" } },
	{ name = "shell", help = "Repeat and time commands, show help, leave the shell",
		nouns = { "watch", "timing", "help", "quit" } },
}

M.rows = {
	{ "list", run = "commands.list:cmd_list", role = "observe",
		help = "List the jobs on this host, " ..
			"and the processes with NCCL that cannot be attached to, with the reason",
		details =
			"The status is 0 even if there is no job. " ..
			"Only root sees processes of other users." },
	{ "attach", run = "commands.general:cmd_attach", role = "observe",
		syntax = "[PID|JOB|SOCKET]",
		help = "Attach to a job (all its processes here), a process or a socket",
		details = [[
attach train        all processes of job train on this host
attach 4711         one process
attach train -r 0-3   only these ranks
Without this command, the shell attaches to the only job on the host.]] },
	{ "detach", run = "commands.general:cmd_detach", role = "observe",
		help = "Close the connections; the job continues" },
	{ "help", run = "commands.general:cmd_help",
		help = "List the commands, or explain one" },
	{ "policy new", run = "policy.new:cmd_new", role = "observe",
		syntax = "NAME",
		dry = true,
		help = "Make a folder with a policy in C, " ..
			"its test, a Makefile and flags for editors",
		details = [[
policy new mid_rings
make -C mid_rings test              compile, verify and test the policy
NAME may be a path. Existing files are not overwritten.]] },
	{ "policy test", run = "policy.test:cmd_test", role = "observe",
		syntax = "FILE",
		files = { ".lua" },
		help = "Run a policy on the cases of a Lua file and compare the answers; "
			.. "status 2 if one differs",
		details = [[
return { policy = "mid_rings.bpf.c",
  { name = "8 MiB", context = { coll = "allreduce", bytes = "8M" },
    answer = { algo = "ring", proto = "ll128" } } }
The command needs no job and prints TAP. policy: a file, or a list of files in the order of
policy use. For a folder NAME that policy new made, it runs NAME/NAME_test.lua.
If context omits a field, it has the value for 8 ranks on 1 node. If answer omits a field, it
must stay NCCL's choice. maps = {NAME = {[KEY] = VALUE}} fills maps before the case.
costs = {ring = {LL, LL128, SIMPLE}} gives NCCL's costs in microseconds, steps = {...} several
decisions, events (hook = "profiler/coll_done") and runs of controllers (hook = "controller") on the
same maps, and over = {...} a grid, on which answer and costs may be functions of the context.]] },
	{ "policy build", run = "policy.build:cmd_build", tables = true, role = "observe",
		syntax = "FILE [out=FILE] [name=NAME] [hidden=keep] [coherence=off]",
		files = OBJECTS, dry = true,
		help = "Make a policy image from C, a BPF object or a table " ..
			"(.csv with the columns of NVIDIA's tuner, .lua, or .json of NCCLX)",
		details = [[
policy build x.bpf.c                        clang, then x.policy
policy build x.bpf.o out=y.policy
policy build 'x.bpf.c?small=64K'            with another value of a parameter
policy build tuner.csv                      writes tuner.policy, verified
policy build tuner.csv out=tuner.bpf.o      an object that libbpf opens
For tables: hidden=keep accepts rows that never win; coherence=off uses rows with reg_buff, which
are otherwise left to NCCL.
policy load, verify, dump and diff also take objects and tables.]] },
	{ "policy export", run = "policy.build:cmd_export", role = "observe",
		syntax = "NAME|FILE [out=FILE]",
		files = POLICIES, names = "policies",
		help = "Write a policy of the job to a file; " ..
			"without out=FILE, print the rows of its table as CSV",
		details = [[
policy export force out=force.policy        the image
policy export tuner                         the rows of the table it was made from
policy export tuner.policy out=back.csv]] },
	{ "policy verify", run = "policy.policy:cmd_verify", tables = true, role = "observe",
		syntax = "FILE [coherence=strict|off]",
		files = POLICIES,
		help = "Verify a policy without a job",
		details = [[
policy verify x.bpf.c               clang compiles C first, also for policy load and build
The command needs no job. The status is 2 if the policy is refused. The message names the
instruction, the source line, the requirement, the known value, a path to the instruction,
and a remedy. -v adds the origin of these values, -vv every explored state.
coherence=off accepts answers that differ between ranks.]] },
	{ "policy load", run = "policy.policy:cmd_load", tables = true,
		syntax = "FILE [name=NAME]",
		files = POLICIES, dry = true,
		help = "Verify a policy in every process of the job and keep it; " ..
			"decisions do not change until policy use",
		details = [[
FILE is C (.bpf.c), an object (.bpf.o), an image (.policy) or a table (.csv, .lua, .json), and
'FILE?NAME=VALUE,NAME=VALUE' sets its parameters.
If one process refuses the policy, no process holds it. Next: policy use NAME]] },
	{ "policy dump", run = "policy.policy:cmd_dump",
		syntax = "NAME|FILE",
		files = POLICIES, names = "policies",
		help = "Disassemble a policy of the job or of a file, with source lines" },
	{ "policy diff", run = "policy.policy:cmd_diff", role = "observe",
		syntax = "A B",
		files = POLICIES, names = "policies",
		help = "Compare two policies (names or files): maps and instructions",
		details = [[
policy diff force force.policy      a policy of the job and a file
A name is a policy of the job; a word with / or ending in .o or .policy is a file.]] },
	{ "policy simulate", run = "policy.simulate:cmd_simulate", role = "observe",
		syntax = "NAME|FILE...|none [data=FILE|segment=FILE] [comm=ID] [limit=N] "
			.. "[coherence=off]",
		most = 16,
		files = POLICIES, names = "policies",
		help = "Repeat recorded decisions in the shell with these policies, " ..
			"and count the answers that differ" },
	{ "policy run", run = "policy.compare:cmd_run", tables = true, role = "observe",
		syntax = "NAME|FILE... [over=FIELDS] [costs=FILE] [coherence=off]",
		most = 16, fields = "over",
		files = POLICIES, names = "policies",
		help = "Run policies in the shell over a grid of contexts, and list the answers",
		details = [[
policy run x.bpf.o over={coll=allreduce, bytes=1K..1G, nodes={1,2,4}, ranks_per_node=8}
policy run -o csv x.bpf.o >x.csv     a decision table with the same answers
A range means its ends and the powers of two in it with their neighbours. Without over= the grid
has all collectives, sizes to 16 GiB, 8 numbers of nodes to 64 and 4 of ranks per node, and all
values at which rows of a table begin or end. Other fields are those of policy test.
Each combination but the sizes begins with fresh maps. NCCL decides where no row is listed.
costs=FILE: NCCL's costs, from decisions that were recorded with decision tail -o ndjson; the grid
has only recorded questions.]] },
	{ "policy compare", run = "policy.compare:cmd_compare", tables = true, role = "observe",
		syntax = "A B [over=FIELDS] [costs=FILE] [limit=N] [coherence=off]",
		fields = "over",
		files = COMPARED, names = "policies",
		help = "Ask two policies, or a policy and a native tuner, the same questions, "
			.. "and list where they differ; status 2 if they do",
		details = [[
policy compare x.bpf.c tuner.csv
policy compare tuner.csv libnccl-tuner-example.so over={bytes=1K..4G, nodes=1..16}
A and B are policies of the job, files, none (NCCL's own choice) or the .so of a native tuner, which
runs in a process of its own. over= and costs= are those of policy run. Without costs= the native
tuner sees a cost table in which NCCL's own choice costs 10 us and all others 20 us.]] },
	{ "policy use", run = "policy.change:cmd_use", tables = true,
		syntax = "NAME|FILE...|none|common [comm=ID,ID|others] [if_generation=N] "
			.. "[start=yes]",
		most = 16,
		files = POLICIES, paths = true, names = "policies", dry = true,
		help = "Use these policies, in this order, at a fence",
		details = [[
policy use size_aware force         both: force sees the answer of size_aware
policy use ./mine.policy            a word with / or ending in .o, .policy, .csv, .lua or .json is
                                    a file: the shell first loads it, like policy load
policy use 'limits?small=64K'       with other values of parameters, also of a file
policy use none                     NCCL decides by itself
policy use common comm=190b         the communicator gets the common policies again
Each rank changes at the fence, which is the number of a decision; change status tells which
ranks have passed it. -n checks the change in every process without making it.]] },
	{ "policy add", run = "policy.change:cmd_edit", tables = true,
		syntax = "NAME|FILE [before=NAME] [position=first|last] "
			.. "[comm=ID,ID|others] [if_generation=N]",
		files = POLICIES, paths = true, names = "policies", dry = true,
		help = "Append a policy, or insert it at a position, at a fence",
		details = [[
policy add force                    after the policies in use, so it decides last
policy add force before=size_aware  or position=first
The others keep their maps and counters; policy list shows the order.]] },
	{ "policy remove", run = "policy.change:cmd_edit",
		syntax = "NAME [comm=ID,ID|others] [if_generation=N]",
		names = "policies", dry = true,
		details = [[
policy remove force                 the other policies keep their order
The processes still hold it: policy add uses it again, policy unload drops it.]] },
	{ "policy move", run = "policy.change:cmd_edit",
		syntax = "NAME [before=NAME] [position=first|last] [comm=ID,ID|others] "
			.. "[if_generation=N]",
		names = "policies", dry = true,
		details = [[
policy move force position=first    or position=last, or before=NAME
Each policy sees the answer of the policy before it, so the last one decides.]] },
	{ "policy replace", run = "policy.change:cmd_replace", tables = true,
		syntax = "NAME NAME|FILE [comm=ID,ID|others] [if_generation=N]",
		files = POLICIES, paths = true, names = "policies", dry = true,
		details = [[
policy replace force ./force.policy     at the same place in the order
The new policy starts with the maps of its image. If it differs from the old one in values of
parameters alone, it takes over the coherent maps.]] },
	{ "policy set", run = "policy.change:cmd_set", variables = true,
		syntax = "NAME PARAMETER=VALUE... [comm=ID,ID|others] [if_generation=N]",
		most = 64,
		names = "policies", dry = true, role = "control",
		help = "Change parameters of a policy in use, at a fence",
		details = [[
policy set limits small=64K middle=16M
policy show limits                  the parameters, their values and ranges
The shell sets the values in the policy's image, every process verifies it, and it takes the place
of the policy. Coherent maps keep their contents; local maps start anew. policy undo returns to the
earlier values. A value is a number, or a number with K, M, G or T.]] },
	{ "policy undo", run = "policy.change:cmd_undo",
		syntax = "[to=N] [if_generation=N]",
		dry = true,
		details = [[
Policies and coherent maps return to their state before the last change. A second undo
undoes the first undo. To go further back, give to=GENERATION or use policy use.]] },
	{ "policy history", run = "policy.change:cmd_history" },
	{ "job set", run = "commands.fleet:cmd_job_set", role = "control",
		syntax = "JOB FILE...|none",
		most = 16,
		files = POLICIES,
		help = "Store the policies, in their order, with which a job of this name starts",
		details = [[
job set llm-7b size_aware.policy force.policy
The job need not run. Its agents find the images in the store by digest. A running job
keeps its policies; policy use changes them.]] },
	{ "job show", run = "commands.fleet:cmd_job_show", role = "observe",
		syntax = "JOB",
		help = "Show the policies with which a job of this name starts, and who set them" },
	{ "job clear", run = "commands.fleet:cmd_job_clear", role = "control",
		syntax = "JOB",
		help = "Let a job of this name start with NCCL's own choice" },
	{ "job diff", run = "commands.fleet:cmd_job_diff", role = "observe",
		syntax = "FILE",
		files = "paths",
		help = "Compare FILE with the stored start policies of its job; " ..
			"status 1 if they differ",
		details = [[
FILE is JSON: {"job": "llm-7b", "policies": ["size_aware.policy"]}, paths start at its folder.]] },
	{ "job apply", run = "commands.fleet:cmd_job_apply", role = "control",
		syntax = "FILE",
		files = "paths",
		help = "Store the start policies of FILE, if the stored policies differ",
		details = [[
For configurations of jobs in git: run job diff, then job apply.]] },
	{ "audit", run = "commands.fleet:cmd_audit", role = "observe",
		syntax = "[count=N]",
		help = "List the changes of a job of several hosts: time, user, request, outcome",
		details = [[
audit count=20                      the last twenty
Each change gets an entry before it begins. The transaction that commits the change writes
the outcome. "not carried out": the shell ended before a coordinator took the request.]] },
	{ "policy unload", run = "policy.change:cmd_unload",
		syntax = "NAME",
		names = "policies", dry = true },
	{ "policy list", run = "policy.policy:cmd_list" },
	{ "policy show", run = "policy.policy:cmd_show",
		names = "policies" },
	{ "policy time", run = "policy.policy:cmd_time",
		details = [[
policy time on                      every 64th decision reads the clock around each policy
policy show force                   mean time, without the time of reading the clock
policy time off                     stop timing, and keep the times so far]] },
	{ "map list", run = "map.map:cmd_list" },
	{ "map show", run = "map.map:cmd_show",
		names = "maps",
		help = "Show the definition, fill and types of one map" },
	{ "map dump", run = "map.map:cmd_dump",
		syntax = "MAP [limit=N|all] [after=KEY] [follow=yes] [every=TIME] [count=N]",
		names = "maps",
		help = "List the elements of a map with their types, at most 10,000 without limit=",
		details = [[
map dump limits limit=100 after=7
map dump outcomes follow=yes every=200ms    then each change; count=N ends after N rounds]] },
	{ "map get", run = "map.map:cmd_get", tables = true,
		least = 2, most = 1000,
		names = "maps",
		help = "Show elements; KEY is a number, a word, {field=value}, hex:... " ..
			"or a variable of a data section",
		details = [[
map get force 0
map get peers {rank=3, host=0x10}]] },
	{ "map set", run = "map.write:cmd_set", tables = true, variables = true,
		syntax = "MAP KEY VALUE...|VARIABLE=VALUE... [flags=any|new|old] [if_generation=N]",
		least = 2, most = 2001,
		names = "maps", dry = true,
		help = "Store elements; " ..
			"a coherent map takes all of them at one fence on all ranks, or none",
		details = [[
map set force 0 {algo=ring, proto=ll128, channels=8, enabled=1}
map set limits 1 100 2 200          several elements, one change
Omitted fields are zero. help values describes keys and values. flags=new: store only
absent elements; flags=old: store only existing elements.]] },
	{ "map remove", run = "map.write:cmd_remove", tables = true,
		syntax = "MAP KEY... [if_generation=N]",
		most = 1000,
		names = "maps", dry = true,
		help = "Remove elements; a coherent map drops all of them at one fence, or none" },
	{ "map load", run = "map.write:cmd_load",
		syntax = "MAP FILE [flags=any|new|old] [if_generation=N]",
		files = { ".tsv", ".csv", ".json", ".ndjson" }, names = "maps", dry = true,
		help = "Store the elements of a file that map dump wrote (tsv, "
			.. "csv, json, ndjson)" },
	{ "map pop", run = "map.pop:cmd_pop",
		syntax = "MAP [count=N] [follow=yes] [as=TYPE]",
		names = "maps", dry = true,
		help = "Remove and show the next records of a ring buffer" },
	{ "map attach", run = "map.host:cmd_attach",
		syntax = "MAP SOURCE",
		least = 2, most = 2,
		files = true, names = "maps",
		help = "Make memory of this host the contents of all host maps of this name, " ..
			"also in policies loaded later",
		details = [[
map attach host /sys/fs/bpf/host       a frozen BPF array, by the path where it is pinned
map attach host id:12                  by its number
map attach host /proc/1234/fd/5        a sealed memory file of a process
The array has BPF_F_MMAPABLE and the definition of the host map. The file has the size of such
an array, and the seals F_SEAL_SHRINK and F_SEAL_FUTURE_WRITE. map show shows the age of the
values.]] },
	{ "map detach", run = "map.host:cmd_detach",
		syntax = "MAP",
		names = "maps",
		help = "Detach the memory from the host maps of this name, " ..
			"which then contain zeroes" },
	{ "comm list", run = "commands.comm:cmd_list",
		syntax = "[comm=ID]" },
	{ "comm show", run = "commands.comm:cmd_show",
		syntax = "[COMM]",
		names = "comms",
		help = "Show one communicator: decisions by collective, size and answer",
		details = [[
COST is NCCL's predicted time of the answer, NCCL the predicted time of its own choice, and
SLOWER % the difference: below 0 the answer is faster. COMM may be a unique prefix.
comm show -o csv    a line for each rank, collective and size]] },
	{ "check agreement", run = "commands.check:cmd_agreement",
		syntax = "[comm=ID] [segment=FILE...]",
		many = "segment",
		help = "Compare the decisions of all ranks; status 2 if they differ",
		details = [[
For a job of several hosts, the command compares the ranks of all sites. After a crash, fetch
the segment file of each host: check agreement segment=a/train.seg segment=b/train.seg]] },
	{ "segment list", run = "commands.segment:cmd_list", role = "observe",
		help = "List the segments in the job directories: their jobs, size and use",
		details = [[
The segment of a job that was killed stays, so check agreement segment=FILE can compare its
ranks. NCCLBPF_KEEP_SEGMENTS and NCCLBPF_KEEP_SEGMENTS_HOURS limit how many stay.]] },
	{ "segment remove", run = "commands.segment:cmd_remove", role = "control",
		syntax = "JOB|all",
		help = "Remove the segments of ended jobs; segments in use stay",
		details = [[
segment remove train        the segment of the ended job train
segment remove all          the segments of all ended jobs]] },
	{ "explain", run = "commands.comm:cmd_explain",
		names = "collectives",
		details = [[
explain allreduce 4M
explain broadcast 65536 comm=190b
The output shows NCCL's own choice, the answer after each policy, and the final answer.]] },
	{ "choices", run = "commands.choices:cmd_choices", role = "observe",
		syntax = "[COLLECTIVE] [comm=ID]",
		names = "collectives",
		help = "Show what a communicator would choose for each power of two to 16 GiB, "
			.. "by whom, and NCCL's own choice",
		details = [[
choices                        allreduce, of the communicator with the most ranks
choices allgather comm=190b
choices -o tsv                 a line for each process and size; -o wide: for each size
The job computes the answers as explain does, without traffic. NCCL's choice for a size is that of
the latest decision from this size to the next power of two. It is not known until NCCL has asked
about such a size. A wrapped tuner (NCCLBPF_CHAIN_TUNER) chooses before NCCL's own choice is seen,
so BY names both.]] },
	{ "decision tail", run = "commands.comm:cmd_decisions",
		syntax = "[count=N] [comm=ID] [follow=yes]",
		help = "Show the last decisions",
		details = [[
decision tail count=5          the last five
decision tail follow=yes       each new decision until Ctrl-C
REFUSED is the reason why a policy's answer was dropped; NCCL's own choice was used.]] },
	{ "trace start", run = "trace.trace:cmd_start",
		syntax = "[out=FILE] [format=chrome|ndjson] [size=SIZE] [keep=N] [seconds=S] "
			.. "[events=LIST]",
		help = "Record events of NCCL's profiler into a file; " ..
			"without out=FILE, each process keeps its latest events" },
	{ "trace stop", run = "trace.trace:cmd_stop",
		syntax = "[out=FILE] [format=chrome|ndjson] [size=SIZE]",
		help = "Stop recording in the processes; " ..
			"out=FILE: write the events that they keep" },
	{ "trace calls", run = "trace.calls:cmd_calls", role = "control",
		syntax = "[seconds=S] [uprobes=no] [out=FILE]",
		help = "Measure the CPU call, execution and elapsed time of each collective",
		details = "out=FILE also writes the data of this table as JSON." },
	{ "trace rdma", run = "trace.rdma:cmd_rdma", role = "control",
		syntax = "[seconds=S] [out=FILE]",
		help = "Compare the kernel's calls for queue pairs with the tap's counts (verbs)",
		details = "out=FILE writes a trace of both and of NCCL's events, " ..
			"for ui.perfetto.dev." },
	{ "trace status", run = "trace.trace:cmd_status" },
	{ "trace tail", run = "commands.comm:cmd_trace",
		syntax = "[count=N] [follow=yes]",
		help = "Show the lines that policies printed" },
	{ "env list", run = "commands.general:cmd_env" },
	{ "env set", run = "commands.general:cmd_env" },
	{ "env unset", run = "commands.general:cmd_env" },
	{ "env remove", run = "commands.general:cmd_env" },
	{ "net", run = "commands.net:cmd_net",
		syntax = "" },
	{ "gin", run = "commands.gin:cmd_gin",
		syntax = "[contexts=yes] [comm=ID]" },
	{ "verbs", run = "commands.verbs:cmd_verbs",
		syntax = "" },
	{ "telemetry", run = "commands.stats:cmd_telemetry" },
	{ "stats", run = "commands.stats:cmd_stats",
		syntax = "[COLLECTIVE|tags|gin] [comm=ID]",
		names = "collectives",
		help = "Show the times that telemetry has measured, " ..
			"by collective, size, algorithm and protocol",
		details = [[
stats tags shows the times of the calls that the application has tagged (userProfilerTag,
NCCL 2.31), by tag. stats gin shows the puts and signals of kernels, by context and peer.]] },
	{ "sample tail", run = "commands.stats:cmd_samples" },
	{ "top", run = "commands.top:cmd_top", role = "observe",
		syntax = "[every=TIME]",
		help = "Watch the job on a full screen: " ..
			"bandwidth by size, communicators, slowest ranks, policies, alerts",
		details = [[
Keys: 1 to 5 choose the table, Enter explains a row, s sorts, p pauses, ? lists all keys,
q quits. every= is the interval between two requests to the job, 2s by default.]] },
	{ "metrics", run = "commands.metrics:cmd_metrics", role = "observe",
		syntax = "[out=FILE]",
		help = "Print measurements and the job's state as Prometheus text, " ..
			"or write them to a file",
		details = "watch 15 metrics out=FILE replaces the file every 15 seconds, " ..
			"for the textfile collector of node_exporter." },
	{ "rollout plan", run = "commands.rollout:cmd_plan", tables = true, role = "observe",
		syntax = "FILE",
		files = PLANS,
		help = "Check a plan and print its steps" },
	{ "rollout start", run = "commands.rollout:cmd_start", tables = true, role = "control",
		syntax = "FILE [data=FILE] [follow=no]",
		files = PLANS, dry = true,
		help = "Alternate between baseline and candidate, " ..
			"compare them, then promote or roll back",
		details = [[
A separate process runs the rollout, and continues when the shell is closed or killed.
Ctrl-C pauses the rollout. Any shell may run rollout status, pause, resume, promote or abort.]] },
	{ "rollout list", run = "commands.rollout:cmd_list", role = "observe",
		help = "List the rollouts of all jobs of the store, or of this host's jobs" },
	{ "rollout status", run = "commands.rollout:cmd_status", role = "observe",
		syntax = "[follow=yes] [data=ROLLOUT]",
		help = "Show the rollout of the job: state, blocks, verdict by kind of collective",
		details = "follow=yes updates the state until the rollout ends or pauses. " ..
			"After Ctrl-C the rollout continues." },
	{ "rollout pause", run = "commands.rollout:cmd_pause", role = "control",
		help = "Return to the baseline until the command rollout resume" },
	{ "rollout resume", run = "commands.rollout:cmd_resume", role = "control",
		syntax = "[follow=no]",
		help = "Continue a rollout that is paused, or whose runner has ended" },
	{ "rollout promote", run = "commands.rollout:cmd_promote", role = "control",
		help = "Use the candidate now, whatever the verdict" },
	{ "rollout abort", run = "commands.rollout:cmd_abort", role = "control",
		help = "Return to the baseline and end the rollout" },
	{ "rollout undo", run = "commands.rollout:cmd_undo", role = "control",
		help = "Return to the baseline after a promotion" },
	{ "rollout report", run = "commands.rollout:cmd_report", role = "observe",
		syntax = "[out=FILE] [data=ROLLOUT] [label=TEXT]",
		help = "Write a report as one HTML file (NAME.html without out=), " ..
			"and every time as CSV beside it" },
	{ "rollout history", run = "commands.rollout:cmd_history", role = "observe",
		help = "List every change of the rollout's state with its reason" },
	{ "sweep start", run = "commands.sweep:cmd_start", tables = true, role = "control",
		syntax = "PLAN [out=FILE] [data=FILE] [baseline=COMBINATION] [follow=no]",
		files = PLANS, dry = true,
		help = "Try combinations on the job's own traffic, " ..
			"or compare measurements in files, and print the best table" },
	{ "sweep status", run = "commands.sweep:cmd_status", role = "observe",
		syntax = "[follow=yes] [out=FILE]",
		help = "Show the job's sweep; follow=yes: " ..
			"follow it to its end, then show its table" },
	{ "sweep abort", run = "commands.sweep:cmd_abort", role = "control",
		help = "End the sweep and return to the baseline" },
	{ "status", run = "commands.general:cmd_status",
		help = "Show the job: versions, policies, generation, communicators, counters" },
	{ "doctor", run = "commands.general:cmd_doctor",
		details = "The status is 2 if a check is bad, and 0 if there are only warnings." },
	{ "controller status", run = "commands.controller:cmd_status" },
	{ "controller pause", run = "commands.controller:cmd_pause" },
	{ "controller resume", run = "commands.controller:cmd_resume" },
	{ "change status", run = "commands.general:cmd_change_status",
		details =
			"A change takes effect on a rank when the rank reaches the fence. " ..
				"PASSED counts these ranks." },
	{ "watch", run = "watch", role = "observe",
		syntax = "SECONDS [count=N] COMMAND...",
		most = 64,
		help = "Repeat a command until Ctrl-C, or count=N times",
		details = [[
watch 2 comm list
watch 500ms count=10 status]] },
	{ "timing", run = "timing", role = "observe",
		syntax = "[on|off]",
		help = "After each command, print its duration and its number of round trips" },
	{ "quit", run = "quit", role = "observe",
		help = "Leave the shell; the job continues" },
	{ "change commit",
		syntax = "DIGEST [if_generation=N]", -- fleet= is for the agent
		details =
		"You need this only if a shell or controller died in the middle of a change." },
	{ "change abort",
		details =
		"You need this only if a shell or controller died in the middle of a change." },
}

return M
