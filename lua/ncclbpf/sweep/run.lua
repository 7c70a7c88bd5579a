-- SPDX-License-Identifier: MIT
-- A sweep on a live job: baseline and candidates take turns, each turn a
-- change at a fence and a block of the job's own collectives. All kinds of
-- collectives are tried at once, each with a candidate of its own, in one table
-- that is appended to the policies in use. However it ends, the job gets its baseline
-- back: from the process that runs the sweep, also after a request to end and after errors,
-- or from that process's supervisor (rollout/runner.lua).
local lists = require "ncclbpf.base.lists"
local blocks = require "ncclbpf.rollout.block"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local job = require "ncclbpf.rollout.job"
local judge = require "ncclbpf.rollout.judge"
local policy = require "ncclbpf.policy.policy"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local plan = require "ncclbpf.rollout.plan"
local record = require "ncclbpf.rollout.record"
local runner = require "ncclbpf.rollout.runner"
local session = require "ncclbpf.job.session"
local store = require "ncclbpf.rollout.store"
local sweep = require "ncclbpf.sweep.choose"
local tables = require "ncclbpf.policy.table"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local KIND = record.kinds.sweep

-- M.load(home) -> the last sweep of the job | nil (none) | nil, err
function M.load(home) return record.load(KIND, home) end

-- ---- the job's decisions -----------------------------------------------------------

local function member_tables(group)
	local ids, seen = {}, {}
	for c in read.each(group:ask "comm list", "comms") do
		if not seen[c.comm] then
			seen[c.comm], ids[#ids + 1] = true, tostring(c.comm)
		end
	end
	local out = {}
	for _, id in ipairs(ids) do
		for _, x in ipairs(group:ask(session.line { "comm", "show", id })) do
			if x.data then out[#out + 1] = x.data end
		end
	end
	return out
end

-- Make the classes of the job's decisions, with the combinations that NCCL offers on all ranks.
local function classes_of(group, p)
	local by, classes = {}, {}
	for _, d in ipairs(member_tables(group)) do
		for _, t in ipairs(read.list(d, "table")) do
			local from = read.number(t.bytes_from)
			if math.type(t.usable) ~= "integer" then
				return nil, errors.new(
					"protocol", "the job does not report what NCCL offers",
					{ hint = "the job's plugin is older than this shell" })
			end
			if sweep.in_scope(p, t.coll, from) then
				local key = sweep.class_key(t.coll, from, d.nodes, d.ranks)
				local c = by[key] or lists.add(classes, by, key, {
					coll = t.coll, from = from, to = t.bytes_to,
						nodes = d.nodes, ranks = d.ranks, usable = t.usable,
						comms = {}, strata = {},
						candidates = {}, dropped = {}, out = {},
							most_channels = read.number(
							d.max_channels),
							chunks = read.number(d.tuner_abi) >= 6 })
				c.usable = c.usable & t.usable
				c.comms[d.comm] = true
				local a = read.record(t.answer)
				c.now = c.now or { algo = a.algo, proto = a.proto,
					channels = read.number(a.channels),
					chunk_size = read.number(a.chunk_size) }
			end
		end
	end
	table.sort(classes, lists.by("coll", "from", "nodes", "ranks"))
	return classes
end

-- Give each class its candidates: the offered combinations without the current one. ->
-- number of candidates beyond the option most=
local function candidates(classes, p)
	local left_out = 0
	for _, c in ipairs(classes) do
		c.list = {}
		for _, x in ipairs(sweep.offered(p, c.usable, c.nodes, c.most_channels > 0
			and c.most_channels or nil, c.chunks)) do
			local label = sweep.label(x)
			if not (c.now and c.now.algo and label == sweep.label(c.now)) then
				if #c.list < p.most then
					c.list[#c.list + 1] = label
					c.candidates[label] = x
				else
					left_out = left_out + 1
				end
			end
		end
	end
	return left_out
end

-- ---- arms -----------------------------------------------------------------------------

-- Make a table with candidate @i of each class that still has one, and load it into the job.
-- -> arm {name, names = of its policies, of = {class = label}} | nil (nothing is left) | nil, err
local make_arm = errors.catch(function(r, i)
	local list, of = {}, {}
	for _, c in ipairs(r.classes) do
		local label = c.live[i]
		local x = label and not c.dropped[label] and c.candidates[label]
		if x then
			of[c] = label
			list[#list + 1] = { c = c, x = x, chunk_size = x.chunk_size }
		end
	end
	if #list == 0 then return nil end
	local header = sweep.header(list)
	local lines = lists.map(list, function(y) return sweep.row(y.c, y.x, header) end)
	r.made = r.made + 1
	local name = r.prefix .. r.made
	local bytes = try(tables.compile(header .. table.concat(lines, "\n") .. "\n",
		{ name = name }))
	local image = core.image(bytes)
	try(policy.load(r.group, name, bytes, image, image:info()))
	local names = table.move(r.baseline, 1, #r.baseline, 1, {})
	names[#names + 1] = name
	return { name = name, names = names, of = of }
end)

-- Distribute the remaining candidates over as few arms as possible.
local function make_arms(r)
	local most = 0
	for _, c in ipairs(r.classes) do
		c.live = {}
		for _, label in ipairs(c.list) do
			if not c.dropped[label] and not c.out[label] then
				c.live[#c.live + 1] = label
			end
		end
		most = math.max(most, #c.live)
	end
	r.arms = {}
	for i = 1, most do
		local arm, err = make_arm(r, i)
		if err then return nil, err end
		r.arms[#r.arms + 1] = arm
	end
	return true
end

-- ---- blocks -------------------------------------------------------------------------

-- Change the job to @arm (nil: the baseline). -> as job.place
local function place(r, arm) return job.place(r, arm and arm.names or "a") end

local function keep_times(r, arm, medians, ran)
	for kind, ns in pairs(medians) do
		local at = r.kinds[kind]
		local label = at and (not arm and "base" or arm.of[at.class])
		if label then
			local asked, n = at.class.candidates[label], ran[kind]
			if arm and n and n.other > n.right then
				at.class.dropped[label] = ("NCCL ran %s, not %s/%s"):format(
					n.what, asked.algo, asked.proto)
			else
				local s = at.class.strata
				s[at.comm] = s[at.comm] or {}
				lists.push(s[at.comm], label, ns / 1000)
			end
		end
	end
end

-- Count the combinations that NCCL ran, because NCCL_ALGO and similar variables may overrule an
-- answer.
local function watch(r, arm)
	local ran = {}
	r.ran = function(kind, op)
		local at = r.kinds[kind]
		local x = arm and at and at.class.candidates[arm.of[at.class] or ""]
		if not x then return end
		ran[kind] = ran[kind] or { right = 0, other = 0 }
		local n = ran[kind]
		if op.ran == x.algo .. "/" .. x.proto then
			n.right = n.right + 1
		else
			n.other, n.what = n.other + 1, op.ran
		end
	end
	return ran
end

-- A guard has stopped a block, so drop the candidate from its class.
local function drop(r, arm, why, evidence)
	r.stops[#r.stops + 1] = { policy = arm and arm.name or nil, reason = why,
		guard = evidence.guard, collectives = evidence.collectives }
	if not arm or evidence.guard == "agreement" then
		error(errors.new("ranks_disagree", why), 0)
	end
	local at = evidence.kind and r.kinds[evidence.kind]
	for c, label in pairs(arm.of) do
		if not at or at.class == c then c.dropped[label] = why end
	end
end

-- After half of the rounds, drop candidates that are surely slower.
local function halfway(r)
	for _, c in ipairs(r.classes) do
		for label in pairs(c.candidates) do
			for _, s in pairs(c.strata) do
				if s.base and s[label] and judge.compare(
					s.base, s[label],
					{ alpha = 1 - r.plan.confidence,
					min_effect_pct = judge.defaults.min_effect_pct,
					least = 4 }).verdict == "fail" then
					c.out[label] = true
				end
			end
		end
	end
	return make_arms(r)
end

-- Begin round @n: the baseline and the arms in random order.
local function begin_round(r, n)
	r.round, r.order = n, record.order(r.plan.seed, n, #r.arms + 1)
end

-- ---- begin and end -----------------------------------------------------------------

-- Discard the sweep's tables. A table that a rank still uses is retried until the rank has passed
-- the fence.
local function forget_tables(r)
	local till = clock.now() + clock.times.unload
	for _, p in ipairs(read.list(r.group:ask "policy list"[1].data, "policies")) do
		local line = session.line { "policy", "unload", tostring(p.name) }
		local busy = tostring(p.name):sub(1, #r.prefix) == r.prefix
		while busy and clock.now() <= till do
			busy = false
			for _, x in ipairs(r.group:ask(line)) do
				busy = busy or x.err and x.err.code == "busy"
			end
			if busy then clock.sleep(clock.times.poll) end
		end
	end
end

-- Restore the baseline on all ranks and discard the tables. -> true, "left" after a concurrent
-- change | nil, err
local function restore(r)
	core.hold(true)
	local fine, ok, err = pcall(job.use, r, "a", clock.times.baseline)
	if not fine then ok, err = nil, errors.caught(ok) end
	-- Idle ranks change with their next decision.
	if not ok and err.code == "timed_out" then ok = true end
	if not ok and err.code == "stale" then ok = "left" end
	pcall(forget_tables, r)
	core.hold(false)
	return ok, err
end

-- Take over a sweep whose runner has ended, and restore the baseline unless the job has no table of
-- the sweep. -> true | nil, err; raises errors
local function undo(r, group, why)
	record.adopt(r, group)
	local now, ours = try(group:one "status"), false
	-- Communicators to which somebody gave policies of their own meanwhile keep these.
	r.generation, r.others = now.generation, #reach.rows(now) > 0
	for _, n in ipairs(read.record(now.policies)) do
		ours = ours or tostring(n):sub(1, #r.prefix) == r.prefix
	end
	try(record.claim(r))
	local ok, err = true, nil
	if ours then ok, err = restore(r) else pcall(forget_tables, r) end
	if not ok then return nil, err end
	r.state, r.reason, r.unsafe = "abandoned", why, nil
	return record.save(r)
end

-- Check and prepare a sweep; the job is not changed. -> r | nil, err
local function prepare(group, p)
	local old = record.free(KIND, group)
	local r = record.new(KIND, group, p)
	r.old, r.state, r.arm, r.made, r.done, r.kinds = old, "running", "a", 0, 0, {}
	r.stops = core.array {}
	r.prefix = ("sweep-%d-%d-"):format(r.runner.pid, math.floor(clock.now() * 1000) % 100000)
	r.baseline, r.generation = try(job.in_use(group))
	-- The job may declare that its times are not measured.
	local s = group:ask "status"[1]
	local times = s.data and read.text(s.data.times)
	p.label = p.label or times and "Times are not measured: " .. times .. "." or nil
	r.classes = try(classes_of(group, p))
	if #r.classes == 0 then
		return nil, errors.new(
			"not_found", "the job has made no decision in the scope yet",
			{ hint = "comm show lists the job's decisions" })
	end
	r.left_out = candidates(r.classes, p)
	local n = 0
	for _, c in ipairs(r.classes) do
		for comm in pairs(c.comms) do
			r.kinds[collectives.kind { coll = c.coll, size = c.from, comm = comm }] = {
				class = c, comm = comm }
			n = n + #c.list
		end
	end
	if n == 0 then
		return nil, errors.new("refused",
			"NCCL offers only the current combination there",
			{ hint = "allow other algos, protos or channels in the plan" })
	end
	local least = judge.least_blocks((1 - p.confidence) / n)
	if p.rounds < least then
		return errors.fail("bad_argument",
			"rounds: %d are too few for confidence %g and %d comparisons; " ..
			"%d or more needed", p.rounds, p.confidence, n, least)
	end
	r.comparisons = n
	return r
end

-- Describe a sweep, for -n. -> list of {what, how} | nil, err
M.steps = errors.catch(function(group, p)
	local r = try(prepare(group, p))
	local most, t = 0, {}
	for _, c in ipairs(r.classes) do
		most = math.max(most, #c.list)
		t[#t + 1] = { ("%s %s"):format(c.coll, units.bytes(c.from)),
			("%s; now %s"):format(#c.list > 0 and table.concat(c.list, ", ")
			or "nothing else is offered",
			c.now and c.now.algo and sweep.label(c.now) or "not known") }
	end
	t[#t + 1] = { "baseline", #r.baseline > 0 and table.concat(r.baseline, ", ")
		or "none (NCCL's own choice)" }
	t[#t + 1] = { "blocks",
		("%d rounds of up to %d, in random order, " ..
		"%d collectives each of the most frequent kind"):format(p.rounds, most + 1,
		plan.collectives(p)) }
	t[#t + 1] = { "stops a candidate",
		("10 collectives slower by %g %% than the baseline's; " ..
		"more than %d answers refused"):format(p.guards.slower_pct, p.guards.refused) }
	t[#t + 1] = { "at the end",
		"the baseline again, also after Ctrl-C and when the shell dies" }
	return t, r
end)

local function facts(r)
	return {
		("job %s, %d blocks of %d collectives"):format(
			tostring(r.job), r.done, r.plan.samples),
		"baseline: " .. (#r.baseline > 0 and table.concat(r.baseline, ", ")
			.. "; append the table: policy add" or "NCCL's own choice"),
	}
end

-- Return the dropped candidates with their reasons.
local function stopped(r)
	local t = core.array {}
	for _, c in ipairs(r.classes) do
		for label, why in pairs(c.dropped) do
			t[#t + 1] = { coll = c.coll, bytes_from = c.from, candidate = label,
				reason = why }
		end
	end
	table.sort(t, lists.by("coll", "bytes_from", "candidate"))
	return t
end

-- Make the result from the blocks of @r. @back: the baseline is in place.
local function result_of(r, back)
	return sweep.result(r.classes, r.plan, facts(r), {
		state = r.state, reason = r.reason, job = r.job, baseline = r.baseline,
		blocks = r.done, stopped = stopped(r), guards = r.stops, left_out = r.left_out,
		restored = back and r.state ~= "left", seed = r.plan.seed,
		warnings = r.no_gpu_times and core.array { r.no_gpu_times } or nil })
end

-- ---- running ------------------------------------------------------------------------

-- End the sweep: restore the baseline, save the result. -> r | nil, err
local function finish(r, state, why, err)
	local back, trouble = true, nil
	if state == "left" then
		pcall(forget_tables, r)
	else
		back, trouble = restore(r)
	end
	r.state, r.reason, r.unsafe = back == "left" and "left" or state, why, not back or nil
	if not back then
		err = errors.new("aborted", "the baseline could not be restored: "
			.. trouble.message,
			{ hint = "the supervisor keeps trying; sweep abort tries again" })
	elseif err and err.code == "interrupted" then
		err = nil
	end
	if err then runner.fail(r, err) end
	r.result = result_of(r, back)
	local saved
	saved, trouble = record.save(r)
	err = err or not saved and trouble
	if err then return nil, err end
	return r
end

-- End the sweep after a block without medians. @word: a word of rollout/block.lua, such as
-- "leave" or "pause"
local function ended(r, word, why)
	if word == "taken" then return nil, why end -- another process has taken the sweep over
	if word == "leave" then return finish(r, "left", job.left(why)) end
	return finish(r, word == "pause" and not why and "interrupted" or "stopped",
		why or core.stopped() and "interrupted" or "asked to end")
end

local function begin(r)
	r.no_gpu_times = job.begin(r)
	local ok, err = make_arms(r)
	if not ok then error(err, 0) end
	r.of = r.plan.rounds * (#r.arms + 1)
	begin_round(r, 1)
end

-- All blocks of a round are done. Begin the next round, or end the sweep.
local function end_round(r)
	if r.round == r.plan.rounds // 2 then
		local ok, err = halfway(r)
		if not ok then return finish(r, "stopped", err.message) end
	end
	local any = false
	for _, arm in ipairs(r.arms) do any = any or arm end
	if not any or r.round == r.plan.rounds then return finish(r, "done") end
	begin_round(r, r.round + 1)
end

-- A guard stopped the block of arm @i, so the table has one candidate less. Repeat the
-- block.
local function repeat_without(r, i, why, evidence)
	local ok, word, trouble = place(r, nil)
	if not ok then return ended(r, word, trouble) end
	drop(r, r.arms[i], why, evidence)
	local again, err = make_arm(r, i)
	if err then return finish(r, "stopped", err.message) end
	r.arms[i] = again or false
	if again then table.insert(r.order, i + 1) end
end

-- Run one block of the baseline or of an arm.
local function step(r)
	if not r.order then begin(r) end
	local i
	repeat
		while #r.order == 0 do
			local done, err = end_round(r)
			if done or err then return done, err end
		end
		i = table.remove(r.order, 1) - 1
	until i == 0 or r.arms[i] -- guards may have dropped all candidates of the arm
	local arm = r.arms[i]
	local ok, word, why, evidence = place(r, arm)
	local medians, ran
	if ok then
		ran = watch(r, arm)
		medians, word, why, evidence = blocks.block(r, arm and "b" or "a")
		r.done = r.done + 1
	end
	if medians then
		keep_times(r, arm, medians, ran)
		if not arm then r.blocks[#r.blocks + 1] = { arm = "a", medians = medians } end
	elseif word == "guard" then
		return repeat_without(r, i, why, evidence)
	else
		return ended(r, word, why)
	end
end

-- What rollout/runner.lua calls.

KIND.step = step

function KIND.stop(r, why, err) return finish(r, "stopped", why, err) end

function KIND.lost(r, err)
	r.state, r.reason = "stopped", err.message
	return record.save(r)
end

function KIND.rescue(r, group)
	return undo(r, group, "the process that ran it died; its supervisor restored the baseline")
end

-- Start a sweep: create its file; the job is not changed yet. -> r | nil, err
M.start = errors.catch(function(group, p)
	local r = try(prepare(group, p))
	try(record.replace(r, r.old))
	return r
end)

-- Ask the runner to end the sweep; without a runner, restore the baseline in this process.
-- -> a word for the outcome | nil, err
M.abort = errors.catch(function(s, group)
	if record.over(s) and not s.unsafe then return "the job has its baseline" end
	if record.runs(s) then
		try(store.request(s, "pause"))
		return ("process %d was asked to end the sweep"):format(s.runner.pid)
	end
	try(undo(s, group, "its runner had ended; sweep abort restored the baseline"))
	return "the job has its baseline"
end)

return M
