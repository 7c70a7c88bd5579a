-- SPDX-License-Identifier: MIT
-- Metrics of a rollout: one number for each block and kind of collectives, by default the median
-- of the times. A plan may name others (p95, p99, mean, bus bandwidth) and say which direction is
-- worse. Metrics that are not critical are shown but decide nothing.
local lists = require "ncclbpf.base.lists"
local collectives = require "ncclbpf.job.collectives"
local judge = require "ncclbpf.rollout.judge"
local witness = require "ncclbpf.rollout.evidence"

local M = {}

-- The number of collectives that a block needs for the quantile.
local LEAST = { p95 = 20, p99 = 100 }
M.least = LEAST

local function quantile(q)
	return function(times)
		local sorted = table.move(times, 1, #times, 1, {})
		table.sort(sorted)
		return sorted[math.max(1, math.ceil(q * #sorted))]
	end
end

local median = collectives.median

local aggregates = {
	p50 = median,
	p95 = quantile(0.95),
	p99 = quantile(0.99),
	mean = function(times)
		local sum = 0.0
		for _, ns in ipairs(times) do sum = sum + ns end
		return sum / #times
	end,
	busbw = function(times, op)
		return witness.bandwidth(op.coll, op.size, op.ranks, median(times))
	end,
}

-- Return the metrics of a block: {name = {kind = value}}
function M.of_block(p, kept)
	if not p.metrics then return nil end
	local out = {}
	for _, m in ipairs(p.metrics) do
		out[m.name] = {}
		for kind, ops in pairs(kept) do
			local times = lists.map(ops, "ns")
			if #times >= (LEAST[m.aggregate] or 1) then
				out[m.name][kind] = aggregates[m.aggregate](times, ops[1]) + 0.0
			end
		end
	end
	return out
end

-- ---- judging -----------------------------------------------------------------

local function inverse(list)
	return lists.map(list, function(v) return 1 / v end)
end

local function other_way(r)
	if r.reason then
		r.reason = r.reason:gsub("slower", "\0"):gsub("faster", "slower"):gsub(
			"%z", "faster")
	end
	return r
end

-- Is a larger value of the metric worse?
local function slower_is_up(m) return m.aggregate ~= "busbw" end

-- Apply judge.compare to metric @m. effect_pct: how much worse the candidate is, in per cent.
local function comparer(m)
	local up, down = m.direction ~= "decrease", m.direction ~= "increase"
	return function(a, b, opts)
		local function rise()
			local r = judge.compare(a, b, opts)
			return slower_is_up(m) and r or other_way(r)
		end
		local function fall()
			local r = judge.compare(inverse(a), inverse(b), opts)
			return slower_is_up(m) and other_way(r) or r
		end
		if not down then return rise() end
		if not up then return fall() end
		-- direction = "either": must pass in both directions.
		local x, y = rise(), fall()
		if y.verdict == "fail" or x.verdict == "pass" and y.verdict ~= "pass" then
			return y
		end
		return x
	end
end

-- Return the values by kind: {kind = {a = {}, b = {}}}. A kind with too few blocks is included only
-- if the metric must have data.
local function strata_of(blocks, m, least)
	local t = {}
	for _, b in ipairs(blocks) do
		local values = type(b.metrics) == "table" and b.metrics[m.name] or {}
		for kind in pairs(b.medians) do
			t[kind] = t[kind] or { a = {}, b = {} }
			if values[kind] then table.insert(t[kind][b.arm], values[kind]) end
		end
	end
	for kind, s in pairs(t) do
		if not m.must_have_data and math.min(#s.a, #s.b) < least then t[kind] = nil end
	end
	return t
end

-- Judge all metrics at check @k. -> as judge.look for the first metric, with metrics =
-- {name = {verdict, reason, critical, aggregate, strata}}
function M.look(p, blocks, k, opts)
	local out, all, verdict, reason = nil, {}, "pass", nil
	local share = (1 - opts.confidence) / #p.metrics
	for i, m in ipairs(p.metrics) do
		local o = { confidence = 1 - share, min_effect_pct = m.min_effect_pct
			or opts.min_effect_pct, compare = comparer(m), looks = opts.looks,
			least = opts.least }
		local v = judge.look(strata_of(blocks, m, opts.least or 2), k, o)
		if not next(v.strata) and not m.must_have_data then
			v.verdict, v.reason = "pass", "no data, none expected"
		end
		all[m.name] = { verdict = v.verdict, reason = v.reason, critical = m.critical,
			aggregate = m.aggregate, strata = v.strata }
		if i == 1 then out = v end
		if m.critical then
			if v.verdict == "fail" and verdict ~= "fail" or v.verdict == "inconclusive"
				and verdict == "pass" then
				verdict, reason = v.verdict, ("%s: %s"):format(m.name, v.reason)
			end
		end
	end
	out.verdict, out.reason, out.metrics = verdict, reason or out.reason, all
	return out
end

return M
