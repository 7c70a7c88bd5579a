-- SPDX-License-Identifier: MIT
-- Objects of a target: policies, communicators, decisions. An object has the fields of the reply
-- it was made from; `refresh` asks again. All other methods are requests of their own.
local class = require "ncclbpf.base.class"
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local policy = require "ncclbpf.policy.policy"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local Policy, Comm, Decision = {}, {}, {}
M.methods = { policy = Policy, comm = Comm, decision = Decision }

-- Functions that init.lua sets: ask_one(target, line, field), group_of(target), vars(target,
-- name). They raise errors.
local lib
function M.bind(t) lib = t end

local function choice(t)
	if type(t) ~= "table" or not (t.algo or t.proto) then return "NCCL's own" end
	local text = ("%s/%s"):format(tostring(t.algo), tostring(t.proto))
	return math.type(t.channels) == "integer" and t.channels > 0
		and ("%s x%d"):format(text, t.channels) or text
end

-- ---- policies ----------------------------------------------------------------

local new_policy = class.record("policy", Policy, function(d)
	local where = d.in_use == true and (math.type(d.position) == "integer"
		and ("in use, number %d"):format(d.position + 1) or "in use") or "not in use"
	return ("policy %s %s: %s"):format(tostring(d.name), tostring(d.digest):sub(1, 8), where)
end)

function M.policy(target, data)
	return new_policy { target = target, data = data, more = { vars = function(s)
		return lib.vars(s.target, s.data.name)
	end } }
end

local function policy_of(o) return class.self(o, "policy", 3) end

-- p:refresh() -> p, with its current fields | nil, err
function Policy:refresh()
	local s = policy_of(self)
	s.data = lib.ask_one(s.target, session.line { "policy", "show", s.data.name })
	return self
end

-- p:use([{comm=, if_generation=}]) -> change | nil, err. Makes p the only policy in use.
function Policy:use(opts)
	local s = policy_of(self)
	opts = errors.check_options("policy:use", opts, { comm = true, if_generation = "integer" })
	return s.target:policy_use { s.data.name, comm = opts.comm,
		if_generation = opts.if_generation }
end

-- p:add([{before=, position=, comm=}]), p:move(place), p:remove([{comm=}])
for _, verb in ipairs { "add", "move", "remove" } do
	local allowed = verb ~= "remove" and { before = "string", position = "string",
		comm = true } or { comm = true }
	Policy[verb] = function(self, place)
		local s = policy_of(self)
		place = errors.check_options("policy:" .. verb, place, allowed)
		return s.target["policy_" .. verb](s.target, s.data.name, place)
	end
end

function Policy:unload()
	local s = policy_of(self)
	return s.target:policy_unload(s.data.name)
end

-- p:image() -> the bytes of its image, as the job holds it | nil, err
function Policy:image()
	local s = policy_of(self)
	return (try(lib.group_of(s.target):image(s.data.name)))
end

local function opened(o)
	return try(core.image(try(Policy.image(o))))
end

-- p:verdict([{coherence_off=}]) -> {accepted, programs} | nil, err. This process verifies the
-- policy.
function Policy:verdict(opts)
	policy_of(self)
	opts = errors.check_options("policy:verdict", opts, { coherence_off = "boolean" })
	local image = opened(self)
	return policy.verdict(image, image:info(), { coherence_off = opts.coherence_off })
end

-- p:dump() -> {name, digest, programs = {{name, section, lines}}} | nil, err
function Policy:dump()
	policy_of(self)
	local image = opened(self)
	return policy.dump(image, image:info())
end

-- ---- decisions ---------------------------------------------------------------

local new_decision = class.record("decision", Decision, function(d)
	return ("decision #%s of %s: %s %s: %s%s"):format(
		tostring(d.seq), tostring(d.comm), tostring(d.coll),
		units.bytes(math.type(d.bytes) == "integer" and d.bytes or 0), choice(d.answer),
			d.by and " by " .. tostring(d.by) or "")
end)

function M.decision(target, data) return new_decision { target = target, data = data } end

-- d:explain() -> the reasons for a decision with the same context, made now | nil, err
function Decision:explain()
	local s = class.self(self, "decision")
	return s.target:explain(tostring(s.data.coll), s.data.bytes,
		{ comm = tostring(s.data.comm) })
end

-- d:changed() -> does the answer differ from NCCL's own choice?
function Decision:changed()
	local d = class.self(self, "decision").data
	local a, n = d.answer or {}, d.nccl or {}
	return a.algo ~= n.algo or a.proto ~= n.proto or (
		math.type(a.channels) == "integer" and a.channels > 0)
end

-- Make decision objects from a list, or from the items of a stream.
function M.decisions(target, list)
	local t = {}
	for i, d in ipairs(list) do t[i] = type(d) == "table" and M.decision(target, d) or d end
	return t
end

-- ---- communicators -------------------------------------------------------------

local new_comm = class.record("comm", Comm, function(d)
	return ("comm %s: %s on %s, %s"):format(tostring(d.comm), units.count(d.ranks, "rank"),
		units.count(d.nodes, "node"), units.count(d.decisions, "decision"))
end)

function M.comm(target, data) return new_comm { target = target, data = data } end

local function comm_of(o) return class.self(o, "comm", 3) end

-- c:refresh() -> c, with its current fields and its table | nil, err
function Comm:refresh()
	local s = comm_of(self)
	s.data = lib.ask_one(s.target, session.line { "comm", "show", s.data.comm })
	return self
end

-- c:tail{count=, follow=}: like target:decisions, for this communicator. (The field decisions is
-- the number of its decisions.)
function Comm:tail(opts)
	local s = comm_of(self)
	opts = errors.check_options("comm:tail", opts, { count = "integer", follow = "function" })
	return s.target:decisions { count = opts.count, follow = opts.follow, comm = s.data.comm }
end

-- c:stats() -> measured times of the communicator, as rows of `stats` | nil, err
function Comm:stats()
	local s = comm_of(self)
	local rows, after = {}, nil
	repeat
		local d = lib.ask_one(s.target, "stats comm="
			.. session.quote(tostring(s.data.comm))
			.. (after and " after=" .. tostring(after) or ""))
		local list = type(d.rows) == "table" and d.rows or {}
		for _, x in ipairs(list) do rows[#rows + 1] = x end
		after = d.more and #list > 0 and d.next or nil
	until after == nil
	return rows
end

function Comm:explain(coll, bytes)
	local s = comm_of(self)
	class.check(coll, "string", "comm:explain: collective")
	return s.target:explain(coll, bytes, { comm = s.data.comm })
end

-- c:agreement() -> data of `check agreement` for this communicator | nil, err
function Comm:agreement()
	local s = comm_of(self)
	return lib.ask_one(s.target, session.line { "check", "agreement" } .. " comm="
		.. session.quote(tostring(s.data.comm)))
end

-- c:use("a", "b") or c:use{"a", if_generation=} gives this communicator its own policies. c:use
-- "common" gives it the policies of the other communicators.
function Comm:use(...)
	local s = comm_of(self)
	local names, opts = errors.names("comm:use", { if_generation = "integer" }, ...)
	if #names == 0 then error('comm:use: names expected, "none" or "common"', 2) end
	for i, n in ipairs(names) do class.check(n, "string", "comm:use: name " .. i) end
	local t = { comm = s.data.comm, if_generation = opts.if_generation }
	return s.target:policy_use(table.move(names, 1, #names, 1, t))
end

-- c:series{...}: as target:series, of this communicator
function Comm:series(opts)
	local s = comm_of(self)
	if opts ~= nil then class.check(opts, "table", "comm:series") end
	local t = { comm = s.data.comm }
	for k, v in pairs(opts or {}) do t[k] = v end
	return lib.series(s.target, t, "comm:series")
end

for _, methods in pairs(M.methods) do class.protect(methods) end

return M
