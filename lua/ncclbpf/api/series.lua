-- SPDX-License-Identifier: MIT
-- Telemetry over time. Each sample adds the times of collectives since the previous one, by kind
-- as in rollouts; a collective takes as long as its slowest rank. Rates, quantiles and comparisons
-- use these times.
local class = require "ncclbpf.base.class"
local lists = require "ncclbpf.base.lists"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"
local witness = require "ncclbpf.rollout.evidence"

local try = errors.try
local M = {}

M.MOST = 200000 -- largest number of times; the oldest are dropped first
local Series = {}
M.methods = Series

local new_series = class.new("series", Series, {
	__tostring = function(o)
		local s = class.state[o]
		local n = 0
		for _ in pairs(s.kinds) do n = n + 1 end
		return ("series of %s: %d samples, %s of %s"):format(
			s.from, #s.samples, units.count(s.count, "collective"),
			units.count(n, "kind"))
	end,
	__len = function(o) return class.state[o].count end,
	-- lets scripts write: for kind, times in pairs(series)
	__pairs = function(o)
		local s = class.state[o]
		local k, i = Series.kinds(o), 0
		return function()
			i = i + 1
			if k[i] then return k[i], s.kinds[k[i]].ns end
		end
	end,
})

local function of(o) return class.self(o, "series", 3) end

local function wanted(s, op)
	if s.comm and op.comm:sub(1, #s.comm) ~= s.comm then return false end
	if s.from_bytes and (op.size * 2 <= s.from_bytes or op.size > s.to_bytes) then
		return false
	end
	return not s.colls or s.colls[op.coll] == true
end

-- Drop the older half of a kind's times; a kind with one time is dropped.
local function halve(s, name)
	local k = s.kinds[name]
	local drop = math.max(1, #k.ns // 2)
	for _, f in ipairs { "ns", "seq", "at" } do
		k[f] = table.move(k[f], drop + 1, #k[f], 1, {})
	end
	if #k.ns == 0 then s.kinds[name] = nil end
	s.count, s.dropped = s.count - drop, s.dropped + drop
end

-- Drop times of the largest kinds, the oldest first, until few enough are left.
local function trim(s)
	local largest, names = 0, {}
	for name, k in pairs(s.kinds) do
		if #k.ns > largest then largest, names = #k.ns, {} end
		if #k.ns == largest then names[#names + 1] = name end
	end
	table.sort(names, function(a, b)
		local x, y = s.kinds[a], s.kinds[b]
		if x.at[1] ~= y.at[1] then return x.at[1] < y.at[1] end
		if x.seq[1] ~= y.seq[1] then return x.seq[1] < y.seq[1] end
		return a < b
	end)
	for _, name in ipairs(names) do
		if s.count <= M.MOST then return end
		halve(s, name)
	end
end

local function take(s, ops, at)
	local list, n = {}, 0
	for _, op in pairs(ops) do
		if op.ns > 0 and wanted(s, op) then list[#list + 1] = op end
	end
	table.sort(list, function(a, b) return a.seq < b.seq end)
	for _, op in ipairs(list) do
		local line = collectives.line(op)
		if op.seq > (s.last[line] or -1) then
			local kind = collectives.kind(op)
			local k = s.kinds[kind] or { ns = {}, seq = {}, at = {}, coll = op.coll,
				size = op.size, comm = op.comm, ranks = op.ranks }
			s.kinds[kind] = k
			k.ns[#k.ns + 1], k.seq[#k.seq + 1], k.at[#k.at + 1] = op.ns, op.seq,
				#s.samples + 1
			n = n + 1
		end
	end
	for _, op in ipairs(list) do
		local line = collectives.line(op)
		s.last[line] = math.max(s.last[line] or -1, op.seq)
	end
	s.count = s.count + n
	s.samples[#s.samples + 1] = { time = core.time(), mono = at, new = n }
	while s.count > M.MOST do trim(s) end
	return n
end

-- ---- the beginning ---------------------------------------------------------------------

-- Communicators in which some rank has not passed the fence of the last change: {comm = true}
local function before_fence(g)
	local waiting = {}
	for _, r in ipairs(g:ask "change status") do
		local last = r.data and read.record(r.data.last)
		for _, c in ipairs(last and read.list(last, "comms") or {}) do
			if read.number(c.passed) < read.number(c.ranks) then
				waiting[c.comm] = true
			end
		end
	end
	return waiting
end

-- The first sample begins a series: in each communicator now, or when all of its ranks have passed
-- the fence of the last change. Collectives enqueued before do not count. -> the collectives so far
local function begin(s, g)
	local waiting = before_fence(g)
	local from, ops = collectives.until_now(function(line)
		return session.answers(g:ask(line))
	end)
	for line, seq in pairs(from) do
		if not s.waiting or s.waiting[line:match "^%S+"] then
			s.last[line] = math.max(s.last[line] or -1, seq)
		end
	end
	-- A later change does not restart the series of other communicators.
	for comm in pairs(s.waiting and waiting or {}) do
		if not s.waiting[comm] then waiting[comm] = nil end
	end
	s.waiting = waiting
	return ops
end

-- M.live(group_of, options, from, name): a series; the job is not contacted yet. options:
-- comm, collectives, sizes, history: also use the collectives that the job still has
-- recorded
function M.live(group_of, opts, from, name, level)
	level = (level or 2) + 1
	opts = errors.check_options(name, opts, { comm = "string", collectives = "table",
		sizes = "string", history = "boolean" }, level)
	local s = { group_of = group_of, from = from, kinds = {}, last = {}, samples = {},
		count = 0, dropped = 0, comm = opts.comm, waiting = opts.history and {} or nil }
	for _, c in ipairs(opts.collectives or {}) do
		if type(c) ~= "string" or not core.nccl("coll", c) then
			error(("%s: option collectives: no collective %s"):format(
				name, tostring(c)), level)
		end
		s.colls = s.colls or {}
		s.colls[c] = true
	end
	if opts.sizes then
		local a, b = opts.sizes:match "^(.-)%.%.(.*)$"
		s.from_bytes, s.to_bytes = a and units.size(a), b and units.size(b)
		if not (s.from_bytes and s.to_bytes and s.from_bytes <= s.to_bytes) then
			error(('%s: option sizes: "4M..128M" expected'):format(name), level)
		end
	end
	return new_series(s)
end

-- M.file(path) -> a series of what NVIDIA's Inspector wrote | nil, err
M.file = errors.catch(function(path)
	local text = try(core.read(path, 256 << 20))
	local list, warning = try(require("ncclbpf.sweep.measurements").inspector(path, text))
	local s = { from = path, kinds = {}, last = {}, samples = {}, count = 0, dropped = 0,
		group_of = function()
			error(errors.new("refused",
				("series: this series was read from %s and has no job"):format(
				path)), 0)
		end }
	local ops = {}
	for i, r in ipairs(list) do
		local size = r.bytes < 2 and r.bytes or 1
		while size > 0 and size <= r.bytes // 2 do size = size * 2 end
		ops[i] = { comm = r.comm, coll = r.coll, size = size, seq = r.seq,
			ns = math.floor(r.us * 1000), ranks = r.ranks }
	end
	take(s, ops, 0)
	return new_series(s), warning
end)

-- s:sample() -> number of new collectives, 0 for the first, which begins the series | nil, err
function Series:sample()
	local s = of(self)
	local g = s.group_of()
	local ops
	if not s.waiting or next(s.waiting) then
		ops = begin(s, g)
	else
		ops = collectives.of(session.answers(g:ask "sample tail count=1024"))
	end
	return take(s, ops, clock.now())
end

-- s:watch{seconds=, every=, count=, until_=}: take samples until the time is over, count
-- collectives were seen, or until_(series) returns true -> s | nil, err
function Series:watch(opts)
	local s = of(self)
	opts = errors.check_options("series:watch", opts,
		{ seconds = "number", every = "number", count = "integer", stop = "function" })
	local every = opts.every or clock.times.sample
	if not (every >= 0.01 and every <= 3600) then
		error("series:watch: option every: 0.01 to 3600 seconds expected", 2)
	end
	if not (opts.seconds or opts.count or opts.stop) then
		error("series:watch: option seconds, count or stop expected", 2)
	end
	local till = opts.seconds and clock.now() + opts.seconds
	local stop = errors.callback(opts.stop)
	while true do
		try(self:sample())
		if opts.count and s.count >= opts.count or stop and stop(self) then
			return self
		end
		local left = till and till - clock.now() or every
		if left <= 0 then return self end
		clock.sleep(math.min(every, left))
	end
end

-- s:kinds() -> names of the kinds, sorted by collective, size and communicator
function Series:kinds()
	return collectives.kinds(of(self).kinds)
end

-- s:times(kind) -> times in seconds, oldest first; the times of all kinds if kind is nil
function Series:times(kind)
	local s = of(self)
	if kind ~= nil and not s.kinds[kind] then
		return nil, errors.new("not_found", ("series: nothing of %s"):format(
			tostring(kind)),
			{ hint = type(kind) == "string" and errors.nearest(kind, self:kinds())
				or nil })
	end
	local t = {}
	for _, name in ipairs(kind and { kind } or self:kinds()) do
		for _, ns in ipairs(s.kinds[name].ns) do t[#t + 1] = ns / 1e9 end
	end
	return t
end

-- s:quantiles([{0.5, 0.99}]) -> {kind = {count, [0.5] = seconds, ...}}
function Series:quantiles(list)
	local s = of(self)
	list = list or { 0.5, 0.9, 0.99 }
	class.check(list, "table", "series:quantiles")
	for i, q in ipairs(list) do
		if type(q) ~= "number" or not (q >= 0 and q <= 1) then
			error(("series:quantiles: number %d: 0 to 1 expected, found %s"):format(
				i, tostring(q)), 2)
		end
	end
	local out = {}
	for kind, k in pairs(s.kinds) do
		local sorted = table.move(k.ns, 1, #k.ns, 1, {})
		table.sort(sorted)
		local row = { count = #sorted }
		for _, q in ipairs(list) do
			row[q] = sorted[math.max(1, math.ceil(q * #sorted))] / 1e9
		end
		out[kind] = row
	end
	return out
end

-- s:rates() -> {kind = {per_second, bytes_per_second, busbw_gbs}}, between the
-- first sample and the last; {} before there are two
function Series:rates()
	local s = of(self)
	local out, n = {}, #s.samples
	local seconds = n > 1 and s.samples[n].mono - s.samples[1].mono or 0
	if seconds <= 0 then return out end
	for kind, k in pairs(s.kinds) do
		local count, sum = 0, 0
		for i, ns in ipairs(k.ns) do
			sum = sum + ns
			-- The collectives of the first sample ended before the measured
			-- interval.
			if k.at[i] > 1 then count = count + 1 end
		end
		out[kind] = { per_second = count / seconds,
			bytes_per_second = count * k.size / seconds,
			busbw_gbs = witness.bandwidth(k.coll, k.size, k.ranks, sum / #k.ns) }
	end
	return out
end

-- s:compare(other[, {kind=, confidence=, min_effect_pct=, block=}]) -> {kind = judgement}.
-- A judgement tells how much longer the times of @other are, for a kind that both series
-- have.
function Series:compare(other, opts)
	local s = of(self)
	local o = class.state[other]
	if not o or o.kind ~= "series" then error("series:compare: another series expected", 2) end
	opts = errors.check_options("series:compare", opts,
		{ confidence = "number", min_effect_pct = "number", block = "integer" })
	local out = {}
	for kind, k in pairs(s.kinds) do
		if o.kinds[kind] then
			out[kind] = require("ncclbpf.rollout.judge").judge {
				a = k.ns, b = o.kinds[kind].ns, block = opts.block,
				confidence = opts.confidence,
				min_effect_pct = opts.min_effect_pct }
		end
	end
	return out
end

-- s:samples() -> list of {time, new}
function Series:samples()
	return lists.map(of(self).samples, function(x) return { time = x.time, new = x.new } end)
end

-- s:csv(path) -> number of lines written | nil, err
function Series:csv(path)
	local s = of(self)
	class.check(path, "string", "series:csv")
	local lines = { "sample,comm,collective,size_bytes,seq,time_ns" }
	for _, kind in ipairs(self:kinds()) do
		local k = s.kinds[kind]
		for i, ns in ipairs(k.ns) do
			lines[#lines + 1] = ("%d,%s,%s,%d,%d,%d"):format(
				k.at[i], k.comm, k.coll, k.size, k.seq[i], ns)
		end
	end
	try(core.write(path, table.concat(lines, "\n") .. "\n"))
	return #lines - 1
end

-- s:clear(): drop all times; collectives that were counted before do not count again
function Series:clear()
	local s = of(self)
	s.kinds, s.samples, s.count = {}, {}, 0
end

class.protect(Series)

return M
