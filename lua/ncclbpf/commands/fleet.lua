-- SPDX-License-Identifier: MIT
-- Commands about jobs of several hosts that ask the store alone.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local policy = require "ncclbpf.policy.policy"
local read = require "ncclbpf.job.read"
local requests = require "ncclbpf.job.requests"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"

local try = errors.try
local M = {}

-- Get the attached job of several hosts and its store. -> group; raises errors
local function fleet_of(ctx)
	local s = try(ctx:session())
	if not s.fleet then
		errors.raise("usage", "job %s is a job of this host: --fleet URLs " ..
			"or NCCLBPF_FLEET selects one of several hosts", tostring(s.job))
	end
	return s
end

local function names_of(images)
	local t = lists.map(type(images) == "table" and images or {}, function(x)
		return ("%s %s"):format(tostring(x.name), tostring(x.digest):sub(1, 8))
	end)
	return table.concat(t, ", ")
end

-- Open the store for job @name, in the form that job/requests.lua expects. Close it after use.
local function stored(ctx, name)
	local url = sites.named(ctx.flags)
	if not url then
		errors.raise("usage", "no store is known; --fleet URLs or NCCLBPF_FLEET names one")
	end
	if not name:match "^[%w_%-]+$" or #name > 64 then
		errors.raise("usage", "job %s: 1 to 64 letters, digits, _ and - are allowed", name)
	end
	return { store = try(sites.open(url, ctx:timeout())), job = name, images = {} }
end

local function key(group) return sites.ROOT .. group.job .. "/desired" end

-- Read the desired state of a job. -> state (nil: none), revision of its key (0: none); raises
-- errors
local function desired(group)
	local kvs = try(group.store:get(key(group)))
	if #kvs == 0 then return nil, 0 end
	local v, why = sites.value(kvs[1])
	if not v then errors.raise("protocol", "%s", why) end
	return v, kvs[1].revision
end

local function rows_of(state)
	return lists.map(read.list(state, "images"), function(x, i)
		return { position = i, name = x.name, digest = x.digest }
	end)
end

local function result(group, state, schema, foot)
	return { schema = schema, rows = rows_of(state), id = "name", foot = foot,
		data = { job = group.job, desired = state },
		head = state and ("job %s, set by %s at %s"):format(group.job, tostring(state.who),
			tostring(state.time)) or nil,
		empty = state and "NCCL's own choice"
			or ("job %s has no desired state: it starts with NCCL's own choice"):format(
			group.job),
		columns = { { "position", num = true }, { "name" },
			{ "digest", show = format.short } } }
end

-- Open the policies @files. -> { {name, digest, bytes} }; raises errors
local function open_all(files, base)
	local list = {}
	for i, file in ipairs(files) do
		if not policy.is_file(file) and not core.stat((base or "") .. file) then
			local err = select(2, errors.fail("no_input", "%s: no such file", file))
			err.hint = "a policy's file is needed, such as " .. file .. ".policy"
			error(err, 0)
		end
		local path = base and not file:match "^/" and base .. file or file
		local _, info, bytes = errors.about(path, policy.open(path))
		list[i] = { name = info.name, bytes = bytes, digest = core.sha256(bytes) }
	end
	return list
end

-- Store images and state, with an entry for audit; @line is what the user typed. The store refuses
-- this if somebody has changed the state since we read it.
local function set(group, list, revision, line)
	local names, images = {}, core.array {}
	for i, x in ipairs(list) do
		try(requests.put_image(group, x.name, x.bytes, x.digest))
		names[i] = x.name
		images[i] = { name = x.name, digest = x.digest }
	end
	local state = requests.start_state(session.line { "policy", "use",
		table.unpack(#names > 0 and names or { "none" }) }, images)
	local done = try(group.store:txn { compare = { { key(group), revision } },
		success = { { put = key(group), value = core.encode(state) },
			requests.desired_entry(group, line, images, "stored") } })
	if not done.succeeded then
		errors.raise("stale", "another user or shell has set job %s at the same time",
			group.job)
	end
	return state
end

-- Run fn(group, state, revision) with the store of job @name.
local function with(ctx, name, fn)
	local group = stored(ctx, name)
	local ok, got = pcall(function() return fn(group, desired(group)) end)
	group.store:close()
	if not ok then error(got, 0) end
	return got
end

-- @s: a group, or what stored() returns
local function audit(s, count)
	local list, problems = try(sites.read(s.store, s.job, "audit/", sites.DATA))
	local asked = {}
	for _, x in ipairs(try(sites.read(s.store, s.job, "request/"))) do asked[x.name] = true end
	-- Changes by controllers overwrite each other's entries in a fixed set of keys, so the
	-- order of the keys says nothing about time.
	local newest, entries = 0, 0
	for _, x in ipairs(list) do
		local n = read.number(x.value.change)
		if n > 0 then newest, entries = math.max(newest, n), entries + 1 end
	end
	table.sort(list, function(a, b)
		local s, t = read.text(a.value.time) or "", read.text(b.value.time) or ""
		if s ~= t then return s < t end
		local m, n = read.number(a.value.change), read.number(b.value.change)
		if m ~= n then return m < n end
		return a.name < b.name
	end)
	local rows, foot = {}, {}
	if newest > entries then
		foot[1] = ("note: newer changes have overwritten the entries of %d changes "
			.. "by controllers"):format(
			newest - entries)
	end
	for i = math.max(1, count and #list - count + 1 or 1), #list do
		local v = list[i].value
		rows[#rows + 1] = { time = read.text(v.time), who = read.text(v.who),
			from = read.text(v.from), line = read.text(v.readable or v.line),
			request = read.text(v.line), why = read.text(v.why),
			rollout = read.text(read.record(v.maker).rollout),
			process = read.text(read.record(v.maker).process),
			images = names_of(v.images), outcome = read.text(v.outcome)
				or (asked[v.request] or newest > 0 and v.change == newest)
				and "under way" or "not carried out" }
	end
	for _, text in ipairs(problems) do foot[#foot + 1] = "note: " .. text end
	return {
		schema = "audit/1", rows = rows, id = "time", foot = foot,
		data = { changes = core.array(rows), older_by_controllers = newest - entries },
		empty = ("nobody has changed job %s"):format(s.job),
		columns = { { "time" }, { "who" }, { "from", wide = true }, { "line", wrap = true },
			{ "images", wide = true }, { "outcome", wrap = true },
			{ "why", flat = true }, { "request", flat = true },
			{ "rollout", flat = true }, { "process", flat = true } },
	}
end

-- The store keeps the audit entries of a job that has ended.
function M.cmd_audit(ctx)
	local count, name = ctx:whole("count", 1), ctx:wish().job
	local s, err = ctx:session()
	if s or not name or err.code ~= "no_target" or not sites.named(ctx.flags) then
		return audit(s and fleet_of(ctx) or try(s, err), count)
	end
	return with(ctx, name, function(group)
		local shown = audit(group, count)
		return #shown.rows > 0 and shown or try(nil, err)
	end)
end

function M.cmd_job_show(ctx)
	return with(ctx, ctx.args[1], function(group, state)
		-- The coordinator's note says why the running job has not started with this
		-- state.
		local notes = group.store:get(sites.ROOT .. group.job .. "/order/notes")
		local note = notes and notes[1] and sites.value(notes[1])
		local why = read.text(note and note.desired)
		return result(group, state, "job.show/1",
			why and { "note: the running job started without these policies: " .. why })
	end)
end

-- Return what job set says: what becomes of a running job, or that no job of this name runs, since
-- the name may be mistyped.
local function start_note(group)
	local names = {}
	-- The policies are stored already. A user of the store may lack the right to list jobs.
	local jobs = sites.jobs(group.store)
	if not jobs then return "the job will start with these policies" end
	for _, j in ipairs(jobs) do
		if j.live and j.job == group.job then
			return "the job will start with these policies; " ..
				"a running job keeps its policies"
		end
		if j.live then names[#names + 1] = j.job end
	end
	local near = errors.nearest(group.job, names)
	return ("the job will start with these policies; no job of this name runs now%s"):format(
		near and " (" .. near .. ")" or "")
end

function M.cmd_job_set(ctx)
	local files = table.move(ctx.args, 2, #ctx.args, 1, {})
	if #files == 1 and files[1] == "none" then files = {} end
	local list = open_all(files)
	return with(ctx, ctx.args[1], function(group, _, revision)
		local state = set(group, list, revision, session.line { "job", "set",
			table.unpack(ctx.args) })
		return result(group, state, "job.set/1", { start_note(group) })
	end)
end

function M.cmd_job_clear(ctx)
	return with(ctx, ctx.args[1], function(group, state)
		-- Write no audit entry: list would show this name, which may be misspelt.
		if not state then
			return { schema = "job.clear/1",
				data = { job = group.job, cleared = false },
				text = ("job %s had no desired state"):format(group.job) }
		end
		try(group.store:txn { success = { { delete = key(group) },
			requests.desired_entry(group, session.line { "job", "clear", group.job },
				core.array {}, "cleared") } })
		return { schema = "job.clear/1",
			data = { job = group.job, cleared = true },
			text = ("job %s starts with NCCL's own choice"):format(group.job) }
	end)
end

-- Read a file of the desired state: {"job": NAME, "policies": [FILE, ...]}. Paths start at the
-- file's folder. -> job, opened policies; raises errors
local function read_file(path)
	local text = core.read(path, 1 << 20)
	if not text then errors.raise("no_input", "%s: cannot be read", path) end
	local v, err = core.decode(text)
	local good = type(v) == "table" and type(v.job) == "string"
		and type(v.policies) == "table"
	for _, x in ipairs(good and v.policies or {}) do good = good and type(x) == "string" end
	if not good then
		errors.raise("malformed",
			'%s must be {"job": NAME, "policies": [FILE, ...]}%s', path,
			err and ": " .. err.message or "")
	end
	for name in pairs(v) do
		if name ~= "job" and name ~= "policies" then
			errors.raise("malformed",
				"%s: unknown field %s; job and policies are allowed", path, name)
		end
	end
	return v.job, open_all(v.policies, path:match "^(.*/)" or "")
end

-- Return lines that show the difference between @state and @list; no lines if they are equal.
local function differences(state, list)
	local old, lines = read.list(state, "images"), {}
	for i = 1, math.max(#old, #list) do
		local a, b = old[i], list[i]
		if not (a and b and a.digest == b.digest and a.name == b.name) then
			if a then
				lines[#lines + 1] = ("- %d %s %s"):format(i, tostring(a.name),
					tostring(a.digest):sub(1, 8))
			end
			if b then
				lines[#lines + 1] = ("+ %d %s %s"):format(i, b.name,
					b.digest:sub(1, 8))
			end
		end
	end
	return lines
end

function M.cmd_job_diff(ctx)
	local name, list = read_file(ctx.args[1])
	return with(ctx, name, function(group, state)
		local lines = differences(state, list)
		return { schema = "job.diff/1", status = #lines > 0 and 1 or 0,
			data = { job = name, equal = #lines == 0, lines = core.array(lines) },
			text = #lines > 0 and table.concat(lines, "\n")
				or ("job %s already starts with the policies of the file"):format(
					group.job) }
	end)
end

function M.cmd_job_apply(ctx)
	local name, list = read_file(ctx.args[1])
	return with(ctx, name, function(group, state, revision)
		if state and #differences(state, list) == 0 then
			return result(group, state, "job.apply/1", { "nothing to do" })
		end
		return result(group, set(group, list, revision, session.line {
			"job", "apply", ctx.args[1] }), "job.apply/1")
	end)
end

return M
