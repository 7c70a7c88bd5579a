-- SPDX-License-Identifier: MIT
-- Requests to a job's coordinator through the store: images first, then a key "request/ID" with the
-- line, then the coordinator's "reply/ID" (docs/adr/0014-fleet-records.md). The request has a
-- lease, so that one whose shell has died is dropped.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local maker = require "ncclbpf.job.maker"
local process = require "ncclbpf.base.process"
local sites = require "ncclbpf.job.sites"

local try = errors.try
local M = {}

local PIECE = 1 << 20
local SMALL = 16 << 10 -- most bytes of small images in a request, in base64

-- Return the full name of a key. No agent watches the families in the list.
local unwatched = { image = true, audit = true, reply = true }
local function key(group, family, name)
	local root = unwatched[family] and sites.DATA or sites.ROOT
	return ("%s%s/%s/%s"):format(root, group.job, family, name)
end

-- A unique name of a request, from host, process, time and a counter.
local count = 0
local function new_id()
	count = count + 1
	local uid, pid = core.ids()
	return core.sha256(("%s %s %s %s %d"):format(uid, pid or 0, clock.now(), core.time(),
		count)):sub(1, 16)
end

-- ---- images -------------------------------------------------------------------------

-- Store an image under its digest, in pieces of 1 MiB: "image/DIGEST" holds the first, with
-- "image/DIGEST/N" behind it. -> true | nil, err
M.put_image = errors.catch(function(group, name, bytes, digest)
	digest = digest or core.sha256(bytes)
	group.images[name] = digest
	group.small = group.small or {}
	group.small[digest] = #bytes < SMALL and core.base64(bytes) or nil
	local at = key(group, "image", digest)
	local there = try(group.store:get(at))
	if #there > 0 and #bytes > PIECE then
		-- Write the image again even if it is there, because the coordinator deletes
		-- old images and this makes it new.
		-- If the coordinator has just deleted it, write all pieces.
		local done = try(group.store:txn { compare = { { at, there[1].revision } },
			success = { { put = at, value = there[1].value } } })
		if done.succeeded then return true end
	end
	local pieces = math.max(1, (#bytes + PIECE - 1) // PIECE)
	-- Write the first piece last, so that a reader who finds it finds all pieces.
	for i = pieces, 1, -1 do
		try(group.store:txn { success = { { put = i == 1 and at
			or ("%s/%d"):format(at, i), value = bytes:sub((i - 1) * PIECE + 1,
			i * PIECE) } } })
	end
	return true
end)

-- Put the image of a policy, read from processes that have it, into the store. -> digest; raises
-- errors
local function keep_held(group, name)
	local bytes, held = group:image(name)
	if not bytes then
		if held.code == "not_found" then
			held.hint = "policy use FILE; policy list shows what is held"
		end
		error(held, 0)
	end
	local digest = core.sha256(bytes)
	try(M.put_image(group, held or name, bytes, digest))
	return digest
end

-- Return the names of policies in a request line.
local function names_of(line)
	local verb, rest = line:match "^policy (%a+) ?(.*)$"
	local names = {}
	if verb == "replace" then rest = rest:gsub("^%S+ ?", "") end
	if verb == "use" or verb == "add" or verb == "replace" then
		for word in rest:gmatch "%S+" do
			if not word:find("=", 1, true) and word ~= "none"
				and word ~= "common" then
				names[#names + 1] = word
				if verb ~= "use" then break end
			end
		end
	end
	return names
end

-- The images of the policies in a request line: { {name, digest} } | nil, err
M.images_of = errors.catch(function(group, line)
	local list = core.array {}
	for _, name in ipairs(names_of(line)) do
		list[#list + 1] = { name = name,
			digest = group.images[name] or keep_held(group, name) }
	end
	return list
end)

-- ---- requests -----------------------------------------------------------------------

local function from_reply(reply)
	local err = errors.new(type(reply.error) == "string" and reply.error or "refused",
		type(reply.text) == "string" and reply.text or "the coordinator refuses the change",
		{ hint = reply.hint })
	local t = {}
	for _, s in ipairs(type(reply.sites) == "table" and reply.sites or {}) do
		if type(s) == "table" and s.text then
			t[#t + 1] = ("site %s: %s"):format(tostring(s.site), tostring(s.text))
		end
	end
	local cause = table.concat(t, "; ")
	if cause ~= "" and cause ~= err.message then err.cause = cause end
	return err
end

-- Wait for the reply to request @id. -> reply | nil, err
local function wait_reply(group, id)
	local at = key(group, "reply", id)
	local till = clock.now() + math.max(group:seconds(), clock.times.answer)
		+ clock.times.change
	repeat
		local kvs, err = group.store:get(at)
		if not kvs and not sites.passes(err) then
			-- returned, not raised, because send() then deletes the request
			return nil, errors.from_reply(err)
		end
		if kvs and kvs[1] then
			local reply, why = sites.value(kvs[1])
			if not reply then return errors.fail("protocol", "%s", why) end
			return reply
		end
		clock.sleep(clock.times.poll)
	until clock.now() >= till
	return nil, errors.new("timed_out", "the job's coordinator did not answer the request", {
		hint = "policy history shows whether the change happened",
		cause = "no site has taken the change, or the coordinator is being replaced" })
end

-- Return the user, and the host and process of this shell.
local function who()
	local user, host, pid = maker.who()
	return user, ("%s %s"):format(host, tostring(pid))
end

M.who = who

-- Return the operation that writes an audit entry.
local function entry(group, name, fields)
	return { put = key(group, "audit", name), value = core.encode(fields) }
end

-- Return the operation that writes the audit entry of a change of "desired". No coordinator takes
-- part, so the entry has its outcome at once.
function M.desired_entry(group, line, images, outcome)
	local user, from = who()
	local time = core.time()
	return entry(group, time .. "-" .. new_id(), { time = time, who = user, from = from,
		line = line, images = images, outcome = outcome,
		maker = { text = maker.text(),
			process = process.identity(select(2, core.ids())) } })
end

-- The request that made the job change writes its audit entry in the same transaction, so
-- no change is made without an entry. The coordinator adds the outcome to the entry.
-- @readable: the request as a user types it. @condition: a key and its revision, or nil. ->
-- reply | nil, err
local function send(group, request, readable, condition)
	local lease = try(group.store:lease(clock.times.request))
	local id = new_id()
	local at = key(group, "request", id)
	request.time = core.time()
	local puts = { { put = at, lease = lease.lease } }
	if not request.check then
		request.audit, request.readable = request.time .. "-" .. id, readable
		puts[2] = entry(group, request.audit, { time = request.time, who = request.who,
			from = request.from, line = request.line, readable = readable,
			images = request.images, maker = request.maker, why = request.why,
			request = id })
	end
	puts[1].value = core.encode(request)
	local done = try(group.store:txn { compare = { { at, 0 }, condition }, success = puts })
	if not done.succeeded then
		return errors.fail("busy", "the runner's lease in the store has ended")
	end
	local reply, why = wait_reply(group, id)
	-- Delete a request and its reply, after the answer or when the shell stops waiting.
	group.store:txn { success = { { delete = at }, { delete = key(group, "reply", id) } } }
	group.store:revoke(lease.lease)
	return reply, why
end

-- Convert the coordinator's reply to the data of a change's reply (docs/protocol.md).
local function as_change(reply, dry)
	local comms = core.array {}
	local state, still = dry and "checked" or "committed", not (math.tointeger(reply.same)
		and reply.same > 0)
	for i, c in ipairs(type(reply.comms) == "table" and reply.comms or {}) do
		comms[i] = { comm = c.comm_id or c.comm, state = c.state, fence = c.fence,
			ranks = c.ranks, sites = c.sites, why = c.why }
		if c.state == "aborted" then state = "aborted" end
		still = still and c.state == "unchangeable"
	end
	if still and #comms > 0 and not dry then state = "unchangeable" end
	return { change = reply.digest, state = state, generation = not dry and reply.n or nil,
		time_us = reply.time_us, comms = comms, same = math.tointeger(reply.same) or 0,
		sites = reply.sites }
end

-- Return the policies with which a job starts: key "desired".
function M.start_state(line, images)
	local name, from = who()
	return { line = line, images = images, who = name, from = from, time = core.time() }
end

-- Return the small images among those that a request names, by digest, in base64. The coordinator
-- sends them to each site with its order, so the site need not ask the store. -> table | nil
local function small_images(group, images, data)
	local size, list = 0, nil
	for i = 1, #images + 1 do
		local digest = images[i] and images[i].digest or data
		local bytes = digest and group.small and group.small[digest]
		if bytes and size + #bytes <= SMALL then
			size, list = size + #bytes, list or {}
			list[digest] = bytes
		end
	end
	return list
end

-- Have the coordinator change all sites. opts: object, readable, dry_run, start (a job of this name
-- also starts with it), rollout (identity of the rollout that makes the change), condition (a key
-- and the revision that it must have)
M.change = errors.catch(function(group, line, opts)
	-- Use the fleet's generation number, because each site numbers its own generations
	-- differently.
	local expected = math.tointeger(tonumber(line:match " if_generation=(%S+)"))
	line = line:gsub(" if_generation=%S+", "")
	local images = try(M.images_of(group, line))
	local data
	if opts.object then
		data = core.sha256(opts.object)
		try(M.put_image(group, data, opts.object, data))
	end
	local name, from = who()
	core.hold(true)
	local ok, reply, why = pcall(send, group, { line = line, images = images, data = data,
		inline = small_images(group, images, data), who = name, from = from, why = opts.why,
		maker = { rollout = opts.rollout, text = maker.text(opts.rollout),
			process = process.identity(select(2, core.ids())) },
		check = opts.dry_run or nil,
		keep = opts.start and M.start_state(line, images) or nil, expected = expected },
		opts.readable, opts.condition)
	if ok and reply and reply.ok then maker.decided(as_change(reply, opts.dry_run)) end
	core.hold(false)
	if not ok then return nil, errors.caught(reply) end
	if not reply then return nil, why end
	if not reply.ok then return nil, from_reply(reply) end
	return maker.outcome(as_change(reply, opts.dry_run))
end)

return M
