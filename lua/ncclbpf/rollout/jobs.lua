-- SPDX-License-Identifier: MIT
-- A rollout over several jobs. Each job has a rollout of its own (rollout/run.lua), with its own
-- runner and guards over all its sites. A job that has passed keeps the candidate, under its
-- guards, until all jobs have passed. Then all jobs promote. If one job does not pass, all jobs
-- return to their baselines.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local keys = require "ncclbpf.rollout.keys"
local plan = require "ncclbpf.rollout.plan"
local profiler = require "ncclbpf.job.profiler"
local record = require "ncclbpf.rollout.record"
local rollout = require "ncclbpf.rollout.run"
local runner = require "ncclbpf.rollout.runner"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local store = require "ncclbpf.rollout.store"
local target = require "ncclbpf.job.target"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local POLL_S = 0.2
local GONE_S = 30 -- longest time for the supervisor of a dead runner to restore a job's baseline
local END_S = 90 -- longest time for a job's runner to end after a request
local MOST = 64 -- largest number of jobs in one rollout

-- ---- jobs of a plan ---------------------------------------------------------------------

-- Return a pattern of job names ("llm-*") as a Lua pattern.
local function pattern_of(text)
	return "^" .. text:gsub("[%-%.]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

-- Return the names of the jobs that run, sorted. @url: the store, nil: the jobs of this host
local function running(url)
	if not url then
		local list = target.jobs_of((target.sockets()))
		table.sort(list)
		return list
	end
	local s = try(sites.open(url))
	local list, err = sites.jobs(s)
	s:close()
	local names = {}
	for _, j in ipairs(try(list, err)) do
		if j.live then names[#names + 1] = j.job end
	end
	table.sort(names)
	return names
end

-- M.find(url, patterns) -> names of running jobs, in the order of the patterns | nil, err
M.find = errors.catch(function(url, patterns)
	local all = running(url)
	local names, has = core.array {}, {}
	for _, text in ipairs(patterns) do
		local matched = false
		for _, name in ipairs(all) do
			if name:find(pattern_of(text)) then
				if not has[name] then names[#names + 1] = name end
				has[name], matched = true, true
			end
		end
		if not matched then
			return nil, errors.new("no_target", ("jobs: no job matches %q, %s"):format(
				text,
				#all > 0 and "there are: " .. table.concat(all, ", ")
				or "no job runs"), { hint = "list shows the jobs" })
		end
	end
	if #names > MOST then
		return errors.fail("refused", "jobs: %d jobs match (allowed: %d)", #names, MOST)
	end
	return names
end)

-- M.steps(p, n) -> the number of jobs that each step reaches, of @n jobs | nil, err
function M.steps(p, n)
	local list = core.array {}
	for i, s in ipairs(p.steps) do
		list[i] = units.share_of(s.jobs, n)
		if list[i] > n then
			return errors.fail("refused", "steps[%d].jobs: %d requested, %d run", i,
				list[i], n)
		end
		if i > 1 and list[i] < list[i - 1] then
			return errors.fail("refused",
				"steps[%d].jobs: %d, fewer than the %d of the step before", i,
				list[i], list[i - 1])
		end
	end
	if list[#list] < n then
		return errors.fail("refused", "steps: the last step reaches %d of %d jobs",
			list[#list], n)
	end
	return list
end

-- Return the plan for one of @n jobs; the job is in step @i. A false alarm in one job would undo
-- all jobs, so the jobs share the plan's error probability.
local function plan_of(p, i, n)
	local q = core.decode(core.encode(p))
	q.jobs, q.steps = nil, nil
	q.bake = p.steps[i].bake or p.bake
	q.judge.confidence = 1 - (1 - p.judge.confidence) / n
	return q
end

-- Is the plan's number of blocks large enough for a significant result in each of @n jobs? -> true
-- | nil, err
function M.check(p, n)
	local least = plan.least_blocks(plan_of(p, 1, n))
	if p.blocks >= least then return true end
	return errors.fail("refused",
		"blocks: %d are too few for confidence %g in each of %d jobs; " ..
		"%d or more needed", p.blocks, p.judge.confidence, n, least)
end

-- ---- one job ----------------------------------------------------------------------------

local function attach(r, job) return session.attach({ job = job, fleet = r.fleet }, 5) end

-- This process's connection to the store of @url. @timeout of a request: nil for the default
local opened = {}
local function store_of(url, timeout)
	local _, pid = core.ids()
	if opened.pid ~= pid or opened.url ~= url then
		local s, err = sites.open(url, timeout)
		opened = { pid = pid, url = url, store = s, err = err }
	end
	return opened.store, opened.err
end

-- Return a new "home" of @job: this process's access to the record of the job's rollout.
local function home_of(url, job)
	return { job = job, fleet = url and true, store = url and (store_of(url)) }
end

-- Return the rollout of one job, if it is a part of the rollout @r over several jobs. -> rollout |
-- nil
local function child_of(r, entry)
	local c = record.load(home_of(r.fleet, entry.job))
	return c and c.of == r.id and (not entry.id or c.id == entry.id) and c or nil
end

-- Begin the rollout of one job, in a process of its own. -> true | nil, err
local function begin(r, entry)
	local group, err = attach(r, entry.job)
	if not group then return nil, err end
	local c, ok
	ok, err = profiler.wanted(group)
	if ok then
		c, err = rollout.start(group, plan_of(r.plan, r.step, #r.jobs), nil, r.id)
	end
	if c then
		entry.id, entry.step = c.id, r.step
		ok, err = record.save(r)
	end
	if c and ok then ok, err = rollout.detach(c) end
	group:close()
	if c and ok then return true end
	return nil, err
end

-- Wait until the job's rollout is in a state of @states or has ended or paused. -> rollout | nil
local function await(r, entry, states)
	local till = core.mono() + END_S
	repeat
		keys.beat(r)
		local c = child_of(r, entry)
		if not c then return nil end
		if states[c.state] or not record.runs(c)
			and (record.ended[c.state] or c.state == "paused") then
			return c
		end
		core.sleep(POLL_S)
	until core.mono() > till
	return child_of(r, entry)
end

local UNDONE = { rolled_back = true, failed = true }

-- Try to return one job to its baseline. -> true | nil, why, may another try succeed?
local function try_restore(r, entry)
	-- The runner may have died before it wrote the new rollout's ID into @entry.
	local c = child_of(r, entry)
	if not c and not entry.id or c and UNDONE[c.state] then return true end
	if not c then return nil, "another rollout has replaced the job's rollout" end
	if record.runs(c) then
		local ok, err = store.request(c, "abort")
		if not ok then return nil, err.message end
		c = await(r, entry, UNDONE)
	end
	if c and not UNDONE[c.state] and not record.runs(c) then
		local group, err = attach(r, entry.job)
		if not group then return nil, err.message end
		local done
		if c.state == "succeeded" then
			done, err = rollout.undo(c, group)
		else
			done, err = rollout.tell(c, group, "abort")
		end
		group:close()
		if not done then return nil, err.message, err.code == "busy" end
		c = done
	end
	if c and UNDONE[c.state] then return true end
	return nil, c and c.why or "another rollout has replaced the job's rollout"
end

-- Return one job to its baseline. Tries again if a supervisor has just taken the job's rollout
-- over. -> true | nil, why
local function restore(r, entry)
	local till = core.mono() + END_S
	local done, why, again
	repeat
		if again then core.sleep(POLL_S) end
		done, why, again = try_restore(r, entry)
	until not again or core.mono() > till
	return done, why
end

-- ---- all jobs ---------------------------------------------------------------------------

-- Return all jobs to their baselines and end. -> r | nil, err
local function undo_all(r, reason, evidence)
	record.event(r, "aborting", reason, evidence)
	local ok, err = record.save(r)
	if not ok then return nil, err end
	-- Ask all runners first, so that no job waits for another one.
	for _, entry in ipairs(r.jobs) do
		local c = child_of(r, entry)
		if c and record.runs(c) then store.request(c, "abort") end
	end
	local left = {}
	for _, entry in ipairs(r.jobs) do
		local done, why = restore(r, entry)
		if not done then left[#left + 1] = ("job %s: %s"):format(entry.job, why) end
	end
	if #left > 0 then
		reason = ("%s; not every job has its baseline again: %s"):format(reason,
			table.concat(left, "; "))
	end
	record.event(r, #left == 0 and "rolled_back" or "failed", reason, evidence)
	return record.save(r)
end

-- Return the guards of all jobs, for the transaction that decides the promotion. -> list | nil, the
-- job whose runner is lost
local function releases(r)
	local list = {}
	for i, entry in ipairs(r.jobs) do
		local c = child_of(r, entry)
		list[i] = c and keys.release(home_of(r.fleet, entry.job), c.runner.token)
		if not list[i] then return nil, entry.job end
	end
	return list
end

-- Decide that all jobs promote. In a fleet, the same transaction deletes the guards of all jobs, if
-- all their runners still have their leases: a runner that is lost later leaves the candidate in
-- use. -> true | nil, the reason why not
local function decide(r)
	local ok, err, job
	if r.fleet then
		r.releases, job = releases(r)
		if not r.releases then return nil, ("job %s: its runner is lost"):format(job) end
	end
	record.event(r, "promoting", ("all %d jobs have passed"):format(#r.jobs))
	ok, err = record.save(r)
	r.releases = nil
	if ok then return true end
	return nil, ("the promotion could not begin: %s"):format(err.message)
end

-- All jobs have passed the last step. -> r | nil, err
local function promote_all(r)
	local ok, err = decide(r)
	if not ok then return undo_all(r, err) end
	for _, entry in ipairs(r.jobs) do
		local c = child_of(r, entry)
		if c then store.request(c, "promote") end
	end
	for _, entry in ipairs(r.jobs) do
		local c = await(r, entry, { succeeded = true })
		if not c or c.state ~= "succeeded" then
			local why = c and c.why or "another rollout has replaced the job's rollout"
			return undo_all(r, ("job %s was not promoted: %s"):format(entry.job, why),
				{ job = entry.job })
		end
	end
	record.event(r, "succeeded", ("promoted in %s"):format(units.count(#r.jobs, "job")))
	return record.save(r)
end

-- Return the reason why one job makes the rollout over all jobs end, or nil. since: the times at
-- which runners were found dead
local function objection(r, entry, since)
	local c = child_of(r, entry)
	if not c then return "another rollout has replaced the job's rollout" end
	if c.state == "paused" or record.ended[c.state] then
		return ("%s: %s"):format(c.state, tostring(c.why))
	end
	since[entry.job] = record.gone(c) and (since[entry.job] or core.mono()) or nil
	if since[entry.job] and core.mono() - since[entry.job] > GONE_S then
		return ("the runner, process %s, %s"):format(tostring(c.runner.pid), record.gone(c))
	end
	return nil, c.holding ~= nil
end

local since = {}

-- Check the rollouts of all jobs once. -> nil: continue | r: the rollout has ended | nil,
-- err
local function step(r)
	keys.beat(r)
	local word = record.requested(r)
	if word == "pause" or word == "abort" then
		return undo_all(r, core.stopped() and "interrupted" or "asked to " .. word)
	end
	local reach, passed = r.reach[r.step], true
	for i = 1, reach do
		local entry = r.jobs[i]
		if not entry.id then
			local ok, err = begin(r, entry)
			if not ok then
				return undo_all(r, ("job %s: %s"):format(entry.job, err.message),
					{ job = entry.job })
			end
		end
		local why, holds = objection(r, entry, since)
		if why then
			return undo_all(r, ("job %s: %s"):format(entry.job, why),
				{ job = entry.job })
		end
		passed = passed and holds
	end
	if not passed then
		core.sleep(POLL_S)
		return nil
	end
	if r.step == #r.reach then return promote_all(r) end
	r.step = r.step + 1
	record.event(r, "progressing", ("step %d of %d: %s"):format(r.step, #r.reach,
		units.count(r.reach[r.step], "job")), { step = r.step })
	return nil, record.trouble(r)
end

local methods = { step = step, save = record.save, load = record.load }

function methods.ended(r) return record.ended[r.state] end

function methods.stop(r, why, err)
	local ok, done, failure = pcall(undo_all, r, why)
	if not ok then return nil, errors.caught(done) end
	if not done then return nil, failure end
	if err then
		runner.fail(r, err)
		return nil, err
	end
	return done
end

function methods.lost(r, err)
	record.event(r, "failed", err.message)
	return record.save(r)
end

-- The supervisor of a dead runner returns all jobs to their baselines.
function methods.rescue(r)
	local name, id, token, url = r.job, r.id, r.runner.token, r.fleet
	return function()
		local now, err = record.load(home_of(url, name))
		if err then return false end
		if not now or now.id ~= id or record.ended[now.state] then return true end
		if record.runs(now) then return now.runner.token ~= token end
		now.taken, now.runner = now.runner.token, store.runner()
		return undo_all(now, "the rollout's runner died") ~= nil
	end
end

-- M.load(url, name) -> the rollout over jobs of that plan name | nil | nil, err
function M.load(url, name) return record.load(home_of(url, record.OVER_JOBS .. name)) end

-- M.all(url) -> the rollouts of all jobs of the store, and the rollouts over several jobs.
-- Without a store: the rollouts of jobs that run on this host. | nil, err
M.all = errors.catch(function(url)
	local names = url and try(sites.jobs(try(store_of(url)), true)) or running()
	local list = {}
	for _, name in ipairs(names) do
		local r, err = record.load(home_of(url, name.job or name))
		if err then return nil, err end
		list[#list + 1] = r
	end
	return list
end)

-- M.start(url, p, names) -> the new rollout, saved; no job's own rollout has begun | nil, err
M.start = errors.catch(function(url, p, names)
	local reach = try(M.steps(p, #names))
	try(M.check(p, #names))
	local job = record.OVER_JOBS .. p.name
	local home = home_of(url, job)
	local old, err = record.load(home)
	if err then return nil, err end
	if old and not record.ended[old.state] and store.active(old.runner) ~= false then
		return nil, errors.new("busy", ("rollout %s over jobs is %s"):format(p.name,
			old.state), { hint = "rollout jobs " .. p.name .. "; rollout abort " ..
			"in one of its jobs ends the rollout" })
	end
	local path = try(store.path(job, "rollouts"))
	local r = { version = 1, job = job, fleet = url, plan = p, state = "planned", path = path,
		blocks = core.array {}, events = core.array {}, home = home,
		-- The runner of a rollout over several jobs does not contact their
		-- processes. Each job has a runner of its own that does.
		group = { reconnect = function(_, patience)
			home.store = url and store_of(url, patience)
			return true
		end }, step = 1, reach = reach, jobs = core.array {},
		runner = store.runner(),
		id = ("%s-%s"):format((p.name:gsub("[^%w_.%-]", "_")),
			(core.time():gsub("[^%dT]", ""))) }
	for i, name in ipairs(names) do r.jobs[i] = { job = name } end
	record.event(r, "progressing", ("step 1 of %d: %s of %s"):format(#reach,
		units.count(reach[1], "job"), table.concat(names, ", ")), { step = 1 })
	try(record.replace(r, old and { id = old.id, token = old.runner.token }))
	return r
end)

-- Run the rollout over several jobs in a new process. -> its PID | nil, err
function M.detach(r) return runner.detach(r, methods) end

-- Follow the rollout over several jobs to its end. -> the rollout | nil, err
function M.follow(r, tell, pid) return runner.follow(r, methods, tell, pid) end

-- Return the state of each job: { {job, step, state, blocks, reason} }
function M.rows(r)
	local rows = core.array {}
	for i, entry in ipairs(r.jobs) do
		local c = entry.id and child_of(r, entry)
		rows[i] = { job = entry.job, step = entry.step, rollout = entry.id,
			state = c and (c.holding and not record.ended[c.state]
				and c.state == "progressing" and "passed" or c.state)
				or entry.id and "replaced" or "waits",
			blocks = c and #c.blocks or 0, reason = c and c.why or nil }
	end
	return rows
end

return M
