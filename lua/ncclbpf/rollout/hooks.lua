-- SPDX-License-Identifier: MIT
-- Hooks of a rollout: functions in the plan's file that are called before, between and after its
-- blocks, or judge them. Hooks see only their context. Each call has a limit of time and memory.
-- After a call that fails or exceeds its limit no hook is called again, and the rollout pauses.
local class = require "ncclbpf.base.class"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local judge = require "ncclbpf.rollout.judge"
local maps = require "ncclbpf.map.map"
local plan = require "ncclbpf.rollout.plan"

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

-- Return the verdict of the hook judge: its word and reason, or raises
function Hooks:verdict(a, b)
	local ok, word, reason = self:call("judge", self.ctx, a, b)
	if not ok then error(word, 0) end
	if not VERDICTS[word] then
		self.stopped = errors.new("script_failed",
			('judge: "pass", "fail" or "inconclusive" expected, found %s'):format(
			tostring(word)), { object = self.path })
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

-- Return the function that a job object of hooks asks before each command.
local function allowed(group)
	return function(name, word, timeout)
		if not MAY[name] then
			return errors.fail("not_permitted", "job:%s: hooks may call only %s", name,
				table.concat(lists.keys(MAY), ", "))
		end
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

-- Return the context: dry_run, functions, and a job object. @group: nil in a dry run
local function context(self, group)
	local ctx = { dry_run = self.dry, blocks = 0,
		job = group and class.makers.job(group, allowed(group)) }
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
-- functions: result of plan.read; opts: group (nil: dry), digest of the file (nil: the hooks are
-- functions of a script), say(line)
M.open = errors.catch(function(path, functions, opts)
	local self = setmetatable({ path = path, functions = functions, say = opts.say,
		dry = opts.group == nil, group = opts.group, digest = opts.digest }, Hooks)
	self.ctx = context(self, opts.group)
	return self
end)

-- Copy the state of the rollout into the context.
local function standing(self, r)
	self.ctx.state, self.ctx.reason, self.ctx.blocks = r.state, r.why, #r.blocks
end

-- What rollout/run.lua needs: step(r) after a block, look(a, b), and the file
function Hooks:of_run()
	return {
		file = self.path, digest = self.digest,
		step = function(r)
			standing(self, r)
			local ok, err = self:call("step", self.ctx, #r.blocks)
			if not ok then error(err, 0) end
		end,
		look = self.functions.judge and function(a, b) return self:verdict(a, b) end,
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
