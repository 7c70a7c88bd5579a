-- SPDX-License-Identifier: MIT
-- The functions of a script: one for each row of the commands' table. `policy use` is
-- job:policy_use{...}; its words are the list part, its options name=value are fields.
local class = require "ncclbpf.base.class"
local commands = require "ncclbpf.commands.rows"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local session = require "ncclbpf.job.session"
local shell = require "ncclbpf.cli.app"
local sites = require "ncclbpf.job.sites"
local units = require "ncclbpf.base.units"
local words = require "ncclbpf.cli.words"

local try = errors.try
local M = {}

-- Options of the shell that choose a job. nb.attach and the functions of nb take them.
M.CHOICE = { pid = "integer", job = "string", socket = "string", fleet = "string",
	ranks = "table", timeout = "number" }

-- ---- a call becomes a command ------------------------------------------------------------

-- For misuse: errors.catch adds the place of the script's call.
local function misuse(fmt, ...) error(fmt:format(...), 0) end

-- Return the words of the list part, as strings; a table stays one if the command takes tables.
local function arguments(call, list)
	local args, row = {}, call.row
	for i, v in ipairs(list) do
		if type(v) == "table" and row.tables then
			args[i] = v
		elseif type(v) == "table" or type(v) == "function" or type(v) == "userdata" then
			misuse("%s: word %d is a %s, but must be a string or a number",
				call.name, i, type(v))
		else
			args[i] = tostring(v)
		end
	end
	local n = 0
	for k in pairs(list) do n = n + (math.type(k) == "integer" and 1 or 0) end
	if n ~= #args then misuse("%s: word %d is nil", call.name, #args + 1) end
	local right, err = words.check_count(row, args)
	if not right then misuse("%s: %s; %s", call.name, err.message, err.hint) end
	return args
end

-- Return the value of an option as the command line has it.
local function value_of(call, name, v)
	if type(v) == "boolean" then return v and "yes" or "no" end
	if type(v) == "string" or type(v) == "number" then return tostring(v) end
	if type(v) ~= "table" then
		misuse("%s: field %s is a %s, but must be a string, number, boolean or list",
			call.name, name, type(v))
	end
	if call.row.fields == name then return v end
	local list = lists.map(v, tostring)
	return call.row.many == name and list or table.concat(list, ",")
end

local function unknown(call, name)
	local names = lists.keys(call.row.options)
	for k in pairs(call.flags) do names[#names + 1] = k end
	table.sort(names)
	misuse("%s: no field %s, %s", call.name, tostring(name), type(name) == "string"
		and errors.nearest(name, names) or #names > 0 and "allowed: "
		.. table.concat(names, ", ") or "the command has no options")
end

-- Sort the fields into options of the command and of the shell. -> opt, flags, follow
local function fields(call, t)
	local opt, flags, follow = {}, {}, nil
	for k, v in pairs(t) do
		local want = call.flags[k]
		if math.type(k) == "integer" then
			goto next
		elseif want then
			if type(v) ~= want and math.type(v) ~= want then
				misuse("%s: field %s is a %s, but must be a %s", call.name,
					k, type(v), want)
			end
			flags[k] = v
		elseif not call.row.options[k] then
			unknown(call, k)
		elseif k == "follow" and type(v) == "function" then
			opt.follow, follow = "yes", errors.callback(v)
		else
			opt[k] = value_of(call, k, v)
		end
		::next::
	end
	return opt, flags, follow
end

-- A field that a result lacks is that of the first process's reply, the lowest rank's.
local function with_first(data)
	if type(data) ~= "table" or getmetatable(data) then return data end
	local list = data.processes or data.data and { data }
	for _, p in ipairs(list or {}) do
		if not p.error then return setmetatable(data, { __index = p.data or p }) end
	end
	return data
end

-- Run the command of @call on @app. -> the data of its JSON form | nil, err, where err.data has
-- what the command found in spite of the error
local function run(call, app, args, opt, flags, follow)
	local result = try(app:command(call.row, args, opt, flags, follow and function(data)
		return follow(with_first(data))
	end))
	local data = with_first(result.data or {})
	if not result.failure then return data end
	result.failure.data = data
	return nil, result.failure
end

-- Call @call with the script's argument: a table, one word, or nothing.
local function invoke(call, app, t)
	if t == nil then t = {} end
	if type(t) == "string" or type(t) == "number" then t = { t } end
	if type(t) ~= "table" or getmetatable(t) then
		misuse("%s: the argument is a %s, but must be a table of words and fields",
			call.name, type(t))
	end
	local args = arguments(call, t)
	return run(call, app, args, fields(call, t))
end

-- M.rows() -> {name, row} of each command that a script may run, sorted. The prompt's own commands
-- have no function, and nb.attach returns an object.
function M.rows()
	local t = {}
	for _, row in ipairs(commands.all()) do
		if type(row.run) ~= "string" and row.words ~= "top" and row.words ~= "attach" then
			t[#t + 1] = { name = row.words:gsub(" ", "_"), row = row }
		end
	end
	return t
end

-- Return {row, name, flags} by name. @prefix: of its name; @flags: options of the shell that it
-- takes.
local function calls(prefix, flags)
	local t = {}
	for _, x in ipairs(M.rows()) do
		t[x.name] = { row = x.row, name = prefix .. x.name, flags = lists.copy(flags) }
		t[x.name].flags.dry_run = x.row.dry and "boolean" or nil
	end
	return t
end

-- M.functions(app_of) -> {policy_verify = f, ...} for nb: the shell's commands, on its job
function M.functions(app_of)
	local t = {}
	for name, call in pairs(calls("nb.", M.CHOICE)) do
		t[name] = errors.catch(function(words)
			return invoke(call, app_of(), words)
		end, true)
	end
	return t
end

-- ---- a job -------------------------------------------------------------------------------

local Job = {}
M.methods = Job

local function state_of(o)
	local s = class.state[o]
	if not s then
		misuse("the first argument is %s, but must be a job object; "
			.. "write job:method() with a colon", errors.kind(o))
	end
	return s
end

for name, call in pairs(calls("job:", { timeout = "number" })) do
	Job[name] = errors.catch(function(self, words)
		local s = state_of(self)
		if s.allowed then
			local t = type(words) == "table" and words or { words }
			local ok, err = s.allowed(name, t[1], t.timeout)
			if not ok then return nil, err end
		end
		return invoke(call, s.app, words)
	end, true)
end

-- A detached object has no job any more, while the shell's functions attach again.
local detach = Job.detach
function Job.detach(self)
	local data, err = detach(self)
	if data then class.state[self].app.closed = true end
	return data, err
end

-- job:request(line) -> list of {rank, pid, site, data | err}, one a process: a line of
-- docs/protocol.md | nil, err
Job.request = errors.catch(function(self, line)
	local s = state_of(self)
	if type(line) ~= "string" then
		misuse("job:request: the argument is %s, but must be a request line",
			errors.kind(line))
	end
	if s.app.closed or s.allowed then
		return errors.fail(s.allowed and "not_permitted" or "no_target",
			"job:request: %s", s.allowed and "a hook may not send requests"
			or "the job object was closed by detach")
	end
	return lists.map(s.app.group:ask(line), function(r)
		return { rank = r.member.rank, pid = r.member.pid, site = r.member.site,
			data = r.data, err = r.err }
	end)
end, true)

local function close(o)
	local s = class.state[o]
	if s and s.owned then s.app:detach() end
end

local new_job = class.new("job", Job, {
	__close = close,
	__gc = close,
	__tostring = function(o)
		local g = class.state[o].app.group
		if not g or g.closed then return "job: detached" end
		return ("job %s, %s"):format(tostring(g.job), units.count(#g:living(), "process"))
	end,
})

-- M.attach(options, role) -> job | nil, err
M.attach = errors.catch(function(opts, role)
	if type(opts) == "string" then opts = { job = opts } end
	opts = errors.check_options("nb.attach", opts, M.CHOICE, 3)
	local group = try(session.attach({ pid = opts.pid, job = opts.job, socket = opts.socket,
		fleet = sites.named(opts), ranks = opts.ranks }, opts.timeout))
	local failure = group:failure()
	if failure then
		group:close()
		return nil, failure
	end
	local app = shell.new { timeout = opts.timeout, fleet = opts.fleet, role = role }
	app.group = group
	return new_job { app = app, owned = true }
end)

-- Hooks of rollouts get a job object of the rollout's group, which they neither close nor change.
-- allowed(name, word, timeout) -> may they run the command with this first word and field timeout?
-- | nil, err
class.makers.job = function(group, allowed)
	local app = shell.new { timeout = group.timeout }
	app.group, app.borrowed = group, true
	return new_job { app = app, allowed = allowed }
end

return M
