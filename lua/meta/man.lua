-- SPDX-License-Identifier: MIT
-- man.lua: manual pages in mdoc, made of the shell's tables and of what make.lua
-- has read from the types. Run by itself (man.lua FOLDER FILE) it writes the pages of
-- the shell and of plans, and FILE: docs/shell.md with its table of commands.
local core = require "ncclbpf.core"
local commands = require "ncclbpf.commands.rows"
local topics = require "ncclbpf.commands.topics"

local M = {}

local DATE = "November 22, 2026" -- date of the last change of the text below
local LIST = ".Bl -tag -width Ds"

-- Text as lines for roff. Each sentence begins a line, no line is long, and no line begins with
-- a request.
local function lines(s)
	local t, line = {}, ""
	local function put()
		if line ~= "" then t[#t + 1] = (line:gsub("^[.']", "\\&%0")) end
		line = ""
	end
	for word in s:gsub("\\", "\\e"):gsub("`", ""):gmatch "%S+" do
		if #line + #word > 76 or line:find "[.]$" and word:find "^%u" then put() end
		line = line .. (line ~= "" and " " or "") .. word
	end
	put()
	return t
end

-- One argument of a macro.
local function word(s)
	return '"' .. s:gsub("\\", "\\e"):gsub('"', "\\(dq"):gsub("%-", "\\-"):gsub(
		"[?.:;,!)%]]$", "%0\\&") .. '"'
end

local function literal(t, s)
	t[#t + 1] = ".Bd -literal -offset indent"
	for line in (s .. "\n"):gmatch "([^\n]*)\n" do
		t[#t + 1] = (line:gsub("\\", "\\e"):gsub("^[.']", "\\&%0"))
	end
	t[#t + 1] = ".Ed"
end

local function head(title, section, name, what)
	return { ".\\\" Made by lua/meta/man.lua; `make docs` makes it anew.",
		".\\\" SPDX-License-Identifier: MIT", ".Dd " .. DATE,
		(".Dt %s %s"):format(title, section), ".Os", ".Sh NAME",
		".Nm " .. name, ".Nd " .. what }
end

local function finish(t) return table.concat(t, "\n") .. "\n" end

local function add(t, list)
	for _, l in ipairs(list) do t[#t + 1] = l end
end

-- ---- ncclbpf-shell(1) --------------------------------------------------------------

local function options(t)
	local words = require "ncclbpf.cli.words"
	add(t, { ".Sh OPTIONS", "These options may stand anywhere before", ".Fl Fl ,",
		"also in a line of the prompt.", LIST })
	for _, name in ipairs(words.option_names()) do
		local o = words.options[name]
		local short = o[1] and ("Fl %s%s , "):format(
			o[1], o.value and " Ar " .. o.value or "") or ""
		t[#t + 1] = (".It %sFl Fl %s%s"):format(
			short, name, o.value and " Ns = Ns Ar " .. o.value or "")
		add(t, lines(o.help))
	end
	t[#t + 1] = ".El"
end

local function all_commands(t)
	add(t, { ".Sh COMMANDS", "Commands that a newer target adds appear when attached.", LIST })
	for _, row in ipairs(commands.all()) do
		t[#t + 1] = (".It Ic %s%s"):format(word(row.words), row.syntax ~= ""
			and " " .. word(row.syntax) or "")
		add(t, lines(row.help .. (row.role == "control" and " (needs control)" or "")))
		for _, o in ipairs(commands.options(row)) do
			t[#t + 1] = (".br\n.Cm %s= :"):format(o[1])
			add(t, lines(o[2]))
		end
		if row.details then literal(t, row.details) end
	end
	t[#t + 1] = ".El"
end

-- The variables whose names @wanted accepts.
local function variables(t, wanted)
	for _, p in ipairs(core.params()) do
		if wanted(p.name) then
			t[#t + 1] = ".It Ev NCCLBPF_" .. p.name
			add(t, lines((p.choices ~= "" and p.choices .. "; " or "") .. p.doc
				.. (p.default ~= "" and "; " .. p.default
				.. " unless said otherwise" or "")))
		end
	end
end

local function environment(t)
	add(t, { ".Sh ENVIRONMENT",
		"The plugin reads the job's variables once, when it is loaded.",
		"The shell reads its own variables:", LIST })
	variables(t, function() return true end)
	for _, v in ipairs(topics.variables) do add(t, { ".It Ev " .. v[1], v[2] }) end
	t[#t + 1] = ".El"
end

function M.shell()
	local t = head("NCCLBPF-SHELL", "1", "ncclbpf-shell",
		"inspect running NCCL jobs and change their policies")
	add(t, { ".Sh SYNOPSIS", ".Nm", ".Op Ar options", ".Op Ar command ...", ".Nm",
		".Fl f Ar FILE", ".Op Ar words ...", ".Sh DESCRIPTION", ".Nm",
		"attaches to running NCCL jobs that have loaded ncclbpf, shows their",
		"decisions with the reasons, and changes policies while the job runs.",
		"The job continues when the shell ends.", ".Pp",
		"Without a command, the shell shows a prompt on a terminal.",
		"Otherwise it reads commands from standard input.",
		"At the prompt a line that is no command is Lua;", ".Xr ncclbpf 3lua",
		"has its functions.",
			"Without an option that names a job, " ..
			"the only one on this host is attached to." })
	options(t)
	all_commands(t)
	environment(t)
	add(t, { ".Sh FILES", LIST, ".It Pa $XDG_CONFIG_HOME/ncclbpf/init.lua",
		"Lua file that the shell runs when the prompt begins",
			".It Pa $XDG_STATE_HOME/ncclbpf/history",
		"history of the prompt's lines, "
			.. "unless", ".Ev NCCLBPF_HISTORY", "names another file",
		".It Pa $XDG_STATE_HOME/ncclbpf/rollouts/JOB@HOST.json",
		"file of a rollout; its times are beside it", ".El",
		".Sh EXIT STATUS", LIST })
	for _, s in ipairs(topics.statuses) do
		t[#t + 1] = ".It " .. s[1]
		add(t, lines(s[2]))
	end
	add(t, { ".El", ".Sh EXAMPLES" })
	literal(t, [[
ncclbpf-shell policy verify x.bpf.o           needs no job
ncclbpf-shell -J train comm show              one command
ncclbpf-shell policy load x.bpf.o             in every process of the job
ncclbpf-shell policy use x                    from a fence on, on all ranks
echo 'map dump limits' | ncclbpf-shell        commands from a pipe
ncclbpf-shell -f rollout.lua size=4M          a Lua script, its words in arg]])
	add(t, { ".Sh SEE ALSO", ".Xr lua5.4 1 ,", ".Xr ncclbpf-agent 1 ,", ".Xr ncclbpf 3lua ,",
		".Xr editrc 5 ,", ".Xr ncclbpf-rollout 5" })
	return finish(t)
end

-- ---- ncclbpf-agent(1) --------------------------------------------------------------

function M.agent()
	local t = head("NCCLBPF-AGENT", "1", "ncclbpf-agent",
		"connect one host's part of an NCCL job to the other hosts")
	add(t, { ".Sh SYNOPSIS", ".Nm", ".Op Fl Fl job Ar NAME", ".Op Fl Fl dir Ar DIRECTORY",
		".Op Fl Fl metrics Ar ADDRESS:PORT",
		".Sh DESCRIPTION", "A job that runs on several hosts has one",
		".Nm", "on each of them.",
		"Through etcd, the agents agree on the decision at which a change takes effect.",
		"An agent answers",
		".Xr ncclbpf-shell 1", "over HTTPS.", ".Pp",
		"The operator starts it: a service manager, the job's script, or a person.",
		"It waits for the job, and after its end for the next one of this name.",
		"On SIGTERM or SIGINT it deletes its keys from etcd, then ends.",
		"It writes its messages to standard error.", LIST,
		".It Fl Fl job Ar NAME", "the job; else", ".Ev NCCLBPF_JOB",
		".It Fl Fl dir Ar DIRECTORY", "directory of the job's sockets; default",
		".Ev NCCLBPF_SOCKET_DIR",
		".It Fl Fl metrics Ar ADDRESS:PORT",
		"serve the text of", ".Ic ncclbpf-shell metrics",
		"at http://ADDRESS:PORT/metrics, for the processes of this host;",
		"without ADDRESS on 127.0.0.1; else", ".Ev NCCLBPF_AGENT_METRICS .",
		"Without", ".Ev NCCLBPF_FLEET", "the agent does nothing else.",
		".It Fl Fl help", "show the usage", ".El" })
	add(t, { ".Sh ENVIRONMENT", LIST })
	variables(t, function(name)
		return name:find "^FLEET" or name:find "^AGENT" or name == "JOB"
			or name == "SOCKET_DIR"
	end)
	t[#t + 1] = ".El"
	add(t, { ".Sh EXIT STATUS", LIST, ".It 0", "a signal ended the agent",
		".It 1", "the agent could not continue; standard error has the reason",
		".It 64", "usage", ".It 78", ".Ev NCCLBPF_FLEET",
		"is not set and no metrics are asked for, or a variable has a wrong value", ".El",
		".Sh EXAMPLES" })
	literal(t,
		"NCCLBPF_FLEET=https://etcd-1:2379,https://etcd-2:2379 ncclbpf-agent --job train\n"
		.. "ncclbpf-agent --metrics 127.0.0.1:9400")
	add(t, { ".Sh SEE ALSO", ".Xr ncclbpf-shell 1" })
	return finish(t)
end

-- ---- ncclbpf(3lua) -----------------------------------------------------------------

function M.lua(order, sections)
	local t = head("NCCLBPF", "3", "ncclbpf",
		"inspect NCCL jobs and change their policies, from Lua")
	t[#t + 1] = ".Sh SYNOPSIS"
	literal(t,
		'local nb = require "ncclbpf"\nlocal job = assert(nb.attach "train")\n'
		.. 'assert(job:policy_use "size_aware.policy")')
	add(t, { ".Sh DESCRIPTION", "The module is the global", ".Va nb", "in",
		".Xr ncclbpf-shell 1", "and comes of",
		".Ic require", "in a plain", ".Xr lua5.4 1 .",
			"Times are seconds, sizes bytes, counters integers.", ".Sh FUNCTIONS" })
	for _, title in ipairs(order) do
		local s = sections[title]
		if #s > 0 then
			t[#t + 1] = ".Ss " .. word((title:gsub("`", "")))
			if s.doc then add(t, lines(s.doc)) end
			t[#t + 1] = LIST
			for _, r in ipairs(s) do
				t[#t + 1] = (".It %s %s"):format(s.of and "Va" or "Ic", word(r[1]))
				if s.of then
					t[#t + 1] = ".Em " .. word(r[2])
					if r[3] ~= "" then add(t, lines(r[3])) end
				else
					if r[2] ~= "" then add(t, lines(r[2])) end
					if r[3] ~= "" then
						add(t, { (r[2] ~= "" and ".Pp\n" or "") .. "Gives",
							".Em " .. word(r[3]) .. " ." })
					end
				end
			end
			t[#t + 1] = ".El"
		end
	end
	add(t, { ".Sh ERRORS", "An expected failure is", ".Dv nil", "and an error with",
		".Va code ,", ".Va message", "and perhaps", ".Va hint ,",
		"whose text is the shell's.",
		"A wrong call raises an error at the caller.", ".Sh SEE ALSO", ".Xr lua5.4 1 ,",
			".Xr ncclbpf-shell 1" })
	return finish(t)
end

-- ---- ncclbpf-rollout(5) ------------------------------------------------------------

-- The fields and the example come from docs/rollouts.md.
function M.plan(doc)
	local t = head("NCCLBPF-ROLLOUT", "5", "ncclbpf-rollout", "plan of a rollout")
	add(t, { ".Sh DESCRIPTION", "A plan is the file that", ".Xr ncclbpf-shell 1",
		"reads for", ".Ic rollout start Ar FILE ." })
	-- the text of docs/rollouts.md between the example and the table of fields
	add(t, lines((assert(doc:match "## The plan\n\n    .-\n\n(%u.-)\n\n|",
		"docs/rollouts.md: no text about the plan"))))
	add(t, { "Fields of a table within the plan have its name before a dot.", LIST })
	for line in doc:gmatch "[^\n]+" do
		local field, default, what = line:match "^| (`[^|]*) |([^|]*)|(.*)|$"
		if field then
			t[#t + 1] = ".It Va " .. word((field:gsub("`", "")))
			add(t, lines(what))
			default = default:gsub("`", ""):gsub("^ ", ""):gsub(" $", "")
			if default ~= "" then
				add(t, { ".Pp", "Unless said otherwise:",
					".Li " .. word(default) .. " ." })
			end
		end
	end
	t[#t + 1] = ".El"
	add(t, { ".Sh FILES", LIST, ".It Pa $XDG_STATE_HOME/ncclbpf/rollouts/JOB@HOST.json",
		"file of the job's rollout: plan, blocks, verdict, events",
		".It Pa $XDG_STATE_HOME/ncclbpf/rollouts/JOB@HOST.ID.times.csv",
		"every time that counted", ".El", ".Sh EXIT STATUS", ".Ic rollout start", "and",
		".Ic rollout resume",
		"exit with 0 if the candidate was promoted, 2 if it was rolled back,",
		"3 if the rollout is paused and 130 after Ctrl-C.", ".Sh EXAMPLES" })
	literal(t, (doc:match "## The plan\n\n(    .-)\n\n%u":gsub("%f[^\n%z]    ", "")))
	add(t, { ".Sh SEE ALSO", ".Xr ncclbpf-shell 1" })
	return finish(t)
end

-- Return @doc (docs/shell.md) with the table of commands in place of its line "Table: ...".
function M.shell_page(doc)
	local t = { "| command | what it does |", "|---|---|" }
	local function cell(text) return (text:gsub("|", "\\|")) end
	for _, row in ipairs(commands.all()) do
		t[#t + 1] = ("| `%s` | %s |"):format(cell(
			(row.words .. " " .. row.syntax):gsub(" $", "")), cell(row.help))
	end
	local from, to = doc:find "%f[^\n]Table: [^\n]*"
	assert(from, "docs/shell.md: no line \"Table:\"")
	return doc:sub(1, from - 1) .. table.concat(t, "\n") .. doc:sub(to + 1)
end

if arg and arg[0] and arg[0]:match "man%.lua$" then
	local doc = assert(core.read "docs/rollouts.md")
	for path, text in pairs { [arg[1] .. "/ncclbpf-shell.1"] = M.shell(),
		[arg[1] .. "/ncclbpf-agent.1"] = M.agent(),
		[arg[1] .. "/ncclbpf-rollout.5"] = M.plan(doc),
		[arg[2]] = M.shell_page(assert(core.read "docs/shell.md")) } do
		assert(core.write(path, text))
	end
end

return M
