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
	answer = 5, -- time limit of a request to a process, an agent or the store; -T replaces it
	forever = 1e9, -- the same for -T 0
	long = 3600, -- longest single wait in a loop that has no end
	change = 15, -- added to `answer` for a change by the coordinator
	request = 30, -- lease of a request to the coordinator: the request goes if its shell dies
	bar = 0.5, -- delay before a request to many sites shows its progress bar
	connect = 0.2, -- time limit of a connect that shows whether a socket's process lives
	starting = 10, -- age at which a socket must have a listening process
	lock = 5, -- time limit for the lock of a record

	-- people at a terminal
	prompt = 0.2, -- longest wait of a prompt for its target
	complete = 0.1, -- longest wait of a completion for its target
	attach = 0.05, -- time limit of a connection that a completion makes
	names = 2, -- age at which a completion fetches names again
	top = 2, -- refresh interval of top

	-- a job under a rollout or sweep
	poll = 0.05, -- interval of queries to the job
	fence = 0.01, -- the same while ranks pass a fence
	busy = 0.2, -- back-off while another change is in progress
	idle = 1, -- a communicator without decisions for so long is idle
	closing = 2, -- longest wait for a process to end after it has closed its connection
	baseline = 30, -- time limit to restore the baseline on all ranks
	unload = 5, -- time limit to unload tables that ranks still use

	-- the runner of a rollout or sweep
	lost = 60, -- lease of the runner, if the plan does not set guards.lost
	asked = 0.5, -- interval of reads of other shells' requests in the store
	record = 0.5, -- interval of reads of the runner's record in the store
	follow = 0.1, -- interval of reads of the record's file
	saved = 10, -- time limit for a new process to become the runner
	watch = 0.02, -- interval of checks of that process
	patience = 20, -- the runner repeats a failed store request for so long
	rescue = 30, -- time limit for the supervisor of a dead runner to change the record
	retry = 0.5, -- back-off of the supervisor
	callback = 5, -- time limit of a call of a script's function, and of a file (processor time)
}

return M
