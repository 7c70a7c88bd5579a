-- SPDX-License-Identifier: MIT
-- Parts of a rollout over several jobs: rollout_jobs.lua PART
local core = require "ncclbpf.core"
local part = {}

-- The jobs of patterns, where llm-a and llm-b run.
function part.patterns()
	local target = require "ncclbpf.job.target"
	target.sockets = function() return {} end
	target.jobs_of = function() return { "llm-b", "llm-a" } end
	local find = require("ncclbpf.rollout.jobs").find
	local function names(patterns)
		local list, err = find(nil, patterns)
		return list and table.concat(list, " ") or err.message
	end
	assert(names { "llm-*" } == "llm-a llm-b", names { "llm-*" })
	assert(names { "llm-b", "llm-*" } == "llm-b llm-a", names { "llm-b", "llm-*" })
	assert(names { "llm-*", "*-b" } == "llm-a llm-b", names { "llm-*", "*-b" })
	assert(names { "llm-*", "old-*" }:find('no job matches "old-*"', 1, true))
end

-- A step of jobs has no number of collectives of its own.
function part.min_samples()
	local plan = require "ncclbpf.rollout.plan"
	local function check(step)
		local p, err = plan.check { jobs = "llm-*", candidate = "none",
			steps = { { jobs = 1 }, step } }
		return p and "" or err.message
	end
	assert(check { jobs = "100%" } == "", check { jobs = "100%" })
	local why = check { jobs = "100%", min_samples = 500 }
	assert(why:find("steps[2].min_samples", 1, true), why)
end

-- A job that has passed is guarded over turns in which a guard can find enough collectives.
function part.hold()
	local seconds, arm
	package.loaded["ncclbpf.rollout.block"] = { block = function(_, a, s)
		arm, seconds = a, s
		return nil, "taken", "enough"
	end }
	local r = { holding = true, arm = "b", of = "all", id = "mine", job = "job", blocks = {},
		events = {}, path = os.getenv "T" .. "/hold.json", runner = { token = "mine" },
		plan = { deadline = 60, block_timeout = 30 },
		group = { close = function() end } }
	local done, why = require("ncclbpf.rollout.run").run(r)
	assert(not done and why == "enough", tostring(why))
	assert(arm == "b" and seconds == r.plan.block_timeout, tostring(seconds))
end

-- The runner died when it had begun a job's rollout, before it could note its ID. The rollout is
-- ended, not forgotten: that there is no such job to end it in is the reason of the failure.
function part.orphan()
	local jobs = require "ncclbpf.rollout.jobs"
	local store = require "ncclbpf.rollout.store"
	local p = assert(require("ncclbpf.rollout.plan").check { name = "orphan", jobs = "gone",
		candidate = "none" })
	local r = assert(jobs.start(nil, p, { "gone" }))
	local dead = store.runner()
	dead.process = dead.process:gsub("%d+$", "1")
	assert(store.write(store.path("gone", "rollouts"), { version = 1, id = "gone-1", of = r.id,
		job = "gone", state = "progressing", plan = p, blocks = {}, events = {},
		runner = dead, processes = {} }))
	assert(store.request(r, "abort"))
	assert(jobs.detach(r))
	local done = assert(jobs.follow(r))
	assert(done.state == "failed" and done.why:find("job gone: ", 1, true), done.why)
end

assert(core.mono)
part[arg[1]]()
