-- SPDX-License-Identifier: MIT
-- Files of rollouts and sweeps: their paths, the process that runs each, and requests to it. A
-- file's name has job and host, because hosts share home directories. Files are replaced as a
-- whole; compare and replace happens under a lock.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local process = require "ncclbpf.base.process"

local M = {}

local LIMIT = 16 << 20
local LOCK_S = 5
-- This is a function and not a constant, because runners and supervisors are forks of the
-- process that loaded this module.
local function own_pid() return select(2, core.ids()) end

local function folder(kind)
	local state = os.getenv "XDG_STATE_HOME"
	if not state or state == "" then
		local home = os.getenv "HOME"
		if not home or home == "" then
			return errors.fail("cannot_create",
				"neither XDG_STATE_HOME nor HOME says where to keep %s", kind)
		end
		state = home .. "/.local/state"
	end
	local dir = state .. "/ncclbpf/" .. kind
	if not core.mkdirs(dir) then
		return errors.fail("cannot_create", "%s cannot be made", dir)
	end
	return dir
end

local function plain(name) return (tostring(name):gsub("[^%w_.%-]", "_")) end

local function host()
	return (core.read("/proc/sys/kernel/hostname", 256) or ""):match "%S+" or "localhost"
end

-- @kind: "rollouts" or "sweeps". -> path | nil, err
function M.path(job, kind)
	local dir, err = folder(kind)
	if not dir then return nil, err end
	return ("%s/%s@%s.json"):format(dir, plain(job), plain(host()))
end

-- Read the table of a file. -> table, path | nil (no file) | nil, err. @what: name for
-- messages. @valid(table): is the table complete?
function M.read(path, what, valid)
	if not core.stat(path) then return nil end
	local bytes, err = core.read(path, LIMIT)
	if not bytes then return nil, errors.from_reply(err) end
	local t
	t, err = core.decode(bytes)
	if type(t) ~= "table" or not valid(t) then
		return nil, errors.new("bad_argument", ("%s: not a %s's file%s"):format(
			path, what, err and ": " .. err.message or ""),
			{ hint = "move the file away to begin a new one" })
	end
	t.path = path
	return t
end

function M.write(path, t)
	local ok, err = core.write(path, core.encode(t) .. "\n")
	if not ok then return nil, errors.from_reply(err) end
	return true
end

-- Call f() while holding the lock of @path, which other processes and hosts respect. -> results of
-- f | nil, err
function M.locked(path, f)
	local lock <close>, err = core.lock(path .. ".lock", LOCK_S)
	if not lock then return nil, errors.from_reply(err) end
	return f()
end

-- This process as the runner of something new.
function M.runner()
	local pid = own_pid()
	return { pid = pid, process = process.identity(pid),
		token = ("%d.%d.%.0f"):format(pid, math.random(1 << 30), core.mono() * 1e9) }
end

-- -> does @runner make progress, is it alive. A stopped process makes no progress; its saves are
-- refused when it continues. nil: the process is in another PID namespace.
function M.active(runner)
	if type(runner) ~= "table" then return false, false end
	local alive, stopped = process.alive(runner.process)
	return alive and not stopped, alive
end

function M.is_this_process(runner) return runner.process == process.identity(own_pid()) end

-- Requests to the runner.

local function request_path(path) return (path:gsub("%.json$", ".request")) end

function M.request(path, id, word)
	local ok, err = core.write(request_path(path), ("%s %s %d\n"):format(id, word, own_pid()))
	if not ok then return nil, errors.from_reply(err) end
	return true
end

-- Take the request of another process out of its file. -> request, PID of that process | nil
function M.requested(path, id)
	path = request_path(path)
	if not core.stat(path) then return nil end
	local of, word, pid = tostring(core.read(path, 200) or ""):match "^(%S+) (%a+) ?(%d*)\n"
	core.unlink(path)
	if of ~= id then return nil end
	return word, pid ~= "" and pid or nil
end

function M.forget_requests(path) core.unlink(request_path(path)) end

return M
