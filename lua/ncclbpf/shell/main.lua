-- SPDX-License-Identifier: MIT
-- The program: its command line, --help, --version, and what it runs (docs/shell.md).
local core = require "ncclbpf.core"
local commands = require "ncclbpf.commands.rows"
local errors = require "ncclbpf.base.errors"
local shell = require "ncclbpf.cli.app"
local words = require "ncclbpf.cli.words"

local M = {}
local PROGRAM = shell.program

local function option_lines()
	local t = {}
	for _, name in ipairs(words.option_names()) do
		local o = words.options[name]
		t[#t + 1] = ("  %-3s --%-15s %s"):format(
			o[1] and "-" .. o[1] or "", name .. (o[3] and "=" .. o.value or ""), o.help)
	end
	return table.concat(t, "\n")
end

function M.usage()
	local rows = {}
	for _, c in ipairs(commands.all()) do
		rows[#rows + 1] = ("  %s %s"):format(c.words, c.syntax):gsub("%s+$", "")
	end
	return ([[
usage: %s [options] [command...]

Attaches to running NCCL jobs that have loaded ncclbpf. Without a command: a
prompt on a terminal, else commands from standard input.

options
%s

commands (help WORD explains one)
%s
]]):format(PROGRAM, option_lines(), table.concat(rows, "\n"))
end

local function version(app, flags)
	app:write(("%s %s\n"):format(PROGRAM, core.version))
	if flags.verbose then
		app:write(("%s\n"):format(_VERSION))
		app:write("control protocol 1, tuner interfaces v2 to v7\n")
	end
	return 0
end

local function run(list, host)
	local app = shell.new {}
	app.tty, app.errors_tty = core.isatty(1), core.isatty(2)
	app.binary = host.binary or {}
	if list[1] == "__complete" then
		local complete = require "ncclbpf.shell.complete"
		return complete.main(app, table.move(list, 2, #list, 1, {}))
	end
	local flags, rest, literal = words.parse(list, true)
	if not flags then
		rest.hint = (rest.hint and rest.hint .. "; " or "") .. PROGRAM
			.. " --help lists the options"
		return app:report(rest, nil, { format = words.format_of(list) })
	end
	if flags.help and #rest == 0 then
		app:write(M.usage())
		return 0
	end
	if flags.help then
		rest = words.explained(rest)
		flags.help = nil
	end
	if flags.version then return version(app, flags) end
	app.flags = flags
	if host.sandbox then host.sandbox(flags.unsafe) end
	local nb = require "ncclbpf"
	nb._app(app)
	_G.nb = nb
	local status = 0
	for _, code in ipairs(flags.eval or {}) do
		local f, why = shell.compile(code, "=(command line)")
		status = f and app:evaluate(f) or not f
			and app:report(errors.new("lua_syntax", why)) or 0
		if status ~= 0 then return status end
	end
	if flags.file then
		app.keeps = true
		status = app:file(flags.file, rest)
	elseif #rest > 0 then
		if literal then table.insert(rest, literal, "--") end
		app.pager = app.binary.pipe
		status = app:run(rest, { first = true })
	elseif flags.eval then
		status = 0
	elseif core.isatty(0) and host.interactive then
		app.keeps = true
		status = host.interactive(app)
	else
		app.keeps = true
		status = app:stream(io.stdin)
	end
	app:detach()
	return status
end

-- Run the program. @host: functions of shell/main.c: interactive(app), sandbox(unsafe);
-- binary: what commands use of it. -> exit status
function M.main(list, host)
	local ok, status = pcall(run, list, host or {})
	if ok then return status end
	-- an error that could not be reported, because standard output is lost
	if not errors.is(status) then error(status, 0) end
	io.stderr:write(PROGRAM, ": ", errors.text(status), "\n")
	return errors.status(status)
end

return M
