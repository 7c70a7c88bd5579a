-- SPDX-License-Identifier: MIT
-- Runs: a rollout and a sweep have the same record, runner and blocks. What differs is in the table
-- r.kind: the rows below, and the functions that rollout/runner.lua calls.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local store = require "ncclbpf.rollout.store"

local try = errors.try
local M = {}

-- The states in which a rollout has ended.
local ENDED = { succeeded = true, rolled_back = true, failed = true }
-- All states of a rollout; "none" is for a job without one.
M.states = { "none", "planned", "preparing", "progressing", "paused", "promoting", "aborting",
	"succeeded", "rolled_back", "failed" }

-- Fields of a rollout that are not saved. taken: token of the runner that we replace; before: PID
-- of a runner that died; unanswered: a change had no answer, so it may
-- be committed.
local LIVE = lists.set { "path", "kind", "group", "elsewhere", "asker", "hooks", "taken", "before",
	"unanswered", "home", "lease", "guarded", "holder", "revision", "undone", "undone_at",
	"asked_s" }
-- Fields of a sweep that are saved, beside its number of blocks.
local SWEEP = { "version", "job", "id", "state", "reason", "runner", "processes", "baseline",
	"prefix", "round", "of", "plan", "result", "failure", "unsafe" }

local rollout = { name = "rollout", ends = "rollout resume or rollout abort ends it",
	needs = { state = "string", plan = "table", blocks = "table", events = "table" } }
local sweep = { name = "sweep", ends = "sweep abort ends it",
	needs = { state = "string", baseline = "table", prefix = "string" } }
M.kinds = { rollout = rollout, sweep = sweep }

-- ended(r): no runner can continue the run
function rollout.ended(r) return ENDED[r.state] == true end
function sweep.ended(r) return r.state ~= "running" end

-- settled(r): no candidate is in use
function rollout.settled(r) return r.state == "succeeded" or r.arm == "a" or r.arm == "other" end
function sweep.settled(r) return not r.unsafe end

-- saved(r): the fields of the record
function rollout.saved(r)
	local keep = {}
	for k, v in pairs(r) do
		if not LIVE[k] then keep[k] = v end
	end
	return keep
end

function sweep.saved(r)
	local keep = { blocks = r.done or r.blocks }
	for _, k in ipairs(SWEEP) do keep[k] = r[k] end
	return keep
end

-- Pause r, whose runner was lost (rollout/keys.lua). u.restored: an agent has restored the
-- baseline; else the generation of another user or shell stays in force.
function rollout.undone(r, u)
	local reason = u.restored
		and ("the runner was lost; the agent of site %s restored the baseline"):format(
			tostring(u.site))
		or ("the runner was lost; another user or shell has made generation %s, which "
			.. "stays in force"):format(tostring(u.n))
	r.events[#r.events + 1] = { time = u.time, rollout = r.id, from = r.state, to = "paused",
		actor = ("site %s"):format(tostring(u.site)), reason = reason }
	r.state, r.why, r.arm = "paused", reason, u.restored and "a" or "other"
	if u.restored then r.generation, r.everywhere = math.tointeger(u.n), nil end
end

function sweep.undone(r, u)
	r.state, r.reason = "abandoned", ("the runner was lost; the agent of site %s restored the "
		.. "baseline"):format(tostring(u.site))
end

-- ---- the record ------------------------------------------------------------------------

local function valid(kind)
	return function(r)
		for field, of in pairs(kind.needs) do
			if type(r[field]) ~= of then return false end
		end
		return type(r.runner) == "table"
	end
end

-- M.load(kind, home) -> the job's last run | nil (there is none) | nil, err
function M.load(kind, home)
	local r, err = store.load(home, kind.name, valid(kind))
	if not r then return nil, err end
	r.kind = kind
	if r.undone and not kind.ended(r) then kind.undone(r, r.undone) end
	return r
end

-- Return a new run of @group's job by plan @p. It is not saved yet. Raises errors.
function M.new(kind, group, p)
	p.seed = p.seed or math.random(1 << 30)
	return { version = 1, kind = kind, job = group.job, plan = p, group = group, home = group,
		id = ("%s-%s"):format(p.name:gsub("[^%w_.%-]", "_"),
			core.time():gsub("[^%dT]", "")),
		path = try(store.path(group.job, kind.name .. "s")), runner = store.runner(),
		blocks = core.array {},
		processes = core.array(lists.map(group.members, "process")) }
end

-- Has the run ended or paused? Then it needs no runner.
function M.over(r) return r.kind.ended(r) or r.state == "paused" end

-- Replace the record if it still describes the run @old, which has not been taken over since (nil:
-- there was no run). -> true | nil, err
function M.replace(r, old)
	return store.replace(r, r.kind.name, r.kind.saved(r), valid(r.kind),
		old and { id = old.id, token = old.taken or old.runner.token },
		not r.taken and M.over(r), r.kind.settled(r))
end

-- Save the run if this process still runs it, or takes it over. -> r | nil, err
function M.save(r)
	local ok, err = M.replace(r, r)
	if not ok then return nil, err end
	r.taken = nil
	return r
end

-- Does @err of M.save say that another process has the run now? Any other error means that the
-- record could not be written, for example on a full disk.
function M.is_taken(err) return err.code == "busy" end

-- Save the run before its baseline is restored. A record that cannot be written is no reason to
-- leave a candidate in use. -> true | nil, err: another process has the run
function M.claim(r)
	local ok, err = M.save(r)
	if not ok and M.is_taken(err) then return nil, err end
	return true
end

function M.event(r, to, reason, evidence)
	r.events[#r.events + 1] = {
		time = core.time(), rollout = r.id, from = r.state, to = to,
		actor = ("pid %s"):format(r.asker or tostring(r.runner.pid)), reason = reason,
		evidence = evidence,
	}
	r.state, r.why = to, reason
end

-- ---- who runs it -----------------------------------------------------------------------

-- Does the run belong to this job? If an earlier job of the same name had it, they have no process
-- in common.
function M.is_of(r, group)
	for _, m in ipairs(group.members) do
		if lists.has(type(r.processes) == "table" and r.processes or {}, m.process) then
			return true
		end
	end
	return false
end

function M.runs(r)
	return not M.over(r) and store.active(r.runner) and not store.is_this_process(r.runner)
end

-- Has the runner of an unfinished run died or stopped? -> "is gone", "is stopped" or nil
function M.gone(r)
	if M.over(r) then return nil end
	local runs, alive = store.active(r.runner)
	return not runs and (alive and "is stopped" or "is gone") or nil
end

-- Return the job's last run of @kind. Raises an error if a run of the job has not ended.
function M.free(kind, group)
	local last
	for _, k in pairs(M.kinds) do
		local r, err = M.load(k, group)
		if err then error(err, 0) end
		if k == kind then last = r end
		local what = r and not k.ended(r)
			and ("%s %s of "):format(k.name, tostring(r.plan and r.plan.name))
		if what and store.active(r.runner) == nil then
			error(errors.new("busy", ("%sa job of this name is %s in another PID " ..
				"namespace"):format(what, r.state), { hint = ("end the %s " ..
				"there, or move %s away"):format(k.name, r.path) }), 0)
		elseif what and (M.is_of(r, group) or M.runs(r)) then
			error(errors.new("busy", ("%sthis job is %s%s"):format(what, r.state,
				M.runs(r) and (", process %s runs it"):format(r.runner.pid) or ""),
				{ hint = ("%s status; %s"):format(k.name, k.ends) }), 0)
		end
	end
	return last
end

-- Become the runner of @r, whose runner has ended. The next save takes the record over.
function M.adopt(r, group)
	r.group, r.home, r.asker = group, group, nil
	store.forget_requests(r) -- of the dead runner
	r.before = r.state ~= "paused" and r.runner.process or nil
	r.taken, r.runner = r.runner.token, store.runner()
end

-- Return the request of another shell to the runner. -> a word of rollout/run.lua | nil
function M.requested(r)
	if core.stopped() then return "pause" end
	local word
	word, r.asker = store.requested(r)
	return word
end

-- ---- the order of blocks -----------------------------------------------------------------

-- Return the order of @n arms in round @i: a permutation of 1 to @n that depends on the seed alone.
-- Arm 1, the baseline, is first in round 1, because guards compare with it.
function M.order(seed, i, n)
	local x, order = (seed * 2654435761 + i * 40503) & 0xffffffff, {}
	for k = 1, n do order[k] = k end
	for k = n, 2, -1 do
		for _ = 1, 3 do
			x = (x ~ (x << 13) & 0xffffffff)
			x = x ~ (x >> 17)
			x = (x ~ (x << 5)) & 0xffffffff
		end
		local j = k - x % k
		order[k], order[j] = order[j], order[k]
	end
	for k, arm in ipairs(i == 1 and order or {}) do
		if arm == 1 then order[k], order[1] = order[1], 1 end
	end
	return order
end

return M
