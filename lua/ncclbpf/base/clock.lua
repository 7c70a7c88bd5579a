-- SPDX-License-Identifier: MIT
-- The clock, and how long anything waits. No other module asks the system for the time or sleeps,
-- and no other module has a length of time, so that a test can step the clock (now, sleep) and
-- shorten the lengths (times).
local core = require "ncclbpf.core"

local M = {}

-- Return the seconds since a moment in the past. The number never decreases.
function M.now() return core.mono() end

-- Return the seconds since 1970, the clock of files.
function M.wall() return os.time() end

-- Raises an error after Ctrl-C.
function M.sleep(seconds) return core.sleep(seconds) end

-- All lengths, in seconds.
M.times = {
	-- requests
	answer = 5, -- an answer of a process, an agent or the store, unless -T says otherwise
	forever = 1e9, -- the same for -T 0
	long = 3600, -- one wait of those that repeat without an end
	change = 15, -- in addition to the answer: a change by the coordinator
	request = 30, -- lease of a request to the coordinator; it ends with the shell
	bar = 0.5, -- until the bar of a request to many sites is shown
	connect = 0.2, -- an answer that shows whether a socket's process lives
	starting = 10, -- age of a socket at which its process surely listens
	lock = 5, -- the lock of a record

	-- people at a terminal
	prompt = 0.2, -- longest time that a prompt waits for its target
	complete = 0.1, -- the same for a completion
	attach = 0.05, -- the same for a connection that a completion makes
	names = 2, -- age of names that a completion asks for again
	top = 2, -- between two views of top

	-- a job under a rollout or sweep
	poll = 0.05, -- between two looks at the job
	fence = 0.01, -- the same while ranks pass a fence
	busy = 0.2, -- until a change is tried again because another change is in progress
	idle = 1, -- without a decision: the communicator is idle
	closing = 2, -- from the end of a connection to the end of its process
	sample = 0.2, -- between two samples of a series
	baseline = 30, -- longest time to restore the baseline on all ranks
	unload = 5, -- longest time to unload tables that ranks still use

	-- the runner of a rollout or sweep
	lost = 60, -- its lease, if the plan does not say guards.lost
	asked = 0.5, -- between two reads of other shells' requests in the store
	record = 0.5, -- between two reads of its record in the store
	follow = 0.1, -- between two looks at its record's file
	saved = 10, -- longest time until a new process has become the runner
	watch = 0.02, -- between two looks at that process
	patience = 20, -- a request to the store, for which nobody waits
	rescue = 30, -- until the supervisor of a dead runner has changed the record
	retry = 0.5, -- between two tries of the supervisor
	callback = 5, -- a call of a script's function
}

return M
