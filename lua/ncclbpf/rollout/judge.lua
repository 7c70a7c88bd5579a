-- SPDX-License-Identifier: MIT
-- Is B slower than A? The judge compares medians of blocks, because samples that are close in time
-- depend on each other. It uses a rank-sum test, which outliers do not distort, and the shift with
-- its interval in per cent. Too little data is `inconclusive`, never `pass`.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"

local M = {}

-- Defaults. A rollout finds a slowdown of exactly min_effect_pct with probability 1/2, so
-- the default of 1 % makes it find 3 % reliably.
M.defaults = {
	confidence = 0.98, -- confidence of all checks and strata together
	min_effect_pct = 1, -- slowdown in per cent that is tolerated
	blocks = 20, -- an arm
	looks = 4,
}

-- Return the share of alpha spent after a share @t of the data, by O'Brien and Fleming's rule:
-- little at first (Lan and DeMets 1983).
local function spent(alpha, t)
	if t <= 0 then return 0 end
	return 2 * core.normal_tail(core.normal_point(alpha / 2) / math.sqrt(math.min(t, 1)))
end

-- Return the share of alpha for check @k of @n. The shares add up to alpha. Checks are not
-- independent, so the real error is smaller.
function M.share(alpha, k, n)
	return spent(alpha, k / n) - spent(alpha, (k - 1) / n)
end

-- Return the smallest number of blocks of an arm that can show a significant difference.
function M.least_blocks(alpha)
	local n = 2
	while n < 40 and 2 * core.rank_tail(n, n, 0) > alpha do n = n + 1 end
	return n
end

local function logs(list)
	local t = {}
	for i, v in ipairs(list) do
		if type(v) ~= "number" or v ~= v or v <= 0 or v == math.huge then
			error(("judge: value %d is %s, but must be a time above 0"):format(
				i, tostring(v)), 3)
		end
		t[i] = math.log(v)
	end
	return t
end

local function percent(x) return x and (math.exp(x) - 1) * 100 end

-- Compare the arms in one stratum: block medians of times under A and under B. opts: alpha (for
-- this check of this stratum), min_effect_pct, least (blocks an arm)
-- -> {verdict, effect_pct, low_pct, high_pct, p, blocks_a, blocks_b, reason}
--
-- effect_pct: how much longer B takes. `fail`: surely longer, by an estimate above min_effect_pct.
-- `pass`: the whole interval is below min_effect_pct. `better`: B is surely shorter.
function M.compare(a, b, opts)
	local r = { blocks_a = #a, blocks_b = #b, verdict = "inconclusive" }
	local least = math.max(opts.least or 1, 2)
	if #a < least or #b < least then
		r.reason = ("%d and %d blocks; %d each needed"):format(#a, #b, least)
		return r
	end
	local t = core.rank_sum(logs(b), logs(a), opts.alpha)
	r.effect_pct, r.low_pct, r.high_pct, r.p = percent(t.shift), percent(t.low),
		percent(t.high), t.p
	r.better = t.p <= opts.alpha and t.shift < 0
	if t.p <= opts.alpha and r.effect_pct > opts.min_effect_pct then
		r.verdict = "fail"
		r.reason = ("slower by %.1f %%"):format(r.effect_pct)
	elseif not r.high_pct then
		r.reason = "too few blocks for this confidence"
	elseif r.high_pct <= opts.min_effect_pct then
		r.verdict = "pass"
		r.reason = r.better and ("faster by %.1f %%"):format(-r.effect_pct) or
			("slower by at most %.1f %%"):format(math.max(r.high_pct, 0))
	else
		r.reason = ("may be slower by up to %.1f %%"):format(r.high_pct)
	end
	return r
end

-- Return the outcome of each stratum, and the verdict for all.
local function each(out, names, last, min_effect_pct)
	local n = { better = 0, worse = 0, same = 0, open = 0 }
	for _, name in ipairs(names) do
		local r = out.strata[name]
		r.outcome = r.verdict == "fail" and "worse" or r.verdict == "inconclusive"
			and "open" or
			r.better and -r.effect_pct > min_effect_pct and "better" or "same"
		n[r.outcome] = n[r.outcome] + 1
	end
	out.verdict = "inconclusive"
	if n.better > 0 and (last or n.better + n.worse == #names) then
		out.verdict = "pass"
	elseif n.worse == #names or last and n.better == 0 and n.open == 0 then
		out.verdict = "fail"
	end
	out.counts = n
	out.reason = (
		"better in %d of %d kinds of collectives, worse in %d, " ..
		"the same in %d, open in %d"):format(n.better, #names, n.worse, n.same, n.open)
	return out
end

-- Judge all strata at check @k: {name = {a = {...}, b = {...}}} (block medians).
-- -> {verdict, reason, strata = {name = as of compare}, alpha}
--
-- opts.each: each kind has its own outcome (promote = "better"): better, worse, same or
-- open. The verdict is better if any kind is better. Before the last check there is a
-- verdict only if every kind is better or worse.
-- Without opts.each, one failed stratum fails the rollout, and all strata must pass. Checks
-- and strata share alpha, which bounds the probability of any false alarm.
function M.look(strata, k, opts)
	opts = setmetatable(opts or {}, { __index = M.defaults })
	local names, out = lists.keys(strata), { strata = {}, verdict = "inconclusive" }
	if #names == 0 then
		out.reason = "no data"
		return out
	end
	out.alpha = M.share(1 - opts.confidence, k, opts.looks)
	local count, worst = { pass = 0, fail = 0, inconclusive = 0 }, {}
	for _, name in ipairs(names) do
		local r = M.compare(strata[name].a, strata[name].b, {
			alpha = out.alpha / #names, min_effect_pct = opts.min_effect_pct,
			least = opts.least,
		})
		out.strata[name] = r
		count[r.verdict] = count[r.verdict] + 1
		worst[r.verdict] = worst[r.verdict] or ("%s: %s"):format(name, r.reason)
	end
	if opts.each then return each(out, names, k >= opts.looks, opts.min_effect_pct) end
	out.verdict = count.fail > 0 and "fail" or count.inconclusive > 0 and "inconclusive"
		or "pass"
	out.reason = worst[out.verdict]
	if out.verdict == "pass" and #names > 1 then
		out.reason = ("%d kinds of collectives, none slower"):format(#names)
	end
	return out
end

-- nb.judge{a = {...}, b = {...}, block=, confidence=, min_effect_pct=, least=}: two
-- lists of samples, checked once. block: number of samples for each median.
function M.judge(opts)
	opts = errors.check_options("nb.judge", opts, {
		a = "table", b = "table", block = "integer", confidence = "number",
		min_effect_pct = "number", least = "integer",
	})
	if not opts.a or not opts.b then error("nb.judge must have the options a and b", 2) end
	local confidence = opts.confidence or M.defaults.confidence
	if confidence <= 0 or confidence >= 1 then
		error("nb.judge: option confidence must be above 0 and below 1", 2)
	end
	local block = opts.block or 50
	local a, b = core.block_medians(opts.a, block), core.block_medians(opts.b, block)
	-- If there are many samples, make longer blocks instead of more blocks.
	local longest = math.max(#a, #b)
	if longest > 1024 then
		block = block * ((longest + 1023) // 1024)
		a, b = core.block_medians(opts.a, block), core.block_medians(opts.b, block)
	end
	local r = M.compare(a, b, { alpha = 1 - confidence, min_effect_pct = opts.min_effect_pct
		or M.defaults.min_effect_pct, least = opts.least })
	r.block = block
	return r
end

return M
