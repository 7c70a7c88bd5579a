-- SPDX-License-Identifier: MIT
-- A job of several sites as a target. It is a group like that of job/session.lua: each process is a
-- member, reached through the agent of its site. Changes go through the store, to the job's
-- coordinator, so that all sites change at one fence (docs/fleet.md).
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local requests = require "ncclbpf.job.requests"
local session = require "ncclbpf.job.session"
local sites = require "ncclbpf.job.sites"

local M = {}
local Fleet = setmetatable({}, { __index = session.Group })
Fleet.__index = Fleet
Fleet.__name = "ncclbpf.session"
Fleet.__close = session.Group.__close
Fleet.__gc = session.Group.__gc
Fleet.__tostring = session.Group.__tostring

-- A member of a fleet has this object in the field of its connection.
local CONNECTED = { close = function() end }

local function lose(m, err)
	m.conn, m.lost = nil, m.lost or err
	return err
end

-- ---- requests -------------------------------------------------------------------

-- Show the progress of a request to many sites on a terminal, if it takes long.
local function progress(total)
	if total < 16 or not core.isatty(2) then return nil end
	local start, shown = clock.now(), false
	return function(done, all)
		if done == all and shown then
			io.stderr:write("\r\27[K")
		elseif clock.now() - start > clock.times.bar then
			shown = true
			local bar = ("#"):rep(done * 30 // all)
			io.stderr:write(("\r[%-30s] %d of %d sites"):format(bar, done, all))
		end
	end
end

local function decode(text) return session.parse(text, "the agent") end

-- Convert the error in an agent's reply. The hint of a refusal names the command that each host
-- permits.
local function from_agent(t)
	local err = errors.from_reply(t)
	local words = err.code == "not_permitted"
		and err.message:match "^(.-) needs the role control"
	if words then
		err.hint = ("give a certificate with that unit (docs/fleet.md), or run %s " ..
			"on each host, as the job's user and with NCCLBPF_FLEET="):format(words)
	end
	return err
end

local function settle(r, reply)
	if reply.ok then
		r.data = reply.data == nil and {} or reply.data
	else
		r.err = from_agent(reply.error)
		if r.err.code == "no_target" then lose(r.member, r.err) end
	end
end

-- Return the ID that the agent of a process's site uses for it in requests.
local function id_of(m)
	return m.ns and ("%d.%d"):format(m.ns, m.pid) or tostring(m.pid)
end

-- Distribute the reply of @site's agent to all members of @list. Without a reply, they have
-- failed.
local function take(site, list, answer, single)
	local function failed(err)
		for _, r in ipairs(list) do r.err = err end
	end
	if answer.err then
		local err = errors.from_reply(answer.err)
		err.message = ("site %s: %s"):format(site.site, err.message)
		failed(err)
		return
	end
	if single or answer.status ~= 200 then
		local text, object = answer.body:match "^([^\n]*)\n(.*)$"
		local reply, err = decode(text or answer.body)
		if not reply or not reply.ok and not single then
			failed(err or from_agent(reply.error))
			return
		end
		list[1].object = object
		settle(list[1], reply)
		return
	end
	local by = {}
	for id, text in answer.body:gmatch "([%d.]+) ([^\n]*)\n" do by[id] = text end
	for _, r in ipairs(list) do
		local reply, err = decode(by[id_of(r.member)] or "")
		if reply then settle(r, reply) else r.err = err end
	end
end

-- @seconds: the time limit, of which the agent leaves itself a part to answer for all
local function post(site, list, line, object, single, seconds)
	local pids = lists.map(list, function(r) return id_of(r.member) end)
	local url = ("%s/v1/line?%s=%s&ms=%d"):format(site.address, single and "pid" or "pids",
		table.concat(pids, ","), math.min(seconds, 3600) * 1000 // 1)
	return { url = url, body = ("@1 %s\n%s"):format(line, object or ""),
		header = object and "Ncclbpf-Object: " .. #object or nil }
end

-- Send a request line to @members and wait for their replies. @line is the line, or a function that
-- returns the line for a member. If all members get the same line, each site gets one HTTP request.
-- -> { {member=, data=, err=, object=} } in the order of members
function Fleet:ask(line, opts)
	opts = opts or {}
	local results, by, order = {}, {}, {}
	local apart = type(line) == "function" or opts.want_object
	self.trips = self.trips + 1
	for i, m in ipairs(opts.members or self.members) do
		local r = { member = m }
		results[i] = r
		if not m.conn then
			r.err = m.lost
		else
			local key = apart and i or m.site
			if not by[key] then
				lists.add(order, by, key, { site = self.sites[m.site], list = {} })
			end
			table.insert(by[key].list, r)
		end
	end
	local posts = {}
	for i, o in ipairs(order) do
		local text = type(line) == "function" and line(o.list[1].member) or line
		posts[i] = post(o.site, o.list, text, opts.object, apart, self:seconds())
	end
	if #posts > 0 then
		local answers = self.store:post(posts, self:seconds(), progress(#posts))
		for i, o in ipairs(order) do take(o.site, o.list, answers[i], apart) end
	end
	return results
end

-- ---- streams ----------------------------------------------------------------------

-- Group:follow of job/session.lua, through the sites' agents: the same arguments and results.
function Fleet:follow(line, each, opts)
	opts = opts or {}
	local streams, open, failure, stop = {}, 0, nil, false
	for _, m in ipairs(self:living()) do
		local s, err = self.store:stream(
			("%s/v1/line?pid=%s"):format(self.sites[m.site].address, id_of(m)),
			"@1 " .. line .. "\n")
		if not s then return nil, errors.from_reply(err) end
		streams[#streams + 1] = { stream = s, member = m }
		open = open + 1
	end
	local function ended(x, err)
		x.stream:close()
		x.stream = nil
		open = open - 1
		if err and opts.gone then
			opts.gone(x.member, lose(x.member, err))
		elseif err then
			failure = failure or err
		end
	end
	local function lines_of(x)
		while x.stream and not stop do
			local text, err = x.stream:line()
			if err then return ended(x, errors.from_reply(err)) end
			if not text then return end
			local reply
			reply, err = decode(text)
			if not reply then
				ended(x, err)
			elseif not reply.ok then
				ended(x)
				failure = failure or from_agent(reply.error)
			elseif reply["end"] then
				ended(x)
			elseif each(reply.data or {}, x.member, reply.lost) then
				stop = true
			end
		end
	end
	local ok, err = core.held(function()
		while open > 0 and not stop and not failure do
			for _, x in ipairs(streams) do lines_of(x) end
			local left = opts.till and opts.till - clock.now() or clock.times.long
			if left <= 0 then return end
			if open > 0 and not stop and not failure then self.store:wait(left) end
		end
	end)
	for _, x in ipairs(streams) do
		if x.stream then x.stream:close() end
	end
	core.hold(false)
	if not ok then error(err, 0) end
	if failure then return nil, failure end
	return true
end

-- ---- changes ----------------------------------------------------------------------

-- Like Group:change. The coordinator answers for all sites.
function Fleet:change(line, opts)
	opts = opts or {}
	for _, m in ipairs(self.members) do
		-- the coordinator waits for a site whose agent may come back
		if not m.conn and not m.left then
			local err = errors.new(m.lost.code, m.lost.message, {
				cause = "all processes of a job change together, " ..
					"so nothing has changed" })
			return nil, err
		end
	end
	return requests.change(self, line, opts)
end

-- Store a policy. Processes load it with the change that names it.
function Fleet:hold_policy(name, bytes, info)
	local digest = info.digest
	local ok, err = requests.put_image(self, name, bytes, digest)
	if not ok then return nil, err end
	return lists.map(self:living(), function(m)
		return { member = m, data = { name = name, digest = digest } }
	end)
end

-- Let all sites verify a policy that the store holds, as for a change. -> @results | nil, err
function Fleet:verified(name, results)
	local ok, err = self:change(session.line { "policy", "use", name }, { dry_run = true })
	if not ok then return nil, err end
	return results
end

-- ---- members ----------------------------------------------------------------------

local function lost_site(site, err)
	err.message = err.message:find(site.site, 1, true) and err.message
		or ("site %s: %s"):format(site.site, err.message)
	return { site = site.site, host = site.host, pid = 0, streams = {}, lost = err }
end

-- Return the members of all sites. Sites that do not answer have one lost member.
local function members_of(self, list)
	local posts, asked, members = {}, {}, {}
	self.sites = {}
	for _, s in ipairs(list) do
		self.sites[s.site] = s
		if type(s.address) == "string" and s.address:match "^https?://" then
			posts[#posts + 1] = { url = s.address .. "/v1/processes" }
			asked[#asked + 1] = s
		else
			members[#members + 1] = lost_site(s, errors.new("no_target",
				"the site's agent has no address at which it answers"))
		end
	end
	local answers = #posts > 0 and self.store:post(posts, self:seconds(), progress(#posts))
		or {}
	for i, a in ipairs(answers) do
		local s = asked[i]
		local d = a.body and core.decode(a.body)
		if a.err or type(d) ~= "table" or type(d.processes) ~= "table" then
			local err = a.err and errors.from_reply(a.err)
				or type(d) == "table" and type(d.error) == "table"
					and errors.from_reply(d.error)
				or errors.new("protocol",
					"the agent's reply is not a list of processes")
			if a.err and not err.hint and err.message:find "Failed to connect" then
				err.hint = ("start ncclbpf-agent again on host %s; there, "
					.. "NCCLBPF_FLEET= ncclbpf-shell doctor names "
					.. "the command"):format(s.host or "?")
			end
			members[#members + 1] = lost_site(s, err)
		else
			for _, p in ipairs(d.processes) do
				local m = { site = s.site, job = self.job,
					rank = math.tointeger(p.rank),
					pid = math.tointeger(p.pid) or 0,
					ns = math.tointeger(p.ns),
					conn = CONNECTED, streams = {} }
				m.process = s.site .. " " .. id_of(m)
				members[#members + 1] = m
			end
		end
	end
	return members
end

local function only_ranks(members, ranks)
	if not ranks then return members end
	local set = lists.set(ranks)
	return lists.select(members, function(m) return m.rank and set[m.rank] end)
end

local function find_members(self)
	local list, err = sites.sites(self.store, self.job)
	if not list then return nil, err end
	local left
	left, err = sites.left(self.store, self.job, list)
	if not left then return nil, err end
	local members = members_of(self, list)
	for _, x in ipairs(left) do
		local m = lost_site(x, errors.new("no_target", ("site %s has ranks of "
			.. "communicator %s, and its agent's lease has ended"):format(x.site,
			x.comm)))
		m.left = true
		members[#members + 1] = m
	end
	members = only_ranks(members, self.wish.ranks)
	table.sort(members, lists.by("rank", "site", "pid"))
	return members
end

function Fleet:refresh()
	if self.closed then return end
	local members = find_members(self)
	if not members then return end
	local known, new = {}, {}
	for _, m in ipairs(self.members) do
		if m.conn then known[m.process] = m end
	end
	for i, m in ipairs(members) do
		if m.conn and known[m.process] then
			members[i] = known[m.process]
		elseif m.conn then
			new[#new + 1] = m
		end
	end
	self.members = members
	if #new > 0 then session.greet(self, new) end
end

function Fleet:drain() return #self:living() end

-- @patience: seconds that a request to the store may take, if more than the timeout; may be nil
function Fleet:reconnect(patience)
	local store, err = sites.open(self.url, math.max(self.timeout, patience or 0))
	if not store then return nil, err end
	self.store, self.closed = store, nil
	self.members = find_members(self) or {}
	return true
end

function Fleet:close()
	if self.store then self.store:close() end
	self.store, self.closed = nil, true
	for _, m in ipairs(self.members) do m.conn = nil end
end

-- Attach to a job of the store: {fleet=URLs, job=, ranks=}.
function M.attach(wish, timeout)
	timeout = timeout or clock.times.answer
	local store, err = sites.open(wish.fleet, timeout > 0 and timeout or nil)
	if not store then return nil, err end
	local job
	job, err = sites.choose(store, wish.job)
	if not job then
		store:close()
		return nil, err
	end
	local self = setmetatable({ members = {}, wish = wish, timeout = timeout, next_id = 1,
		trips = 0, caches = {}, store = store, url = wish.fleet, job = job, sites = {},
		fleet = true, images = {} }, Fleet)
	self.members, err = find_members(self)
	if not self.members then
		self.members = {}
		self:close()
		return nil, err
	end
	session.greet(self, self:living())
	if #self:living() == 0 then
		err = self:failure() or errors.new("no_target",
			("job %s has no process that answers"):format(job))
		self:close()
		return nil, err
	end
	return self
end

return M
