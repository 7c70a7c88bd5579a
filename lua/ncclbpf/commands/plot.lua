-- SPDX-License-Identifier: MIT
-- Plots in characters for `stats plot=` and `rollout status plot=`.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local plot = require "ncclbpf.report.plot"
local read = require "ncclbpf.job.read"
local rollout = require "ncclbpf.rollout.run"
local session = require "ncclbpf.job.session"
local collectives = require "ncclbpf.job.collectives"
local units = require "ncclbpf.base.units"
local witness = require "ncclbpf.rollout.evidence"

local try = errors.try
local M = {}

-- Return the latest collectives by combination: {coll, size, comm, ran, ranks, ns = {...}}, sorted.
local function measured(ctx)
	local comm, want = ctx.opt.comm, ctx.args[1] and ascii.lower(ctx.args[1])
	local answers = try(read.ask(ctx, "sample tail count=1024"
		.. (comm and " comm=" .. session.quote(comm) or "")))
	local by, list = {}, {}
	for _, op in pairs(collectives.of(answers)) do
		local id = ("%s %s %020d %s"):format(op.coll, op.comm, op.size, op.ran)
		if not want or op.coll == want then
			if not by[id] then
				by[id] = { id = id, coll = op.coll, size = op.size, comm = op.comm,
					ran = op.ran, ranks = op.ranks, ns = {} }
				list[#list + 1] = by[id]
			end
			table.insert(by[id].ns, op.ns)
		end
	end
	table.sort(list, function(x, y) return x.id < y.id end)
	return list
end

-- Draw all kinds on one scale, then a histogram for each kind whose times differ.
local function times(list, screen)
	local lines, data, rows = {}, core.array {}, {}
	local n = #lists.unique(lists.map(list, "comm"))
	for i, k in ipairs(list) do
		local q = core.quantiles(k.ns, 100)
		rows[i] = { q = q, label = ("%s %s %s%s"):format(k.coll, units.bytes(k.size), k.ran,
			n > 1 and " " .. k.comm:sub(1, 8) or "") }
		data[i] = { coll = k.coll, bytes_from = k.size, comm = k.comm, ran = k.ran,
			count = #k.ns, p50_ns = q[51], p99_ns = q[100], max_ns = q[101] }
	end
	lines[1] = "the slowest rank of each of the last collectives"
	table.move(plot.spread(rows, screen), 1, #rows + 3, 2, lines)
	for i, k in ipairs(list) do
		local bars = plot.histogram(k.ns, screen)
		if #bars > 1 then
			local q = rows[i].q
			lines[#lines + 1] = ("\n%s of %s: the last %d, p50 %.1f us, p99 %.1f us")
				:format(rows[i].label, k.comm, #k.ns, q[51] / 1000, q[100] / 1000)
			table.move(bars, 1, #bars, #lines + 1, lines)
		end
	end
	return lines, data
end

local function bandwidth(list, screen)
	local series, by, data = {}, {}, core.array {}
	local n = #lists.unique(lists.map(list, "comm"))
	for i, k in ipairs(list) do
		local name = ("%s %s%s"):format(k.coll, k.ran, n > 1 and " of " .. k.comm or "")
		local gbs = witness.bandwidth(k.coll, k.size, k.ranks, core.quantiles(k.ns, 2)[2])
		if not by[name] then lists.add(series, by, name, { name = name, points = {} }) end
		if k.size > 0 then table.insert(by[name].points, { k.size, gbs }) end
		data[i] = { coll = k.coll, bytes_from = k.size, comm = k.comm, ran = k.ran,
			busbw_gbs = gbs }
	end
	local lines = plot.bandwidth(series, screen)
	table.insert(lines, 1,
		"bus bandwidth, median of the last collectives, by the slowest rank of each")
	return lines, data
end

local PLOTS = { times = times, bandwidth = bandwidth }

-- `stats plot=times|bandwidth`
function M.stats(ctx)
	local make = PLOTS[ctx.opt.plot]
	if not make then
		return errors.fail("usage", "plot=%s: times or bandwidth expected", ctx.opt.plot)
	end
	local list = try(measured(ctx))
	local lines, data = {}, core.array {}
	if #list > 0 then
		lines, data = make(list, plot.screen())
	else
		lines[1] = "nothing measured yet"
	end
	return { schema = "stats.plot/1", data = { plot = ctx.opt.plot, kinds = data },
		text = table.concat(lines, "\n"), prose = true }
end

-- Bandwidth of a rollout's arms by collective and communicator, then the effects.
function M.rollout(r)
	local seen, screen = witness.read(r), plot.screen()
	local lines, groups, by = {}, {}, {}
	for _, kind in ipairs(rollout.kinds(seen.kinds)) do
		local k = seen.kinds[kind]
		local name = ("%s of %s"):format(k.coll, k.comm)
		local g = by[name] or lists.add(groups, by, name, {
			name = name, { name = "baseline", points = {} },
				{ name = "candidate", points = {} } })
		for i, arm in ipairs { "a", "b" } do
			if k[arm].busbw_gbs and k.size > 0 then
				table.insert(g[i].points, { k.size, k[arm].busbw_gbs.p50 })
			end
		end
	end
	for _, g in ipairs(groups) do
		lines[#lines + 1] = ("%s: bus bandwidth, median"):format(g.name)
		for _, l in ipairs(plot.bandwidth(g, screen)) do lines[#lines + 1] = l end
		lines[#lines + 1] = ""
	end
	local strata, rows = type(r.verdict) == "table" and r.verdict.strata or {}, {}
	local kinds = rollout.kinds(strata)
	local label = witness.labels(kinds)
	for i, kind in ipairs(kinds) do
		local s = strata[kind]
		rows[i] = { label = label(kind), mid = tonumber(s.effect_pct),
			low = tonumber(s.low_pct), high = tonumber(s.high_pct) }
	end
	if #rows > 0 then
		lines[#lines + 1] = ("change of the candidate's time (below 0 is faster); "
			.. "%+g %% is tolerated"):format(r.plan.judge.min_effect_pct)
		for _, l in ipairs(plot.intervals(rows, r.plan.judge.min_effect_pct, screen)) do
			lines[#lines + 1] = l
		end
	end
	if #lines == 0 then lines[1] = "no block yet" end
	return table.concat(lines, "\n")
end

return M
