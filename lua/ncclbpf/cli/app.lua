-- SPDX-License-Identifier: MIT
-- The shell as an object. It runs commands, Lua lines and files, prints their results, and
-- remembers the worst exit status (docs/shell.md).
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local commands = require "ncclbpf.commands.rows"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local units = require "ncclbpf.base.units"
local words = require "ncclbpf.cli.words"
local read = require "ncclbpf.job.read"

local M = {}
local PROGRAM = "ncclbpf-shell"
M.program = PROGRAM

-- ---- the application ----------------------------------------------------------

local App = {}
App.__index = App

function M.new(flags)
	return setmetatable({ flags = flags or {}, worst = 0 }, App)
end

function App:write(text)
	if self.capture then
		self.capture[#self.capture + 1] = text
		return
	end
	if self.sink then return self.sink(text) end
	local ok, err = io.stdout:write(text)
	if ok then ok, err = io.stdout:flush() end
	if not ok then error(errors.new("io", "standard output: " .. tostring(err)), 0) end
end

-- Does the output go to standard output, and is standard output a terminal?
function App:on_terminal()
	return self.tty and not self.capture and not self.sink
end

function App:complain(text)
	if self.capture_err then
		self.capture_err[#self.capture_err + 1] = text
		return
	end
	io.stdout:flush()
	io.stderr:write(text)
end

function App:attach(wish, timeout)
	local group, err = session.attach(wish, timeout)
	if not group then return nil, err end
	self:detach()
	self.group = group
	if self.on_attach then self.on_attach() end
	return group
end

function App:detach()
	if self.group then self.group:close() end
	self.group = nil
end

-- ---- the context of one command ------------------------------------------------

local Context = {}
Context.__index = Context

function Context:wish()
	local f = self.flags
	return { pid = f.pid, job = f.job, socket = f.socket, ranks = f.ranks,
		fleet = sites.named(f) }
end

function Context:timeout()
	return self.flags.timeout or clock.times.answer
end

-- Option @name, one of the words @list. Any other value is an error. nil: not given
function Context:word(name, list)
	local v = self.opt[name]
	if v ~= nil and not lists.has(list, v) then
		error(errors.new("usage", ("%s=%s must be %s"):format(name, v,
			lists.either(list)), { hint = errors.nearest(v, list) }), 0)
	end
	return v
end

local YES = { "yes", "no" }

-- Option @name, which is yes or no. Any other value is an error.
function Context:yes(name, default)
	local v = self:word(name, YES)
	if v == nil then return default end
	return v == "yes"
end

-- Option @name, a duration of at least @least seconds. Any other value is an error. -> seconds
function Context:duration(name, least)
	local v = self.opt[name]
	local seconds = v and units.duration(v)
	if v and (not seconds or seconds < least) then
		errors.raise("usage", "%s=%s must be a duration from %s on", name, v,
			units.seconds(least))
	end
	return seconds
end

-- Option @name, a whole number from @least on. Any other value is an error.
function Context:whole(name, least, most)
	local v = self.opt[name]
	local n = v and math.tointeger(tonumber(v))
	if v and (not n or n < least or most and n > most) then
		local range = most and ("from %d to %d"):format(least, most)
			or ("from %d on"):format(least)
		errors.raise("usage", "%s=%s must be a whole number %s", name, v, range)
	end
	return n
end

-- Return the processes that a command acts on: those that the line's flags name, else the attached
-- ones, else those that the shell's flags name, else those of the only job.
function Context:session()
	if self.temporary then return self.temporary end
	local o = self.own
	if self.app.closed then
		return errors.fail("no_target", "the job object was closed by detach")
	end
	if (o.pid or o.job or o.socket or o.ranks or o.fleet) and not self.first then
		local wish = self:wish()
		if o.ranks and not (o.pid or o.job or o.socket) and self.app.group then
			wish.job = self.app.group.job
		end
		local group, err = session.attach(wish, self:timeout())
		if not group then return nil, err end
		self.temporary = group
		return group
	end
	local app = self.app
	if app.group then
		if not app.borrowed then app.group.timeout = self:timeout() end
		if app.keeps then app.group:refresh() end
		if #app.group:living() > 0 then return app.group end
		local err = app.group:failure() or errors.new("no_target", "the target went away")
		err.hint = err.hint or "attach again: attach JOB"
		return nil, err
	end
	return app:attach(self:wish(), self:timeout())
end

-- @prose: format for people even in a pipe.
local function environment(ctx, prose)
	local f, app = ctx.flags, ctx.app
	local tty = app:on_terminal()
	-- app.width: columns for a command whose output `top` captures and shows as a page
	local columns = tty and core.winsize() or app.capture and app.width or nil
	local color = f.color == "always" or (f.color ~= "never" and tty
		and not os.getenv "NO_COLOR" and os.getenv "TERM" ~= "dumb")
	local group = ctx.temporary or app.group
	local label = group and not group.closed and #group.members > 0 and group:label() or nil
	return {
		format = f.format or (tty or prose) and "table" or "tsv", quiet = f.quiet,
		pretty = f.pretty,
		width = columns, color = color, target = label,
	}
end

function Context:format()
	return environment(self).format
end

local STOP = {} -- raised where a script's function ends a stream

-- Pass a part of a stream, or the state of a run, to the script's function. It ends the command by
-- returning true.
function Context:pass(data)
	if self.follow and self.follow(data) then error(STOP, 0) end
end

-- Print a part of a stream at once; JSON always line by line. A script gets its data.
function Context:emit(result, go_on)
	if self.script then return self:pass(result.data) end
	local env = environment(self)
	if env.format == "json" then env.format = "ndjson" end
	if go_on then env.quiet = true end
	self.app:write(format.render(result, env))
end

-- ---- errors ----------------------------------------------------------------------

local function format_of(app, flags)
	return flags.format or app.flags.format or ""
end

function App:report(err, command, flags)
	err = errors.caught(err)
	local status = errors.status(err)
	self.worst = math.max(self.worst, status)
	if command and not err.command and err.message:sub(1, #command + 1) ~= command .. ":" then
		err.command = command
	end
	err.line = self.at_line
	local width = self.errors_tty and not self.capture_err and core.winsize(2) or nil
	if format.is_json(format_of(self, flags or {})) then
		local text = core.encode { error = err }
		if (flags or {}).pretty then text = format.indent_json(text) end
		self:write(text .. "\n")
	else
		-- Add the line number of standard input to an error, unless Lua has added it.
		local place = err.line and not err.message:find("^stdin:%d+:")
			and ("stdin:%d: "):format(err.line) or ""
		self:complain(format.lines(("%s: %s%s"):format(PROGRAM, place,
			errors.text(err)), width))
	end
	return status
end

-- ---- running commands ------------------------------------------------------------

local function page(app, text)
	local pager = os.getenv "NCCLBPF_PAGER" or os.getenv "PAGER" or "less"
	local _, rows = core.winsize()
	local _, lines = text:gsub("\n", "")
	local program = app.pager and app:on_terminal() and rows and lines >= rows and pager ~= ""
		and app.pager(pager)
	if not program or not program:close(text) then app:write(text) end
end

local function print_result(ctx, result)
	local env = environment(ctx, result.prose)
	if result.schema then
		local text = format.render(result, env)
		if ctx.repeated then ctx.app:write(text) else page(ctx.app, text) end
	end
	if not env.quiet and not format.for_people(env.format) then
		for _, l in ipairs(result.foot or {}) do
			if l:find "^note: " or l:find "^hint: " then
				ctx.app:complain(errors.tame(l) .. "\n")
			end
		end
	end
	local status = result.status or 0
	if result.failure then
		local s = errors.status(result.failure)
		if format.is_json(env.format) and result.data then
			ctx.app.worst = math.max(ctx.app.worst, s)
		else
			ctx.app:report(result.failure, ctx.row and ctx.row.words, ctx.flags)
		end
		status = math.max(status, s)
	end
	ctx.app.worst = math.max(ctx.app.worst, status)
	return status
end

-- Send @line to all processes and show their replies unchanged. @words: the command
local function passed_on(ctx, words, line)
	local per, data, failure = read.ask(ctx, line)
	if not per then return nil, data end
	return { schema = words:gsub(" ", ".") .. "/1", data = data,
		text = format.indent_json(core.encode(data)), failure = failure }
end

-- Run a command that only a newer target knows: take its row from `help`.
local function foreign(ctx, list)
	local app = ctx.app
	if not app.group or ctx.flags.dry_run then return nil end
	local d = read.one(ctx, "help")
	for _, c in ipairs(read.list(d, "commands")) do
		local w = type(c.words) == "string" and c.words
		if w and (w == list[1] or list[2] and w == list[1] .. " " .. list[2])
			and not commands.hidden[w] then
			local result, err = passed_on(ctx, w, session.line(list))
			return result, err, w
		end
	end
end

local builtin = {}

function builtin.timing(ctx)
	local want = ctx.args[1]
	if want and want ~= "on" and want ~= "off" then
		return errors.fail("usage", "timing %s must be on or off", want)
	end
	if want then ctx.app.timing = want == "on" else ctx.app.timing = not ctx.app.timing end
	return { schema = "timing/1", data = { timing = ctx.app.timing },
		text = "timing is " .. (ctx.app.timing and "on" or "off") }
end

function builtin.quit(ctx)
	ctx.app.leave = true
	return {}
end

function builtin.watch(ctx)
	local every = units.duration(ctx.args[1])
	if not every or every < 0.05 then
		return errors.fail("usage", "%s must be the time between two rounds, from 50ms on",
			ctx.args[1])
	end
	local rounds = ctx:whole("count", 1)
	local list = table.move(ctx.args, 2, #ctx.args, 1, {})
	if list[1] == "watch" then return errors.fail("usage",
		"watch cannot repeat the command watch") end
	local n = 0
	while true do
		local env = environment(ctx)
		local json = format.is_json(env.format)
		if ctx.app:on_terminal() and not json then
			ctx.app:write("\27[H\27[2J")
		end
		if not json and not env.quiet then
			ctx.app:write(("%s  %s\n"):format(core.time(), table.concat(list, " ")))
		end
		local status = ctx.app:run(list, { flags = ctx.flags, repeated = true })
		if status ~= 0 and not ctx.flags.keep_going then return { status = status } end
		n = n + 1
		if rounds and n >= rounds or ctx.app.ended and ctx.app.ended.full then return {} end
		clock.sleep(every)
	end
end

local function confirm(ctx)
	local w = ctx.row.words
	local drastic = w == "policy unload" or w == "policy use" and ctx.args[1] == "none"
	local app = ctx.app
	if not drastic or ctx.flags.yes or ctx.flags.dry_run or not app.keeps or not app.tty
		or not app.ask then
		return true
	end
	return app.ask(("%s %s: go on? [y/N] "):format(w, table.concat(ctx.args, " ")))
end

-- May the command run with these flags? -> true | nil, err
local function allowed(ctx)
	local row = ctx.row
	local dry = ctx.flags.dry_run and row.dry
	if row.role == "control" and ctx.flags.dry_run and not dry then
		return errors.fail("usage", "-n: the command %s has no dry run",
			row.words)
	end
	if row.role == "control" and ctx.flags.role == "observe" and not dry then
		return errors.fail("not_permitted",
			"the command needs the role control, but --role=observe is set")
	end
	return true
end

local function prepare(ctx, list, literal, people)
	local row, taken = words.command(list, people)
	if not row then return nil, taken end
	ctx.row = row
	local args, opt = words.arguments(row, list, taken + 1, literal)
	if not args then return nil, opt end
	ctx.args, ctx.opt = args, opt
	local may, err = allowed(ctx)
	if not may then return nil, err end
	if not confirm(ctx) then
		return errors.fail("interrupted", "not confirmed, nothing done")
	end
	return row
end

local function generic(ctx)
	-- The target serves the command; print its reply.
	local line = ctx.row.words
	local tail = session.line(ctx.args)
	if tail ~= "" then line = line .. " " .. tail end
	for k, v in pairs(ctx.opt) do line = line .. " " .. k .. "=" .. session.quote(v) end
	return passed_on(ctx, ctx.row.words, line)
end

local function execute(ctx, list, literal, people)
	local row, err = prepare(ctx, list, literal, people)
	if not row then
		if err.code == "usage" and not ctx.row then
			local result, err2, name = foreign(ctx, list)
			if result then
				ctx.row = { words = name }
				return result
			end
			err = err2 or err
		end
		return nil, err
	end
	local run = row.run or generic
	return (builtin[run] or run)(ctx)
end

-- Run the command of @row for a script. @args, @opt: words and options; @flags: options of the
-- shell; follow(data): gets the parts of a stream. -> the handler's result | nil, err. Errors that
-- are no values are raised.
function App:command(row, args, opt, flags, follow)
	setmetatable(flags, { __index = self.flags })
	local ctx = setmetatable({ app = self, flags = flags, own = {}, row = row, args = args,
		opt = opt, script = true, follow = follow }, Context)
	for name, value in next, flags do ctx.own[name] = value end
	local may, err = allowed(ctx)
	if not may then return nil, err end
	local ok, result, why = pcall(row.run or generic, ctx)
	if ctx.temporary then ctx.temporary:close() end
	if ok then return result, why end
	if result == STOP then return {} end
	error(result, 0)
end

-- Run the words of one command and print its result. -> exit status
function App:run(list, opts)
	opts = opts or {}
	local began, trips = clock.now(), self.group and self.group.trips or 0
	local own, rest, literal = words.parse(list)
	if not own then return self:report(rest, nil, { format = words.format_of(list) }) end
	local flags = setmetatable(own, { __index = opts.flags or self.flags })
	if rawget(own, "help") then rest = words.explained(rest) end
	if #rest == 0 then return 0 end
	local ctx = setmetatable({ app = self, flags = flags, own = own, first = opts.first,
		repeated = opts.repeated }, Context)
	local ok, result, err = core.guard(false, execute, ctx, rest, literal, self.keeps
		and self.tty)
	if ok and result then ok, result = pcall(print_result, ctx, result) end
	local status = ok and result
	if not ok and self.ended and result == self.ended then
		status = 0 -- the program after | has closed its input
	elseif not ok and not errors.is(result) then
		-- Our own code raised: a bug, or a target that violates the protocol.
		err = errors.new("internal", tostring(result), { hint = "this is a bug of "
			.. "ncclbpf-shell, unless the target is not ncclbpf" })
	elseif not ok then
		err = result
	end
	status = status or self:report(err, ctx.row and ctx.row.words, flags)
	if ctx.temporary then ctx.temporary:close() end
	if self.timing then
		self:complain(("time %.1f ms, %s\n"):format(
			(clock.now() - began) * 1000, units.count(
			(self.group and self.group.trips or 0) - trips, "round trip")))
	end
	return status
end

-- ---- Lua ---------------------------------------------------------------------------

-- Compile a typed line. -> function | nil, message, unfinished
function M.compile(text, name)
	local f = load("return " .. text, name, "t")
	if f then return f end
	local why
	f, why = load(text, name, "t")
	if f then return f end
	return nil, why, why:sub(-5) == "<eof>" or why:sub(-6) == "'<eof>'"
		or why:find("near <eof>$") ~= nil
end

local function show(v)
	if errors.is(v) then return tostring(v) end
	local mt = getmetatable(v)
	if type(v) == "table" and not (type(mt) == "table" and mt.__tostring)
		and type(mt) ~= "string" then
		return format.value(v)
	end
	return tostring(v)
end

-- Call f(...). -> its results as table.pack has them, behind true | nil, status: it failed
function App:call(f, ...)
	local r = table.pack(core.guard(self.flags.verbose, f, ...))
	if not r[1] then return nil, self:report(r[2]) end
	if r[2] == nil and errors.is(r[3]) then return nil, self:report(r[3]) end
	return r
end

-- Run a compiled chunk and print what it returns. -> status
function App:evaluate(f)
	local r, status = self:call(f)
	if not r then return status end
	if r.n > 1 then
		local t = {}
		for i = 2, r.n do t[#t + 1] = show(r[i]) end
		self:write(table.concat(t, "\t") .. "\n")
	end
	return 0
end

local function not_lua(self, line, why)
	local first = line:match("^%s*([%a_][%w_%-]*)")
	local near = first and errors.nearest(first, commands.nouns())
	local list = not line:find("[=(.%[:,{}\"'\n]") and words.split(line)
	if list and list[2] then
		-- A chunk of words without punctuation was probably meant as a command.
		local row, err = words.command(list, self.keeps and self.tty)
		if not row then return self:report(err) end
	end
	if not self.at_line then
		why = why:gsub('^%[string ".-"%]:', "line "):gsub("^=?stdin:", "line ")
	end
	return self:report(errors.new("lua_syntax", why,
		{ hint = near and ("no command %s, %s"):format(first, near) or nil }))
end

-- Start the program behind `|` or open the file behind `>` or `>>`. -> write(text), false if the
-- program has ended; close() -> err or nil | nil, err
local function receiver(app, sign, rest)
	local to = words.split(rest)
	if not to or #to == 0 or sign ~= "|" and #to > 1 then
		return errors.fail("usage", sign == "|" and "a program must follow |"
			or "one file must follow " .. sign)
	end
	local function missing() return errors.new("no_input", "no program " .. to[1]) end
	if sign == "|" then
		local program = app.pipe(rest)
		if not program then return nil, missing() end
		return function(text) return program:write(text) end,
			function() return not program:close() and missing() or nil end
	end
	local file, why = io.open(to[1], sign == ">" and "w" or "a")
	if not file then return nil, errors.new("cannot_create", why) end
	local failed
	local function check(ok, err)
		if not ok and not failed then
			failed = errors.new("io", ("%s: %s"):format(to[1], err))
		end
		return ok
	end
	return function(text) return check(file:write(text)) and check(file:flush()) end,
		function() check(file:close()) return failed end
end

-- Run a command whose output a program or a file takes. The command ends as soon as the
-- output cannot be written. -> status
function App:redirected(line, sign, rest)
	local list, err = words.split(line)
	if not list then return self:report(err) end
	local write, close = receiver(self, sign, rest)
	if not write then return self:report(close) end
	local ended = { full = false }
	self.sink = function(text)
		ended.full = ended.full or not write(text)
		if ended.full then error(ended, 0) end
	end
	self.ended = ended
	local ok, status = pcall(self.run, self, list)
	self.sink, self.ended = nil, nil
	err = close()
	if err then return self:report(err) end
	if not ok and status ~= ended then error(status, 0) end
	return ok and status or 0
end

-- Run one typed line, perhaps with the lines before it. -> status, or nil if the chunk is
-- unfinished
function App:line(text)
	if text:match("^%s*$") or text:match("^%s*#") then return 0 end
	local command = text:match("^%s*:%s*(.*)$")
	if not command and words.is_command(text) then command = text end
	if not command and self.keeps and self.tty and not text:find("[=(.%[:,{}\"']") then
		-- Users may abbreviate commands.
		local list = words.split(text)
		local row, err, begun
		if list and list[1] then row, err, begun = words.command(list, true) end
		if row then command = text end
		if begun and not row and rawget(_G, list[1]) == nil then
			return self:report(err)
		end
	end
	if command and self.pipe then
		local line, sign, rest = words.redirect(command)
		if line then return self:redirected(line, sign, rest) end
	end
	if command then
		local list, err, _ = words.split(command)
		if not list then return self:report(err) end
		return self:run(list)
	end
	local name = text:match("^%s*([%a_][%w_]*)%s*$")
	if name and rawget(_G, name) == nil and load("return " .. name) then
		-- A word that is no variable was probably meant as a command.
		return self:report(errors.new("usage", ("no command %s, and no variable"):format(
			name),
			{ hint = errors.nearest(name, commands.nouns()) }))
	end
	local expression = text:match("^%s*=%s*(.*)$")
	-- Make Lua's line numbers equal the line numbers of the stream.
	local before = ("\n"):rep((self.at_line or 1) - 1)
	local f, why, unfinished = M.compile(before .. (
		expression and "return " .. expression or text), "=stdin")
	if f then return self:evaluate(f) end
	if unfinished then return nil, why end
	return not_lua(self, text, why)
end

-- Run commands and Lua from a stream.
function App:stream(input)
	local status, pending, began = 0, nil, nil
	local n = 0
	while true do
		local line, why = input:read "l"
		if not line then
			self.at_line = nil
			if why then
				status = math.max(status, self:report(errors.new("no_input",
					"standard input: " .. why,
					{ hint = ("give a command: %s list"):format(M.program) })))
			end
			break
		end
		line = line:gsub("\r$", "") -- a file made on another system
		n = n + 1
		began = pending and began or n
		local text = pending and pending .. "\n" .. line or line
		self.at_line = began
		local s = self:line(text)
		if s == nil then
			pending = text
		else
			pending = nil
			status = math.max(status, s)
			if (s ~= 0 and not self.flags.keep_going) or self.leave or s == 130 then
				return status
			end
		end
	end
	if pending then
		local _, why = M.compile(("\n"):rep(began - 1) .. pending, "=stdin")
		return math.max(status, not_lua(self, pending, why or "unfinished"))
	end
	return status
end

-- Run a Lua file; the words are in arg and its parameters.
function App:file(path, list)
	local text, err = core.read(path, 16 << 20)
	if not text then return self:report(errors.from_reply(err)) end
	local f, why = load((text:gsub("^#[^\n]*", "")), "@" .. path, "t")
	if not f then return self:report(errors.new("lua_syntax", why)) end
	local old = arg
	arg = { [0] = path, table.unpack(list) }
	local r, status = self:call(f, table.unpack(list))
	arg = old
	return status or math.type(r[2]) == "integer" and r[2] & 0xff or 0
end

return M
