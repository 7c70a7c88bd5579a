-- SPDX-License-Identifier: MIT
-- A rollout: baseline and candidate alternate in blocks on a live job. Each block is a change at a
-- fence and a block of collectives. The judge then decides: promote, roll back or pause. The
-- rollout's file is replaced after each step, so any shell can show the rollout, and another
-- process can continue it.
local blocks = require "ncclbpf.rollout.block"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local job = require "ncclbpf.rollout.job"
local judge = require "ncclbpf.rollout.judge"
local lists = require "ncclbpf.base.lists"
local plan = require "ncclbpf.rollout.plan"
local promote = require "ncclbpf.rollout.promote"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local stages = require "ncclbpf.rollout.stages"
local record = require "ncclbpf.rollout.record"
local runner = require "ncclbpf.rollout.runner"
local store = require "ncclbpf.rollout.store"
local target = require "ncclbpf.job.target"
local units = require "ncclbpf.base.units"
local witness = require "ncclbpf.rollout.evidence"

local try = errors.try
local M = {}
local GUARD = 10 -- number of collectives of a kind before a guard may call it slow

local KIND = record.kinds.rollout
M.states, M.runs, M.gone, M.is_of, M.over = record.states, record.runs, record.gone, record.is_of,
	record.over
M.times, M.of_rccl, M.kinds = job.times, job.of_rccl, collectives.kinds

-- M.load(home) -> the job's rollout | nil (there is none) | nil, err
function M.load(home) return record.load(KIND, home) end

-- ---- the judge ------------------------------------------------------------------------

-- Return the block medians by kind: {kind = {a = {...}, b = {...}}}
function M.strata(blocks, pairs_done)
	local t, n = {}, 0
	for i, b in ipairs(blocks) do
		if i > pairs_done * 2 then break end
		for kind, v in pairs(b.medians) do
			t[kind] = t[kind] or { a = {}, b = {} }
			table.insert(t[kind][b.arm], v)
			n = n + 1
		end
	end
	return t, n
end

local function look(r, k)
	local done = plan.look_at(r.plan, k)
	local strata = M.strata(stages.blocks(r), done)
	-- All steps share the false-alarm probability.
	local confidence = 1 - (1 - r.plan.judge.confidence) / (r.steps and #r.steps or 1)
	local out = judge.look(strata, k, {
		confidence = confidence, min_effect_pct = r.plan.judge.min_effect_pct,
		looks = r.plan.judge.looks, least = math.min(done, 4),
		each = r.plan.promote == "better",
	})
	if r.hooks and r.hooks.look then
		out.verdict, out.reason = r.hooks.look(strata)
	end
	out.look, out.pairs = k, done
	return out
end
M.look = look

-- ---- running ----------------------------------------------------------------------------

-- Activate @arm and record @state. Does not wait until the ranks have passed the fence.
local function finish(r, arm, state, reason, evidence)
	local ok, err = true, nil
	-- Other shells see this state while the change is being made.
	local doing = state == "succeeded" and "promoting" or state == "rolled_back" and "aborting"
	if doing and r.state ~= doing then record.event(r, doing, reason, evidence) end
	if state ~= "paused" then r.baking = nil end
	if state == "succeeded" and r.plan.promote ~= "all" and #(r.steps or {}) > 1
		and #(r.whole or {}) ~= #(r.comms or {}) then
		-- the last step may have covered only a part of the scope
		r.comms, r.arm = r.whole, "none"
	end
	-- Change all communicators for a promotion or its rollback. This is a change even if
	-- the scope already has @arm.
	local all = r.comms and (state == "succeeded" and r.plan.promote == "all" or r.everywhere)
		or nil
	if r.arm ~= arm or all then ok, err = job.commit(r, arm, all) end
	if ok then
		r.arm = arm
		r.everywhere = all and state == "succeeded" or nil
		if next(r.exposed or {}) and state ~= "succeeded" then
			local most = 0
			for _, n in pairs(r.exposed) do most = math.max(most, n) end
			evidence = evidence or {}
			evidence.exposed = most
			if state == "rolled_back" then
				reason = (
					"%s; %d collectives of a communicator were decided " ..
					"by the candidate"):format(reason, most)
			end
		end
		record.event(r, state, reason, evidence)
	else
		local left = err.code == "stale"
			and "; another user or shell has made a change, which stays" or ""
		record.event(r, "paused", ("%s; but the %s could not be put in place: %s%s"):format(
			reason, arm ~= "a" and "candidate" or "baseline", err.message, left),
			evidence)
	end
	return record.save(r)
end

-- Promote the whole candidate or, with promote = "better", a policy that uses it
-- only for the kinds of collective where it was faster.
local function succeed(r, reason, evidence)
	if r.plan.promote ~= "better" then return finish(r, "b", "succeeded", reason, evidence) end
	local names, err = promote.make(r.group, r, read.record(read.record(r.verdict).strata))
	if not names then
		return finish(r, "a", "paused", ("%s; but %s"):format(reason, err.message),
			evidence)
	end
	r.promoted = names
	evidence = evidence or {}
	evidence.promoted, evidence.to = names, promote.text(r.verdict.strata)
	return finish(r, "better", "succeeded", ("%s; promoted for %s, held back elsewhere"):format(
		reason, evidence.to), evidence)
end

-- Carry out the plan's action for this verdict.
local function conclude(r, verdict)
	local action = plan.action(r.plan, verdict.verdict)
	local evidence = { look = verdict.look, verdict = verdict.verdict, reason = verdict.reason }
	local reason = ("%s at look %d: %s"):format(verdict.verdict, verdict.look, verdict.reason)
	if action == "promote" then
		record.event(r, "promoting", reason, evidence)
		return succeed(r, reason, evidence)
	elseif action == "rollback" then
		record.event(r, "aborting", reason, evidence)
		return finish(r, "a", "rolled_back", reason, evidence)
	end
	return finish(r, "a", "paused", reason, evidence)
end

-- Has the job ended? A connection closes shortly before its process ends, so wait a little.
local function over(r)
	local till = clock.now() + clock.times.closing
	while r.group:drain() == 0 do
		local dead = true
		for _, m in ipairs(r.group.members) do dead = dead and not target.lives(m) end
		if dead or clock.now() > till then return dead end
		clock.sleep(clock.times.poll)
	end
	return false
end

-- These functions handle a block without medians. A key is the reason why there are none: a request
-- of another shell, or an outcome of rollout/block.lua.
local asked = {
	pause = function(r, why)
		if over(r) then
			record.event(r, "failed", "the job has ended"
				.. (why and ": " .. why or ""))
			return record.save(r)
		end
		return finish(r, "a", "paused", why or core.stopped() and "interrupted"
			or "asked to pause")
	end,
	abort = function(r, _, other)
		return finish(r, "a", "rolled_back", "asked to abort"
			.. (other and "; " .. job.left(other) or ""))
	end,
	promote = function(r) return succeed(r, "asked to promote") end,
	guard = function(r, why, evidence)
		record.event(r, "aborting", why, evidence)
		return finish(r, "a", "rolled_back", why, evidence)
	end,
	-- Another process has taken the rollout over.
	taken = function(_, err) return nil, err end,
	-- After a concurrent change, leave that change in place and pause.
	leave = function(r, generation)
		r.arm = "other"
		record.event(r, "paused", job.left(generation))
		return record.save(r)
	end,
}

local function ended(r, word, why, evidence)
	return (asked[word] or asked.pause)(r, why, evidence)
end

-- Save the rollout between two blocks. -> nil: continue | as ended()
local function saved(r)
	local ok, err = record.save(r)
	if not ok then return ended(r, job.unsaved(err)) end
end

-- Begin the next step: more communicators, first with the baseline, judged by its own blocks.
local function advance(r)
	local _, i = stages.now(r)
	r.advancing = true
	if r.arm ~= "a" then
		local ok, err = job.commit(r, "a")
		if not ok then return ended(r, job.refused(err)) end
	end
	r.step, r.first, r.comms, r.since = i + 1, #r.blocks, r.steps[i + 1].comms, {}
	r.advancing = nil
	-- Communicators that are new in this step may have another baseline.
	r.arm = r.plan.baseline and "none" or "a"
	record.event(r, "progressing", ("step %d of %d: %s"):format(
		i + 1, #r.steps, r.comms and units.count(#r.comms, "communicator")
		or "all communicators"), { step = i + 1 })
	return saved(r)
end

-- A step has passed. Bake, then begin the next step, or conclude after the last step. -> as
-- step()
local function passed(r, verdict, baked)
	local at, i = stages.now(r)
	if at.bake and not baked then
		r.baking = { seconds = at.bake, verdict = {
			verdict = verdict.verdict, reason = verdict.reason, look = verdict.look } }
		record.event(r, "progressing", ("keeps the candidate for %s (bake)"):format(
			units.seconds(at.bake)), { step = i, verdict = verdict.verdict,
			reason = verdict.reason })
		return saved(r)
	end
	if i < #(r.steps or {}) then return advance(r) end
	return conclude(r, verdict)
end

-- Keep the candidate in place for the bake time, with the guards active.
local function bake(r)
	local ok, n, why, evidence = job.place(r, "b")
	if ok then ok, n, why, evidence = blocks.block(r, "b", r.baking.seconds) end
	if not ok then return ended(r, n, why, evidence) end
	record.event(r, "progressing", ("baked %s: %s"):format(
		units.seconds(r.baking.seconds), units.count(n, "collective")), { collectives = n })
	if n < GUARD then
		return asked.pause(r, ("only %s during the bake"):format(
			units.count(n, "collective")))
	end
	local verdict = r.baking.verdict
	r.baking = nil
	return passed(r, verdict, true)
end

local function step(r)
	if r.baking then return bake(r) end
	if r.advancing then return advance(r) end
	local _, at, first = stages.now(r)
	local here = #r.blocks - first + 1
	local n = #r.blocks + 1
	local order = record.order(r.plan.seed + at - 1, (here + 1) // 2, 2)
	local arm = order[2 - here % 2] == 1 and "a" or "b"
	local medians, kept, why, evidence = job.place(r, arm)
	local began = core.time()
	if medians then medians, kept, why, evidence = blocks.block(r, arm) end
	if not medians then return ended(r, kept, why, evidence) end
	r.blocks[n] = { arm = arm, generation = r.generation, began = began, time = core.time(),
		medians = medians,
		step = r.steps and #r.steps > 1 and at or nil }
	witness.block(r, n, r.blocks[n], kept)
	if r.hooks then r.hooks.step(r) end
	for k = 1, r.plan.judge.looks do
		if here == plan.look_at(r.plan, k) * 2 then
			r.verdict = look(r, k)
			record.event(r, "progressing", ("look %d of %d: %s: %s"):format(
				k, r.plan.judge.looks, r.verdict.verdict, r.verdict.reason))
			if r.verdict.verdict == "pass" then return passed(r, r.verdict) end
			if r.verdict.verdict == "fail" or k == r.plan.judge.looks then
				return conclude(r, r.verdict)
			end
			break
		end
	end
	return saved(r)
end

-- Take over a rollout that is paused or whose runner has died. -> the generation of a
-- concurrent change since the pause, or nil; raises errors
local function adopt(r, group)
	if record.runs(r) then
		error(errors.new("busy", ("process %s runs the rollout"):format(r.runner.pid), {
			hint = "rollout status follow=yes follows it, rollout pause stops it" }), 0)
	end
	if not record.is_of(r, group) then
		error(errors.new("refused",
			"this rollout belongs to an earlier job of the same name",
			{ hint = "rollout start begins a new rollout and keeps the old file" }), 0)
	end
	local now = try(group:one "status")
	record.adopt(r, group)
	-- The job has another generation than the file. Either the runner that died made it before
	-- it could save, or somebody else changed the job.
	local other
	if now.generation ~= r.generation then
		if r.arm ~= "a" or job.has_candidate(r, now) then
			r.arm = "none"
		else
			other = not job.is_own(r) and now.generation
		end
	end
	-- From here on, the job's present generation counts as the rollout's own. Any other
	-- generation is a concurrent change.
	r.generation, r.since = now.generation, {}
	r.blocks, r.events = core.array(r.blocks), core.array(r.events)
	return other
end

-- If a hook fails, the rollout records its error.
function M.fail(r, err)
	runner.fail(r, err)
	return record.save(r)
end

-- ---- what rollout/runner.lua calls ----------------------------------------------------

KIND.step = step

function KIND.stop(r, why, err)
	if not err then return asked.pause(r, why) end
	runner.fail(r, err)
	if not pcall(asked.pause, r, why) then
		record.event(r, "paused", why .. "; the job keeps its current policies")
		pcall(record.save, r)
	end
	return nil, err
end

function KIND.lost(r, err)
	record.event(r, "paused", err.message)
	return record.save(r)
end

-- Pause the rollout with the baseline.
function KIND.rescue(r, group)
	adopt(r, group)
	return record.claim(r) and asked.pause(r,
		"the rollout's runner died; its supervisor restored the baseline")
end

-- Run the rollout in this process until it ends or pauses, or has made @most blocks. tell(r) is
-- called after each block. Ctrl-C waits meanwhile and asks for a pause. -> r | nil, err
function M.run(r, tell, most)
	local last = most and #r.blocks + most
	return runner.run(r, tell, last and function() return #r.blocks >= last end)
end

-- M.start(group, p[, hooks]) -> the new rollout, saved, no block yet | nil, err
-- hooks: of the plan's file (rollout/hooks.lua), or nil
M.start = errors.catch(function(group, p, hooks)
	local old = record.free(KIND, group)
	local r = record.new(KIND, group, p)
	r.state, r.arm, r.events = "planned", "a", core.array {}
	if hooks then r.hooks, r.hooked = hooks, { file = hooks.file, digest = hooks.digest } end
	r.comms = job.comms_of(group, p.scope.comms)
	r.steps, r.whole = stages.of(group, p, r.comms), r.comms
	r.step, r.first = 1, 0
	local common
	r.baseline, r.generation, common = try(job.in_use(group, r.comms, p.promote == "all"))
	r.common = not p.baseline and common or nil
	if p.baseline then r.baseline = try(job.names_of(group, p.baseline)) end
	r.samples = ("%s.%s.times.csv"):format((r.path:gsub("%.json$", "")), r.id)
	r.candidate = try(job.names_of(group, p.candidate))
	record.event(r, "preparing", "started" .. (p.reason and ": " .. p.reason or ""))
	r.no_gpu_times = job.begin(r)
	r.where = witness.where(function(line) return job.ask(r, line) end)
	r.comms = r.steps[1].comms
	record.event(r, "progressing", "candidate held by all processes, telemetry on"
		.. (r.comms and ", on " .. table.concat(r.comms, ", ") or "")
		.. (r.where.times and "; times are " .. r.where.times or "")
		.. (r.no_gpu_times and "; " .. r.no_gpu_times or ""))
	r.arm = p.baseline and "none" or "a"
	try(record.replace(r, old))
	if old then
		store.write(("%s.%s.old.json"):format((r.path:gsub("%.json$", "")), old.id),
			KIND.saved(old))
	end
	return r
end)

-- Does the current step have blocks left?
function M.more(r)
	local _, _, first = stages.now(r)
	return type(r.baking) == "table" or r.advancing == true
		or #r.blocks - first < r.plan.blocks * 2
end

-- M.all(url) -> the rollouts of all jobs of the store; without a store, of this host's jobs
-- | nil, err
M.all = errors.catch(function(url)
	local store = url and try(sites.open(url))
	local names = store and lists.map(try(sites.jobs(store)), "job")
		or target.jobs_of((target.sockets()))
	table.sort(names)
	local list = {}
	for _, name in ipairs(names) do
		local r, err = M.load { job = name, fleet = store and true, store = store }
		if err then return nil, err end
		list[#list + 1] = r
	end
	if store then store:close() end
	return list
end)

M.resume = errors.catch(function(r, group)
	if KIND.ended(r) then return errors.fail("refused", "it has ended: %s", r.state) end
	adopt(r, group)
	if not M.more(r) then
		return nil, errors.new(
			"refused",
			"all its blocks have been judged; " ..
				"more checks would raise the false-alarm probability",
			{ hint = "rollout promote or rollout abort" })
	end
	if r.everywhere then
		-- The promotion was interrupted, so return to the baseline for all
		-- communicators.
		try(record.save(r))
		try(job.commit(r, "a", true))
		r.everywhere = nil
	end
	record.event(r, "progressing", "resumed")
	r.arm = "none" -- it is not known which arm is in place
	try(record.save(r))
	return true
end)

-- Carry out promote, abort or pause, or ask the runner for it. -> r, true if it was only asked
M.tell = errors.catch(function(r, group, word)
	if KIND.ended(r) then return errors.fail("refused", "it has ended: %s", r.state) end
	if record.runs(r) then
		try(store.request(r, word))
		return r, true
	end
	local other = adopt(r, group)
	try(record.save(r))
	return asked[word](r, nil, other)
end)

-- Undo a promotion, unless somebody else has replaced the candidate since.
M.undo = errors.catch(function(r, group)
	if r.state ~= "succeeded" then
		return errors.fail("refused",
			"only a promoted rollout can be undone; this rollout is %s",
			r.state)
	end
	local now = try(group:one "status")
	if record.is_of(r, group) and now.generation ~= r.generation
		and not job.has_candidate(r, now) then
		return nil, errors.new(
			"refused",
			("generation %d was committed since " ..
				"and has no policy of the candidate"):format(
			now.generation),
			{ hint = "policy history lists earlier generations, " ..
				"policy undo to=N returns to such a generation" })
	end
	adopt(r, group)
	try(record.save(r))
	return finish(r, "a", "rolled_back", "undone")
end)

return M
