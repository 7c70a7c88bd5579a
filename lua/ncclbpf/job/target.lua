-- SPDX-License-Identifier: MIT
-- Find processes to attach to: sockets in the directories of docs/protocol.md (stale ones are
-- removed), then processes that have NCCL mapped but no socket, each with the reason.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local env = require("ncclbpf.base.process").env
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local M = {}
local uid = core.ids()

-- Socket directories in the order of the protocol, after @list.
local function default_directories(list)
	local function add(path)
		if not lists.has(list, path) then list[#list + 1] = path end
	end
	add("/run/ncclbpf/" .. uid)
	add((env "TMPDIR" or "/tmp") .. "/ncclbpf-" .. uid)
	add("/dev/shm/ncclbpf-" .. uid)
	if uid == 0 then
		for _, name in ipairs(core.list("/run/ncclbpf") or {}) do
			if name:match("^%d+$") then add("/run/ncclbpf/" .. name) end
		end
		for _, parent in ipairs { "/tmp/", "/dev/shm/" } do
			for _, name in ipairs(core.list(parent) or {}) do
				if name:match("^ncclbpf%-%d+$") then add(parent .. name) end
			end
		end
	end
	return list
end

-- Socket directories. If NCCLBPF_SOCKET_DIR is set, it is the only one.
function M.directories()
	local set = env "NCCLBPF_SOCKET_DIR"
	return set and { set } or default_directories {}
end

-- May the shell trust sockets in this directory? -> true | nil, reason
function M.check_directory(path)
	local st = core.stat(path)
	if not st then return nil, nil end
	local why
	if st.kind ~= "directory" then
		why = "is a " .. st.kind .. ", not a directory"
	elseif st.uid ~= uid and uid ~= 0 then
		why = ("belongs to uid %d, this shell has uid %d"):format(st.uid, uid)
	elseif st.mode & 0x3f ~= 0 then
		why = ("has mode %04o, 0700 is needed"):format(st.mode)
	end
	if why then
		return errors.fail("not_permitted", "socket directory %s %s", path, why)
	end
	return true
end

-- Split "job.rank.namespace.pid.sock" into its parts; rank is nil if it is unknown
function M.parse(name)
	local job, rank, ns, pid = name:match("^([%w_%-]+)%.(%d+)%.(%d+)%.(%d+)%.sock$")
	if not job then
		job, ns, pid = name:match("^([%w_%-]+)%.%-%.(%d+)%.(%d+)%.sock$")
	end
	if not job then return nil end
	return { job = job, rank = math.tointeger(tonumber(rank)),
		ns = math.tointeger(tonumber(ns)), pid = math.tointeger(tonumber(pid)) }
end

-- Does the process of socket @s run? A process of another PID namespace cannot be found by its PID,
-- so only a refused connection shows that it is gone. @s.pid becomes the PID that this shell sees;
-- s.unseen: this shell sees none. -> boolean
function M.lives(s)
	if s.site then return s.conn ~= nil end
	if s.ns == core.namespace() then return core.alive(s.pid) end
	local conn, err = core.connect(s.path, clock.times.connect)
	if not conn then return not err.refused and core.stat(s.path) ~= nil end
	M.name(s, (conn:peer()))
	conn:close()
	return true
end

-- Set the PID of @s to @pid, the kernel's answer on a connection: 0 if the process is in a PID
-- namespace that is not below this shell's.
function M.name(s, pid)
	s.unseen = pid == 0 or nil
	if pid > 0 then s.pid = pid end
end

local function numeric(list)
	table.sort(list, lists.by("job", "rank", "pid"))
	return list
end

-- Does nobody accept connections at the socket @s?
local function refuses(s)
	local conn, err = core.connect(s.path, clock.times.connect)
	if conn then conn:close() end
	return not conn and err.refused
end

-- Find the sockets of one directory. Remove sockets that refuse a connection because their process
-- is gone, and add them to @gone. The PIDs and the number of a PID namespace are soon used again
-- when containers restart, so another process may have the PID. A process that starts refuses
-- connections, too, for a moment.
local function sockets_in(dir, list, gone)
	for _, name in ipairs(core.list(dir) or {}) do
		local s = M.parse(name)
		local st = s and core.stat(dir .. "/" .. name)
		if st and st.kind == "socket" then
			s.path, s.uid = dir .. "/" .. name, st.uid
			local near = s.ns == core.namespace()
			local old = clock.wall() > st.mtime + clock.times.starting
			if M.lives(s) and not (near and old and refuses(s)) then
				list[#list + 1] = s
			elseif (near or old) and refuses(s) then
				core.unlink(s.path)
				gone[#gone + 1] = s
			end
		end
	end
end

-- Add to @list the sockets of jobs that were to use directory @set, which was read-only or full
-- when they started. They use a later directory, where their segment says so.
local function moved_sockets(set, list, gone)
	local found = {}
	set = set:gsub("(.)/+$", "%1")
	for _, dir in ipairs(default_directories {}) do
		if dir ~= set and M.check_directory(dir) then sockets_in(dir, found, gone) end
	end
	for _, s in ipairs(found) do
		local _, moved = core.segment_used(
			("%s/%s.seg"):format(s.path:match "^(.*)/", s.job), set)
		if moved then list[#list + 1] = s end
	end
end

-- Find all sockets and remove stale ones. -> sockets, problems, removed ones
function M.sockets()
	local list, gone, problems = {}, {}, {}
	local set = env "NCCLBPF_SOCKET_DIR"
	for _, dir in ipairs(M.directories()) do
		local ok, err = M.check_directory(dir)
		if ok then
			sockets_in(dir, list, gone)
		elseif err then
			problems[#problems + 1] = err
		end
	end
	if set then moved_sockets(set, list, gone) end
	return numeric(list), problems, gone
end

-- Processes with NCCL but without a socket.

local function environ(pid)
	local text = core.read("/proc/" .. pid .. "/environ", 4 << 20)
	if not text then return nil end
	local t = {}
	for k, v in text:gmatch("([^=%z]+)=([^%z]*)%z") do t[k] = v end
	return t
end

local function exists(pid, path)
	return core.stat("/proc/" .. pid .. "/root" .. path) ~= nil
end

-- Return the socket of one process as that process sees it: through its root in procfs
-- (containers), with its own environment.
local function of_process(pid)
	local e = environ(pid) or {}
	local status = core.read("/proc/" .. pid .. "/status", 65536) or ""
	local inner = math.tointeger(tonumber(status:match("\nNSpid:[^\n]-(%d+)\n"))) or pid
	local ns = (core.readlink("/proc/" .. pid .. "/ns/pid") or ""):match "%d+"
	local owner = status:match("\nUid:%s+%d+%s+(%d+)") or uid
	for _, seen in ipairs { "/run/ncclbpf/" .. owner,
		(e.TMPDIR or "/tmp") .. "/ncclbpf-" .. owner,
		"/dev/shm/ncclbpf-" .. owner, e.NCCLBPF_SOCKET_DIR } do
		local dir = "/proc/" .. pid .. "/root" .. seen
		if seen:sub(1, 1) == "/" and M.check_directory(dir) then
			for _, name in ipairs(core.list(dir) or {}) do
				local s = M.parse(name)
				local st = s and s.pid == inner and tostring(s.ns) == (ns
					or tostring(s.ns)) and core.stat(dir .. "/" .. name)
				if st and st.kind == "socket" then
					s.path, s.uid, s.pid = dir .. "/" .. name, st.uid, pid
					return s
				end
			end
		end
	end
end

-- Has a process with these maps loaded NCCL, or RCCL, which is NCCL for AMD's GPUs?
local function has_nccl(maps) return maps:find "/lib[nr]ccl%.so" ~= nil end

-- Return the reason why a process with NCCL cannot be attached to, the remedy, and whether the
-- plugin is loaded.
local function reason(pid, maps)
	local e = environ(pid)
	local ours = maps:find("libncclbpf.so", 1, true) or maps:find("ncclbpf.so", 1, true)
	if not e then
		return "the process's environment cannot be read",
			"run the shell as the process's user"
	end
	if e.NCCLBPF_DISABLE == "1" then
		return "NCCLBPF_DISABLE=1", "unset NCCLBPF_DISABLE and restart the job"
	end
	if e.NCCLBPF_CONTROL == "off" then
		return "NCCLBPF_CONTROL=off", "set NCCLBPF_CONTROL=on and restart the job"
	end
	if ours then
		return "the plugin is loaded but its socket is not in the directories searched",
			e.NCCLBPF_SOCKET_DIR and e.NCCLBPF_SOCKET_DIR == env "NCCLBPF_SOCKET_DIR"
				and "unset NCCLBPF_SOCKET_DIR in this shell: the job does not use "
					.. "that directory, and its log says why"
				or e.NCCLBPF_SOCKET_DIR
				and "set NCCLBPF_SOCKET_DIR to the job's value: "
					.. e.NCCLBPF_SOCKET_DIR
				or env "NCCLBPF_SOCKET_DIR"
				and "unset NCCLBPF_SOCKET_DIR in this shell: "
					.. "the job does not set it"
				or "look for \"no control socket\" in the job's log, "
					.. "with NCCL_DEBUG=WARN", true
	end
	local set = e.NCCL_TUNER_PLUGIN
	if not set then
		return "NCCL_TUNER_PLUGIN is not set",
			"start the job with NCCL_TUNER_PLUGIN=/path/to/libncclbpf.so"
	end
	if set:sub(1, 1) == "/" and not exists(pid, set) then
		return ("NCCL_TUNER_PLUGIN=%s: no such file"):format(set),
			"correct the path and restart the job"
	end
	if set:find("ncclbpf", 1, true) then
		return ("the process has made no communicator yet, " ..
			"or NCCL did not accept NCCL_TUNER_PLUGIN=%s"):format(set),
			"if it has communicators: "
				.. (set:find("/", 1, true) and "" or "set NCCL_TUNER_PLUGIN="
					.. "/path/to/libncclbpf.so, or ")
				.. "look at the job's log "
				.. "with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING"
	end
	return ("NCCL_TUNER_PLUGIN=%s is another plugin"):format(set),
		"set NCCL_TUNER_PLUGIN to libncclbpf.so and restart the job"
end

-- Return the parent processes of the processes @known, by PID, each with the job of its children.
local function launchers(known)
	local t = {}
	for pid, job in pairs(known) do
		local at = pid
		for _ = 1, 8 do
			local stat = core.read("/proc/" .. at .. "/stat", 4096)
			at = stat and math.tointeger(tonumber(stat:match("^.*%) %S (%d+)")))
			if not at or at <= 1 then break end
			t[at] = t[at] or job
		end
	end
	return t
end

-- Processes with NCCL mapped that are not in @known (set of PIDs): { {pid, command, reason, hint}
-- }, and sockets that only they see.
function M.others(known)
	local list, unreadable, found, first = {}, 0, {}, nil
	local started = launchers(known)
	for _, name in ipairs(core.list("/proc") or {}) do
		local pid = math.tointeger(tonumber(name:match("^%d+$")))
		if pid and not known[pid] then
			local maps = core.read("/proc/" .. pid .. "/maps", 16 << 20)
			if not maps then
				unreadable, first = unreadable + 1, first or pid
			elseif has_nccl(maps) and not env "NCCLBPF_SOCKET_DIR"
				and of_process(pid) then
				found[#found + 1] = of_process(pid)
			elseif has_nccl(maps) then
				local why, hint, loaded = reason(pid, maps)
				local comm = core.read("/proc/" .. pid .. "/comm", 256) or "?"
				local job = started[pid]
				if job then
					why, hint = (
						"it started job %s and makes no communicators "
						.. "itself"):format(job), nil
				end
				list[#list + 1] = { pid = pid, command = comm:gsub("\n", ""),
					reason = why, hint = hint, launched = job,
					loaded = loaded }
			end
		end
	end
	table.sort(list, function(a, b) return a.pid < b.pid end)
	return list, unreadable, found, first
end

-- ---- choosing ---------------------------------------------------------------

local function jobs_of(list)
	return lists.unique(lists.map(list, "job"))
end
M.jobs_of = jobs_of

-- What a user can do about processes of other users. If the user is root, more rights do
-- not help.
local function permission()
	return uid ~= 0 and "a job of another user: run the shell as that user or as root"
		or "this shell is root, without CAP_SYS_PTRACE or CAP_DAC_OVERRIDE " ..
		"or in another user namespace: " ..
		"run it in the job's container, or with these capabilities"
end

-- Name the @n processes that could not be read, the first of which has PID @first.
function M.unread(n, first)
	local who = n == 1 and "pid " .. first or units.count(n, "process")
	-- Root can read all processes of its user namespace, if it has the capability.
	return uid ~= 0 and who .. " of other users could not be read"
		or who .. " could not be read: this shell is root without CAP_SYS_PTRACE"
end

-- @job: the job that was asked for, or nil
local function nothing(problems, job)
	local others, unreadable, _, unread = M.others({})
	local hint = "start the job with NCCL_TUNER_PLUGIN and NCCL_PROFILER_PLUGIN set to " ..
		"the path of libncclbpf.so"
	local first = lists.select(others, function(o) return o.loaded end)[1] or others[1]
	local without = first and (first.loaded and "" or
		("%d process%s NCCL without ncclbpf: "):format(#others,
			#others == 1 and " uses" or "es use")) ..
		("pid %d: %s"):format(first.pid, first.reason)
	local cause
	if problems[1] then
		-- Processes that have nothing to do with the wanted job are only mentioned.
		cause, hint = problems[1].message, first and first.loaded and first.hint
			or without or hint
	elseif without then
		cause, hint = without, first.hint
	elseif unreadable > 0 then
		cause = M.unread(unreadable, unread)
		hint = uid ~= 0 and permission()
			or hint .. "; for a job in a container, run the shell there"
	end
	if not env "NCCLBPF_SOCKET_DIR" and not (hint and hint:find "NCCLBPF_SOCKET_DIR") then
		hint = (hint and hint .. "; or " or "") .. "set NCCLBPF_SOCKET_DIR as the job " ..
			"has it, or NCCLBPF_FLEET for jobs of several hosts"
	end
	local dirs = table.concat(M.directories(), ", ")
	return nil, errors.new(problems[1] and "not_permitted" or "no_target",
		("no process %sto attach to: no socket in %s, %s with NCCL seen")
			:format(job and ("of job %s "):format(job) or "", dirs,
				units.count(#others, "process")),
		{ cause = cause, hint = hint })
end

-- Return the owner of the directory that denies access to a socket.
local function owner(path)
	local dir = path:match("^(.*)/[^/]*$")
	local st = dir and dir ~= "" and core.stat(dir)
	return st and ("the directory belongs to user %d, this shell to user %d"):format(
		st.uid, uid) or nil
end

-- Return the sockets that match the options {pid=, job=, socket=, ranks={...}}; without options,
-- the sockets of the only job.
function M.choose(wish)
	if wish.socket then
		local s = M.parse(wish.socket:match("[^/]*$")) or { job = "?", pid = 0 }
		local st, why = core.stat(wish.socket)
		if not st then
			local denied = why.message:find("Permission denied", 1, true)
			return nil, errors.new(denied and "not_permitted" or "no_target",
				"socket " .. why.message,
				{ cause = denied and owner(wish.socket),
				hint = denied and permission() or nil })
		end
		if st.kind ~= "socket" then
			return errors.fail("no_target", "%s is a %s, not a socket",
				wish.socket, st.kind)
		end
		s.path, s.uid = wish.socket, st.uid
		return { s }
	end
	local list, problems = M.sockets()
	local function pick(test) return lists.select(list, test) end
	if wish.pid then
		local own = of_process(wish.pid)
		if own and #pick(function(s) return s.pid == wish.pid end) == 0 then
			list[#list + 1] = own
		end
	elseif #list == 0 or wish.job and #pick(function(s) return s.job == wish.job end) == 0 then
		local _, _, found = M.others(lists.set(lists.map(list, "pid")))
		table.move(found, 1, #found, #list + 1, list)
		numeric(list)
	end
	if #list == 0 and not (wish.pid and (not problems[1] or not core.alive(wish.pid))) then
		return nothing(problems, wish.job)
	end
	local chosen = list
	if wish.pid then
		chosen = pick(function(s) return s.pid == wish.pid and not s.unseen end)
		if #chosen == 0 then chosen = pick(function(s) return s.pid == wish.pid end) end
		if #chosen > 1 then
			return nil, errors.new("usage",
				("%d processes in PID namespaces that this shell does not see " ..
				"have PID %d"):format(#chosen, wish.pid),
				{ hint = "name one by its socket: -S " .. chosen[1].path })
		end
		if #chosen == 0 then
			local maps = core.read("/proc/" .. wish.pid .. "/maps", 16 << 20)
			local why, hint = "there is no such process", nil
			if core.alive(wish.pid) then
				why = "it does not use NCCL"
				if maps and has_nccl(maps) then
					why, hint = reason(wish.pid, maps)
				end
			end
			return nil, errors.new("no_target",
				("no socket of process %d: %s"):format(wish.pid, why),
				{ hint = hint })
		end
	elseif wish.job then
		chosen = pick(function(s) return s.job == wish.job end)
		if #chosen == 0 then
			local jobs = jobs_of(list)
			return nil, errors.new("no_target",
				("no process of job %s; the jobs are: %s"):format(
				wish.job, table.concat(jobs, ", ")),
				{ hint = errors.nearest(wish.job, jobs) })
		end
	else
		local jobs = jobs_of(list)
		if #jobs > 1 then
			return nil, errors.new("usage",
				("several jobs run here: %s"):format(table.concat(jobs, ", ")),
				{ hint = "select one with -J JOB or -p PID" })
		end
	end
	if wish.ranks then
		local set, have = lists.set(wish.ranks), {}
		for _, s in ipairs(chosen) do
			if s.rank then have[s.rank] = true end
		end
		for _, r in ipairs(wish.ranks) do
			if not have[r] then
				local ranks = lists.keys(have)
				return errors.fail("no_target",
					"no process has rank %d; the ranks are: %s", r,
					#ranks > 0 and units.ranges(ranks)
						or "not known")
			end
		end
		chosen = lists.select(chosen, function(s) return s.rank and set[s.rank] end)
	end
	return chosen
end

return M
