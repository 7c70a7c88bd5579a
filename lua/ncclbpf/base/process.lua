-- SPDX-License-Identifier: MIT
-- Identities of processes: boot, PID namespace, PID and start time. A PID alone is reused, and
-- differs between namespaces and hosts. Also this process's environment.
local core = require "ncclbpf.core"

local M = {}

-- Return an environment variable; nil: it is not set, or empty.
function M.env(name)
	local v = os.getenv(name)
	return v ~= "" and v or nil
end

-- Return the folder for what the shell remembers of this user; nil: no variable names one.
function M.state_folder()
	local home = M.env "HOME"
	local state = M.env "XDG_STATE_HOME" or home and home .. "/.local/state"
	return state and state .. "/ncclbpf"
end

-- Return the name of this host.
function M.host()
	return (core.read("/proc/sys/kernel/hostname", 256) or ""):match "%S+" or "localhost"
end

local function boot()
	return (core.read("/proc/sys/kernel/random/boot_id", 64) or ""):match "^%S+" or "?"
end

local here
local function prefix()
	here = here or ("%s/%d"):format(boot(), core.namespace())
	return here
end

-- Return the clock ticks from boot to the start of @pid (proc(5), field 22), or nil.
local function start_of(pid)
	local stat = core.read(("/proc/%d/stat"):format(pid), 4096)
	local fields = stat and stat:match "^.*%) (.*)"
	if not fields then return nil end
	local n = 2
	for field in fields:gmatch "%S+" do
		n = n + 1
		if n == 22 then return field end
	end
end

-- Return the identity "BOOT/NAMESPACE/PID/START" of a process; nil: this host has no such process.
function M.identity(pid)
	local start = start_of(pid)
	return start and ("%s/%d/%s"):format(prefix(), pid, start)
end

-- Does @identity name a process of this boot and PID namespace?
function M.is_near(identity)
	return tostring(identity):sub(1, #prefix() + 1) == prefix() .. "/"
end

-- Return whether the process of @identity is alive, and whether it is stopped. nil: the process is
-- in another PID namespace of this boot, so it cannot be checked.
function M.alive(identity)
	local boot_id, ns, pid = tostring(identity):match "^([^/]+)/([^/]+)/(%d+)/%d+$"
	if not boot_id or boot_id ~= boot() then return false end
	if ns ~= tostring(core.namespace()) then return nil end
	if M.identity(math.tointeger(pid)) ~= identity then return false end
	return core.alive(math.tointeger(pid))
end

return M
