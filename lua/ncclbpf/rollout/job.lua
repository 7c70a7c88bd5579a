-- SPDX-License-Identifier: MIT
-- The job of a rollout: the communicators in its scope, their policies, and changes at a fence.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local changes = require "ncclbpf.job.change"
local plan = require "ncclbpf.rollout.plan"
local keys = require "ncclbpf.rollout.keys"
local policy = require "ncclbpf.policy.policy"
local process = require "ncclbpf.base.process"
local profiler = require "ncclbpf.job.profiler"
local promote = require "ncclbpf.rollout.promote"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local collectives = require "ncclbpf.job.collectives"
local record = require "ncclbpf.rollout.record"
local sites = require "ncclbpf.job.sites"

local try = errors.try
local M = {}

local RETRIES = 5 -- number of tries of a change while another change is in progress
local STALE = 50 -- number of tries of a change after controllers have changed the job

-- Ask all processes. Raises if one does not answer, which ends the rollout.
function M.ask(r, line)
	keys.beat(r)
	local results = r.group:ask(line)
	local err = session.failure_of(results) or r.group:failure()
	if err then error(err, 0) end
	return results
end

-- Start to measure times, and check that all ranks have made the same decisions, before a run
-- changes anything. Raises if their decisions differ. -> why GPU times are missing, or nil
function M.begin(r)
	local ok, err = pcall(M.ask, r, "telemetry on")
	if not ok then
		if r.group.fleet and errors.is(err) and err.code == "not_permitted" then
			err.hint = "runs over several hosts need TLS and a certificate " ..
				"with the unit ncclbpf-control (docs/fleet.md)"
		end
		error(err, 0)
	end
	if M.ask(r, "check agreement")[1].data.agree == false then
		error(errors.new("ranks_disagree",
			"the ranks disagree already before the first change"), 0)
	end
	return profiler.why(err)
end

-- A run calls policies by name, so a file whose policy has the name of another one in use would be
-- compared with itself.
local function refuse_name(group, arm, info)
	for _, p in ipairs(read.list(group:ask "policy list"[1].data, "policies")) do
		if p.in_use and p.name == info.name and p.digest ~= info.digest then
			error(errors.new("refused", "another policy of this name is in use", {
				object = arm, hint = "give this one a name of its own: " ..
					"policy build FILE name=NAME out=NAME.policy" }), 0)
		end
	end
end

-- The names of an arm's policies. A file is loaded into all processes first. -> names | nil, err
M.names_of = errors.catch(function(group, arm)
	if type(arm) ~= "string" then
		for _, name in ipairs(arm) do
			session.answers(group:ask(session.line { "policy", "show", name }))
		end
		return arm
	end
	local image, info, bytes = try(policy.open(arm))
	refuse_name(group, arm, info)
	errors.about(arm, policy.load(group, info.name, bytes, image, info))
	return core.array { info.name }
end)

-- Resolve scope.comms of a plan. -> identities | nil (all); raises errors
function M.comms_of(group, want)
	if not want then return nil end
	if type(want) == "table" then return try(reach.find(group, want)) end
	local list = try(reach.comms(group))
	local n = math.type(want) == "integer" and want
		or math.max(1, #list * tonumber(want:match "%d+") // 100)
	if n > #list then
		errors.raise("refused",
			"scope.comms: %d communicators requested, " ..
			"the job has %d with an identity", n, #list)
	end
	local ids = core.array {}
	for i = 1, math.min(n, reach.MOST) do ids[i] = list[i].comm end
	return ids
end

-- Get the policies in use by the communicators @ids (nil: all).
-- -> names, generation, are they the policies of all other communicators too | nil, err
function M.in_use(group, ids, all)
	local r = group:ask "status"[1]
	if r.err then return nil, r.err end
	local names, common = r.data.policies, true
	local mine, others = {}, 0
	for _, s in ipairs(reach.rows(r.data)) do
		local n = 0
		for _, c in ipairs(s.comms) do n = n + (ids and lists.has(ids, c) and 1 or 0) end
		if n > 0 then mine[#mine + 1] = { n = n, names = s.policies } end
		if n < #s.comms then others = others + 1 end
	end
	if not ids and others > 0 then
		return nil, errors.new(
			"refused",
			"some communicators have policies of their own, " ..
			"which a rollout on all communicators would remove",
			{ hint = "set scope.comms in the plan, or give policy use common comm=ID" })
	elseif all and others > 0 then
		return nil, errors.new(
			"refused",
			"other communicators have policies of their own, which a promotion " ..
			"to all communicators would remove",
			{ hint = 'set promote = "scope" in the plan' })
	end
	if #mine > 1 or mine[1] and mine[1].n < #ids then
		return errors.fail(
			"refused", "the communicators of the scope have different policies")
	end
	if mine[1] then names, common = mine[1].names, false end
	return core.array(type(names) == "table" and names or {}), r.data.generation, common
end

-- M.standing for a job of several hosts (see below). A communicator with ranks on several
-- sites has passed the fence when the ranks of all sites decide with the generation of its
-- last change.
local function fleet_standing(r)
	local made, passed = {}, {}
	for c in read.each(M.ask(r, "comm list"), "comms") do
		made[c.comm] = math.max(made[c.comm] or 0, read.number(c.decisions))
		if r.moved and r.moved[c.comm] then
			passed[c.comm] = passed[c.comm] ~= false
				and c.generation == r.generation
		end
	end
	-- A communicator with all its ranks on one site: compare with the last change of
	-- this site.
	for _, answer in ipairs(M.ask(r, "change status")) do
		for _, c in ipairs(read.list(read.record(answer.data).last, "comms")) do
			if not (r.moved and r.moved[c.comm]) then
				passed[c.comm] = passed[c.comm] ~= false
					and read.number(c.passed) >= read.number(c.ranks)
			end
		end
	end
	return made, passed
end

-- Return the number of decisions of each communicator, and whether all its ranks have passed the
-- fence of the last change.
function M.standing(r)
	if r.group.fleet then return fleet_standing(r) end
	local made, passed = {}, {}
	for _, c in ipairs(read.list(M.ask(r, "comm list")[1].data, "comms")) do
		made[c.comm] = read.number(c.decisions)
	end
	for _, c in ipairs(read.list(read.record(M.ask(r, "change status")[1].data).last,
		"comms")) do
		passed[c.comm] = read.number(c.passed) >= read.number(c.ranks)
	end
	return made, passed
end

-- Return the request line that makes the job use @arm: "a", "b", "better" (the policies of
-- rollout/promote.lua) or a list of names. @all: for all communicators, not only the scope.
local function line_for(r, arm, all)
	local words, names = { "policy", "use" }, type(arm) == "table" and arm or arm == "b"
		and r.candidate or arm == "better" and r.promoted or r.baseline
	if arm == "a" and r.common and r.comms and not all then names = { "common" } end
	for _, n in ipairs(names) do words[#words + 1] = n end
	if #names == 0 then words[3] = "none" end
	return session.line(words) .. (all and "" or reach.words(r.comms or r.others and "others"))
end

-- Count the collectives that the candidate decided: from its fence to the next one.
local function expose(r, done, arm)
	for _, c in ipairs(read.list(done, "comms")) do
		if c.state == "committed" and (not r.comms or lists.has(r.comms, c.comm)) then
			local from = r.since and r.since[c.comm]
			if from then
				r.exposed[c.comm] = (r.exposed[c.comm] or 0) + math.max(
					0, read.number(c.fence) - from)
			end
			r.since[c.comm] = arm ~= "a" and read.number(c.fence) or nil
		end
	end
end

-- M.is_own for a job of several hosts. The audit entry of a change names the rollout that
-- made it. The PID of a change is always an agent's, so it does not identify the rollout.
-- The entry of a change by controllers names the rollout that made the change before it.
local function fleet_is_own(r)
	local now, found = sites.generation(r.group.store, r.group.job)
	local list = sites.read(r.group.store, r.group.job, "audit/", sites.DATA)
	for _, e in ipairs(now and list or {}) do
		local n = tonumber((read.text(e.value.outcome) or ""):match(
			"^committed as generation (%d+)"))
		if n and n > r.generation then
			if read.record(e.value.maker).rollout ~= r.id then return false end
			found = found or n == now
		end
	end
	if found then r.generation = now end
	return found
end

-- Call this if the job has a newer generation than r.generation. Each change since then must come
-- from this rollout (also if its answer was lost), from a dead runner, or from controllers of the
-- same policies. If so, set r.generation to the newest generation and return true.
function M.is_own(r)
	if r.group.fleet then return fleet_is_own(r) end
	local there = r.group:ask "controller status"[1]
	local controllers = read.record(there and there.data).controllers == true
	local answer = r.group:ask "policy history"[1]
	local past = read.list(answer and answer.data, "history")
	local now = r.kind and record.load(r.kind, r.home)
	-- This process may have two copies of the run, and another process may have taken it
	-- over. The run's changes belong to the current runner.
	local current = not now or now.id == r.id and now.runner.token == r.runner.token
	local late = r.unanswered and current
	local function same(a, b)
		return core.encode(read.list(a, "policies")) == core.encode(
			read.list(b, "policies")) and read.text(a.scoped) == read.text(b.scoped)
	end
	for i, e in ipairs(past) do
		if math.type(read.record(e).generation) ~= "integer" then return false end
		if e.generation <= r.generation then
			r.generation = past[1].generation
			return true
		end
		local by_controllers = controllers and math.type(e.pid) ~= "integer" and past[i + 1]
			and same(e, past[i + 1])
		local by = read.text(read.record(e.by).process)
		local mine = current and r.id and read.record(e.by).rollout == r.id
			or by and (by == r.before or late
				and by == process.identity(select(2, core.ids())))
		if not by_controllers and not mine then return false end
	end
	return false
end

-- Does the job use a policy of the candidate? @d: a reply to status
function M.has_candidate(r, d)
	local ours, used = {}, lists.copy(read.record(d.policies))
	for _, s in ipairs(reach.rows(d)) do
		table.move(s.policies, 1, #s.policies, #used + 1, used)
	end
	for _, names in ipairs { r.candidate or {}, r.promoted or {} } do
		for _, n in ipairs(names) do ours[n] = not lists.has(r.baseline, n) or nil end
	end
	-- If the baseline has all policies of the candidate, names do not show whether the
	-- candidate is in use.
	if not next(ours) then return true end
	return #lists.select(used, function(name) return ours[name] end) > 0
end

-- Make the change @line if the job still has our generation. Retries if another change is in
-- progress. -> results as of Group:change
function M.change(r, line)
	local done, err
	local tries, others = RETRIES, STALE
	while tries > 0 and others > 0 do
		keys.beat(r)
		done, err = r.group:change(line .. changes.if_generation(r.generation),
			{ rollout = r.id, condition = keys.condition(r) })
		if done then return done end
		if err.code == "stale" then
			if not M.is_own(r) then return nil, err end
			others = others - 1
		elseif err.code == "busy" or err.code == "aborted" then
			tries = tries - 1
			clock.sleep(clock.times.busy)
		else
			return nil, err
		end
	end
	return nil, err
end

-- Store a guard, by which the agents restore the baseline if this runner is lost. Called before the
-- first block, and before all communicators, or those of the scope, get the candidate.
-- -> true | nil, err
function M.guard(r, all)
	-- a job of this host: the supervisor restores the baseline
	if not r.lease then return true end
	return keys.guard(r, line_for(r, "a", all))
end

-- Change the job to @arm. Every communicator changes at its own fence. The change is refused if
-- somebody else has changed the job meanwhile. While the change is in progress, r.arm is "none".
-- If no communicator changed, r.arm keeps its old value; after a concurrent change it is "other".
function M.commit(r, arm, all)
	local was = r.arm
	if arm == "b" or arm == "better" then
		local ok, err = M.guard(r, all)
		if not ok then return nil, err end
	end
	if type(arm) == "string" then r.arm = "none" end
	local done, err = M.change(r, line_for(r, arm, all))
	if not done then
		if type(arm) ~= "string" then return nil, err end
		if err.code == "busy" or err.code == "aborted" then r.arm = was end
		if err.code == "stale" then r.arm = "other" end
		if err.code == "timed_out" or err.code == "no_target" then r.unanswered = true end
		return nil, err
	end
	r.generation, r.unanswered = done.generation, nil
	r.since, r.exposed = r.since or {}, r.exposed or {}
	expose(r, done, arm)
	r.moved = {}
	for _, c in ipairs(read.list(done, "comms")) do
		r.moved[c.comm] = c.state == "committed" or nil
		-- A communicator that refuses changes has never run the candidate.
		local without = arm == "a" and c.state == "unchangeable"
		if c.state ~= "committed" and not without
			and (not r.comms or lists.has(r.comms, c.comm)) then
			return nil, errors.new("refused",
				("communicator %s takes no change: %s"):format(
				tostring(c.comm), read.text(c.why) or tostring(c.state)),
				{ hint = "a rollout requires " ..
					"that all communicators of the job can change" })
		end
	end
	return true
end

-- Change the job to @arm and wait until all ranks have passed the fence. Idle communicators are
-- not waited for: they change with their next decision.
function M.use(r, arm, patience)
	local ok, err = M.commit(r, arm)
	if not ok then return nil, err end
	local began, first = clock.now(), nil
	repeat
		local made, passed = M.standing(r)
		local waits = false
		first = first or made
		for comm, done in pairs(passed) do
			local idle = made[comm] == first[comm]
				and clock.now() - began >= clock.times.idle
			waits = waits or not done and not idle
		end
		if not waits then return true end
		clock.sleep(clock.times.fence)
	until clock.now() - began > patience
	return errors.fail("timed_out",
		"not all ranks that decide have reached the fence of generation %s",
		tostring(r.generation))
end

-- Return the outcome of a block if a change has failed with @err. -> word, reason, as in block.lua
function M.refused(err)
	if err.code == "stale" then return "leave", "another generation" end
	return "pause", err.message
end

-- Return the outcome of a block if the record could not be saved. -> word, reason
function M.unsaved(err)
	if record.is_taken(err) then return "taken", err end
	return "pause", err.message
end

-- Change the job to @arm, unless it has it. -> true | nil, word, why, as block.lua returns them
function M.place(r, arm)
	local ok, err = M.guard(r)
	if not ok then return nil, M.refused(err) end
	if r.arm == arm then return true end
	ok, err = M.use(r, arm, r.plan.block_timeout)
	if not ok then return nil, M.refused(err) end
	r.arm = arm
	ok, err = record.save(r)
	if not ok then return nil, M.unsaved(err) end
	return true
end

-- Return the reason of a run that found a concurrent change. @generation: a number or a text
function M.left(generation)
	return (math.type(generation) == "integer" and "generation %d" or "%s"):format(generation)
		.. " was made by another user or shell, and stays in place"
end

function M.samples(r)
	return collectives.of(M.ask(r, "sample tail count=1024"))
end

function M.in_scope(r, op)
	local s = r.plan.scope
	if r.comms and not lists.has(r.comms, op.comm) then return false end
	if s.sizes and (op.size * 2 <= s.sizes[1] or op.size > s.sizes[2]) then return false end
	return not s.collectives or lists.has(s.collectives, op.coll)
end

-- Return the text in which the job says that its times are not measured (but simulated, for
-- example), or nil.
function M.times(r) return read.text(read.record(r.where).times) end

-- Does the job run RCCL?
function M.of_rccl(r)
	local library = read.text(read.record(r.where).library)
	return library ~= nil and library:find "^RCCL" ~= nil
end

return M
