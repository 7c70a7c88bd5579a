-- SPDX-License-Identifier: MIT
-- The command `list`: jobs of this host, or of a store.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local merge = require "ncclbpf.job.merge"
local sites = require "ncclbpf.job.sites"
local target = require "ncclbpf.job.target"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

function M.list()
	local sockets, problems, gone = target.sockets()
	local rows, known = {}, {}
	local function add(s)
		local _, stopped = core.alive(s.pid)
		stopped = stopped and not s.unseen
		rows[#rows + 1] = { state = stopped and "stopped" or "attachable", job = s.job,
			job_rank = s.rank, pid = s.pid, pid_ns = s.ns, unseen = s.unseen,
			uid = s.uid, socket = s.path, reason = stopped
				and "a signal or a debugger has stopped the process" or nil,
			hint = stopped and ("kill -CONT %d"):format(s.pid) or nil }
	end
	for _, s in ipairs(sockets) do
		if not s.unseen then known[s.pid] = s.job end
		add(s)
	end
	local others, unreadable, found, unread = target.others(known)
	for _, s in ipairs(found) do add(s) end
	for _, o in ipairs(others) do
		rows[#rows + 1] = { state = o.launched and "launcher" or "no plugin", pid = o.pid,
			command = o.command, reason = o.reason, hint = o.hint }
	end
	return rows, problems, gone, unreadable > 0 and target.unread(unreadable, unread) or nil
end

-- Two processes with the same rank show that two jobs share a name. -> message, hint | nil
function M.twice(job, members)
	local times, ranks = {}, {}
	for _, m in ipairs(members) do
		if type(m.rank) == "number" then
			times[m.rank] = (times[m.rank] or 0) + 1
			if times[m.rank] == 2 then ranks[#ranks + 1] = m.rank end
		end
	end
	if #ranks == 0 then return nil end
	return ("job %s has several processes of rank%s %s: " ..
		"two jobs seem to share the name"):format(tostring(job), #ranks == 1 and "" or "s",
		units.ranges(ranks)),
		"set NCCLBPF_JOB to a name of its own for each job"
end

-- Ask the agents of the sites @rows whether they answer. A killed agent has its key in the store
-- until its lease ends. Adds a line to @problems for each that does not.
local function ask_agents(ctx, store, rows, problems)
	local posts, asked = {}, {}
	for _, r in ipairs(rows) do
		if r.state == "attachable" then
			posts[#posts + 1] = { url = r.whole_address .. "/v1/processes" }
			asked[#asked + 1] = r
		end
		r.whole_address = nil
	end
	local answers = #posts > 0 and store:post(posts, ctx:timeout()) or {}
	for i, a in ipairs(answers) do
		if a.err then
			asked[i].state, asked[i].reason = "does not answer", a.err.message
			problems[#problems + 1] = ("job %s, site %s: %s"):format(asked[i].job,
				asked[i].site, a.err.message)
		end
	end
end

-- Return the jobs of a store: { {job, site, host, processes, ranks, version, address, state} }
local function fleet_rows(ctx, url)
	local store = try(sites.open(url, ctx:timeout()))
	local rows, problems = {}, {}
	for _, j in ipairs(try(sites.jobs(store))) do
		local list, wrong = sites.sites(store, j.job)
		list = try(list, wrong)
		for _, text in ipairs(wrong) do problems[#problems + 1] = text end
		local generation = try(sites.generation(store, j.job))
		for _, s in ipairs(list) do
			rows[#rows + 1] = { job = j.job, site = s.site, host = s.host,
				processes = s.processes, ranks = s.ranks, version = s.version,
				generation = generation,
				-- omit the secret at the end of an address without TLS
				address = s.address and tostring(s.address):match "^%w+://[^/]*",
				whole_address = s.address,
				state = s.address and "attachable"
					or "no agent address" }
		end
		if #list == 0 then rows[#rows + 1] = { job = j.job, state = "not running" } end
	end
	ask_agents(ctx, store, rows, problems)
	store:close()
	return rows, problems
end

-- Return the rows of job @wanted (nil: all rows). Raises an error if it has none.
local function of_job(rows, wanted)
	local list = lists.select(rows, function(r) return not wanted or r.job == wanted end)
	if #list > 0 or not wanted then return list end
	local named = lists.select(rows, function(r) return r.job ~= nil end)
	local names = lists.unique(lists.map(named, "job"))
	errors.raise("no_target", "job %s was not found; %s", wanted, #names > 0
		and "the jobs found are: " .. table.concat(names, ", ") or "no job was found")
end

local function sum_of(list, field)
	local sum
	for _, r in ipairs(list) do
		if type(r[field]) == "number" then sum = (sum or 0) + r[field] end
	end
	return sum
end

-- For people, one row for each job. For programs, one row for each site.
local function cmd_fleet_list(ctx, url)
	local rows, problems = fleet_rows(ctx, url)
	rows = of_job(rows, ctx.flags.job)
	local by, merged, foot = {}, {}, {}
	for _, r in ipairs(rows) do
		local m = by[r.job] or lists.add(merged, by, r.job, {
			job = r.job, list = {}, states = {} })
		if r.site then table.insert(m.list, r) end
		m.state = m.state and m.state ~= r.state and m.state .. ", " .. r.state or r.state
	end
	for _, m in ipairs(merged) do
		local names = lists.map(m.list, "site")
		m.sites = #names
		m.generation = m.list[1] and m.list[1].generation
		m.site = #names > 4 and ("%s ... %s"):format(names[1], names[#names])
			or table.concat(names, ", ")
		m.processes, m.ranks = sum_of(m.list, "processes"), sum_of(m.list, "ranks")
	end
	for _, text in ipairs(problems) do foot[#foot + 1] = "note: " .. text end
	return {
		schema = "list.fleet/1", rows = rows, merged = merged, id = "site", foot = foot,
		data = { jobs = core.array(rows) },
		empty = "no job in the store: no agent has registered a site",
		columns = { { "job" }, { "sites", num = true, people = true },
			{ "site", title = "NAMES" }, { "processes", num = true },
			{ "ranks", num = true }, { "generation", title = "GEN", num = true },
			{ "state" }, { "host", flat = true },
			{ "version", flat = true }, { "address", flat = true },
			{ "reason", flat = true } },
	}
end

function M.cmd_list(ctx)
	local url = sites.named(ctx.flags)
	if url then return cmd_fleet_list(ctx, url) end
	local rows, problems, gone, unreadable = M.list()
	rows = of_job(rows, ctx.flags.job)
	local jobs, by, foot, merged = {}, {}, {}, {}
	for _, r in ipairs(rows) do
		if r.socket then
			local j = by[r.job] or lists.add(jobs, by, r.job, { job = r.job })
			j[#j + 1] = r
		end
	end
	for _, list in ipairs(jobs) do
		local members, states, unseen, job = {}, {}, 0, list.job
		for i, r in ipairs(list) do
			members[i] = { rank = r.job_rank, pid = r.pid, ns = r.pid_ns,
				unseen = r.unseen }
			unseen = unseen + (r.unseen and 1 or 0)
			lists.push(states, r.state, r.pid)
			if r.hint then
				foot[#foot + 1] = ("hint: pid %d: %s: %s"):format(r.pid, r.reason,
					r.hint)
			end
		end
		if unseen > 0 then
			foot[#foot + 1] = ("note: job %s: %s in PID namespaces that this shell " ..
				"does not see, so the PIDs are the processes' own"):format(
				tostring(job), units.count(unseen, "process"))
		end
		local found, hint = M.twice(job, members)
		if found then
			foot[#foot + 1] = "note: " .. found
			foot[#foot + 1] = "hint: " .. hint
		end
		merged[#merged + 1] = { job = job, processes = #list, ranks = merge.cell(members),
			pids = units.ranges(lists.map(list, "pid")),
			state = not states.stopped and "attachable"
				or not states.attachable and "stopped"
				or "attachable; stopped: " .. units.ranges(states.stopped) }
	end
	-- One row and one hint for all processes that lack the same.
	local lacking, alike = {}, {}
	for _, r in ipairs(rows) do
		if not r.socket then
			local key = table.concat({ r.state, r.reason, r.hint or "" }, "\0")
			local m = alike[key] or lists.add(lacking, alike, key, {
				state = ("%s: %s"):format(r.state, r.reason), hint = r.hint,
				list = {} })
			table.insert(m.list, r.pid)
		end
	end
	for _, m in ipairs(lacking) do
		m.processes, m.pids = #m.list, units.ranges(m.list)
		merged[#merged + 1] = m
		if m.hint then
			foot[#foot + 1] = ("hint: pid%s %s: %s"):format(
				#m.list == 1 and "" or "s", m.pids, m.hint)
		end
	end
	for _, p in ipairs(problems) do foot[#foot + 1] = "note: " .. p.message end
	for _, g in ipairs(ctx.flags.verbose and gone or {}) do
		foot[#foot + 1] = "note: removed stale socket " .. g.path
	end
	if unreadable and (ctx.flags.verbose or #rows == 0) then
		foot[#foot + 1] = "note: " .. unreadable
	end
	return {
		schema = "list/1", rows = rows, merged = merged, id = "pid", foot = foot,
		data = { processes = core.array(rows), directories = core.array(
			target.directories()), stale_removed = #gone },
		empty = ("no process with NCCL (looked in %s)"):format(
			table.concat(target.directories(), ", ")),
		columns = {
			{ "job" },
			{ "processes", title = "PROCESSES", num = true, people = true, drop = 1 },
			{ "ranks", people = true, wrap = true },
			{ "pids", people = true, wrap = true },
			{ "state" }, { "job_rank", flat = true }, { "pid", flat = true },
			{ "pid_ns", flat = true }, { "uid", flat = true },
			{ "command", flat = true }, { "reason", flat = true },
			{ "socket", flat = true },
		},
	}
end

return M
