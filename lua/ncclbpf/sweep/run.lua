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
local read = require "ncclbpf.job.read"
local plan = require "ncclbpf.rollout.plan"
local rollout = require "ncclbpf.rollout.run"
local runner = require "ncclbpf.rollout.runner"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local store = require "ncclbpf.rollout.store"
local sweep = require "ncclbpf.sweep.choose"
local tables = require "ncclbpf.policy.table"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local PID = select(2, core.ids())

-- ---- the file ------------------------------------------------------------------

local function valid(s)
	return type(s.state) == "string" and type(s.baseline) == "table"
		and type(s.prefix) == "string" and type(s.runner) == "table"
end

-- M.load(home) -> the last sweep of the job | nil (none) | nil, err
function M.load(home)
	local s, err = store.load(home, "sweep", valid)
	if s and s.undone and s.state == "running" then
		s.state = "abandoned"
		s.reason = "the runner was lost; the agent of site " .. tostring(s.undone.site)
			.. " restored the baseline"
	end
	return s, err
end

-- Save the sweep if its file still describes the sweep @old (nil: there was no sweep).
local function replace(r, old)
	local keep = { version = 1, job = r.job, id = r.id, state = r.state,
		reason = r.why or r.reason,
		runner = r.runner, baseline = r.baseline, prefix = r.prefix, round = r.round,
		blocks = r.done or r.blocks, of = r.of, plan = r.plan, result = r.result,
		failure = r.failure }
	local over = r.state ~= "running"
	return store.replace(r, "sweep", keep, valid, old, over, over and not r.unsafe)
end

local function save(r)
	local ok, err = replace(r, { id = r.id, token = r.taken or r.runner.token })
	if not ok then return nil, err end
	r.taken = nil
	return true
end

function M.runs(s)
	if s.state ~= "running" then return false end
	local _, alive = store.active(s.runner)
	return alive
end

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
							d.max_channels) })
				c.usable = c.usable & t.usable
				c.comms[d.comm] = true
				local a = read.record(t.answer)
				c.now = c.now or { algo = a.algo, proto = a.proto,
					channels = read.number(a.channels) }
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
			and c.most_channels or nil)) do
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
-- -> arm {name, of = {class = label}} | nil (nothing is left) | nil, err
local make_arm = errors.catch(function(r, i)
	local lines, of = {}, {}
	for _, c in ipairs(r.classes) do
		local label = c.live[i]
		local x = label and not c.dropped[label] and c.candidates[label]
		if x then
			of[c] = label
			lines[#lines + 1] = ("%s,%d,%d,%s,%s,%d,%d,%d"):format(
				c.coll, c.from, c.to, x.algo, x.proto, x.channels > 0 and x.channels
				or -1, c.nodes, c.ranks)
		end
	end
	if #lines == 0 then return nil end
	r.made = r.made + 1
	local name = r.prefix .. r.made
	local bytes = try(tables.compile(table.concat(lines, "\n") .. "\n", { name = name }))
	local image = core.image(bytes)
	try(policy.load(r.group, name, bytes, image, image:info()))
	r.names[#r.names + 1] = name
	return { name = name, of = of, number = i }
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

local function names_with(r, arm)
	local t = core.array(table.move(r.baseline, 1, #r.baseline, 1, {}))
	if arm then t[#t + 1] = arm.name end
	return t
end

-- Change the job to @arm (nil: the baseline). -> true | nil, word, why, as blocks.block
-- returns them
local function place(r, arm)
	local ok, err = job.guard(r)
	if not ok then return nil, job.refused(err) end
	if r.now == (arm or "base") then return true end
	ok, err = job.use(r, names_with(r, arm), r.plan.block_timeout)
	if not ok then return nil, job.refused(err) end
	r.now = arm or "base"
	return true
end

local function record(r, arm, medians, ran)
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

local function shuffled(n, random)
	local t = {}
	for i = 0, n do t[#t + 1] = i end
	for i = #t, 2, -1 do
		local j = random(i)
		t[i], t[j] = t[j], t[i]
	end
	return t
end

-- Return a random number generator. The same seed gives the same order on any machine.
local function generator(seed)
	local x = seed & 0xffffffff
	if x == 0 then x = 1 end
	return function(n)
		x = (x ~ (x << 13)) & 0xffffffff
		x = x ~ (x >> 17)
		x = (x ~ (x << 5)) & 0xffffffff
		return x % n + 1
	end
end

-- Begin round @n: the baseline and the arms in random order. The guards compare with the baseline,
-- so it is first in round 1.
local function begin_round(r, n)
	local order = shuffled(#r.arms, r.random)
	if n == 1 then
		for i, a in ipairs(order) do
			if a == 0 then order[i], order[1] = order[1], 0 end
		end
	end
	r.round, r.order = n, order
end

-- ---- begin and end -----------------------------------------------------------------

-- Discard the tables @names. A table that a rank still uses is retried until the rank has passed
-- the fence.
local function forget_tables(group, names)
	local till = clock.now() + clock.times.unload
	for _, name in ipairs(names) do
		local busy
		repeat
			if busy then clock.sleep(clock.times.poll) end
			busy = false
			for _, r in ipairs(group:ask(session.line { "policy", "unload", name })) do
				busy = busy or r.err and r.err.code == "busy"
			end
		until not busy or clock.now() > till
	end
end

-- Restore the baseline on all ranks and discard the tables. -> true, "left" after a concurrent
-- change | nil, err
local function restore(r)
	core.hold(true)
	local fine, ok, err = pcall(job.use, r, r.baseline, clock.times.baseline)
	if not fine then ok, err = nil, errors.caught(ok) end
	-- Idle ranks change with their next decision.
	if not ok and err.code == "timed_out" then ok = true end
	if not ok and err.code == "stale" then ok = "left" end
	pcall(forget_tables, r.group, r.names)
	core.hold(false)
	return ok, err
end

-- Restore the baseline from the supervisor, by a connection of its own.
-- @fleet: the store of a job of several hosts, or nil
local function rescue(name, baseline, prefix, fleet)
	local group = session.attach({ job = name, fleet = fleet })
	if not group then return nil end
	local names, generation = job.in_use(group)
	local ours = false
	for _, n in ipairs(names or {}) do ours = ours or n:sub(1, #prefix) == prefix end
	local done, err = true, nil
	if ours then
		local r = { group = group, generation = generation,
			plan = { block_timeout = clock.times.baseline } }
		done, err = job.use(r, baseline, clock.times.baseline)
		if not done and err.code == "timed_out" then done = true end
	end
	for _, p in ipairs(read.list(group:ask "policy list"[1].data, "policies")) do
		if p.name and p.name:sub(1, #prefix) == prefix then
			forget_tables(group, { p.name })
		end
	end
	group:close()
	return done, err
end
M.rescue = rescue

-- Return the last sweep of the job, or nil. Raises if a rollout or sweep of it runs.
local function free(group)
	local old, err = rollout.load(group)
	if err then error(err, 0) end
	if old and not rollout.ended[old.state] and rollout.is_of(old, group) then
		error(errors.new("busy", ("rollout %s of this job is %s"):format(
			tostring(old.plan.name), old.state), { hint = "rollout abort ends it" }), 0)
	end
	old, err = M.load(group)
	if err then error(err, 0) end
	if old and M.runs(old) and not store.is_this_process(old.runner) then
		error(errors.new("busy", ("process %s sweeps this job"):format(
			tostring(old.runner.pid)), { hint = "sweep abort ends that" }), 0)
	end
	return old
end

-- Check and prepare a sweep; the job is not changed. -> r | nil, err
local function prepare(group, p)
	local r = { old = free(group), runner = store.runner(), group = group, home = group,
		job = group.job, plan = p,
		names = {}, made = 0, blocks = {}, done = 0, state = "running",
		stops = core.array {}, kinds = {}, now = "base",
		id = ("%s-%s"):format(p.name, core.time():gsub("[^%dT]", "")),
			prefix = ("sweep-%d-%d-"):format(
			PID, math.floor(clock.now() * 1000) % 100000) }
	r.path = try(store.path(group.job, "sweeps"))
	p.seed = p.seed or math.random(1 << 30)
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
			"NCCL offers no other combination there than the current one",
			{ hint = "allow other algos, protos or channels in the plan" })
	end
	local least = sweep.least_rounds((1 - p.confidence) / n)
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
		state = r.state, reason = r.why, job = r.job, baseline = r.baseline,
		blocks = r.done, stopped = stopped(r), guards = r.stops, left_out = r.left_out,
		restored = back and r.state ~= "left", seed = r.plan.seed,
		warnings = r.no_gpu_times and core.array { r.no_gpu_times } or nil })
end

-- ---- running ------------------------------------------------------------------------

-- End the sweep: restore the baseline, save the result. -> r | nil, err
local function finish(r, state, why, err)
	local back, trouble = true, nil
	if state == "left" then
		pcall(forget_tables, r.group, r.names)
	else
		back, trouble = restore(r)
	end
	r.state, r.why, r.unsafe = back == "left" and "left" or state, why, not back
	if not back then
		err = errors.new("aborted", "the baseline could not be restored: "
			.. trouble.message,
			{ hint = "the supervisor keeps trying; sweep abort tries again" })
	elseif err and err.code == "interrupted" then
		err = nil
	end
	if err then runner.fail(r, err) end
	r.result = result_of(r, back)
	save(r)
	if err then return nil, err end
	return r
end

-- End the sweep after a block without medians. @word: a word of rollout/block.lua, such as
-- "leave" or "pause"
local function ended(r, word, why)
	if word == "leave" then return finish(r, "left", job.left(why)) end
	return finish(r, word == "pause" and not why and "interrupted" or "stopped",
		why or core.stopped() and "interrupted" or "asked to end")
end

local function begin(r)
	r.no_gpu_times = job.begin(r)
	local ok, err = make_arms(r)
	if not ok then error(err, 0) end
	r.of, r.random = r.plan.rounds * (#r.arms + 1), generator(r.plan.seed)
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
	if again then table.insert(r.order, i) end
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
		i = table.remove(r.order, 1)
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
		record(r, arm, medians, ran)
		if not arm then r.blocks[#r.blocks + 1] = { arm = "a", medians = medians } end
	elseif word == "guard" then
		return repeat_without(r, i, why, evidence)
	else
		return ended(r, word, why)
	end
end

-- The functions that rollout/runner.lua needs to run a sweep
local methods = { step = step, save = save, load = M.load }

function methods.ended(r) return r.state ~= "running" end

function methods.stop(r, why, err) return finish(r, "stopped", why, err) end

function methods.lost(r, err)
	r.state, r.why = "stopped", err.message
	return save(r)
end

function methods.rescue(r)
	local name, baseline, prefix, url = r.job, r.baseline, r.prefix, r.group.url
	return function() return rescue(name, baseline, prefix, url) end, function(done)
		local s = M.load { job = name, fleet = url and true,
			store = url and sites.open(url) }
		if not s or s.prefix ~= prefix then return end
		s.state, s.unsafe, s.reason = "abandoned", not done,
			"the process that ran it died; " .. (done
				and "its supervisor restored the baseline"
				or "its supervisor could not restore the baseline: sweep abort")
		save(s)
	end
end

-- Start a sweep: create its file; the job is not changed yet. -> r | nil, err
M.start = errors.catch(function(group, p)
	local r = try(prepare(group, p))
	local old = r.old
	try(replace(r, old and { id = old.id, token = old.runner.token }))
	store.forget_requests(r)
	return r
end)

-- Run the sweep in a process of its own. -> its PID | nil, err
function M.detach(r) return runner.detach(r, methods, save) end

-- Follow sweep @r, whichever process runs it. -> the sweep as its file has it | nil, err
function M.follow(r, tell, pid) return runner.follow(r, methods, tell, pid) end

-- Ask the runner to end the sweep; without a runner, restore the baseline in this process.
-- -> a word for the outcome | nil, err
M.abort = errors.catch(function(group)
	local s, err = M.load(group)
	if err then return nil, err end
	if not s then
		return nil, errors.new("not_found", "this job has no sweep",
			{ hint = "sweep start PLAN" })
	end
	if M.runs(s) then
		try(store.request(s, "pause"))
		return ("process %d was asked to end the sweep"):format(s.runner.pid), s
	end
	local ok
	ok, err = rescue(group.job, s.baseline, s.prefix, group.url)
	if not ok then return nil, err or errors.new("no_target", "the job does not answer") end
	return "the job has its baseline", s
end)

return M
