-- SPDX-License-Identifier: MIT
-- Hooks of a rollout: functions in the plan's file that are called before, between and after its
-- blocks, or judge them. Hooks see only their context. Each call has a limit of time and memory.
-- After a call that fails or exceeds its limit no hook is called again, and the rollout pauses.
local class = require "ncclbpf.base.class"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local judge = require "ncclbpf.rollout.judge"
local maps = require "ncclbpf.map.map"
local plan = require "ncclbpf.rollout.plan"
local read = require "ncclbpf.job.read"

local try = errors.try
local M = {}

M.MEMORY = 64 << 20 -- largest number of bytes that a call may allocate
local LINES = 1000 -- largest number of lines that hooks may log

-- ---- calls ---------------------------------------------------------------------

local Hooks = {}
Hooks.__index = Hooks

-- Return the error of a failed call.
local function failure(self, name, e, limit)
	local text = errors.is(e) and e.message or tostring(e)
	return errors.new("script_failed", ("%s: %s"):format(name, text), { object = self.path,
		hint = limit and ("a call may take %g s and %d MiB"):format(
			clock.times.callback, M.MEMORY >> 20) or nil })
end

-- Call a hook. -> true, results | nil, err. After a failure, no hook is called again.
function Hooks:call(name, ...)
	local f = self.functions[name]
	if not f then return true end
	if self.stopped then return nil, self.stopped end
	local r = table.pack(core.limited(clock.times.callback, M.MEMORY, f, ...))
	if not r[1] then
		self.stopped = failure(self, name, r[2], r[3])
		-- streams that the call left open would call its functions again
		for _, m in ipairs(self.group and self.group.members or {}) do m.streams = {} end
		return nil, self.stopped
	end
	return true, table.unpack(r, 2, r.n)
end

local VERDICTS = { pass = true, fail = true, inconclusive = true }

-- A kind of collective, the key of the judge's tables: its collective, the smallest size of its
-- size class, and its communicator. As text it is the name that other shells show.
local KIND = "kind of collective"
local new_kind = class.new(KIND, {}, {
	__index = function(kind, field)
		local s = class.state[kind].fields
		return s[field] or error(("a %s has no field %s (%s)"):format(KIND,
			tostring(field), table.concat(lists.keys(s), ", ")), 2)
	end,
	__tostring = function(kind) return class.state[kind].name end,
	__concat = function(a, b) return tostring(a) .. tostring(b) end,
})

-- Return the object of the kind @name, the same one in each call.
local function kind_of(self, name)
	local coll, bytes, comm = collectives.parse(name)
	self.kinds[name] = self.kinds[name] or new_kind { name = name, fields = {
		coll = coll or name, bytes = bytes or 0, comm = comm or "" } }
	return self.kinds[name]
end

-- Return the medians of both arms by kind, as copies.
local function lists_of(self, strata)
	local a, b = {}, {}
	for name, s in pairs(strata) do
		local kind = kind_of(self, name)
		a[kind], b[kind] = table.move(s.a, 1, #s.a, 1, {}), table.move(s.b, 1, #s.b, 1, {})
	end
	return a, b
end

-- Return the verdict of the hook judge: its word and reason, or raises
function Hooks:verdict(strata)
	local a, b = lists_of(self, strata)
	local ok, word, reason = self:call("judge", self.ctx, a, b)
	if not ok then error(word, 0) end
	if not VERDICTS[word] then
		self.stopped = errors.new("script_failed",
			('judge returned %s, but must return "pass", "fail" or "inconclusive"')
			:format(tostring(word)), { object = self.path })
		error(self.stopped, 0)
	end
	return word, type(reason) == "string" and reason:gsub("%c", " "):sub(1, 400)
		or "the hook's judgement"
end

-- ---- what hooks see ----------------------------------------------------------

-- Commands of the context's job object. They read, or store elements of local maps: a change of a
-- coherent map makes a new generation, so the rollout would see a concurrent change.
local MAY = lists.set { "status", "comm_list", "comm_show", "policy_list", "policy_show",
	"decision_tail", "explain", "map_list", "map_show", "map_dump", "map_get", "map_set",
	"map_remove", "stats", "sample_tail" }

local function forbidden(name)
	return errors.new("not_permitted", ("job:%s: hooks may call only %s"):format(name,
		table.concat(lists.keys(MAY), ", ")))
end

-- Return the function that a job object of hooks asks before each command.
local function allowed(group)
	return function(name, word, timeout)
		if not MAY[name] then return nil, forbidden(name) end
		if timeout then
			return errors.fail("not_permitted", "job:%s: hooks set no timeout: "
				.. "the rollout needs its connection, and limits each call", name)
		end
		if name ~= "map_set" and name ~= "map_remove" then return true end
		local c = try(maps.describe(group, tostring(word)))
		if not c.map.coherent then return true end
		return errors.fail("not_permitted",
			"map %s is coherent: its change makes a generation, "
				.. "which the rollout would treat as a concurrent change", word)
	end
end

-- What a dry run answers: the facts that the rollout's file @d has.
local function recorded(d)
	local where = read.record(d.where)
	local dry = {
		status = { job = d.job, generation = d.generation,
			policies = read.list(d, "baseline"),
			version = where.version, tuner_abi = where.tuner_abi,
			library = where.library, times = where.times,
			host = read.list(where, "hosts")[1] },
		comm_list = { comms = read.list(where, "comms") },
		policy_list = { policies = read.list(where, "policies") },
		map_set = {}, map_remove = {},
	}
	return function(name)
		if dry[name] then return lists.copy(dry[name]) end
		return nil, not MAY[name] and forbidden(name) or errors.new("not_supported",
			("job:%s: a dry run has no job, and the rollout's file does not say")
				:format(name), { hint = "ctx.dry_run is true in a dry run" })
	end
end

-- The job object of a dry run. It has all functions, as that of a job has.
local new_recorded = class.new("job of a dry run", {}, {
	__index = function(job, name)
		return function() return class.state[job].answer(tostring(name)) end
	end,
})

-- Return the context: dry_run, functions, and a job object. @group: nil in a dry run, of the
-- rollout's file @d
local function context(self, group, d)
	local ctx = { dry_run = self.dry, blocks = 0,
		job = group and class.makers.job(group, allowed(group))
			or new_recorded { answer = recorded(read.record(d)) } }
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
	return ctx
end

-- M.open(path, functions, opts) -> the hooks of the plan's file @path | nil, err
-- functions: result of plan.read; opts: group (nil: a dry run), recorded (of a dry run: the rollout
-- whose blocks it reads), digest of the file (nil: the hooks are functions of a script), say(line)
M.open = errors.catch(function(path, functions, opts)
	local self = setmetatable({ path = path, functions = functions, say = opts.say,
		dry = opts.group == nil, group = opts.group, digest = opts.digest,
		kinds = {} }, Hooks)
	self.ctx = context(self, opts.group, opts.recorded)
	return self
end)

-- Copy the state of the rollout into the context.
local function standing(self, r)
	self.ctx.state, self.ctx.reason, self.ctx.blocks = r.state, r.why, #r.blocks
end

-- What rollout/run.lua needs: step(r) after a block, look(strata), and the file
function Hooks:of_run()
	return {
		file = self.path, digest = self.digest,
		step = function(r)
			standing(self, r)
			local ok, err = self:call("step", self.ctx, #r.blocks)
			if not ok then error(err, 0) end
		end,
		look = self.functions.judge and function(strata) return self:verdict(strata) end,
	}
end

-- Call done(ctx, result) with the outcome. -> true | nil, err
function Hooks:finish(result)
	return self:call("done", self.ctx, result)
end

-- Do a dry run of plan @p over stored blocks. -> verdict of the last look; raises errors
function Hooks:replay(p, blocks)
	local rollout = require "ncclbpf.rollout.run"
	try(self:call("setup", self.ctx))
	local r = { plan = p, blocks = {}, state = "progressing", hooks = self:of_run() }
	local v = { verdict = "inconclusive", reason = "no check: too few blocks" }
	for n, b in ipairs(blocks) do
		r.blocks[n] = b
		r.hooks.step(r)
		for k = 1, p.judge.looks do
			if n == plan.look_at(p, k) * 2 then
				v = rollout.look(r, k)
			end
		end
		if v.verdict ~= "inconclusive" or n >= p.blocks * 2 then break end
	end
	try(self:finish { state = "dry run", verdict = v.verdict, reason = v.reason,
		blocks = #r.blocks })
	return v
end

return M
