-- SPDX-License-Identifier: MIT
-- Communicator selectors: resolve what users write to full identities, so that all processes of a
-- job get the same request.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"
local errors = require "ncclbpf.base.errors"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"

local try = errors.try
local M = {}

M.MOST = 16 -- the identity in the form in which the target writes it

local NONE = ("0"):rep(16) -- the identity of communicators that NCCL does not name (tuner v2 to v4)

-- Return the communicators of all processes, by identity, those without one only if @all.
-- -> list of {comm, ranks, nodes} | nil, err
function M.comms(group, all)
	local seen, list, failures = {}, {}, {}
	local results = group:ask "comm list"
	for _, r in ipairs(results) do
		if r.err then failures[#failures + 1] = r end
		for _, c in ipairs(read.list(r.data, "comms")) do
			local id = tostring(c.comm)
			if not seen[id] and (all or id ~= NONE) then
				seen[id] = true
				list[#list + 1] = { comm = id, ranks = read.number(c.ranks),
					nodes = read.number(c.nodes) }
			end
		end
	end
	if #failures > 0 and #list == 0 then return nil, session.sum_up(failures, #results) end
	table.sort(list, function(a, b) return a.comm < b.comm end)
	return list
end

local function names(list)
	local t = {}
	for i, c in ipairs(list) do
		if i > 6 then
			t[7] = ("and %d more"):format(#list - 6)
			break
		end
		t[i] = c.comm
	end
	return table.concat(t, ", ")
end

-- Return the communicators that one word selects: a unique identity prefix, "ranks:N" or "nodes:N".
-- @also: another word that the caller takes, for messages
local function matches(list, word, also)
	local what, n = word:match "^(%a+):(%d+)$"
	local found = {}
	for _, c in ipairs(list) do
		if what and c[what] == math.tointeger(tonumber(n)) or not what
			and c.comm:sub(1, #word) == ascii.lower(word) then
			found[#found + 1] = c
		end
	end
	if what and what ~= "ranks" and what ~= "nodes" or not what and not word:match "^%x+$"
		or #word > 16 and not what then
		return nil, errors.new("bad_argument", (
			"comm=%s must be a communicator's hexadecimal identity (or its first " ..
			"digits), ranks:N%s")
			:format(word, also and (", nodes:N or %s"):format(also) or " or nodes:N"),
			{ hint = "comm list shows the communicators" })
	end
	if #found == 0 then
		-- A communicator that was destroyed may still have its own policies.
		if not what and #word == 16 then return { { comm = ascii.lower(word) } } end
		return nil, errors.new("not_found", ("no communicator %s%s"):format(
			word, #list > 0 and "; the job has " .. names(list) or ""),
			{ hint = "comm list shows them" })
	end
	if not what and #found > 1 then
		return nil, errors.new("usage", ("%d communicators begin with %s: %s"):format(
			#found, word, names(found)), { hint = "write more digits of the identity" })
	end
	return found
end

-- Return the identity of the one communicator that @word selects (nil: the only one of the job).
-- -> identity | nil, err
M.one = errors.catch(function(group, word)
	if word and word:match "^%x+$" and #word == 16 then return ascii.lower(word) end
	local list = try(M.comms(group, true))
	if word then list = try(matches(list, word)) end
	if #list == 1 then return list[1].comm end
	if #list == 0 then
		return nil, errors.new("not_found", "no communicators yet",
			{ hint = "comm list shows them" })
	end
	return nil, errors.new("usage", ("%d communicators: %s"):format(#list, names(list)),
		{ hint = "name a communicator: comm show COMM" })
end)

-- M.find(group, words[, also]): a list of words, or one with commas; @also as in matches()
-- -> identities | nil, err
M.find = errors.catch(function(group, words, also)
	if type(words) == "string" then
		local t = {}
		for w in (words .. ","):gmatch "([^,]*)," do t[#t + 1] = w end
		words = t
	end
	local list = try(M.comms(group))
	local seen, ids = {}, core.array {}
	for _, w in ipairs(words) do
		local found = try(matches(list, w, also))
		for _, c in ipairs(found) do
			if not seen[c.comm] then ids[#ids + 1] = c.comm end
			seen[c.comm] = true
		end
	end
	if #ids > M.MOST then
		return errors.fail("usage", "%s at once (allowed: %d)",
			units.count(#ids, "communicator"), M.MOST)
	end
	table.sort(ids)
	return ids
end)

function M.words(ids)
	return ids and " comm=" .. session.quote(type(ids) == "table" and table.concat(ids, ",")
		or ids) or ""
end

-- M.option(group, text): the option for a request line; "" if @text is nil -> text | nil, err
M.option = errors.catch(function(group, text)
	if not text then return "" end
	if text == "others" then return M.words(text) end
	local ids = try(M.find(group, text, "others"))
	return M.words(ids)
end)

-- Return the scopes of a reply as rows for people: {comms, policies}
function M.rows(d)
	local rows = {}
	for i, s in ipairs(read.list(d, "scopes")) do
		local p = type(s.policies) == "table" and s.policies or {}
		rows[i] = { comms = type(s.comms) == "table" and s.comms or {}, policies = p,
			text = #p > 0 and table.concat(p, ", ") or "none" }
	end
	return rows
end

-- Return one line of text for each scope.
function M.lines(d)
	return lists.map(M.rows(d), function(s)
		return ("only %s: %s"):format(table.concat(s.comms, ", "), s.text)
	end)
end

return M
