-- SPDX-License-Identifier: MIT
-- Rollout scripts: a Lua file that returns a table with a header, a plan and callbacks. Callbacks
-- see only their context. Each call has a limit of time and memory. After a call that fails or
-- exceeds its limit no callback is called again, and the rollout pauses.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local judge = require "ncclbpf.rollout.judge"
local plan = require "ncclbpf.rollout.plan"
local sandbox = require "ncclbpf.base.sandbox"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

M.MEMORY = 64 << 20 -- largest number of bytes that a call may allocate
local LINES = 1000 -- largest number of lines that a script may log

local FIELDS = { "args", "author", "categories", "description", "done", "judge", "plan", "requires",
	"setup", "step" }
local CALLBACKS = { setup = true, step = true, judge = true, done = true }

-- ---- the file ------------------------------------------------------------------

local function bad(path, fmt, ...)
	error(errors.new("bad_argument", fmt:format(...), { object = path }), 0)
end

local function words_of(path, what, v, allowed)
	if v == nil then return {} end
	if type(v) ~= "table" then
		return bad(path, "%s: a list of words expected, found %s", what, type(v))
	end
	for i, w in ipairs(v) do
		if type(w) ~= "string" then
			return bad(path, "%s: number %d is a %s, a word expected", what, i, type(w))
		end
		if allowed and not allowed[w] then
			return bad(path, "%s: number %d is %q; observe or change expected", what, i,
				w)
		end
	end
	return v
end

-- args: {name = "default"} or {name = {default=, help=, required=}}
local function args_of(path, v)
	local out = {}
	if v == nil then return out end
	if type(v) ~= "table" then return bad(path, "args: a table expected, found %s", type(v)) end
	for name, a in pairs(v) do
		if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
			return bad(path, "args: %s is no name", tostring(name))
		end
		if type(a) == "string" or type(a) == "number" then a = { default = tostring(a) } end
		if type(a) ~= "table" then
			return bad(path, "args.%s: a default or a table expected, found %s", name,
				type(a))
		end
		for k in pairs(a) do
			if k ~= "default" and k ~= "help" and k ~= "required" then
				return bad(path,
					"args.%s.%s: no such field; default, help or required",
					name, tostring(k))
			end
		end
		out[name] = { default = a.default ~= nil and tostring(a.default) or nil,
			help = a.help, required = a.required == true }
	end
	return out
end

-- Parse key=value words by the script's args. -> values; raises errors
local function values_of(path, args, given)
	local names, out = {}, {}
	for name, a in pairs(args) do
		names[#names + 1], out[name] = name, a.default
	end
	table.sort(names)
	for _, w in ipairs(given) do
		local name, v = w:match "^([%a_][%w_]*)=(.*)$"
		if not name then return bad(path, "%q: NAME=VALUE expected", w) end
		if not args[name] then
			error(errors.new("bad_argument", ("no argument %s"):format(name),
				{ object = path, hint = errors.nearest(name, names) or #names > 0
					and "there are: " .. table.concat(names, ", ")
					or "it takes none" }), 0)
		end
		out[name] = v
	end
	for _, name in ipairs(names) do
		if args[name].required and out[name] == nil then
			return bad(path, "argument %s: missing%s", name, args[name].help
				and " (" .. tostring(args[name].help) .. ")" or "")
		end
	end
	return out
end

-- ---- calls ---------------------------------------------------------------------

local Script = {}
Script.__index = Script

-- Return the error of a failed call.
local function failure(self, name, e, limit)
	local text = errors.is(e) and e.message or tostring(e)
	return errors.new("script_failed", ("%s: %s"):format(name, text), { object = self.path,
		hint = limit and ("a call may take %g s and %d MiB"):format(
			clock.times.callback, M.MEMORY >> 20) or nil })
end

-- Call a callback of the script. -> true, results | nil, err. After a failure, no callback is
-- called again.
function Script:call(name, ...)
	local f = self.callbacks[name]
	if not f then return true end
	if self.stopped then return nil, self.stopped end
	local r = table.pack(core.limited(clock.times.callback, M.MEMORY, f, ...))
	if not r[1] then
		self.stopped = failure(self, name, r[2], r[3])
		return nil, self.stopped
	end
	return true, table.unpack(r, 2, r.n)
end

local VERDICTS = { pass = true, fail = true, inconclusive = true }

-- Return the verdict of a check that the script makes: its word and reason, or raises
function Script:verdict(a, b)
	local ok, word, reason = self:call("judge", self.ctx, a, b)
	if not ok then error(word, 0) end
	if not VERDICTS[word] then
		self.stopped = errors.new("script_failed",
			('judge: "pass", "fail" or "inconclusive" expected, found %s'):format(
			tostring(word)), { object = self.path })
		error(self.stopped, 0)
	end
	return word, type(reason) == "string" and reason:gsub("%c", " "):sub(1, 400)
		or "the script's judgement"
end

-- Objects for scripts.

-- Return a map for scripts. Only scripts of the category "change" may write, and only local maps: a
-- change of a coherent map makes a new generation, so the rollout would see a concurrent change.
local function map_for(self, m, info)
	local t = {}
	local function may()
		if self.dry then
			return errors.fail("not_permitted", "a dry run cannot change the job")
		end
		if not self.changes then
			return nil, errors.new("not_permitted",
				'a script that changes maps says so: categories = {"change"}')
		end
		if info.coherent then
			return errors.fail("not_permitted",
				"%s is coherent: its change makes a generation, " ..
					"which the rollout would treat " ..
					"as a concurrent change", info.name)
		end
		return true
	end
	function t.get(_, key) return m:get(key) end
	function t.entries(_, limit) return m:entries { limit = limit } end
	function t.set(_, key, value)
		local ok, err = may()
		if not ok then return nil, err end
		return m:set(key, value)
	end
	function t.remove(_, key)
		local ok, err = may()
		if not ok then return nil, err end
		return m:remove(key)
	end
	return t
end

-- Return results as plain data, without methods that change the job.
local function plain(v)
	if type(v) ~= "table" then return v end
	return core.decode(core.encode(v))
end

-- Call method t:what(...) and return its result as plain data, also to its callback.
local function asked(t, what, ...)
	local args = table.pack(...)
	for i = 1, args.n do
		local opts = args[i]
		if type(opts) == "table" and type(opts.follow) == "function" then
			local copy = lists.copy(opts)
			copy.follow = function(d, rank) return opts.follow(plain(d), rank) end
			args[i] = copy
		end
	end
	local v, err = t[what](t, table.unpack(args, 1, args.n))
	return plain(v), err
end

-- Return the context: args, dry_run, and functions that query the job. @target: nil in a dry run
local function context(self, target, values)
	local ctx = { dry_run = self.dry, args = values, blocks = 0 }
	local lines = 0
	function ctx.log(...)
		lines = lines + 1
		if lines > LINES then return end
		local t = table.pack(...)
		for i = 1, t.n do t[i] = tostring(t[i]) end
		self.say((errors.tame(table.concat(t, " "):sub(1, 1000)):gsub("\n", " ")))
	end
	function ctx.judge(opts) return judge.judge(opts) end
	function ctx.size(v) return require("ncclbpf.base.units").size(v) end
	local function live()
		if not target then return nil, errors.new("no_target", "a dry run has no job") end
		return target
	end
	function ctx.map(name)
		local t, err = live()
		if not t then return nil, err end
		local m
		m, err = t:map(name)
		if not m then return nil, err end
		local info
		info, err = m:info()
		if not info then return nil, err end
		return map_for(self, m, info)
	end
	for _, what in ipairs { "comms", "policies", "status", "explain", "decisions" } do
		ctx[what] = function(...)
			local t, err = live()
			if not t then return nil, err end
			return asked(t, what, ...)
		end
	end
	return ctx
end

-- Return the script's globals. The script's pcall passes on the error of an exceeded limit.
local function environment()
	local env = sandbox.pure()
	env.pcall, env.xpcall = pcall, nil
	return env
end

-- M.open(path, words, opts) -> a script with its plan | nil, err
-- opts: target (nil: dry), say(line)
M.open = errors.catch(function(path, words, opts)
	local bytes = try(core.read(path, 1 << 20))
	local f, why = load((bytes:gsub("^#[^\n]*", "")), "@" .. path, "t", environment())
	if not f then return nil, errors.new("lua_syntax", why) end
	local self = setmetatable({ path = path, callbacks = { file = f }, say = opts.say,
		dry = opts.target == nil, digest = core.sha256(bytes), words = words }, Script)
	local ok, t = try(self:call "file")
	if type(t) ~= "table" then
		return bad(path, "a script returns a table with a plan and functions, this one %s",
			type(t))
	end
	for k, v in pairs(t) do
		local known = false
		for _, name in ipairs(FIELDS) do known = known or name == k end
		if not known then
			return nil, errors.new("bad_argument",
				("%s: no such field"):format(tostring(k)),
				{ object = path, hint = type(k) == "string"
				and errors.nearest(k, FIELDS) or nil })
		end
		if CALLBACKS[k] and type(v) ~= "function" then
			return bad(path, "%s: a function expected, found %s", k, type(v))
		end
		if CALLBACKS[k] then self.callbacks[k] = v end
	end
	for _, k in ipairs { "description", "author" } do
		if t[k] ~= nil and type(t[k]) ~= "string" then
			return bad(path, "%s: a text expected, found %s", k, type(t[k]))
		end
	end
	self.callbacks.file = nil
	self.description, self.author = t.description, t.author
	local args = args_of(path, t.args)
	self.requires = words_of(path, "requires", t.requires)
	for _, c in ipairs(words_of(path, "categories", t.categories,
		{ observe = true, change = true })) do
		self.changes = self.changes or c == "change"
	end
	self.ctx = context(self, opts.target, values_of(path, args, words))
	if type(t.plan) == "function" then
		self.callbacks.plan = t.plan
		ok, t.plan = self:call("plan", self.ctx)
		if not ok then return nil, t.plan end
	end
	self.plan = errors.about(path, plan.check(t.plan))
	plan.beside(self.plan, path)
	return self
end)

-- Does the job hold the policies in `requires`? -> true | nil, err
function Script:able(group)
	for _, name in ipairs(self.requires) do
		local r = group:ask(session.line { "policy", "show", name })[1]
		if r.err then
			return nil, errors.new(r.err.code,
				("requires policy %s: %s"):format(name, r.err.message),
				{ object = self.path, hint = "policy load" })
		end
	end
	return true
end

-- Copy the state of the rollout into the context.
local function standing(self, r)
	self.ctx.state, self.ctx.reason, self.ctx.blocks = r.state, r.why, #r.blocks
end

-- The functions below run a plan's script for a rollout.

-- The functions that rollout/run.lua calls: step(r) after a block, look(a, b), done(r)
function M.hooks(self)
	return {
		file = self.path, digest = self.digest, words = self.words,
		step = function(r)
			standing(self, r)
			local ok, err = self:call("step", self.ctx, #r.blocks)
			if not ok then error(err, 0) end
		end,
		look = self.callbacks.judge and function(a, b) return self:verdict(a, b) end,
	}
end

-- Call done(ctx, result) with the outcome. -> true | nil, err
function Script:finish(result)
	return self:call("done", self.ctx, result)
end

-- Do a dry run over stored blocks. -> verdict of the last look; raises errors
function Script:replay(blocks)
	local rollout = require "ncclbpf.rollout.run"
	try(self:call("setup", self.ctx))
	local r = { plan = self.plan, blocks = {}, state = "progressing", hooks = M.hooks(self) }
	local v = { verdict = "inconclusive", reason = "no check: too few blocks" }
	for n, b in ipairs(blocks) do
		r.blocks[n] = b
		r.hooks.step(r)
		for k = 1, self.plan.judge.looks do
			if n == plan.look_at(self.plan, k) * 2 then
				v = rollout.look(r, k)
			end
		end
		if v.verdict ~= "inconclusive" or n >= self.plan.blocks * 2 then break end
	end
	try(self:finish { state = "dry run", verdict = v.verdict, reason = v.reason,
		blocks = #r.blocks })
	return v
end

return M
