-- SPDX-License-Identifier: MIT
-- What `help` says beyond one line a command: how each is used, and topics.
local core = require "ncclbpf.core"

local M = {}

-- By the words of a command: what people ask next, with examples.
M.details = {
	["attach"] = [[
attach train        all processes of job train on this host
attach 4711         one process
attach train ranks=0-3
The shell attaches by itself where there is one job only.]],
	["change status"] = "A change waits at its fence until every rank has come by: PASSED counts them.",
	["change commit"] = "Only needed when a shell or controller was lost in the middle of a change.",
	["change abort"] = "Only needed when a shell or controller was lost in the middle of a change.",
	["comm show"] = [[
COST is NCCL's modelled time of the answer, NCCL that of its own choice, GAIN what
the policy wins by that model. COMM may be the beginning of its digits.
comm show -o csv    a line for each rank, collective and size]],
	["decision tail"] = [[
decision tail 5
decision tail follow=yes     until Ctrl-C
REFUSED says why an answer of a policy was not taken; NCCL's own choice stood then.]],
	["doctor"] = "Status 2 when something is bad, 0 with warnings.",
	["explain"] = [[
explain allreduce 4M
explain broadcast 65536 comm=190b
The steps are NCCL's own choice, each policy in order, and what is answered.]],
	["list"] = "Status 0 also when there is none. Processes of other users: only root sees them.",
	["map dump"] = "map dump limits limit=100 after=7",
	["map get"] = [[
map get force 0
map get peers {rank=3, host=0x10}]],
	["map set"] = [[
map set force 0 {algo=ring, proto=ll128, channels=8, enabled=1}
map set limits 1 100 2 200          several elements, one change
Fields that are left out are zero. help values says what keys and values may be.
flags=new: only elements that are not there yet; flags=old: only those that are.]],
	["map watch"] = "map watch outcomes 200ms",
	["policy build"] = [[
clang -target bpf -O2 -g -I PREFIX/include/ncclbpf -c x.bpf.c -o x.bpf.o
policy build x.bpf.o -o x.policy]],
	["policy compile"] = [[
policy compile tuner.csv                    writes tuner.policy
policy compile tuner.csv -o tuner.bpf.o     an object that libbpf opens
hidden=keep: rows that never win are no error. coherence=off: rows may ask for reg_buff.
policy load, verify, dump and diff take .csv and .lua files as they are.]],
	["policy export"] = [[
policy export tuner                         the rows of a policy in the job
policy export tuner.policy back.csv]],
	["policy diff"] = [[
policy diff force force.policy      a policy of the job and a file
Names stand for policies in the job; a word with / or ending in .o or .policy is a file.]],
	["policy load"] = [[
FILE is an object (.bpf.o) or an image (.policy). All processes of the job accept it or
none holds it. Then: policy use NAME]],
	["policy add"] = [[
policy add force                    behind those in use: it has the last word
policy add force before=size_aware  or first=yes
The others keep their maps and counters; policy list shows the order.]],
	["policy remove"] = [[
policy remove force                 the others stay in their order
It is held on: policy add brings it back, policy discard forgets it.]],
	["policy move"] = [[
policy move force first=yes         or last=yes, or before=NAME
Each sees what the one before it answered, so the last one decides.]],
	["policy time"] = [[
policy time on                      every 64th decision reads the clock around each policy
policy show force                   mean time, less that of reading the clock
policy time off                     costs nothing from then on; what was taken stays]],
	["policy undo"] = [[
Policies and coherent maps are again what they were before the last change. A second
undo takes back the first: to go further back, name what you want with policy use.]],
	["policy use"] = [[
policy use size_aware force         both, each sees what the one before it answered
policy use ./mine.policy            a word with / or ending in .o, .policy, .csv or .lua is a
                                    file: loaded first, as policy load does it
policy use none                     NCCL decides by itself
Nothing changes until all ranks are at the fence, the number of a decision; change status
says whether they have come by. -n asks every process whether it could.]],
	["policy verify"] = [[
Needs no job. Status 2 when refused: the message names instruction, source line, what was
required and what was known, the shortest way there and what to do. -v adds how the values that
matter became what they are, -vv every state of the walk. coherence=off accepts answers that differ between ranks.]],
	["watch"] = [[
watch 2 comm list
watch 500ms status count=10]],
}

local function environment()
	local t = { "Of the job (the plugin reads them once, when it is loaded) and of this shell:" }
	for _, p in ipairs(core.params()) do
		local may = p.choices ~= "" and p.choices or nil
		t[#t + 1] = ("  NCCLBPF_%s%s"):format(p.name, p.default ~= "" and " (" .. p.default .. ")" or "")
		t[#t + 1] = ("      %s%s"):format(may and may .. "; " or "", p.doc)
	end
	t[#t + 1] = [[
Of this shell alone:
  PAGER, NO_COLOR, XDG_RUNTIME_DIR, TMPDIR (sockets), XDG_STATE_HOME (history, rollouts),
  XDG_CONFIG_HOME (ncclbpf/init.lua), HOME
Of NCCL: NCCL_TUNER_PLUGIN names libncclbpf.so; NCCL_ALGO and NCCL_PROTO outrank policies.]]
	return table.concat(t, "\n")
end

local function exit()
	return [[
  0    done; verdict good
  1    a script raised, or a command failed in a way not listed
  2    verdict bad: policy refused, change aborted, ranks disagree, doctor found something bad,
       rollout rolled back, simulated answers differ
  3    no verdict: a rollout paused, or is inconclusive
  64   usage                              65   input malformed
  66   input not readable                 69   no target, or it went away
  70   a bug of ncclbpf                   73   output cannot be created
  74   reading or writing failed          75   timed out, or busy: try again
  76   another version, or no protocol    77   not permitted
  78   a setting is wrong                 130, 143  interrupted, terminated]]
end

M.topics = {
	{ "environment", "environment variables", environment },
	{ "values", "keys and values of maps", function()
		return [[
A key or value is a number, a word, a table of fields, a list, or bytes:
  7   0x1f   ring   {algo=ring, channels=8}   {1, 2, 3}   hex:01000000
Fields that are left out are zero. Enumerators go by name; algorithms, protocols and
collectives by NCCL's words, also in plain integer fields called algo, proto and coll.
map show MAP says which fields there are.]]
	end },
	{ "exit", "exit statuses", exit },
	{ "lua", "Lua at the prompt and in scripts", function()
		return [[
A line that is no command is Lua; = in front prints an expression, : forces a command.
  nb.target:status().generation
  for _, d in ipairs(nb.target:decisions { count = 5 }) do print(d.coll, d.bytes, d.by) end
  nb.policy.list {}            each command under its words: the data of its JSON form
ncclbpf-shell -f FILE words... runs a file, -e CODE a chunk. docs/lua.md has the rest.]]
	end },
	{ "keys", "keys of the prompt", function()
		return [[
Tab completes commands, live names, files, Lua names. ^R searches the history.
Ctrl-C stops the running command or clears the line; on an empty line, a second one within
two seconds ends the shell. Ctrl-D leaves. None of them touches the job. ~/.editrc has the
keys (editrc(5)).]]
	end },
}

-- The topic of a word: its text, or nil.
function M.topic(word)
	for _, t in ipairs(M.topics) do
		if word == t[1] then return t[3]() end
	end
end

function M.words()
	local list = {}
	for i, t in ipairs(M.topics) do list[i] = t[1] end
	return list
end

return M
