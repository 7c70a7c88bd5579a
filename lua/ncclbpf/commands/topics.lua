-- SPDX-License-Identifier: MIT
-- Help topics
local core = require "ncclbpf.core"
local lists = require "ncclbpf.base.lists"

local M = {}

local function environment()
	local t = {
		"Variables of the job (the plugin reads them once, " ..
			"when it is loaded) and of this shell:" }
	for _, p in ipairs(core.params()) do
		local may = p.choices ~= "" and p.choices or nil
		local unit = p.unit:find "%a" and " " .. p.unit or ""
		t[#t + 1] = ("  NCCLBPF_%s%s"):format(p.name, p.default ~= ""
			and " (" .. p.default .. unit .. ")" or "")
		t[#t + 1] = ("      %s%s"):format(may and may .. "; " or "", p.doc)
	end
	t[#t + 1] = "Variables of this shell only:"
	for _, v in ipairs(M.variables) do t[#t + 1] = ("  %-16s %s"):format(v[1], v[2]) end
	t[#t + 1] = [[
Variables of NCCL: NCCL_TUNER_PLUGIN names libncclbpf.so. NCCL_ALGO and NCCL_PROTO override
policies.]]
	return table.concat(t, "\n")
end

-- Variables that the shell reads and no row of core/defs/params.h has.
M.variables = {
	{ "PAGER", "program for output that is longer than the terminal" },
	{ "NO_COLOR", "no colours" }, { "TMPDIR", "where the shell looks for sockets" },
	{ "XDG_STATE_HOME", "history and rollouts" },
	{ "XDG_CONFIG_HOME", "folder of ncclbpf/init.lua, which the prompt runs" },
}

M.statuses = {
	{ "0", "done, and the result is good" },
	{ "1", "a script raised an error, or a command failed in another way" },
	{ "2", "the result is bad: policy refused, change refused or aborted, ranks disagree, "
		.. "doctor found something bad, rollout rolled back, simulated answers differ" },
	{ "3", "no result: a rollout is paused or inconclusive, or a sweep ended early" },
	{ "64", "usage" }, { "65", "input malformed" }, { "66", "input not readable" },
	{ "69", "no process, or the process has exited" }, { "70", "a bug of ncclbpf" },
	{ "73", "output cannot be created" }, { "74", "reading or writing failed" },
	{ "75", "timed out, or busy: try again" },
	{ "76", "the target speaks another version of the protocol, or does not speak it" },
	{ "77", "not permitted" }, { "78", "a setting is wrong" },
	{ "130", "interrupted" }, { "143", "terminated" },
}

local function exit()
	return table.concat(lists.map(M.statuses, function(s)
		return ("  %-4s %s"):format(s[1], s[2])
	end), "\n")
end

M.topics = {
	{ "environment", "environment variables", environment },
	{ "values", "keys and values of maps", function()
		return [[
A key or value is a number, a word, a table of fields, a list, or bytes:
  7   0x1f   ring   {algo=ring, channels=8}   {1, 2, 3}   hex:01000000
Omitted fields are zero. Write enumerators by name, and algorithms, protocols and collectives
by NCCL's words, also in plain integer fields called algo, proto and coll. map show MAP
lists the fields.]]
	end },
	{ "exit", "exit statuses", exit },
	{ "lua", "Lua at the prompt and in scripts", function()
		return [[
A line that is no command is Lua. A leading = prints an expression; a leading : marks a command.
  nb.status().generation       each command is a function; it returns the data of its JSON form
  for _, d in ipairs(nb.decision_tail { count = 5 }.decisions) do print(d.coll, d.by) end
  job = nb.attach "llm"        an object with the same functions for one job: job:status()
ncclbpf-shell -f FILE words... runs a file, -e CODE runs Lua code. docs/lua.md describes more.]]
	end },
	{ "keys", "keys of the prompt", function()
		return [[
Tab completes commands, names in the job, files and Lua names. ^R searches the history.
Ctrl-C stops the running command or clears the line; on an empty line, a second one within
two seconds ends the shell. Ctrl-D leaves. The job continues in every case. ~/.editrc may
change the keys (editrc(5)).]]
	end },
}

-- Return the lines of the environment that are about variable @word, or nil.
local function variable(word)
	local lines, at = {}, false
	for line in environment():gmatch "[^\n]+" do
		local name = line:match "^  ([%u_]+)"
		if name then at = name == word end
		if at then lines[#lines + 1] = line:gsub("^  ", "") end
	end
	return #lines > 0 and table.concat(lines, "\n") or nil
end

-- Return the topic of a word: its text, or nil. A variable of the environment is a topic, too.
function M.topic(word)
	if word:find "^NCCLBPF_" then return variable(word) end
	for _, t in ipairs(M.topics) do
		if word == t[1] then return t[3]() end
	end
end

function M.words()
	return lists.map(M.topics, function(t) return t[1] end)
end

return M
