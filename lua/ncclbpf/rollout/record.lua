-- SPDX-License-Identifier: MIT
-- The file of a rollout: read, save, events, and which process runs it.
local core = require "ncclbpf.core"
local store = require "ncclbpf.rollout.store"

local M = {}

-- The states in which a rollout has ended.
local ENDED = { succeeded = true, rolled_back = true, failed = true }
M.ended = ENDED
-- All states; "none" is for a job without a rollout.
M.states = { "none", "planned", "preparing", "progressing", "paused", "promoting", "aborting",
	"succeeded", "rolled_back", "failed" }

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
	r.events[#r.events + 1] = { time = u.time, rollout = r.id, from = r.state, to = "paused",
		actor = ("site %s"):format(tostring(u.site)), reason = reason }
	r.state, r.why, r.arm = "paused", reason, u.restored and "a" or "other"
	if u.restored then r.generation, r.everywhere = math.tointeger(u.n), nil end
end

-- M.load(home) -> the job's rollout | nil (there is none) | nil, err
function M.load(home)
	local r, err = store.load(home, "rollout", valid)
	if r and r.undone then taken_back(r) end
	return r, err
end

-- Fields that are not saved. taken: token of the runner that we replace; before: PID of a
-- runner that died; unanswered: a change whose commit is unknown.
local LIVE = { path = true, group = true, elsewhere = true, asker = true, hooks = true,
	taken = true, before = true, unanswered = true, home = true, lease = true, guarded = true,
	holder = true, revision = true, undone = true, undone_at = true, asked_s = true }

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

-- Return the request of another shell to the runner. -> a word of rollout/run.lua | nil
function M.requested(r)
	if core.stopped() then return "pause" end
	local word
	word, r.asker = store.requested(r)
	return word
end

return M
