-- SPDX-License-Identifier: MIT
-- Records of rollouts and sweeps: where they are, the process that runs each, and requests to it.
-- A record is a file; for a job of several hosts the store has it too (rollout/keys.lua), and what
-- the store has counts. A file's name has job and host, because hosts share home directories.
-- Records are replaced as a whole; compare and replace happens under a lock. The home of a record
-- is a group, or a table with its fields job and, for several hosts, fleet (true) and store.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local keys = require "ncclbpf.rollout.keys"
local process = require "ncclbpf.base.process"

local try = errors.try
local M = {}

local LIMIT = 16 << 20
-- A function instead of a constant, because runners and supervisors are forks of the
-- process that loaded this module.
local function own_pid() return select(2, core.ids()) end

local function folder(kind)
	local state = process.state_folder()
	if not state then
		errors.raise("cannot_create",
			"neither XDG_STATE_HOME nor HOME says where to keep %s", kind)
	end
	local dir = state .. "/" .. kind
	if not core.mkdirs(dir) then
		error(errors.new("cannot_create", ("%s cannot be made"):format(dir), {
			hint = ("set XDG_STATE_HOME to a directory that user %d may write; "
				.. "HOME is %s")
				:format((core.ids()), tostring(os.getenv "HOME")) }), 0)
	end
	return dir
end

local function plain(name) return (tostring(name):gsub("[^%w_.%-]", "_")) end

-- Return the path of a job's record. @kind: "rollouts" or "sweeps". -> path | nil, err
M.path = errors.catch(function(job, kind)
	return ("%s/%s@%s.json"):format(folder(kind), plain(job), plain(process.host()))
end)

-- Read the table of a file. -> table, path | nil (no file) | nil, err. @what: name for
-- messages. @valid(table): is the table complete?
M.read = errors.catch(function(path, what, valid)
	if not core.stat(path) then return nil end
	local t, err = core.decode(try(core.read(path, LIMIT)))
	if type(t) ~= "table" or not valid(t) then
		return nil, errors.new("bad_argument", ("%s: not a %s's file%s"):format(
			path, what, err and ": " .. err.message or ""),
			{ hint = "move the file away to begin a new one" })
	end
	t.path = path
	return t
end)

-- Return @err of a lock that process @who holds. If @who is stopped, the error says so instead. It
-- is timed_out and not busy, because @who may not have changed the record yet.
local function lock_error(err, who)
	if err.code ~= "busy" then return err end
	local pid = who:match "/(%d+)/%d+$"
	local _, stopped = process.alive(who)
	err.code = "timed_out"
	if not stopped then return err end
	return errors.new("timed_out", (
		"process %s is stopped while it changes the record"):format(pid),
		{ hint = ("kill -CONT %s lets it continue; kill -KILL %s ends it, and its "
			.. "supervisor restores the baseline"):format(pid, pid) })
end

-- Take the lock of @path, as each process of each host does before it replaces the file.
-- -> lock | nil, err
local function lock(path)
	local file = path .. ".lock"
	local it, err = core.lock(file, clock.times.lock, process.identity(own_pid()))
	if it then return it end
	return nil, lock_error(errors.from_reply(err), core.read(file, 256) or "")
end

-- Replace the file at @path by the table @t. When the new file is on disk, call ready() (may be
-- nil). If ready() returns nil, err, keep the old file. -> true | nil, err
M.write = errors.catch(function(path, t, ready)
	return try(core.write(path, core.encode(t) .. "\n", ready))
end)

-- Load the record of @kind, "rollout" or "sweep". -> table | nil (none) | nil, err
M.load = errors.catch(function(home, kind, valid)
	local path = try(M.path(home.job, kind .. "s"))
	if not home.fleet then
		local t, err = M.read(path, kind, valid)
		if t then t.home = home end
		return t, err
	elseif not home.store then
		return errors.fail("no_target", "job %s: not connected to the store", home.job)
	end
	local t, err = keys.read(home, kind)
	if t and not valid(t) then
		return errors.fail("bad_argument", "job %s: the record in the store is not a %s",
			home.job, kind)
	end
	if t then t.path, t.home = path, home end
	return t, err
end)

-- May the caller replace the stored record @now (nil: none)? It may if @now is still the record
-- that it has read, which had the id and token of @was. -> true | nil, err
local function may_replace(r, kind, now, was)
	local same = now and was and now.id == was.id
	if now and not (same and now.runner.token == was.token) then
		return errors.fail("busy", "process %s has %s", tostring(now.runner.pid),
			same and ("taken this %s over"):format(kind) or "started another " .. kind)
	elseif now and now.undone and now.undone_at ~= r.undone_at then
		return errors.fail("busy", "site %s has restored the baseline, because the "
			.. "runner's lease had ended", tostring(now.undone.site))
	end
	return true
end

-- Replace the record of @r by @fields if the stored record is still that of @was: {id, token} (nil:
-- there was none). over: the run has ended or paused; settled: no candidate is in use. The new file
-- is on disk before the lock is taken, so others do not wait for a slow disk. -> true | nil, err
M.replace = errors.catch(function(r, kind, fields, valid, was, over, settled)
	local held
	local ready = errors.catch(function()
		held = try(lock(r.path))
		local now, err = M.load(r.home, kind, valid)
		if err then return nil, err end
		try(may_replace(r, kind, now, was))
		if r.home.fleet then
			try(keys.write(r, kind, core.encode(fields), now, over, settled))
		end
		return true
	end)
	local results = table.pack(pcall(M.write, r.path, fields, ready))
	local _ <close> = held
	if not results[1] then error(results[2], 0) end
	return table.unpack(results, 2, results.n)
end)

-- Return a runner's entry for this process, with a new token.
function M.runner()
	local pid = own_pid()
	return { pid = pid, process = process.identity(pid),
		token = ("%d.%d.%.0f"):format(pid, math.random(1 << 30), clock.now() * 1e9) }
end

-- Returns whether @runner makes progress, and whether it is alive. A stopped process makes no
-- progress, and cannot save when it continues. nil: the process is in another PID namespace. If the
-- runner is on another host, its lease in the store decides.
function M.active(runner)
	if type(runner) ~= "table" then return false, false end
	local alive, stopped = process.alive(runner.process)
	if runner.leased ~= nil and not process.is_near(runner.process) then
		alive = runner.leased
	end
	return alive and not stopped, alive
end

function M.is_this_process(runner) return runner.process == process.identity(own_pid()) end

-- Requests to the runner.

local function request_path(path) return (path:gsub("%.json$", ".request")) end

-- Return the request at @path that no runner has taken yet. -> rollout's id, word, PID | nil
local function pending(path)
	if not core.stat(path) then return nil end
	return tostring(core.read(path, 200) or ""):match "^(%S+) (%a+) ?(%d*)\n"
end

-- Ask the runner of @r for @word. This replaces the previous request, unless that is an abort.
-- -> true | nil, err
M.request = errors.catch(function(r, word)
	if r.home.fleet then return keys.request(r, word, own_pid()) end
	local path = request_path(r.path)
	local of, asked = pending(path)
	try(keys.may_ask(r, of, asked, word))
	return try(core.write(path, ("%s %s %d\n"):format(r.id, word, own_pid())))
end)

-- Take the request of another process. -> request, PID of that process | nil
function M.requested(r)
	if r.home.fleet then return keys.requested(r) end
	local path = request_path(r.path)
	local of, word, pid = pending(path)
	if not of then return nil end
	core.unlink(path)
	if of ~= r.id then return nil end
	return word, pid ~= "" and pid or nil
end

function M.forget_requests(r)
	if r.home.fleet then return keys.forget_requests(r.home) end
	core.unlink(request_path(r.path))
end

return M
