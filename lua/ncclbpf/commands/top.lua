-- SPDX-License-Identifier: MIT
-- The command `top`: a job on a full screen. M.observe asks the job and keeps the counts from which
-- rates are computed. This file handles the keys, commands/top_view.lua makes the rows, and
-- shell/screen.c draws.
local check = require "ncclbpf.commands.check"
local lists = require "ncclbpf.base.lists"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local merge = require "ncclbpf.job.merge"
local read = require "ncclbpf.job.read"
local rollout = require "ncclbpf.rollout.run"
local stats = require "ncclbpf.commands.stats"
local units = require "ncclbpf.base.units"
local view = require "ncclbpf.commands.top_view"

local try = errors.try
local M = {}

local SAMPLES = 200 -- number of collectives of each rank for the comparison of ranks

-- Values from the job's replies.

-- Growth of a counter per second since the last observation | nil
local function rate(last, key, value, seconds)
	local old = last and last.counter[key]
	if not old or seconds <= 0 or value < old then return nil end
	return (value - old) / seconds
end

local function observe_comms(now, last, per)
	local by = {}
	for c in read.each(per, "comms") do
		local t = by[c.comm] or lists.add(now.comms, by, c.comm, {
			comm = tostring(c.comm), ranks = read.number(c.ranks),
				here = 0, nodes = read.number(c.nodes), decisions = 0,
				generation = c.generation,
				policies = type(c.policies) == "table" and #c.policies > 0
					and table.concat(c.policies, ", ") or "none" })
		-- Each rank counts every decision, so take the largest count.
		t.here = t.here + 1
		t.decisions = math.max(t.decisions, read.number(c.decisions))
	end
	for _, t in ipairs(now.comms) do
		local key = "comm " .. t.comm
		now.counter[key] = t.decisions
		t.per_second = rate(last, key, t.decisions, now.seconds)
	end
end

-- For each kind of collective, the rank with the longest median, and its times since the last
-- observation.
local function observe_stats(now, last, per)
	local by = {}
	for _, r in ipairs(per) do
		if r.data.telemetry == true then now.telemetry = now.telemetry + 1 end
		for _, t in ipairs(read.list(r.data, "rows")) do
			local row = stats.flat(t)
			local id = stats.row_id(row)
			local exec = read.record(t.exec)
			if not by[id] or read.number(exec.p50_ns) > by[id].p50_ns then
				by[id] = { id = id, comm = tostring(row.comm), coll = row.coll,
					bytes = read.number(row.bytes_from), ran = row.ran,
					count = read.number(exec.count),
					sum_ns = read.number(exec.sum_ns),
					p50_ns = read.number(exec.p50_ns),
					p99_ns = read.number(exec.p99_ns),
					mean_ns = read.number(exec.mean_ns),
					busbw = type(row.busbw_gbs) == "number" and row.busbw_gbs
						or nil }
			end
		end
	end
	for id, t in pairs(by) do
		now.counter["n " .. id], now.counter["ns " .. id] = t.count, t.sum_ns
		t.per_second = rate(last, "n " .. id, t.count, now.seconds)
		local ns = rate(last, "ns " .. id, t.sum_ns, now.seconds)
		-- Bandwidth of the latest collectives. They have the same number of bytes,
		-- so bandwidth is the inverse of time.
		if t.busbw and ns and ns > 0 and t.per_second > 0 then
			t.now_busbw = t.busbw * t.mean_ns / (ns / t.per_second)
		end
		if t.count > 0 then now.kinds[#now.kinds + 1] = t end
	end
end

-- Compare the ranks in the latest collectives of their communicator.
local function observe_ranks(now, results)
	local by = {}
	for _, op in pairs(collectives.of(results)) do
		local longest, shortest, sum, n = nil, nil, 0, 0
		for rank, ns in pairs(op.by) do
			sum, n = sum + ns, n + 1
			if not longest or ns > op.by[longest] then longest = rank end
			if not shortest or ns < op.by[shortest] then shortest = rank end
		end
		for rank, ns in pairs(n > 1 and op.by or {}) do
			local key = op.comm .. " " .. rank
			local t = by[key] or { comm = op.comm, rank = rank, n = 0, ratio = 0,
				longest = 0, shortest = 0 }
			by[key] = t
			t.n, t.ratio = t.n + 1, t.ratio + ns / (sum / n)
			if op.by[longest] > op.by[shortest] then
				t.longest = t.longest + (rank == longest and 1 or 0)
				t.shortest = t.shortest + (rank == shortest and 1 or 0)
			end
		end
	end
	for _, t in pairs(by) do
		now.ranks[#now.ranks + 1] = { comm = t.comm, rank = t.rank, n = t.n,
			pct = (t.ratio / t.n - 1) * 100, longest = t.longest / t.n * 100,
			shortest = t.shortest / t.n * 100 }
	end
end

-- Two held policies may have one name (policy set), so a row is one digest.
local function observe_policies(now, last, per)
	local by = {}
	for p in read.each(per, "policies") do
		local id = tostring(p.digest)
		local t = by[id] or lists.add(now.policies, by, id, {
			id = id, name = tostring(p.name), runs = 0, refused = 0, hooks = {},
				in_use = false })
		t.in_use = t.in_use or p.in_use == true
		for _, g in ipairs(read.list(p, "programs")) do
			t.runs = t.runs + read.number(g.runs)
			t.refused = t.refused + read.number(g.refused)
			t.hooks[tostring(g.hook)] = true
			if read.number(g.mean_ns) > 0 then t.mean_ns = g.mean_ns end
		end
	end
	for _, t in ipairs(now.policies) do
		local key = "policy " .. t.id
		now.counter[key] = t.runs
		t.per_second = rate(last, key, t.runs, now.seconds)
		local hooks = lists.keys(t.hooks)
		t.hooks = table.concat(hooks, " ")
	end
end

-- ---- alerts ----------------------------------------------------------------------------

local function alert(now, command, fmt, ...)
	now.alerts[#now.alerts + 1] = { text = fmt:format(...), command = command }
end

-- One alert for each reason that is counted in @field of the replies and whose count has grown.
-- @of: whose reasons they are (core.reason); @fmt: takes the rate and the reason in words
local function grown(now, last, per, field, of, fmt, command)
	local list, by = {}, {}
	for _, r in ipairs(per) do
		for k, v in pairs(read.record(r.data[field])) do
			local key = ("%s %s %s"):format(field, k, tostring(r.member))
			now.counter[key] = read.number(v)
			local per_second = rate(last, key, read.number(v), now.seconds)
			if per_second and per_second > 0 then
				local g = by[k] or lists.add(list, by, k,
					{ word = tostring(k), per_second = 0, members = {} })
				g.per_second = g.per_second + per_second
				g.members[#g.members + 1] = r.member
			end
		end
	end
	table.sort(list, lists.by "word")
	for _, g in ipairs(list) do
		alert(now, command, "%s: " .. fmt, merge.who(g.members), g.per_second,
			core.reason(of, g.word) or g.word)
	end
end

local function observe_alerts(now, last, per, agreement)
	local generations, seen = {}, {}
	for c in read.each(agreement, "comms") do
		if check.FINE[c.verdict] == nil and not seen[c.comm] then
			seen[c.comm] = true
			alert(now, { "check", "agreement" }, "ranks of %s %s", tostring(c.comm),
				check.VERDICTS[c.verdict] or tostring(c.verdict))
		end
	end
	for _, r in ipairs(per) do
		local rank = tostring(r.member.rank or "?")
		generations[read.number(r.data.generation)] = true
		for _, o in ipairs(read.list(r.data, "overdue")) do
			alert(now, { "doctor" }, "rank %s: inside one decision for %s", rank,
				units.seconds(read.number(o.seconds)))
		end
		if type(r.data.error) == "table" then
			alert(now, { "doctor" }, "rank %s: %s", rank,
				tostring(r.data.error.message))
		end
	end
	if next(generations, (next(generations))) then
		alert(now, { "change", "status" },
			"processes have generations %s: a change has not reached all of them",
			table.concat(lists.keys(generations), ", "))
	end
	grown(now, last, per, "counters", "refused", "%.0f answers a second dropped: %s",
		{ "doctor" })
	grown(now, last, per, "events_lost", "lost", "%.0f profiler events a second %s",
		{ "status" })
	if now.failure then alert(now, { "doctor" }, "%s", now.failure.message) end
	local state = now.rollout and now.rollout.state
	if state == "rolled_back" or state == "paused" or state == "failed" then
		alert(now, { "rollout", "status" }, "the rollout is %s: %s",
			tostring(state:gsub("_", " ")),
			tostring(now.rollout.why or "no reason given"))
	end
end

-- M.observe(ctx, last) -> the job's present state. @last: the previous observation, for rates.
function M.observe(ctx, last)
	local now = { counter = {}, comms = {}, kinds = {}, ranks = {}, policies = {}, alerts = {},
		telemetry = 0, time = core.time(), mono = clock.now() }
	now.seconds = last and now.mono - last.mono or 0
	local per, _, failure = try(read.ask(ctx, "status"))
	local group = try(ctx:session())
	now.processes, now.failure, now.job = #per, failure, group.job
	now.generation = read.number(per[1].data.generation)
	now.version = read.text(per[1].data.version) or "?"
	now.uptime, now.decisions = 0, 0
	for _, r in ipairs(per) do
		now.uptime = math.max(now.uptime, read.number(r.data.uptime_s))
		now.decisions = now.decisions + read.number(r.data.decisions)
		now.times = now.times or read.text(r.data.times)
	end
	now.counter.decisions = now.decisions
	now.per_second = rate(last, "decisions", now.decisions, now.seconds)
	observe_comms(now, last, read.ask(ctx, "comm list", { list = "comms" }) or {})
	observe_stats(now, last, read.ask(ctx, "stats", { list = "rows" }) or {})
	observe_ranks(now, read.ask(ctx, "sample tail count=" .. SAMPLES) or {})
	observe_policies(now, last, read.ask(ctx, "policy list") or {})
	local r = rollout.load(group)
	now.rollout = r and rollout.is_of(r, group) and r or nil
	observe_alerts(now, last, per, read.ask(ctx, "check agreement") or {})
	return now
end

-- ---- keys ------------------------------------------------------------------------------

-- Return the output of a command, for the page of a row. @text: stands above it, or nil
local function output(ctx, words, columns, text)
	local app = ctx.app
	local out, width = { text and format.lines(text .. "\n", columns) }, app.width
	app.capture, app.capture_err, app.width = out, out, columns
	local ok, err = pcall(app.run, app, words, { flags = { format = "table", yes = true,
		job = ctx.flags.job, pid = ctx.flags.pid, socket = ctx.flags.socket } })
	app.capture, app.capture_err, app.width = nil, nil, width
	if not ok then error(err, 0) end
	local lines = {}
	for line in table.concat(out):gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
	while lines[#lines] == "" do lines[#lines] = nil end
	return lines
end

local function move(ui, by)
	if ui.page then
		ui.page.from = math.max(1, math.min(ui.page.from + by, #ui.page.lines))
	else
		ui.at = math.max(1, ui.at + by)
	end
end

local keys = {
	q = function(ui) ui.done = true end,
	back = function(ui)
		if not ui.page then ui.table = 1 end
		ui.page = nil
	end,
	p = function(ui) ui.paused = not ui.paused end,
	space = function(ui) ui.paused = not ui.paused end,
	s = function(ui) ui.sort[ui.table] = (ui.sort[ui.table] or 1) + 1 end,
	r = function(ui) ui.reverse[ui.table] = not ui.reverse[ui.table] end,
	up = function(ui) move(ui, -1) end,
	down = function(ui) move(ui, 1) end,
	["page up"] = function(ui) move(ui, -ui.rows) end,
	["page down"] = function(ui) move(ui, ui.rows) end,
	home = function(ui) move(ui, -math.maxinteger) end,
	["end"] = function(ui) move(ui, 1 << 30) end,
	tab = function(ui) ui.page, ui.table, ui.at = nil, ui.table % #view.tables + 1, 1 end,
	["?"] = function(ui) ui.page = { title = "keys", from = 1, lines = view.help } end,
	enter = function(ui, ctx, columns)
		local words = not ui.page and ui.selected and ui.selected.command
		if words then
			ui.page = { title = table.concat(words, " "), from = 1,
				lines = output(ctx, words, columns, ui.selected.text) }
		end
	end,
}
keys.k, keys.j, keys.h = keys.up, keys.down, keys["?"]
for i = 1, #view.tables do
	keys[tostring(i)] = function(ui) ui.page, ui.table, ui.at = nil, i, 1 end
end
M.keys = keys

function M.new_ui() return { table = 1, at = 1, sort = {}, reverse = {}, rows = 10 } end

local function run(ctx, screen, every)
	local ui, now, failure, due = M.new_ui(), nil, nil, 0
	while not ui.done do
		if clock.now() >= due and not ui.paused then
			local ok, got = pcall(M.observe, ctx, now)
			if ok then
				now, failure = got, nil
			elseif errors.is(got) and got.code ~= "interrupted" then
				failure = got
			else
				error(got, 0)
			end
			due = clock.now() + every
		end
		local columns, rows = screen:size()
		screen:draw(view.rows(ui, now, failure, columns, rows))
		local left = math.max(0, due - clock.now())
		local key = screen:key(ui.paused and clock.times.long or left)
		local f = key and keys[key]
		if f then f(ui, ctx, columns) end
	end
end

function M.cmd_top(ctx)
	local every = ctx:duration("every", 0.1) or clock.times.top
	if not ctx.app.binary or not ctx.app.binary.screen then
		return errors.fail("refused", "only ncclbpf-shell can run top")
	end
	try(ctx:session())
	local screen = try(ctx.app.binary.screen())
	local ok, err = pcall(run, ctx, screen, every)
	screen:close()
	if not ok then error(err, 0) end
	return {}
end

return M
