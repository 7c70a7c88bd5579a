-- SPDX-License-Identifier: MIT
-- One row a command of the shell. Rows that a target serves come from
-- core/tbl/commands.h; those below are the shell's own or say what is typed
-- here where that differs from the wire (a file instead of a descriptor).
-- dry: it does what -n says.
local core = require "ncclbpf.core"
local calls = require "ncclbpf.calls"
local check = require "ncclbpf.check"
local controller = require "ncclbpf.controller"
local comm = require "ncclbpf.comm"
local general = require "ncclbpf.general"
local map = require "ncclbpf.map"
local mapset = require "ncclbpf.mapset"
local mappop = require "ncclbpf.mappop"
local metrics = require "ncclbpf.metrics"
local net = require "ncclbpf.net"
local policy = require "ncclbpf.policy"
local rollout = require "ncclbpf.rolloutcmd"
local simulate = require "ncclbpf.simulate"
local stats = require "ncclbpf.stats"
local sweepcmd = require "ncclbpf.sweepcmd"
local trace = require "ncclbpf.trace"
local tables = require "ncclbpf.tables"

local M = {}

-- Parts of a conversation or of a change that people do not type.
M.hidden = { hello = true, cancel = true, ["trace read"] = true }

local own = {
	{ "list", "", 0, 0, "observe", "processes that can be attached to, and those with NCCL that cannot, with the reason", general.cmd_list },
	{ "attach", "[PID|JOB|SOCKET] [ranks=0-7]", 0, 1, "observe", "attach to a job (all its processes here), a process or a socket", general.cmd_attach },
	{ "detach", "", 0, 0, "observe", "close the connections; the job goes on", general.cmd_detach },
	{ "help", "[WORD] [WORD]", 0, 2, "observe", "list the commands, or explain one", general.cmd_help },
	{ "policy build", "FILE [-o FILE] [name=NAME]", 1, 1, "observe", "make a policy image of a BPF object", policy.cmd_build, files = true, dry = true },
	{ "policy compile", "FILE [-o FILE] [name=NAME] [hidden=keep] [coherence=off]", 1, 1, "observe", "make a policy of a table (.csv as NVIDIA's tuner reads it, .lua) and verify it; -o X.bpf.o: an object", tables.cmd_compile, files = true, dry = true },
	{ "policy export", "NAME|FILE [TO]", 1, 2, "observe", "the rows of a policy that was made from a table, as NVIDIA's CSV", tables.cmd_export, files = true, names = "policies" },
	{ "policy verify", "FILE [coherence=strict|off]", 1, 1, "observe", "judge a policy here, as a job would; -v: with notes", policy.cmd_verify, files = true },
	{ "policy load", "FILE [name=NAME]", 1, 1, "control", "verify a policy in every process of the job and hold it; nothing changes yet", policy.cmd_load, files = true, dry = true },
	{ "policy get", "NAME|FILE [TO]", 1, 2, "observe", "write a policy's image to a file", policy.cmd_get, files = true, names = "policies" },
	{ "policy dump", "NAME|FILE", 1, 1, "observe", "disassembly with source lines, of a policy in the job or a file", policy.cmd_dump, files = true, names = "policies" },
	{ "policy diff", "A B", 2, 2, "observe", "compare two policies (names or files): maps and instructions", policy.cmd_diff, files = true, names = "policies" },
	{ "policy simulate", "NAME|FILE...|none [data=FILE|segment=FILE] [comm=ID] [first=N] [coherence=off]", 1, 16, "observe", "recorded decisions once more, with these policies, here: what would differ, and NCCL's estimate of the times; data=: what decision tail -o ndjson wrote; segment=: of a job that is gone; status 2: answers differ", simulate.cmd_simulate, files = true, names = "policies" },
	{ "policy use", "NAME|FILE...|none|common [comm=ID,ID|others] [if_generation=N]", 1, 16, "control", "decide with these policies, in this order, from a fence on; none: NCCL's own choice; comm=: those communicators alone, and common: as the others", policy.cmd_use, files = "paths", names = "policies", dry = true },
	{ "policy add", "NAME|FILE [before=NAME] [first=yes] [last=yes] [comm=ID,ID|others] [if_generation=N]", 1, 1, "control", "decide with one policy more, behind those in use or where it is told, from a fence on", policy.cmd_edit, files = "paths", names = "policies", dry = true },
	{ "policy remove", "NAME [comm=ID,ID|others] [if_generation=N]", 1, 1, "control", "decide without that policy, from a fence on; the others stay", policy.cmd_edit, names = "policies", dry = true },
	{ "policy move", "NAME [before=NAME] [first=yes] [last=yes] [comm=ID,ID|others] [if_generation=N]", 1, 1, "control", "another place for a policy in use, from a fence on", policy.cmd_edit, names = "policies", dry = true },
	{ "policy undo", "[to=N] [if_generation=N]", 0, 0, "control", "go back to the generation before, or to generation N of policy history, at a fence", policy.cmd_undo, dry = true },
	{ "policy history", "", 0, 0, "observe", "the last 16 generations: when, by whom, and which can be gone back to", policy.cmd_history },
	{ "policy discard", "NAME", 1, 1, "control", "forget a policy that is not in use", policy.cmd_discard, names = "policies", dry = true },
	{ "policy list", "", 0, 0, "observe", "policies that the processes hold, and which are in use", policy.cmd_list },
	{ "policy show", "NAME", 1, 1, "observe", "one policy: hooks, maps, engine, runs, answers changed and refused, mean time", policy.cmd_show, names = "policies" },
	{ "policy time", "on|off", 1, 1, "control", "take the time of every 64th run of each policy, or no more", policy.cmd_time },
	{ "map list", "", 0, 0, "observe", "maps of the policies in use", map.cmd_list },
	{ "map show", "MAP", 1, 1, "observe", "definition, fill and types of one map", map.cmd_show, names = "maps" },
	{ "map dump", "MAP [limit=N|all] [after=KEY]", 1, 1, "observe", "elements, typed; 10000 unless limit= says otherwise", map.cmd_dump, names = "maps" },
	{ "map get", "MAP KEY...", 2, 1000, "observe", "one element, or several; KEY is a number, a word, {field=value}, hex:... or a variable of a data section", map.cmd_get, names = "maps" },
	{ "map set", "MAP KEY VALUE...|VARIABLE=VALUE... [flags=any|new|old] [if_generation=N]", 2, 2001, "control", "store elements; a coherent map takes all of them at one fence on all ranks, or none", mapset.cmd_set, names = "maps", dry = true },
	{ "map del", "MAP KEY... [if_generation=N]", 2, 1000, "control", "remove elements; in a coherent map all at one fence, or none", mapset.cmd_del, names = "maps", dry = true },
	{ "map load", "MAP FILE [flags=any|new|old] [if_generation=N]", 2, 2, "control", "store the elements of a file that map dump wrote (tsv, csv, json, ndjson), as map set does", mapset.cmd_load, files = true, names = "maps", dry = true },
	{ "map pop", "MAP [COUNT] [follow=yes] [count=N] [as=TYPE]", 1, 2, "control", "take out the next values of a queue, stack or ring buffer (1); follow=yes: and those to come, until Ctrl-C or count=N", mappop.cmd_pop, names = "maps", dry = true },
	{ "map watch", "MAP [INTERVAL] [count=N]", 1, 2, "observe", "show the elements, then what changes, every second or INTERVAL", map.cmd_watch, names = "maps" },
	{ "comm list", "", 0, 0, "observe", "communicators: ranks, nodes, decisions, generation", comm.cmd_list },
	{ "comm show", "[COMM]", 0, 1, "observe", "one communicator: decisions by collective, size and answer", comm.cmd_show, names = "comms" },
	{ "check agreement", "[comm=ID] [segment=FILE]", 0, 0, "observe", "do the ranks decide alike; of a job that hung or died: from its segment file", check.cmd_agreement, files = true },
	{ "explain", "COLLECTIVE SIZE [comm=ID]", 2, 2, "observe", "what would be decided for a collective and why", comm.cmd_explain, names = "collectives" },
	{ "decision tail", "[COUNT] [comm=ID] [follow=yes] [count=N]", 0, 1, "observe", "the last decisions; follow=yes: and those to come, until Ctrl-C or count=N", comm.cmd_decisions },
	{ "trace start", "[FILE] [format=chrome|ndjson] [size=SIZE] [keep=N] [seconds=S] [events=LIST]", 0, 1, "control", "write down what NCCL's profiler tells; with FILE: into it, until Ctrl-C, seconds= or size= (256M), or in the last N files of that size; without: into the processes' rings, until trace stop", trace.cmd_start, files = true },
	{ "trace stop", "[FILE] [format=chrome|ndjson] [size=SIZE]", 0, 1, "control", "end what trace start began; FILE: write what is in the rings there", trace.cmd_stop, files = true },
	{ "trace calls", "[seconds=S] [uprobes=no]", 0, 0, "control", "time NCCL's calls, the execution and the wall of each collective for S seconds (3), by uprobes where the kernel permits", calls.cmd_calls },
	{ "trace status", "", 0, 0, "observe", "which events are written down, how many were, how many were left out", trace.cmd_status },
	{ "trace tail", "[COUNT] [follow=yes] [count=N]", 0, 1, "observe", "what policies printed; follow=yes: and what they will", comm.cmd_trace },
	{ "env list", "", 0, 0, "observe", "variables that NCCL finds with another value than the environment's, and whether it has looked", general.cmd_env },
	{ "env set", "NAME VALUE", 2, 2, "control", "NCCL finds this value from its next look on; what it has read and keeps stays", general.cmd_env },
	{ "env unset", "NAME", 1, 1, "control", "NCCL finds the variable not set", general.cmd_env },
	{ "env forget", "NAME", 1, 1, "control", "NCCL finds what the environment has", general.cmd_env },
	{ "net", "", 0, 0, "observe", "what the net plugin moves data with, its counters and its connections", net.cmd_net },
	{ "telemetry", "on|off|clear [gpu=yes|no] [proxy=yes|no]", 1, 1, "control", "measure every collective from now on, or no more; gpu=no, proxy=no: without the kernels', the network's times", stats.cmd_telemetry },
	{ "stats", "[COLLECTIVE] [comm=ID] [plot=times|bandwidth] [count=N]", 0, 1, "observe", "what telemetry has measured, by collective, size, algorithm and protocol; plot=: the last of it as a picture; -w: again every second", stats.cmd_stats, names = "collectives" },
	{ "sample tail", "[COUNT] [comm=ID]", 0, 1, "observe", "how long the last collectives of each communicator took", stats.cmd_samples },
	{ "metrics", "[FILE]", 0, 1, "observe", "what stats shows and how the job stands as Prometheus text, with Inspector's names; FILE: written there at once", metrics.cmd_metrics, files = true },
	{ "rollout plan", "FILE", 1, 1, "observe", "check a plan and say what it would do", rollout.cmd_plan, files = true },
	{ "rollout start", "FILE [data=FILE]", 1, 1, "control", "baseline and candidate in turns, judged, then promoted or rolled back; data=FILE: what would have come of another rollout's blocks", rollout.cmd_start, files = true, dry = true },
	{ "rollout script", "FILE [ARGUMENT...] [data=FILE] [resume=yes]", 1, 64, "control", "a rollout with functions of one's own; ARGUMENT: NAME=VALUE for it; -n data=FILE: a dry run over another rollout's blocks; resume=yes: go on with what it began", rollout.cmd_script, files = true, dry = true },
	{ "rollout status", "[plot=yes] [data=ROLLOUT]", 0, 0, "observe", "the job's rollout: state, blocks, verdict by kind of collective; plot=yes: as pictures; -w: again every second; data=ROLLOUT: that of a file", rollout.cmd_status },
	{ "rollout pause", "", 0, 0, "control", "back to the baseline until rollout resume", rollout.cmd_pause },
	{ "rollout resume", "", 0, 0, "control", "go on, also where the shell that ran it is gone", rollout.cmd_resume },
	{ "rollout promote", "", 0, 0, "control", "decide with the candidate from now on, whatever is known", rollout.cmd_promote },
	{ "rollout abort", "", 0, 0, "control", "back to the baseline, for good", rollout.cmd_abort },
	{ "rollout undo", "", 0, 0, "control", "after a promotion: back to the baseline", rollout.cmd_undo },
	{ "rollout report", "FILE [data=ROLLOUT] [label=TEXT] [svg=FOLDER]", 1, 1, "observe", "the rollout as one HTML file, every time as CSV beside it; svg=FOLDER: its figures as files too; data=ROLLOUT: of the file of another one", rollout.cmd_report, files = true },
	{ "rollout history", "", 0, 0, "observe", "every transition with its reason", rollout.cmd_history },
	{ "sweep", "PLAN|status|abort [-o FILE] [data=FILE] [baseline=COMBINATION]", 1, 1, "control", "try combinations on the job's own traffic in turns, or judge measurements in files; the best table and how sure it is; -o FILE.csv: keep it", sweepcmd.cmd_sweep, files = true, dry = true },
	{ "status", "", 0, 0, "observe", "the job: versions, policies, generation, communicators, counters", general.cmd_status },
	{ "doctor", "", 0, 0, "observe", "look for settings and states that keep policies from working", general.cmd_doctor },
	{ "controller status", "", 0, 0, "observe", "who runs the controllers for this host, runs, changes, the last error", controller.cmd_status },
	{ "controller pause", "", 0, 0, "control", "run no controllers in this job until controller resume", controller.cmd_pause },
	{ "controller resume", "", 0, 0, "control", "run controllers again", controller.cmd_resume },
	{ "change status", "", 0, 0, "observe", "the staged change, if any, and the fences of the last one", general.cmd_change_status },
	{ "watch", "SECONDS COMMAND...", 2, 64, "observe", "repeat a command until Ctrl-C or count=N rounds", "watch" },
	{ "timing", "[on|off]", 0, 1, "observe", "after each command: how long it took, how often it asked", "timing" },
	{ "quit", "", 0, 0, "observe", "leave the shell; the job goes on", "quit" },
}

local rows, by, nouns

local function row_of(t)
	return { words = t[1], syntax = t[2], least = t[3], most = t[4], role = t[5], help = t[6], run = t[7], files = t.files, names = t.names, dry = t.dry }
end

local function build()
	rows, by, nouns = {}, {}, {}
	for _, t in ipairs(own) do
		local r = row_of(t)
		rows[#rows + 1] = r
		by[r.words] = r
	end
	for _, c in ipairs(core.commands()) do
		if by[c.words] then
			by[c.words].served = by[c.words].syntax == c.syntax
		elseif not M.hidden[c.words] then
			c.served = true
			rows[#rows + 1] = c
			by[c.words] = c
		end
	end
	for _, r in ipairs(rows) do
		nouns[r.words:match("^%S+")] = true
		r.options = {}
		for name in r.syntax:gmatch("([%a_]+)=") do r.options[name] = true end
	end
	by.watch.options.count = true
	table.sort(rows, function(a, b) return a.words < b.words end)
end

function M.all()
	if not rows then build() end
	return rows
end

function M.find(words)
	if not rows then build() end
	return by[words]
end

function M.is_noun(word)
	if not rows then build() end
	return nouns[word] == true
end

-- First words, and second words of one.
function M.nouns()
	if not rows then build() end
	local t = {}
	for n in pairs(nouns) do t[#t + 1] = n end
	table.sort(t)
	return t
end

function M.verbs(noun)
	local t = {}
	for _, r in ipairs(M.all()) do
		local n, v = r.words:match("^(%S+) (%S+)$")
		if n == noun then t[#t + 1] = v end
	end
	return t
end

return M
