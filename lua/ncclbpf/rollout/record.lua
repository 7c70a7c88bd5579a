-- SPDX-License-Identifier: MIT
-- The file of a rollout: read, save, events, and which process runs it.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local store = require "ncclbpf.rollout.store"

local M = {}

-- The states in which a rollout has ended.
local ENDED = { succeeded = true, rolled_back = true, failed = true }
M.ended = ENDED
-- All states; "none" is for a job without a rollout.
M.states = { "none", "planned", "preparing", "progressing", "paused", "promoting", "aborting",
	"succeeded", "rolled_back", "failed" }

local function file_of(job) return store.path(job, "rollouts") end

local function valid(r)
	return type(r.state) == "string" and type(r.plan) == "table" and type(r.blocks) == "table"
		and type(r.events) == "table" and type(r.runner) == "table"
end

-- M.load(job) -> the job's rollout | nil (there is none) | nil, err
function M.load(job)
	local path, err = file_of(job)
	if not path then return nil, err end
	return store.read(path, "rollout", valid)
end

-- Fields that are not saved. taken: token of the runner that we replace; before: PID of a
-- runner that died; unanswered: a change whose commit is unknown.
local LIVE = { path = true, group = true, elsewhere = true, asker = true, hooks = true,
	taken = true, before = true, unanswered = true }

local function write(r)
	local keep = {}
	for k, v in pairs(r) do
		if not LIVE[k] then keep[k] = v end
	end
	return store.write(r.path, keep)
end

-- Replace the file if it still has the rollout of @was (nil: there was no file).
function M.replace(r, was)
	return store.locked(r.path, function()
		local now, err = M.load(r.job)
		if err then return nil, err end
		if now and not (was and now.id == was.id and now.runner.token == was.token) then
			return errors.fail("busy", "process %s has %s", tostring(now.runner.pid),
				was and now.id == was.id and "taken this rollout over"
				or "started another rollout")
		end
		local ok
		ok, err = write(r)
		if not ok then return nil, err end
		return true
	end)
end

-- Save the rollout if this process still runs it, or takes it over.
function M.save(r)
	local ok, err = M.replace(r, { id = r.id, token = r.taken or r.runner.token })
	if not ok then return nil, err end
	r.taken = nil
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

function M.runs(r)
	return not ENDED[r.state] and r.state ~= "paused" and store.active(r.runner)
		and not store.is_this_process(r.runner)
end

-- Has the runner of an unfinished rollout died or stopped? -> "is gone", "stands still" or nil
function M.gone(r)
	if ENDED[r.state] or r.state == "paused" then return nil end
	local runs, alive = store.active(r.runner)
	return not runs and (alive and "stands still" or "is gone") or nil
end

function M.requested(r)
	if core.stopped() then return "pause" end
	local word
	word, r.asker = store.requested(r.path, r.id)
	return word
end

return M
