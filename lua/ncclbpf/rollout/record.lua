-- SPDX-License-Identifier: MIT
-- The file of a rollout: read, save, events, and which process runs it.
local core = require "ncclbpf.core"
local store = require "ncclbpf.rollout.store"

local M = {}

local LOOK_S = 5 -- seconds between two reads of the rollout over several jobs
local ALONE_S = 30 -- longest time in which the supervisor of a rollout over several jobs ends it

-- The states in which a rollout has ended.
local ENDED = { succeeded = true, rolled_back = true, failed = true }
M.ended = ENDED
-- All states; "none" is for a job without a rollout.
M.states = { "none", "planned", "preparing", "progressing", "paused", "promoting", "aborting",
	"succeeded", "rolled_back", "failed" }

-- A rollout over several jobs has a record like that of a job whose name is this prefix and
-- the plan's name. Names of jobs have no dot.
M.OVER_JOBS = "all."

local function valid(r)
	return type(r.state) == "string" and type(r.plan) == "table" and type(r.blocks) == "table"
		and type(r.events) == "table" and type(r.runner) == "table"
end

-- An agent has rolled the candidate back, because the runner was lost (rollout/keys.lua).
local function taken_back(r)
	local u = r.undone
	if ENDED[r.state] then return end
	local reason = u.restored
		and ("the runner was lost; the agent of site %s restored the baseline"):format(
			tostring(u.site))
		or ("the runner was lost; another user or shell has made generation %s, which "
			.. "stays in force"):format(tostring(u.n))
	if u.heir then
		reason = ("%s; the agent of site %s starts a new runner"):format(reason,
			tostring(u.heir))
	end
	r.events[#r.events + 1] = { time = u.time, rollout = r.id, from = r.state, to = "paused",
		actor = ("site %s"):format(tostring(u.site)), reason = reason }
	r.state, r.why, r.arm = "paused", reason, u.restored and "a" or "other"
	if u.restored then r.generation, r.everywhere = math.tointeger(u.n), nil end
	r.awaited = u.heir ~= nil or u.resume == true
end

-- M.load(home) -> the job's rollout | nil (there is none) | nil, err
function M.load(home)
	local r, err = store.load(home, "rollout", valid)
	if r and r.undone then taken_back(r) end
	return r, err
end

-- Fields that are not saved. taken: token of the runner that we replace; before: PID of a
-- runner that died; unanswered: a change whose commit is unknown; awaited: the agents start a new
-- runner; releases: operations of keys.release; decided: result of M.decided.
local LIVE = { path = true, group = true, elsewhere = true, asker = true, hooks = true,
	taken = true, before = true, unanswered = true, home = true, lease = true, guarded = true,
	holder = true, revision = true, undone = true, undone_at = true, asked_s = true,
	awaited = true, looked_s = true, alone_s = true, releases = true, decided = true }

-- Replace the record if it still describes the rollout @was (nil: there was no rollout).
function M.replace(r, was)
	local keep = {}
	for k, v in pairs(r) do
		if not LIVE[k] then keep[k] = v end
	end
	local over = not r.taken and (ENDED[r.state] or r.state == "paused") or false
	return store.replace(r, "rollout", keep, valid, was, over,
		r.state == "succeeded" or r.arm == "a" or r.arm == "other")
end

-- Save the rollout if this process still runs it, or takes it over. -> r | nil, err
function M.save(r)
	local ok, err = M.replace(r, { id = r.id, token = r.taken or r.runner.token })
	if not ok then return nil, err end
	r.taken = nil
	return r
end

-- Save the rollout. -> the error, or nil
function M.trouble(r) return select(2, M.save(r)) end

function M.event(r, to, reason, evidence)
	r.events[#r.events + 1] = {
		time = core.time(), rollout = r.id, from = r.state, to = to,
		actor = ("pid %s"):format(r.asker or tostring(r.runner.pid)), reason = reason,
		evidence = evidence,
	}
	r.state, r.why = to, reason
end

function M.runs(r)
	return not ENDED[r.state] and r.state ~= "paused" and store.active(r.runner)
		and not store.is_this_process(r.runner)
end

-- Has the runner of an unfinished rollout died or stopped? -> "is gone", "is stopped" or nil
function M.gone(r)
	if ENDED[r.state] or r.state == "paused" then return nil end
	local runs, alive = store.active(r.runner)
	return not runs and (alive and "is stopped" or "is gone") or nil
end

-- Return the rollout over several jobs of which @r is a part. -> rollout | nil | nil, err
local function over_jobs(r)
	return M.load { job = M.OVER_JOBS .. r.of:gsub("%-[%dT]+$", ""),
		fleet = r.home.fleet, store = r.home.store }
end

-- Has the rollout over several jobs decided to promote in all of them? From then on, no job returns
-- to its baseline because its own runner is lost.
function M.decided(r)
	local all = type(r.of) == "string" and over_jobs(r)
	return all and all.id == r.of and all.state == "promoting" or false
end

-- Has the rollout over several jobs, of which @r is a part, been without a runner for
-- ALONE_S seconds? If it had begun its promotion, all jobs had passed, and some may have
-- been promoted.
-- -> a word of rollout/run.lua, its reason | nil
local function alone(r)
	local now = core.mono()
	if type(r.of) ~= "string" or now < (r.looked_s or 0) then return nil end
	r.looked_s = now + LOOK_S
	local all, err = over_jobs(r)
	local lost = not err and (not all or all.id ~= r.of or M.gone(all))
	r.alone_s = lost and (r.alone_s or now) or nil
	if lost and now - r.alone_s > ALONE_S then
		return all and all.id == r.of and all.state == "promoting" and "promote" or "guard",
			("nobody runs rollout %s over all jobs"):format(r.of)
	end
end

-- Return the request of another shell to the runner. -> a word of rollout/run.lua, its reason or
-- nil | nil
function M.requested(r)
	if core.stopped() then return "pause" end
	local word, why = alone(r)
	if word then return word, why end
	word, r.asker = store.requested(r)
	return word
end

return M
