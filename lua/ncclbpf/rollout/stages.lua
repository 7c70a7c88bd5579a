-- SPDX-License-Identifier: MIT
-- Steps of a rollout: the communicators that each reaches, its bake time, and the communicators
-- that keep the baseline at the end (holdback). A plan without steps has one step, its scope.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local collectives = require "ncclbpf.job.collectives"
local units = require "ncclbpf.base.units"

local M = {}
local median = collectives.median

local function ids_of(group)
	return core.array(lists.map(errors.try(reach.comms(group)), "comm"))
end

local function without(list, gone)
	local set = lists.set(gone)
	return core.array(lists.select(list, function(id) return not set[id] end))
end

local function first(list, n) return core.array(table.move(list, 1, n, 1, {})) end

-- Return the held communicators, which keep the baseline. They are the last, in order of identity,
-- of the communicators that a promotion would change. -> identities or nil; raises errors
local function held_of(p, all, scope)
	if not p.holdback then return nil end
	local from = p.promote == "all" and all or scope or all
	local n = units.share_of(p.holdback, #from)
	if n >= #from then
		errors.raise("refused",
			"holdback: %d of %d communicators would keep the baseline, " ..
			"so no communicator could run the candidate", n, #from)
	end
	if n > reach.MOST then
		errors.raise("refused",
			"holdback: %d communicators; at most %d can have policies of their own", n,
			reach.MOST)
	end
	return core.array(table.move(from, #from - n + 1, #from, 1, {}))
end

-- M.of(group, p, comms) -> steps {{comms=, bake=, min_samples=}}, held, the
-- scope without them; raises errors. @comms: the communicators of the plan's scope, nil: all.
-- comms of a step nil: all.
function M.of(group, p, comms)
	if not (p.steps or p.holdback or p.max_units) then
		return { { comms = comms, bake = p.bake } }
	end
	local all = ids_of(group)
	local held = held_of(p, all, comms)
	local whole = comms or all
	if held then whole = without(whole, held) end
	if #whole == 0 then
		errors.raise("refused",
			"holdback: all communicators of the scope would keep the baseline")
	end
	local list, before = {}, 0
	for i, s in ipairs(p.steps or { {} }) do
		local n = s.units or s.fraction and units.share_of(s.fraction, #whole) or #whole
		if n > #whole then
			errors.raise("refused",
				"steps[%d].units: %s requested, there are %d", i,
				units.count(n, "communicator"), #whole)
		end
		if n < before then
			errors.raise(
				"refused", "steps[%d]: %s, fewer than the %d of the step before", i,
				units.count(n, "communicator"), before)
		end
		if p.max_units and n > p.max_units then
			errors.raise("refused",
				"max_units: %d communicators would be reached at once, " ..
				"%d are allowed", n, p.max_units)
		end
		before = n
		-- A step that reaches all communicators includes future ones.
		local everyone = n == #all and not comms
		if not everyone and n > reach.MOST then
			errors.raise("refused",
				"steps[%d]: %d communicators; a step can reach at most %d, or all",
				i, n, reach.MOST)
		end
		list[i] = { comms = not everyone and first(whole, n) or nil, units = n,
			bake = s.bake or p.bake, min_samples = s.min_samples }
	end
	return list, held, (comms or held) and whole or nil
end

-- Return the first block of the step that a rollout is in, and the step.
function M.now(r)
	local i = math.type(r.step) == "integer" and r.step or 1
	return type(r.steps) == "table" and r.steps[i] or {}, i, math.type(r.first) == "integer"
		and r.first or 0
end

-- Return the blocks of the step that a rollout is in.
function M.blocks(r)
	local _, _, from = M.now(r)
	return from == 0 and r.blocks or table.move(r.blocks, from + 1, #r.blocks, 1, {})
end

-- Are there too few collectives? -> the reason, if a kind has fewer than @least in an arm,
-- else nil
function M.too_few(blocks, least)
	local n = {}
	for _, b in ipairs(blocks) do
		for kind in pairs(b.medians) do
			n[kind] = n[kind] or { a = 0, b = 0 }
			n[kind][b.arm] = n[kind][b.arm] + read.number(
				read.record(read.record(b.spread)[kind]).n)
		end
	end
	local names = lists.keys(n)
	for _, kind in ipairs(names) do
		local x = n[kind]
		if math.min(x.a, x.b) < least then
			return ("%s: %d and %d collectives; %d each needed"):format(
				kind, x.a, x.b, least)
		end
	end
end

-- Held communicators, which keep the baseline.

-- Return the requests that promote the candidate to all communicators except the held ones. The
-- first request gives the held communicators the baseline, so that their ranks never decide with
-- the candidate.
function M.promotion(r, names)
	local function line(list, to)
		local words = { "policy", "use" }
		for _, n in ipairs(list) do words[#words + 1] = n end
		if #list == 0 then words[3] = "none" end
		return session.line(words) .. to
	end
	return { line(r.baseline, reach.words(r.held)), line(names, reach.words(r.comms)),
		line(names, reach.words "others"), line({ "common" }, reach.words(r.comms)) }
end

-- Get the recent times of held and promoted communicators: {{coll, bytes_from, held_us,
-- promoted_us, held_count, promoted_count}} | nil, err
M.holdback = errors.catch(function(r, group)
	if type(r.held) ~= "table" then return core.array {} end
	local results = session.answers(group:ask "sample tail count=1024")
	local set, by, rows = {}, {}, core.array {}
	for _, id in ipairs(r.held) do set[id] = true end
	for _, op in pairs(collectives.of(results)) do
		local key = ("%s %020d"):format(op.coll, op.size)
		if not by[key] then
			by[key] = { key = key, coll = op.coll, size = op.size, held = {},
				promoted = {} }
			rows[#rows + 1] = by[key]
		end
		if op.ns > 0 then
			table.insert(set[op.comm] and by[key].held or by[key].promoted, op.ns)
		end
	end
	table.sort(rows, function(a, b) return a.key < b.key end)
	for i, x in ipairs(rows) do
		rows[i] = { coll = x.coll, bytes_from = x.size, held_us = #x.held > 0
			and median(x.held) / 1e3 or nil,
			promoted_us = #x.promoted > 0 and median(x.promoted) / 1e3 or nil,
				held_count = #x.held, promoted_count = #x.promoted }
	end
	return rows
end)

-- Return the times as text lines.
function M.holdback_lines(rows)
	local t = {}
	for i, x in ipairs(rows) do
		local function us(v) return v and ("%.1f us"):format(v) or "nothing" end
		t[i] = ("held back: %s %s: %s with the baseline, %s with the candidate"):format(
			x.coll, units.bytes(x.bytes_from), us(x.held_us), us(x.promoted_us))
	end
	return t
end

return M
