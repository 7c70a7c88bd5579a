-- SPDX-License-Identifier: MIT
-- The runner of a rollout or sweep. The shell starts it as a process of its own, so that the
-- run continues when the shell ends; the shell then only follows the file of the run. Each
-- runner has a supervisor (core.guardian), which puts the baseline back if the runner dies.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local keys = require "ncclbpf.rollout.keys"
local store = require "ncclbpf.rollout.store"

local M = {}

local TRIES = 20 -- of a supervisor

-- Start a process that waits for the death of this one, then calls rescue() until it returns true,
-- then after(done).
local function supervisor(rescue, after)
	return core.guardian(function()
		local done = false
		for _ = 1, TRIES do
			local fine, ok = pcall(rescue)
			done = fine and ok and true or false
			if done then break end
			clock.sleep(clock.times.retry)
		end
		if after then after(done) end
	end)
end

-- Call work() under a supervisor, with Ctrl-C held back. The first result of work() says whether
-- the supervisor may end; the others are returned. If it may not end, or work() raised an error,
-- the supervisor calls rescue() at once.
local function supervised(rescue, after, work)
	local guardian, err = supervisor(rescue, after)
	if not guardian then return nil, errors.from_reply(err) end
	core.hold(true)
	local results = table.pack(pcall(work))
	local fine, safe = results[1], results[2]
	if fine and safe then guardian:done() else guardian:close() end
	core.hold(false)
	if not fine then error(safe, 0) end
	return table.unpack(results, 3, results.n)
end

local function log_of(r) return (r.path:gsub("%.json$", "")) .. ".log" end

local function drop_empty(log)
	local st = core.stat(log)
	if st and st.size == 0 then core.unlink(log) end
end

-- Record the reason why the run ended without a result. A shell that follows the run shows it.
function M.fail(r, err)
	r.failure = { code = err.code, message = err.message, hint = err.hint, cause = err.cause }
end

-- Return the error that M.fail recorded, or nil.
function M.failure(r)
	local f = r.failure
	return f and errors.new(f.code, f.message, { hint = f.hint, cause = f.cause }) or nil
end

-- A run is a rollout or sweep: a table with path, id, group, runner and plan.deadline. @methods are
-- the functions for its kind:
-- step(r): one step, such as a block. -> nil: continue | r: it has ended or paused | nil, err
-- stop(r, why, err): end the run, after its deadline or (err) after an error that step() raised.
--   -> as step()
-- lost(r, err): record that the new process cannot reach the job. -> true | nil, err
-- save(r): write the record
-- rescue(r) -> two functions for the supervisor: one that it repeats until it returns true, and one
--   that it calls afterwards
-- load(home) -> the run as its record has it
-- ended(r) -> has the run ended or paused?

-- Repeat methods.step until the run has ended or paused, its deadline has passed, or enough(r)
-- returns true. tell(r) is called after each step. -> r | nil, err
local function run_steps(r, methods, tell, enough)
	local till = clock.now() + r.plan.deadline
	local fine, done, err
	r.failure = nil
	repeat
		fine, done, err = pcall(methods.step, r)
		if fine and not done and not err and clock.now() > till then
			fine, done, err = pcall(methods.stop, r,
				("the deadline of %g s has passed"):format(r.plan.deadline))
		end
		if tell then tell(r) end
	until not fine or done or err or enough and enough(r)
	if fine then return done or not err and r or nil, err end
	-- the most likely reason: a process did not answer
	err = errors.caught(done)
	return methods.stop(r, err.message, err)
end

-- Run @r in this process; Ctrl-C waits meanwhile and asks for a pause. -> as run_steps()
function M.run(r, methods, tell, enough)
	local rescue, after = methods.rescue(r)
	return supervised(rescue, after, function()
		local done, err = run_steps(r, methods, tell, enough)
		return not r.unsafe, done, err
	end)
end

-- Wait until process @pid is the runner of @r. Otherwise another process could take the run over,
-- because the runner so far, this shell, may end first. -> true | nil, err
local function await_runner(r, methods, pid)
	local till = clock.now() + clock.times.saved
	while clock.now() < till do
		local lives = core.alive(pid)
		local now = methods.load(r.home)
		if now and now.runner.pid == pid then return true end
		if not lives and now and not store.is_this_process(now.runner) then
			return errors.fail("busy", "process %s has taken over as the runner",
				tostring(now.runner.pid))
		end
		if not lives then break end
		clock.sleep(clock.times.watch)
	end
	return true -- M.follow reports a process that died before it was the runner
end

-- Run @r in a new process, which becomes its runner by methods.save(r) and calls after(r) at the
-- end. Its output goes to a log beside the record. -> its PID | nil, err
function M.detach(r, methods, tell, after)
	local log = log_of(r)
	core.unlink(log)
	local pid, err = core.detach(function()
		local there, why = r.group:reconnect(clock.times.patience)
		r.taken, r.runner, r.failure = r.runner.token, store.runner(), nil
		local saved, trouble = methods.save(r)
		if not saved then error(trouble, 0) end
		local ok
		if there then
			ok, why = M.run(r, methods, tell)
		else
			ok, why = methods.lost(r, why)
		end
		if after then after(r) end
		if not ok then io.stderr:write(errors.text(errors.caught(why)), "\n") end
		drop_empty(log)
	end, log)
	if not pid then return nil, errors.from_reply(err) end
	local ok
	ok, err = await_runner(r, methods, pid)
	if not ok then return nil, err end
	return pid
end

-- Copy what the runner has printed since the last call to standard error.
local function copy_log(path, from)
	local f <close> = io.open(path)
	if not f then return from end
	f:seek("set", from)
	local text = f:read "a"
	io.stderr:write(text)
	return from + #text
end

-- Return whether the runner is dead and its supervisor had enough time to change the file, and
-- since when the runner is dead.
local function is_lost(r, pid, since)
	-- The process that this shell started died before it became the runner.
	if pid and store.is_this_process(r.runner) then return not core.alive(pid) end
	local _, alive = store.active(r.runner)
	if alive ~= false then return false end
	since = since or clock.now()
	return clock.now() - since > clock.times.rescue + (r.home.fleet and keys.lost(r) or 0),
		since
end

-- Return a value that changes when the record may have changed.
local function stamp_of(r)
	if r.home.fleet then return clock.now() // clock.times.record end
	local st = core.stat(r.path)
	return st and ("%.9f %d"):format(st.mtime, st.size)
end

-- May a read that has failed with @err succeed soon?
local function passes(err)
	return err and (err.code == "timed_out" or err.code == "store_unavailable")
end

-- Like M.follow, but without the runner's error.
local function follow(run, methods, tell, pid)
	local path, id = run.path, run.id
	local seen, read, asked, gone, r = nil, 0, false, nil, nil
	local failing -- since when the store has not answered; nil: it answers
	local log = log_of { path = path }
	local function step()
		local stamp = stamp_of(run)
		if stamp ~= seen then
			local now, err = methods.load(run.home)
			if now then
				failing = nil
			elseif passes(err) then
				failing = failing or clock.now()
				local waited = clock.now() - failing
				if waited < clock.times.patience then return false end
			end
			if not now then
				return nil, err or errors.new("not_found", path .. " was removed")
			end
			if now.id ~= id then
				return errors.fail("busy", "%s has replaced %s", now.id, id)
			end
			local same = r and r.revision and r.revision == now.revision
				and r.state == now.state
			r, seen = now, stamp
			if not same then gone = nil end
			if tell and not same then tell(r) end
		end
		if pid then read = copy_log(log, read) end
		if methods.ended(r) and not (pid and core.alive(pid)) then return r end
		local lost
		lost, gone = is_lost(r, pid, gone)
		if lost then
			return nil, errors.new("no_target",
				("the runner, process %s, has died"):format(tostring(r.runner.pid)),
				{ hint = core.stat(log) and log .. " has what it printed" or nil })
		end
		if pid and core.stopped() and not asked then
			asked = true
			local ok, err = store.request(run, "pause")
			if not ok then return nil, err end
		end
		return false
	end
	local function loop()
		local done, err
		repeat
			done, err = step()
			if done == false then clock.sleep(clock.times.follow) end
		until done ~= false
		return done, err
	end
	if not pid then return loop() end
	core.hold(true)
	local results = table.pack(pcall(loop))
	pcall(copy_log, log, read)
	core.hold(false)
	if not results[1] then error(results[2], 0) end
	return results[2], results[3]
end

-- Follow @run until it has ended or paused. tell(r) is called after each change of its record.
-- @pid: this shell has started the runner: then Ctrl-C asks it for a pause and waits, and its error
-- is returned; else Ctrl-C only ends the following. -> the run | nil, err
function M.follow(run, methods, tell, pid)
	local done, err = follow(run, methods, tell, pid)
	local failure = done and pid and M.failure(done)
	if failure then return nil, failure end
	return done, err
end

return M
