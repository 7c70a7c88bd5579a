-- SPDX-License-Identifier: MIT
-- A block: the collectives of a job while one arm is in place, until there are enough
-- samples or a guard stops it.
local lists = require "ncclbpf.base.lists"
local collectives = require "ncclbpf.job.collectives"
local clock = require "ncclbpf.base.clock"
local plan = require "ncclbpf.rollout.plan"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"
local record = require "ncclbpf.rollout.record"
local job = require "ncclbpf.rollout.job"

local M = {}

local GUARD = 10 -- number of collectives of a kind before a guard may call it slow
local BAKED = 50 -- during a bake, a guard checks this many latest collectives of each kind

-- Return the median of the baseline's block medians, by kind.
local function baseline_of(r)
	local by, out = {}, {}
	for _, b in ipairs(r.blocks) do
		for kind, v in pairs(b.arm == "a" and b.medians or {}) do
			lists.push(by, kind, v)
		end
	end
	for kind, list in pairs(by) do out[kind] = collectives.median(list) end
	return out
end

-- Return the number of refused policy answers so far | nil, the generation of a concurrent change
local function refused(r)
	local n, seen = 0, r.generation
	for _, x in ipairs(job.ask(r, "policy list")) do
		-- Processes answer one after the other, so their answers may show different
		-- states of one change.
		if x.data.generation > r.generation and not job.is_own(r)
			or x.data.generation < seen then
			return nil, x.data.generation
		end
		for _, p in ipairs(read.list(x.data, "policies")) do
			-- Count only policies in the scope's communicators.
			local counts = not r.comms or lists.has(r.candidate, p.name)
			for _, prog in ipairs(read.list(p, "programs")) do
				n = n + (counts and read.number(prog.refused) or 0)
			end
		end
	end
	return n
end

-- Check the guards. -> a reason to stop at once and its evidence, or nil
local function guarded(r, arm, times, normal, refused_now)
	for kind, list in pairs(times) do
		if normal[kind] and #list >= GUARD then
			local pct = (collectives.median(list) / normal[kind] - 1) * 100
			if pct > r.plan.guards.slower_pct then
				return ("%s: slower by %.0f %% after %d collectives"):format(
					kind, pct, #list),
					{ guard = "slower_pct", kind = kind, effect_pct = pct,
						collectives = #list }
			end
		end
	end
	for kind, list in pairs(arm == "b" and r.plan.guards.slo and times or {}) do
		local ns = #list >= GUARD and collectives.median(list) or 0
		if ns > r.plan.guards.slo * 1e9 then
			return ("%s: takes %s, longer than %s, after %d collectives"):format(
				kind, units.seconds(ns / 1e9), units.seconds(r.plan.guards.slo),
				#list),
				{ guard = "slo", kind = kind, time_us = ns / 1e3,
					slo_us = r.plan.guards.slo * 1e6, collectives = #list }
		end
	end
	if arm == "b" and refused_now > r.plan.guards.refused then
		local n = refused_now
		return ("%d answers of policies were refused"):format(n),
			{ guard = "refused", refused = n }
	end
	local a = job.ask(r, "check agreement")[1].data
	if a.agree == false then return "ranks do not agree", { guard = "agreement" } end
end

-- Run one block of @arm.
-- @bake: run the block for this many seconds instead; guards check the latest collectives
-- only.
-- -> medians by kind, collectives by kind; with @bake: true, number of collectives
-- | nil, word, reason, evidence. word: "guard" (a guard stopped the block, with evidence), "leave"
-- (a concurrent change; reason: its generation), or a request: "pause", "abort" or "promote"
function M.block(r, arm, bake)
	local p = r.plan
	local normal = arm == "b" and baseline_of(r) or {}
	local before, other = refused(r)
	if not before then return nil, "leave", other end
	-- Ignore collectives that were enqueued before the fence.
	local from = collectives.until_now(function(line) return job.ask(r, line) end)
	local seen, times, kept, most = {}, {}, {}, 0
	local skip = plan.collectives(p) - p.samples
	local till = clock.now() + (bake or p.block_timeout)
	local count, all = {}, 0
	while bake or most < p.samples do
		local word, wish = record.requested(r)
		if word then return nil, word, wish end
		if clock.now() > till and not (bake and all < GUARD
			and clock.now() < till + p.block_timeout) then
			if bake then return true, all end
			return nil, "pause", ("only %d collectives of a kind in %g s"):format(
				most, p.block_timeout)
		end
		local new = {}
		for id, op in pairs(job.samples(r)) do
			if not seen[id] and op.ns > 0 and job.in_scope(r, op)
				and op.seq > (from[collectives.line(op)] or -1) then
				new[#new + 1] = { id, op }
			end
		end
		table.sort(new, function(x, y) return x[2].seq < y[2].seq end)
		for _, x in ipairs(new) do
			local kind = collectives.kind(x[2])
			seen[x[1]] = true
			if r.ran then r.ran(kind, x[2]) end
			count[kind], all = (count[kind] or 0) + 1, all + 1
			if bake and #(times[kind] or {}) >= BAKED then
				table.remove(times[kind], 1)
				table.remove(kept[kind], 1)
			end
			if count[kind] > skip then
				times[kind], kept[kind] = times[kind] or {}, kept[kind] or {}
				table.insert(times[kind], x[2].ns)
				table.insert(kept[kind], x[2])
				most = math.max(most, #times[kind])
			end
		end
		local now, another = refused(r)
		if not now then return nil, "leave", another end
		local why, evidence = guarded(r, arm, times, normal, now - before)
		if why then return nil, "guard", why, evidence end
		if bake or most < p.samples then clock.sleep(clock.times.poll) end
	end
	local medians = {}
	for kind, list in pairs(times) do
		-- A rare kind with too few collectives gives no median.
		if #list * 5 >= p.samples then
			medians[kind] = collectives.median(list)
		else
			kept[kind] = nil
		end
	end
	return medians, kept
end

return M
