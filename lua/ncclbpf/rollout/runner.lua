-- SPDX-License-Identifier: MIT
-- The runner of a rollout or sweep. The shell starts it as a process of its own, so that the
-- run continues when the shell ends; the shell then only follows the file of the run. Each
-- runner has a supervisor (core.guardian), which puts the baseline back if the runner dies.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local keys = require "ncclbpf.rollout.keys"
local record = require "ncclbpf.rollout.record"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"
local store = require "ncclbpf.rollout.store"

local M = {}

local TRIES = 20 -- of a supervisor

-- Restore the baseline of the run @id, unless another process runs it, or it has ended or paused
-- safely. @token: the runner that died; its process may still be exiting.
-- -> true when the supervisor need not try again
local function rescue(kind, wish, id, token)
	local group = wish.fleet and session.attach(wish)
	if wish.fleet and not group then return false end
	local r, err = record.load(kind, group or wish)
	if err then
		if group then group:close() end
		return false
	end
	local runs = r and record.runs(r)
	local open = r and r.id == id and not runs and (not record.over(r) or r.unsafe)
	group = group or open and session.attach(wish)
	local ok, done = false, nil
	if open and group then ok, done = pcall(kind.rescue, r, group) end
	if group then group:close() end
	if open then return ok and done and true or false end
	return not runs or r.runner.token ~= token
end

-- Start a process that waits for the death of this one, then calls rescue() until it returns true.
local function supervisor(r)
	local kind, id, token, group = r.kind, r.id, r.runner.token, r.group
	local wish = { job = r.job, fleet = group.url } -- fleet nil: a job of this host
	return core.guardian(function()
		for _ = 1, TRIES do
			group:close() -- drop the connections of the dead process
			local fine, done = pcall(rescue, kind, wish, id, token)
			if fine and done then break end
			clock.sleep(clock.times.retry)
		end
	end)
end

-- Call work() under a supervisor of @r, with Ctrl-C held back. -> the results of work(). If the run
-- is unsafe then, or work() has failed, the supervisor calls rescue(): perhaps the record could not
-- be saved and still says that the run continues.
local function supervised(r, work)
	local guardian, err = supervisor(r)
	if not guardian then return nil, errors.from_reply(err) end
	core.hold(true)
	local results = table.pack(pcall(work))
	if results[1] and results[2] and not r.unsafe then guardian:done() else guardian:close() end
	core.hold(false)
	if not results[1] then error(results[2], 0) end
	return table.unpack(results, 2, results.n)
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

-- The functions of a run's kind:
-- step(r): one step, such as a block. -> nil: continue | r: it has ended or paused | nil, err
-- stop(r, why, err): end the run, after its deadline or (err) after an error that step() raised.
--   -> as step()
-- lost(r, err): record that the new process cannot reach the job. -> true | nil, err
-- rescue(r, group): take the run over from its dead runner and restore the baseline. -> did it?

-- Repeat kind.step until the run has ended or paused, its deadline has passed, or enough(r)
-- returns true. tell(r) is called after each step. -> r | nil, err
local function run_steps(r, tell, enough)
	local till = clock.now() + r.plan.deadline
	local fine, done, err
	r.failure = nil
	repeat
		fine, done, err = pcall(r.kind.step, r)
		if fine and not done and not err and clock.now() > till then
			fine, done, err = pcall(r.kind.stop, r,
				("the deadline of %g s has passed"):format(r.plan.deadline))
		end
		if tell then tell(r) end
	until not fine or done or err or enough and enough(r)
	if fine then return done or not err and r or nil, err end
	-- the most likely reason: a process did not answer
	err = errors.caught(done)
	return r.kind.stop(r, err.message, err)
end

-- Run @r in this process; Ctrl-C waits meanwhile and asks for a pause. -> as run_steps()
function M.run(r, tell, enough)
	return supervised(r, function() return run_steps(r, tell, enough) end)
end

-- Wait until process @pid is the runner of @r. Otherwise another process could take the run over,
-- because the runner so far, this shell, may end first. -> true | nil, err
local function await_runner(r, pid)
	local till = clock.now() + clock.times.saved
	while clock.now() < till do
		local lives = core.alive(pid)
		local now = record.load(r.kind, r.home)
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

-- Run @r in a new process, which becomes its runner and calls after(r) at the end. Its output goes
-- to a log beside the record. -> its PID | nil, err
function M.detach(r, after)
	local log = log_of(r)
	core.unlink(log)
	local pid, err = core.detach(function()
		local there, why = r.group:reconnect(clock.times.patience)
		r.taken, r.runner, r.failure = r.runner.token, store.runner(), nil
		local saved, trouble = record.save(r)
		if not saved then error(trouble, 0) end
		local ok
		if there then
			ok, why = M.run(r)
		else
			ok, why = r.kind.lost(r, why)
		end
		if after then after(r) end
		if not ok then io.stderr:write(errors.text(errors.caught(why)), "\n") end
		drop_empty(log)
	end, log)
	if not pid then return nil, errors.from_reply(err) end
	local ok
	ok, err = await_runner(r, pid)
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

-- Like M.follow, but without the runner's error.
local function follow(run, tell, pid)
	local path, id = run.path, run.id
	local seen, read, asked, gone, r = nil, 0, false, nil, nil
	local failing -- since when the store has not answered; nil: it answers
	local log = log_of { path = path }
	local function step()
		local stamp = stamp_of(run)
		if stamp ~= seen then
			local now, err = record.load(run.kind, run.home)
			if now then
				failing = nil
			elseif err and sites.passes(err) then
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
		if record.over(r) and not (pid and core.alive(pid)) then return r end
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
function M.follow(run, tell, pid)
	local done, err = follow(run, tell, pid)
	local failure = done and pid and M.failure(done)
	if failure then return nil, failure end
	return done, err
end

-- Return the function that shows the progress of a run for a command: to a script data(r), on a
-- terminal a line text(r). nil: nobody looks
function M.teller(ctx, data, text)
	if ctx.script then return function(r) ctx:pass(data(r)) end end
	if not core.isatty(2) or ctx.flags.quiet then return nil end
	return function(r) io.stderr:write("\r\27[K", text(r)) end
end

return M
