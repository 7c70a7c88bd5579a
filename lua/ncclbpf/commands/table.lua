-- SPDX-License-Identifier: MIT
-- The one description of each command of the shell: grammar, help, completion, manual
-- page, docs/shell.md and the functions of the Lua interface are made from it. What a row
-- does not have (syntax, least, most, role, help) is that of the row of the same words in
-- core/defs/commands.h, which targets serve.
--
-- run      "module:function" below ncclbpf, or a name that cli/app.lua knows
-- files    arguments may be files; "paths": only with a / in them
-- names    completes arguments: policies, maps, comms, collectives
-- dry      supports -n, which makes every check
-- details  examples and notes, for help and the manual page
local M = {}

-- Options (name=VALUE) by name. A row's syntax says which it takes.
M.options = {
	["after"] = "continue behind this key",
	["as"] = "show records as this type",
	["baseline"] = "compare with this combination",
	["before"] = "insert before this policy",
	["coherence"] = "off: accept answers that may differ between ranks",
	["comm"] = "only these communicators: identities, ranks:N, nodes:N, or others",
	["count"] = "stop after this many",
	["data"] = "read this file instead of asking the job",
	["events"] = "record only these events",
	["first"] = "yes: at the first position; a number: only that many decisions",
	["flags"] = "new: only elements that are absent; old: only those that are present",
	["follow"] = "yes: continue until Ctrl-C or count=",
	["format"] = "chrome or ndjson",
	["gpu"] = "no: without the times of kernels, which cost some latency",
	["hidden"] = "keep: accept rows that never win",
	["if_generation"] = "refuse the change unless the job has this generation",
	["keep"] = "keep the last N files of size=",
	["label"] = "title of the report",
	["last"] = "yes: at the last position",
	["limit"] = "at most this many; all: no limit",
	["name"] = "name of the policy",
	["plot"] = "draw a picture in characters",
	["proxy"] = "no: without the times of the network",
	["ranks"] = "only these ranks: 0-7,12",
	["resume"] = "yes: continue the rollout that this script began",
	["seconds"] = "stop after this time",
	["segment"] = "read the segment file of a job that is gone",
	["size"] = "stop, or begin the next file, at this size (256M)",
	["svg"] = "write the figures into this folder too",
	["to"] = "this generation of policy history",
	["watch"] = "no: return at once, and let it run in the background",
	["uprobes"] = "no: time calls by the events of NCCL alone",
}

M.rows = {
	{ "list", run = "commands.general:cmd_list",
		syntax = "",
		least = 0, most = 0,
		role = "observe",
		help = "List the jobs on this host, and the processes with NCCL that cannot be "
			.. "attached to, with the reason",
		details =
			"Status 0 also when there is none. Processes of other users: only "
			.. "root sees them." },
	{ "attach", run = "commands.general:cmd_attach",
		syntax = "[PID|JOB|SOCKET] [ranks=0-7]",
		least = 0, most = 1,
		role = "observe",
		help = "Attach to a job (all its processes here), a process or a socket",
		details = [[
attach train        all processes of job train on this host
attach 4711         one process
attach train ranks=0-3
The shell attaches by itself where there is one job only.]] },
	{ "detach", run = "commands.general:cmd_detach",
		syntax = "",
		least = 0, most = 0,
		role = "observe",
		help = "Close the connections; the job continues" },
	{ "help", run = "commands.general:cmd_help",
		help = "List the commands, or explain one" },
	{ "policy build", run = "policy.policy:cmd_build",
		syntax = "FILE [-o FILE] [name=NAME]",
		least = 1, most = 1,
		role = "observe",
		files = true, dry = true,
		help = "Make a policy image of a BPF object",
		details = [[
clang -target bpf -O2 -g -I PREFIX/include/ncclbpf -c x.bpf.c -o x.bpf.o
policy build x.bpf.o -o x.policy]] },
	{ "policy compile", run = "policy.table:cmd_compile",
		syntax = "FILE [-o FILE] [name=NAME] [hidden=keep] [coherence=off]",
		least = 1, most = 1,
		role = "observe",
		files = true, dry = true,
		help = "Make a policy of a table (.csv in the columns of NVIDIA's tuner, or .lua) "
			.. "and verify it",
		details = [[
policy compile tuner.csv                    writes tuner.policy
policy compile tuner.csv -o tuner.bpf.o     an object that libbpf opens
hidden=keep: rows that never win are no error. coherence=off: rows may ask for reg_buff.
policy load, verify, dump and diff take .csv and .lua files as they are.]] },
	{ "policy export", run = "policy.table:cmd_export",
		syntax = "NAME|FILE [TO]",
		least = 1, most = 2,
		role = "observe",
		files = true, names = "policies",
		help = "Print or write the rows of a policy that was made from a table, as CSV",
		details = [[
policy export tuner                         the rows of a policy in the job
policy export tuner.policy back.csv]] },
	{ "policy verify", run = "policy.policy:cmd_verify",
		syntax = "FILE [coherence=strict|off]",
		least = 1, most = 1,
		role = "observe",
		files = true,
		help = "Verify a policy here, as a job would",
		details = [[
Needs no job. Status 2 when refused: the message names instruction, source line, what was
required and what was known, the shortest way there and what to do. -v adds how the values that
matter became what they are, -vv every state of the walk. coherence=off accepts answers that
differ between ranks.]] },
	{ "policy load", run = "policy.policy:cmd_load",
		syntax = "FILE [name=NAME]",
		files = true, dry = true,
		help = "Verify a policy in every process of the job and hold it; the job decides "
			.. "as before",
		details = [[
FILE is an object (.bpf.o) or an image (.policy). All processes of the job accept it or
none holds it. Then: policy use NAME]] },
	{ "policy get", run = "policy.policy:cmd_get",
		syntax = "NAME|FILE [TO]",
		least = 1, most = 2,
		files = true, names = "policies",
		help = "Write the image of a policy to a file" },
	{ "policy dump", run = "policy.policy:cmd_dump",
		syntax = "NAME|FILE",
		files = true, names = "policies",
		help = "Disassemble a policy of the job or of a file, with source lines" },
	{ "policy diff", run = "policy.policy:cmd_diff",
		syntax = "A B",
		least = 2, most = 2,
		role = "observe",
		files = true, names = "policies",
		help = "Compare two policies (names or files): maps and instructions",
		details = [[
policy diff force force.policy      a policy of the job and a file
Names stand for policies in the job; a word with / or ending in .o or .policy is a file.]] },
	{ "policy simulate", run = "policy.simulate:cmd_simulate",
		syntax = "NAME|FILE...|none [data=FILE|segment=FILE] [comm=ID] [first=N] "
			.. "[coherence=off]",
		least = 1, most = 16,
		role = "observe",
		files = true, names = "policies",
		help = "Decide recorded decisions again with these policies, here, and count the "
			.. "answers that differ" },
	{ "policy use", run = "policy.change:cmd_use",
		syntax = "NAME|FILE...|none|common [comm=ID,ID|others] [if_generation=N]",
		files = "paths", names = "policies", dry = true,
		help = "Decide with these policies, in this order, from a fence on",
		details = [[
policy use size_aware force         both, each sees what the one before it answered
policy use ./mine.policy            a word with / or ending in .o, .policy, .csv or .lua is a
                                    file: loaded first, as policy load does it
policy use none                     NCCL decides by itself
policy use common comm=190b         that communicator decides as the others do
Nothing changes until all ranks are at the fence, the number of a decision; change status
says whether they have come by. -n asks every process whether it could.]] },
	{ "policy add", run = "policy.change:cmd_edit",
		syntax = "NAME|FILE [before=NAME] [first=yes] [last=yes] "
			.. "[comm=ID,ID|others] [if_generation=N]",
		files = "paths", names = "policies", dry = true,
		help = "Append a policy, or insert it at a position, from a fence on",
		details = [[
policy add force                    behind those in use: it has the last word
policy add force before=size_aware  or first=yes
The others keep their maps and counters; policy list shows the order.]] },
	{ "policy remove", run = "policy.change:cmd_edit",
		syntax = "NAME [comm=ID,ID|others] [if_generation=N]",
		names = "policies", dry = true,
		details = [[
policy remove force                 the others stay in their order
It is held on: policy add brings it back, policy discard forgets it.]] },
	{ "policy move", run = "policy.change:cmd_edit",
		syntax = "NAME [before=NAME] [first=yes] [last=yes] [comm=ID,ID|others] "
			.. "[if_generation=N]",
		names = "policies", dry = true,
		details = [[
policy move force first=yes         or last=yes, or before=NAME
Each sees what the one before it answered, so the last one decides.]] },
	{ "policy undo", run = "policy.change:cmd_undo",
		syntax = "[to=N] [if_generation=N]",
		dry = true,
		details = [[
Policies and coherent maps are again what they were before the last change. A second
undo takes back the first: to go further back, name what you want with policy use.]] },
	{ "policy history", run = "policy.change:cmd_history" },
	{ "policy discard", run = "policy.change:cmd_discard",
		syntax = "NAME",
		names = "policies", dry = true },
	{ "policy list", run = "policy.policy:cmd_list" },
	{ "policy show", run = "policy.policy:cmd_show",
		names = "policies" },
	{ "policy time", run = "policy.policy:cmd_time",
		details = [[
policy time on                      every 64th decision reads the clock around each policy
policy show force                   mean time, less that of reading the clock
policy time off                     costs nothing from then on; what was taken stays]] },
	{ "map list", run = "map.map:cmd_list" },
	{ "map show", run = "map.map:cmd_show",
		names = "maps",
		help = "Show the definition, fill and types of one map" },
	{ "map dump", run = "map.map:cmd_dump",
		syntax = "MAP [limit=N|all] [after=KEY]",
		names = "maps",
		help = "List the elements of a map, typed; 10,000 without limit=",
		details = "map dump limits limit=100 after=7" },
	{ "map get", run = "map.map:cmd_get",
		least = 2, most = 1000,
		names = "maps",
		help = "Show elements; KEY is a number, a word, {field=value}, hex:... or a "
			.. "variable of a data section",
		details = [[
map get force 0
map get peers {rank=3, host=0x10}]] },
	{ "map set", run = "map.write:cmd_set",
		syntax = "MAP KEY VALUE...|VARIABLE=VALUE... [flags=any|new|old] [if_generation=N]",
		least = 2, most = 2001,
		names = "maps", dry = true,
		help = "Store elements; a coherent map takes all of them at one fence on all "
			.. "ranks, or none",
		details = [[
map set force 0 {algo=ring, proto=ll128, channels=8, enabled=1}
map set limits 1 100 2 200          several elements, one change
Fields that are left out are zero. help values says what keys and values may be.
flags=new: only elements that are not there yet; flags=old: only those that are.]] },
	{ "map del", run = "map.write:cmd_del",
		syntax = "MAP KEY... [if_generation=N]",
		least = 2, most = 1000,
		names = "maps", dry = true,
		help = "Remove elements; a coherent map drops all of them at one fence, or none" },
	{ "map load", run = "map.write:cmd_load",
		syntax = "MAP FILE [flags=any|new|old] [if_generation=N]",
		least = 2, most = 2,
		files = true, names = "maps", dry = true,
		help = "Store the elements of a file that map dump wrote (tsv, "
			.. "csv, json, ndjson)" },
	{ "map pop", run = "map.pop:cmd_pop",
		syntax = "MAP [COUNT] [follow=yes] [count=N] [as=TYPE]",
		names = "maps", dry = true,
		help = "Take the next values out of a queue, stack or ring buffer" },
	{ "map watch", run = "map.map:cmd_watch",
		syntax = "MAP [INTERVAL] [count=N]",
		least = 1, most = 2,
		role = "observe",
		names = "maps",
		help = "Show the elements, then each change, every second or INTERVAL",
		details = "map watch outcomes 200ms" },
	{ "comm list", run = "commands.comm:cmd_list",
		syntax = "" },
	{ "comm show", run = "commands.comm:cmd_show",
		syntax = "[COMM]",
		least = 0, most = 1,
		names = "comms",
		help = "Show one communicator: decisions by collective, size and answer",
		details = [[
COST is NCCL's modelled time of the answer, NCCL that of its own choice, GAIN what
the policy wins by that model. COMM may be the beginning of its digits.
comm show -o csv    a line for each rank, collective and size]] },
	{ "check agreement", run = "commands.check:cmd_agreement",
		syntax = "[comm=ID] [segment=FILE]",
		files = true,
		help = "Compare the decisions of all ranks; status 2 if they differ" },
	{ "explain", run = "commands.comm:cmd_explain",
		names = "collectives",
		details = [[
explain allreduce 4M
explain broadcast 65536 comm=190b
The steps are NCCL's own choice, each policy in order, and what is answered.]] },
	{ "decision tail", run = "commands.comm:cmd_decisions",
		syntax = "[COUNT] [comm=ID] [follow=yes] [count=N]",
		help = "Show the last decisions",
		details = [[
decision tail 5
decision tail follow=yes     until Ctrl-C
REFUSED says why an answer of a policy was not taken; NCCL's own choice stood then.]] },
	{ "trace start", run = "trace.trace:cmd_start",
		syntax = "[FILE] [format=chrome|ndjson] [size=SIZE] [keep=N] [seconds=S] "
			.. "[events=LIST]",
		least = 0, most = 1,
		files = true,
		help = "Record what NCCL's profiler tells into a file, or without FILE into the "
			.. "rings of the processes" },
	{ "trace stop", run = "trace.trace:cmd_stop",
		syntax = "[FILE] [format=chrome|ndjson] [size=SIZE]",
		least = 0, most = 1,
		files = true,
		help = "Stop recording into the rings; FILE: write what they hold there" },
	{ "trace calls", run = "trace.calls:cmd_calls",
		syntax = "[seconds=S] [uprobes=no]",
		least = 0, most = 0,
		role = "control",
		help = "Time NCCL's calls, the execution and the wall clock of each collective" },
	{ "trace status", run = "trace.trace:cmd_status" },
	{ "trace tail", run = "commands.comm:cmd_trace",
		syntax = "[COUNT] [follow=yes] [count=N]",
		help = "Show what policies printed" },
	{ "env list", run = "commands.general:cmd_env" },
	{ "env set", run = "commands.general:cmd_env" },
	{ "env unset", run = "commands.general:cmd_env" },
	{ "env forget", run = "commands.general:cmd_env" },
	{ "net", run = "commands.net:cmd_net",
		syntax = "" },
	{ "telemetry", run = "commands.stats:cmd_telemetry" },
	{ "stats", run = "commands.stats:cmd_stats",
		syntax = "[COLLECTIVE] [comm=ID] [plot=times|bandwidth] [count=N]",
		least = 0, most = 1,
		names = "collectives",
		help = "Show what telemetry has measured, by collective, size, algorithm and "
			.. "protocol" },
	{ "sample tail", run = "commands.stats:cmd_samples" },
	{ "metrics", run = "commands.metrics:cmd_metrics",
		syntax = "[FILE]",
		least = 0, most = 1,
		role = "observe",
		files = true,
		help = "Print what was measured and the state of the job as Prometheus text, or "
			.. "replace FILE by it" },
	{ "rollout plan", run = "commands.rollout:cmd_plan",
		syntax = "FILE",
		least = 1, most = 1,
		role = "observe",
		files = true,
		help = "Check a plan and print what it would do" },
	{ "rollout start", run = "commands.rollout:cmd_start",
		syntax = "FILE [data=FILE] [watch=no]",
		least = 1, most = 1,
		role = "control",
		files = true, dry = true,
		help = "Run baseline and candidate in turns, judge them, then promote or roll back",
		details = [[
A process of its own runs the rollout, and continues when the shell is closed or killed.
Ctrl-C pauses the rollout. Any shell: rollout status, watch, pause, promote, abort.]] },
	{ "rollout script", run = "commands.rollout:cmd_script",
		syntax = "FILE [ARGUMENT...] [data=FILE] [resume=yes] [watch=no]",
		least = 1, most = 64,
		role = "control",
		files = true, dry = true,
		help = "Run a rollout with functions of your own; ARGUMENT is NAME=VALUE" },
	{ "rollout status", run = "commands.rollout:cmd_status",
		syntax = "[plot=yes] [data=ROLLOUT]",
		least = 0, most = 0,
		role = "observe",
		help = "Show the rollout of the job: state, blocks, verdict by "
			.. "kind of collective" },
	{ "rollout pause", run = "commands.rollout:cmd_pause",
		syntax = "",
		least = 0, most = 0,
		role = "control",
		help = "Return to the baseline until rollout resume" },
	{ "rollout watch", run = "commands.rollout:cmd_watch",
		syntax = "",
		least = 0, most = 0,
		role = "observe",
		help = "Follow the rollout until it ends or pauses",
		details = "Ctrl-C ends the following; the rollout continues." },
	{ "rollout resume", run = "commands.rollout:cmd_resume",
		syntax = "[watch=no]",
		least = 0, most = 0,
		role = "control",
		help = "Continue, also where the process that ran the rollout is gone" },
	{ "rollout promote", run = "commands.rollout:cmd_promote",
		syntax = "",
		least = 0, most = 0,
		role = "control",
		help = "Decide with the candidate now, whatever the verdict" },
	{ "rollout abort", run = "commands.rollout:cmd_abort",
		syntax = "",
		least = 0, most = 0,
		role = "control",
		help = "Return to the baseline and end the rollout" },
	{ "rollout undo", run = "commands.rollout:cmd_undo",
		syntax = "",
		least = 0, most = 0,
		role = "control",
		help = "Return to the baseline after a promotion" },
	{ "rollout report", run = "commands.rollout:cmd_report",
		syntax = "FILE [data=ROLLOUT] [label=TEXT] [svg=FOLDER]",
		least = 1, most = 1,
		role = "observe",
		files = true,
		help = "Write the rollout as one HTML file, and every time as CSV beside it" },
	{ "rollout history", run = "commands.rollout:cmd_history",
		syntax = "",
		least = 0, most = 0,
		role = "observe",
		help = "List every transition with its reason" },
	{ "sweep", run = "commands.sweep:cmd_sweep",
		syntax = "PLAN|status|watch|abort [-o FILE] [data=FILE] "
			.. "[baseline=COMBINATION] [watch=no]",
		least = 1, most = 1,
		role = "control",
		files = true, dry = true,
		help = "Try combinations in turns on the job's own traffic, or judge measurements "
			.. "in files, and print the best table" },
	{ "status", run = "commands.general:cmd_status",
		help = "Show the job: versions, policies, generation, communicators, counters" },
	{ "doctor", run = "commands.general:cmd_doctor",
		details = "Status 2 when something is bad, 0 with warnings." },
	{ "controller status", run = "commands.controller:cmd_status" },
	{ "controller pause", run = "commands.controller:cmd_pause" },
	{ "controller resume", run = "commands.controller:cmd_resume" },
	{ "change status", run = "commands.general:cmd_change_status",
		details =
			"A change waits at its fence until every rank has come by: PASSED "
			.. "counts them." },
	{ "watch", run = "watch",
		syntax = "SECONDS COMMAND...",
		least = 2, most = 64,
		role = "observe",
		help = "Repeat a command until Ctrl-C or count=N rounds",
		details = [[
watch 2 comm list
watch 500ms status count=10]] },
	{ "timing", run = "timing",
		syntax = "[on|off]",
		least = 0, most = 1,
		role = "observe",
		help = "Print after each command how long it took and how many "
			.. "round trips it made" },
	{ "quit", run = "quit",
		syntax = "",
		least = 0, most = 0,
		role = "observe",
		help = "Leave the shell; the job continues" },
	{ "change commit",
		details =
		"Only needed when a shell or controller was lost in the middle of a change." },
	{ "change abort",
		details =
		"Only needed when a shell or controller was lost in the middle of a change." },
}

return M
