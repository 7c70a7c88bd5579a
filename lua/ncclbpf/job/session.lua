-- SPDX-License-Identifier: MIT
-- Connections to the processes of one job. A request goes to all of them at once; replies are
-- collected within one time-out. Changes have two phases, so that all processes change or none
-- does (docs/protocol.md, "Changes").
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local maker = require "ncclbpf.job.maker"
local merge = require "ncclbpf.job.merge"
local process = require "ncclbpf.base.process"
local target = require "ncclbpf.job.target"

local M = {}
local Group = {}
Group.__index = Group
Group.__name = "ncclbpf.session"
M.Group = Group -- job/fleet.lua has the same function for a job of several sites

local uid = core.ids()

-- Quote a word of a request line if it needs quotes.
function M.quote(word)
	word = tostring(word)
	if word:find("[%z\n\r]") then
		errors.raise("bad_argument", "a word of a request may not contain a line break")
	end
	if word:match("^[%w_./:=,+@%%%-]+$") then return word end
	return '"' .. word:gsub('[\\"]', "\\%0") .. '"'
end

function M.line(words)
	local t = lists.map(words, M.quote)
	return table.concat(t, " ")
end

-- ---- one member -------------------------------------------------------------

local function lose(m, err)
	if m.conn then m.conn:close() end
	m.conn = nil
	m.lost = m.lost or err
	return err
end

local function gone_error(m)
	local what = target.lives(m) and "closed the connection" or "is gone"
	return errors.new("no_target", ("%s (pid %d) %s"):format(merge.who { m }, m.pid, what))
end

-- The connection of @m has ended, but its process may live: the next refresh connects again.
-- @err: the reason; nil: the process has closed the connection
local function cut(m, err)
	m.cut = true
	return lose(m, m.lost or err or gone_error(m))
end

-- Send a request. -> true | nil, err
local function send(m, text, seconds, object)
	local ok, err = m.conn:send(text, seconds, object)
	if ok then return true end
	local why = errors.from_reply(err)
	if err.code == "no_target" then why = cut(m) end
	-- A part of the line was sent, so nothing can follow it.
	if m.conn and not m.conn:fd() then cut(m, why) end
	return nil, why
end

local function connect(s, timeout)
	local m = { path = s.path, job = s.job, rank = s.rank, pid = s.pid, ns = s.ns,
		streams = {} }
	local conn, err = core.connect(s.path, timeout)
	if not conn then
		m.lost = errors.from_reply(err)
		if err.code == "not_permitted" then
			m.lost.cause = (
				"the socket belongs to uid %d, this shell has uid %d; " ..
				"control needs the owner or root"):format(s.uid or -1, uid)
		end
		return m
	end
	local pid, peer = conn:peer()
	if peer ~= uid and uid ~= 0 or s.uid and peer ~= s.uid then
		conn:close()
		m.lost = errors.new(
			"not_permitted", ("%s: the peer has uid %d, but must have uid %d"):format(
			s.path, peer, s.uid or uid))
		return m
	end
	m.conn, m.process = conn, process.identity(pid) or s.path
	target.name(m, pid)
	return m
end

-- Parse a line from @who, the target or an agent. -> reply | nil, err
function M.parse(line, who)
	local reply, err = core.decode(line)
	if type(reply) == "table" and type(reply.ok) == "boolean" then return reply end
	return errors.fail("protocol", "%s sent a line that is not a reply: %s", who,
		err and err.message or "it has no field ok")
end

-- Process the complete lines of a member. Stream lines go to their streams; the reply to request
-- @want is returned.
local function take(m, want)
	while m.conn do
		local line, err = m.conn:line()
		if err then return nil, lose(m, errors.from_reply(err)) end
		if not line then return nil end
		local reply
		reply, err = M.parse(line, "the target")
		if not reply then return nil, lose(m, err) end
		local stream = m.streams[reply.id]
		if reply.id == want then
			return reply
		elseif stream then
			stream(reply, m)
		elseif reply.id == nil and not reply.ok then
			-- The target refused the line before it parsed it, for example because
			-- of a limit.
			return nil, lose(m, errors.from_reply(reply.error))
		end
	end
end

-- ---- the group ----------------------------------------------------------------

function Group:__tostring()
	return ("ncclbpf.session: job %s, %d processes"):format(self.job or "?", #self.members)
end

function Group:__close() self:close() end
function Group:__gc() self:close() end

function Group:close()
	for _, m in ipairs(self.members) do
		if m.conn then m.conn:close() end
		m.conn = nil
	end
	self.closed = true
end

-- After a fork: the connections are shared with the other process, so replace them by new
-- ones.
function Group:reconnect()
	local wish = self.wish
	if not (wish.pid or wish.socket or wish.job) then
		wish = { job = self.job, ranks = wish.ranks }
	end
	self:close()
	local fresh, err = M.attach(wish, self.timeout)
	if not fresh then return nil, err end
	self.members, fresh.members, self.closed = fresh.members, {}, nil
	return true
end

function Group:living()
	return lists.select(self.members, function(m) return m.conn end)
end

function Group:seconds()
	return self.timeout == 0 and clock.times.forever or self.timeout
end

local function timed_out(self, m, what)
	return errors.new("timed_out", ("%s (pid %d) did not answer %s within %g s"):format(
		merge.who { m }, m.pid, what, self.timeout))
end

local function settle(r, reply)
	if reply.ok then
		r.data = reply.data == nil and {} or reply.data
	else
		r.err = errors.from_reply(reply.error)
	end
end

-- Read what has arrived from the members of @pending. -> the connections that lack a complete line,
-- and the others
local function receive(pending)
	local incomplete, complete = {}, {}
	for _, r in pairs(pending) do
		local conn = r.member.conn
		local open, whole = false, false
		if conn then open, whole = conn:fill() end
		if open and not whole then
			incomplete[#incomplete + 1] = conn
		else
			complete[#complete + 1] = r
		end
	end
	return incomplete, complete
end

-- Take the reply of @r from the lines that its member's connection has received. -> is it there, or
-- will it never come?
local function finish(r)
	local m = r.member
	local reply, err = take(m, r.id)
	if reply then
		settle(r, reply)
	elseif err or not m.conn or not m.conn:fill() then
		r.err = err or cut(m)
	end
	return reply ~= nil or r.err ~= nil
end

-- Wait for the replies of all @pending (index of results -> result). Decoding long replies takes
-- time, and a process waits for a client that has not read its reply. So no reply is decoded before
-- all have come or the time is over. Lines of a stream are no reply: each round takes lines from
-- every connection, so that a busy stream delays neither the others nor the end of the time.
local function collect(self, pending, what)
	local deadline = clock.now() + self:seconds()
	local left
	repeat
		local incomplete, complete = receive(pending)
		left = deadline - clock.now()
		if #incomplete > 0 and left > 0 then
			core.poll(incomplete, left)
		else
			for _, r in ipairs(complete) do
				if finish(r) then pending[r.index] = nil end
			end
		end
	until not next(pending) or left <= 0
	for _, late in pairs(pending) do late.err = timed_out(self, late.member, what) end
end

-- Send a request line to @members and wait for their replies. @line is the line, or a function that
-- returns the line for a member.
-- -> { {member=, data=, err=, object=} } in the order of members
function Group:ask(line, opts)
	opts = opts or {}
	local results, pending = {}, {}
	local what = opts.what or (type(line) == "string" and line:match("^%a+ ?%a*"))
		or "the request"
	self.trips = self.trips + 1
	for i, m in ipairs(opts.members or self.members) do
		local r = { member = m, index = i }
		results[i] = r
		if not m.conn then
			r.err = m.lost or gone_error(m)
		else
			r.id = self.next_id
			self.next_id = self.next_id + 1
			local text = type(line) == "function" and line(m) or line
			local ok, err = send(m, ("@%d %s"):format(r.id, text), self:seconds(),
				opts.object)
			if ok then pending[i] = r else r.err = err end
		end
	end
	collect(self, pending, what)
	if opts.want_object then
		for _, r in ipairs(results) do
			if r.data then
				local object, err = r.member.conn:object()
				r.object = object
				if not object then r.data, r.err = nil, errors.from_reply(err) end
			end
		end
	end
	return results
end

-- ---- attaching ----------------------------------------------------------------

-- Return a hint for a member that does not answer: which process may be stopped.
local function silent(m)
	local text = m.site and "the agent of site " .. m.site .. " or process %d may be stopped"
		or "the process may be stopped: its state is in /proc/%d/status"
	return text:format(m.pid)
end

-- Ask @members for their identity. Members that do not answer are lost.
local function greet(self, members)
	for _, r in ipairs(self:ask("hello 1", { members = members, what = "hello" })) do
		local m = r.member
		if r.data then
			m.hello = r.data
			if type(r.data.rank) == "number" then m.rank = r.data.rank end
			if m.pid == 0 and type(r.data.pid) == "number" then
				m.pid, m.ns = r.data.pid, r.data.pid_ns
			end
			if type(r.data.job) == "string" then m.job = r.data.job end
		else
			if r.err.code == "timed_out" then r.err.hint = silent(m) end
			lose(m, r.err)
		end
	end
end

M.greet = greet

-- Return one error for the failures of several members. @all: how many were asked. The members are
-- not named if all failed alike.
function M.sum_up(failures, all)
	if #failures == 0 then return nil end
	local groups = merge.groups(lists.map(failures, function(f)
		return { member = f.member, value = f.err.code .. "\0" .. f.err.message }
	end))
	local first
	for _, f in ipairs(failures) do
		if f.member == groups[1].members[1] then first = f.err break end
	end
	if #groups == 1 and (#failures == 1 or #failures == all) then return first end
	local fields = lists.copy(first)
	local message = first.message
	if #failures > 1 and #groups > 1 then
		local t = {}
		for i = 1, math.min(#groups, 4) do
			local text = groups[i].text:match("%z(.*)$")
			local who = merge.who(groups[i].members)
			t[i] = text:find(who, 1, true) and text or who .. ": " .. text
		end
		message = table.concat(t, "; ") .. (#groups > 4 and "; ..." or "")
	elseif #failures > 1 then
		message = ("%s: %s"):format(merge.who(groups[1].members), message)
	end
	return errors.new(first.code, message, fields)
end

-- Return the failures among @results of Group:ask as one error; nil: all have answered.
function M.failure_of(results)
	return M.sum_up(lists.select(results, function(r) return r.err end), #results)
end

-- @results of Group:ask; raises the failures among them.
function M.answers(results)
	local err = M.failure_of(results)
	if err then error(err, 0) end
	return results
end

-- Ask the lowest rank that answers. -> data, object, member | nil, err
function Group:one(line, opts)
	local member = self:living()[1]
	if not member then
		return nil, self:failure() or errors.new("no_target", "not attached")
	end
	opts = opts or {}
	opts.members = { member }
	local r = self:ask(line, opts)[1]
	if r.err then return nil, r.err end
	return r.data, r.object, member
end

-- Return the image of a policy that the job holds. -> bytes, its name | nil, err
function Group:image(name)
	local d, object = self:one("policy export " .. M.quote(tostring(name)),
		{ want_object = true })
	if not d then return nil, object end
	return object or "", d.name
end

-- Attach to {pid=, job=, socket=, ranks=}; timeout in seconds, 0: none. A member that hangs or
-- is dead is lost; attaching fails only if all members are lost.
-- With fleet=URLs: to a job of that store, of any number of sites.
function M.attach(wish, timeout)
	if wish.job then
		-- as the plugin and the agent name it (plugin/runtime/jobdir.c)
		local name = wish.job:sub(1, 63):gsub("[^%w_-]", "_")
		wish = setmetatable({ job = name }, { __index = wish })
	end
	if wish.fleet and not (wish.pid or wish.socket) then
		return require("ncclbpf.job.fleet").attach(wish, timeout)
	end
	local list, err = target.choose(wish)
	if not list then return nil, err end
	timeout = timeout or clock.times.answer
	local self = setmetatable({ members = {}, wish = wish, timeout = timeout, next_id = 1,
		trips = 0, caches = {} }, Group)
	for i, s in ipairs(list) do self.members[i] = connect(s, self:seconds()) end
	local up = self:living()
	greet(self, up)
	if #self:living() == 0 then return nil, self:failure() end
	self.job = self:living()[1].job
	return self
end

-- Return one error for all lost members; nil: none is lost.
function Group:failure()
	local lost = lists.select(self.members, function(m) return not m.conn end)
	return M.sum_up(lists.map(lost, function(m)
		return { member = m, err = m.lost or gone_error(m) }
	end))
end

-- Add new processes of the job, connect again to those that have closed the connection, and remove
-- those that have ended. The prompt calls it before each command.
function Group:refresh()
	if self.closed or self.wish.socket or self.wish.pid then return end
	local list = target.choose { job = self.job, ranks = self.wish.ranks }
	local known, keep, new, back = {}, {}, {}, {}
	local found = lists.set(lists.map(list or {}, "path"))
	for _, m in ipairs(self.members) do
		local again = not m.conn and m.cut and found[m.path]
		back[m.path] = again
		if not again and (m.conn or target.lives(m)) then
			keep[#keep + 1] = m
			known[m.path] = true
		end
	end
	for _, s in ipairs(list or {}) do
		if not known[s.path] then
			local m = connect(s, self:seconds())
			keep[#keep + 1] = m
			if m.conn then new[#new + 1] = m end
		end
	end
	self.members = keep
	if #new > 0 then greet(self, new) end
	-- A process that has no place for us now may have one at the next command.
	for _, m in ipairs(keep) do
		m.cut = m.cut or not m.conn and back[m.path]
	end
	table.sort(self.members, lists.by("rank", "pid"))
end

-- Read received lines and notice closed connections, without a request. -> number of living
-- members
function Group:drain()
	for _, m in ipairs(self.members) do
		if m.conn and not m.conn:fill() then
			take(m, -1)
			cut(m)
		elseif m.conn then
			take(m, -1)
		end
	end
	return #self:living()
end

function Group:label()
	local living = self:living()
	local t = { job = self.job, host = living[1] and living[1].hello.host, processes = {} }
	core.array(t.processes)
	for i, m in ipairs(self.members) do
		t.processes[i] = setmetatable({ pid = m.pid, rank = m.rank, role = m.hello
			and m.hello.role }, { order = { "pid", "rank", "role" } })
	end
	return setmetatable(t, { order = { "job", "host", "processes" } })
end

-- ---- changes ------------------------------------------------------------------

local function abort(self, digest, results)
	local members = lists.map(lists.select(results, function(r)
		return r.data and r.member.conn
	end), "member")
	if #members > 0 and digest then
		self:ask("change abort " .. digest, { members = members })
	end
	return members
end

local function unchanged(err, members)
	if #members > 0 then
		errors.because(err, "nothing has changed: %s rolled the change back",
			merge.who(members))
	end
	return err
end

local function stage(self, line, object)
	local results = self:ask(line .. " commit=no", {
		what = line:match("^%a+ ?%a*"), object = object })
	local digest
	local differ = {}
	for _, r in ipairs(results) do
		if r.data then
			if type(r.data.change) ~= "string" or r.data.state ~= "staged" then
				r.err = errors.new("protocol",
					"the reply to a change names no staged change")
				r.data = nil
			else
				digest = digest or r.data.change
				if r.data.change ~= digest then differ[#differ + 1] = r end
			end
		end
	end
	local err = M.failure_of(results)
	if not err and #differ > 0 then
		err = errors.new(
			"ranks_disagree",
			("%s staged another change (%s) than the others (%s)"):format(
			merge.who { differ[1].member }, differ[1].data.change:sub(1, 8),
			digest:sub(1, 8)),
			{ hint = "compare policy list of the processes: " ..
				"the same name may stand for different policies" })
	end
	if err then
		local t = {}
		for _, r in ipairs(results) do
			-- Abort each change by its own digest: processes may have staged different
			-- ones.
			t[#t + 1] = r.data and abort(self, r.data.change, { r })[1]
		end
		return nil, unchanged(err, t)
	end
	return digest, results
end

-- @expected: the option if_generation of the request line, checked again at the commit
local function commit(self, digest, results, expected, rollout)
	local first = results[1].member
	local answer = self:ask(("change commit %s%s maker=%s"):format(digest, expected or "",
		M.quote(maker.text(rollout))),
		{ members = { first } })[1]
	if answer.err then
		local err = answer.err
		if err.code == "timed_out" or err.code == "no_target" then
			abort(self, digest, results)
			err.cause =
				"the process that commits the change for all has not answered; " ..
				"run change status to see whether the change was made"
			return nil, err
		end
		return nil, unchanged(err, abort(self, digest, results))
	end
	return answer.data
end

local function two_phase(self, line, opts)
	for _, m in ipairs(self.members) do
		if not m.conn then
			local err = M.sum_up { { member = m, err = m.lost or gone_error(m) } }
			return nil, errors.because(err,
				"all processes of a job change together, so nothing has changed")
		end
	end
	local digest, results = stage(self, line, opts.object)
	if not digest then return nil, results end
	local expected = line:match(" if_generation=%d+")
	if not opts.dry_run then
		return commit(self, digest, results, expected, opts.rollout)
	end
	local answer = self:ask("change check " .. digest .. (expected or ""),
		{ members = { results[1].member } })[1]
	abort(self, digest, results)
	if answer.data then answer.data.state, answer.data.generation = "checked", nil end
	return answer.data, answer.err
end

-- Change all processes: `line` without commit=no. opts: object (bytes beside the line), dry_run
-- (make every check, then drop the change).
-- -> the change's data | nil, err. Ctrl-C waits until the change is decided.
function Group:change(line, opts)
	core.hold(true)
	local ok, data, err = pcall(two_phase, self, line, opts or {})
	if ok and data then maker.decided(data) end
	core.hold(false)
	if not ok then return nil, errors.caught(data) end
	if data then return maker.outcome(data) end
	return nil, err
end

-- ---- streams ------------------------------------------------------------------

-- Send the request @line to all members and call each(data, member) for every line of the
-- streams, until each() returns true or all have ended. -> true | nil, err
-- opts.till: end time on the clock of core.mono; opts.gone(member, err): a member was lost,
-- continue with the others
function Group:follow(line, each, opts)
	opts = opts or {}
	local open, stop, failure = 0, false, nil
	local function went(m, err)
		if opts.gone then
			open = open - 1
			opts.gone(m, err)
		else
			failure = failure or err
		end
	end
	local members = {}
	for _, m in ipairs(self:living()) do
		local id = self.next_id
		self.next_id = self.next_id + 1
		members[#members + 1] = { m = m, id = id }
		open = open + 1
		m.streams[id] = function(reply)
			if not reply.ok then
				failure = failure or errors.from_reply(reply.error)
				m.streams[id] = nil
				open = open - 1
			elseif reply["end"] then
				m.streams[id] = nil
				open = open - 1
			elseif not stop and each(reply.data or {}, m, reply.lost) then
				stop = true
			end
		end
		local ok, err = send(m, ("@%d %s"):format(id, line), self:seconds())
		if not ok then return nil, err end
	end
	local function pump()
		while open > 0 and not stop do
			local conns, of = {}, {}
			for _, x in ipairs(members) do
				if x.m.conn and x.m.streams[x.id] then
					local _, err = take(x.m, -1)
					if err then went(x.m, err) end
					if x.m.conn then
						conns[#conns + 1] = x.m.conn
						of[#conns] = x.m
					end
				end
			end
			if stop or failure or #conns == 0 then return end
			local left = opts.till and opts.till - clock.now()
			if left and left <= 0 then return end
			for _, k in ipairs(core.poll(conns, left or -1)) do
				if not of[k].conn:fill() then
					take(of[k], -1)
					went(of[k], cut(of[k]))
				end
			end
		end
	end
	-- After an error, defer Ctrl-C, because its hook would otherwise raise again at
	-- each instruction.
	local ok, err = core.held(pump)
	stop = true -- lines that arrive before the end of a stream are dropped
	local still, id = {}, {}
	for _, x in ipairs(members) do
		if x.m.conn and x.m.streams[x.id] then
			still[#still + 1], id[x.m] = x.m, x.id
		end
	end
	if #still > 0 then
		self:ask(function(m) return "cancel " .. id[m] end,
			{ members = still, what = "cancel" })
	end
	for _, m in ipairs(still) do m.streams[id[m]] = nil end
	core.hold(false)
	if not ok then error(err, 0) end
	if failure then return nil, failure end
	return true
end

return M
