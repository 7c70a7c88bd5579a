-- SPDX-License-Identifier: MIT
-- Checks of test scripts in Lua, as TAP lines; loaded by
-- dofile(os.getenv "TOP" .. "/test/integration/tap.lua").
local M = { n = 0 } -- n: checks so far

-- M.test(name, ok[, why]) -> ok. why: said where it is not
function M.test(name, ok, why)
	M.n = M.n + 1
	print(("%sok %d - %s"):format(ok and "" or "not ", M.n, name))
	if not ok and why ~= nil then print("# " .. tostring(why):gsub("\n", "\n# ")) end
	return ok
end

-- f(...) raises an error whose text has @text. -> the error
function M.raises(name, text, f, ...)
	local ok, e = pcall(f, ...)
	M.test(name, not ok and tostring(e):find(text, 1, true) ~= nil, e)
	return e
end

-- nil, err with that code and text (nil: any). -> err
function M.fails(name, code, text, v, err)
	local right = v == nil and type(err) == "table" and err.code == code and #err.message > 0
	M.test(name, right and (not text or tostring(err):find(text, 1, true) ~= nil), err or v)
	return err or {}
end

-- Communicators of target @t, by identity.
function M.comms(t)
	local ids = {}
	for i, c in ipairs(assert(t:comm_list()).comms) do ids[i] = c.comm end
	table.sort(ids)
	return ids
end

-- Which policies each of @ids decides with: "a,b - a"
function M.using(t, ids)
	local s = assert(t:status())
	local by, list = {}, {}
	for _, id in ipairs(ids) do by[id] = table.concat(s.policies, ",") end
	for _, x in ipairs(s.scopes) do
		for _, id in ipairs(x.comms) do by[id] = table.concat(x.policies, ",") end
	end
	for i, id in ipairs(ids) do list[i] = by[id] == "" and "-" or by[id] end
	return table.concat(list, " ")
end

-- Attach to the job called staged and load its candidates. -> target, identities
function M.staged(nb)
	local t = assert(nb.attach { job = "staged" })
	assert(t:policy_load "nvlink_ring_mid.policy")
	assert(t:policy_load "one_channel.bpf.o")
	return t, M.comms(t)
end

-- A short rollout of one candidate, with the fields of @more.
function M.plan(name, candidate, more)
	local p = { name = name, candidate = { candidate }, blocks = 4, samples = 6,
		judge = { confidence = 0.8, looks = 1, min_effect_pct = 2 },
		guards = { slower_pct = 200 }, seed = 7 }
	for k, v in pairs(more or {}) do p[k] = v end
	return p
end

-- ---- a rollout that this process runs block by block ----
-- For tests that do something between two blocks. Its fields are those of `rollout status`.

local R = {}
local meta = {}
function meta.__index(o, k)
	if R[k] then return R[k] end
	local state = rawget(o, "r")
	return state and o.commands.status_of(state)[k]
end
function meta.__tostring(o)
	return ("rollout %s: %s, %d of %d blocks: %s"):format(o.name, o.state, o.blocks, o.of,
		tostring(o.reason))
end

-- M.rollout(job's name, plan or nil: the job's rollout) -> a rollout | nil, err
function M.rollout(job, p)
	local o = { run = require "ncclbpf.rollout.run",
		commands = require "ncclbpf.commands.rollout",
		group = assert(require "ncclbpf.job.session".attach { job = job }) }
	local err
	if p then
		o.p, err = require "ncclbpf.rollout.plan".check(p)
	else
		o.r, err = o.commands.load(o.group)
	end
	if not (o.p or o.r) then return nil, err end
	return setmetatable(o, meta)
end

function R:start()
	local r, err = self.run.start(self.group, self.p)
	if not r then return nil, err end
	self.r, self.mine = r, true
	return self
end

-- Read the record, unless this process runs the rollout.
function R:refresh()
	local r = assert(self.commands.load(self.group))
	if not (self.mine and r.runner.token == self.r.runner.token) then
		self.r, self.mine = r, false
	end
	return self
end

-- r:wait{blocks=, progress=}: run blocks until the rollout ends or pauses
function R:wait(opts)
	self:refresh()
	opts = opts or {}
	if self.run.over(self.r) then return self end
	local done, err = self.run.run(self.r, opts.progress and function(r)
		self.r = r
		opts.progress(self)
	end, opts.blocks)
	if not done then return nil, err end
	return self
end

function R:step() return self:wait { blocks = 1 } end

for _, word in ipairs { "pause", "promote", "abort" } do
	R[word] = function(self)
		local r, err = self:refresh().run.tell(self.r, self.group, word)
		if not r then return nil, err end
		return self
	end
end

for _, word in ipairs { "undo", "resume" } do
	R[word] = function(self)
		local ok, err = self:refresh().run[word](self.r, self.group)
		if not ok then return nil, err end
		self.mine = true
		return self
	end
end

function R:history() return self:refresh().r.events end
function R:status() return self.commands.status_of(self:refresh().r) end

return M
