-- SPDX-License-Identifier: MIT
-- trace calls: three times of each collective side by side: CPU time in NCCL's call, execution on
-- GPU or network, wall time. Uprobes time the call if the kernel permits, otherwise NCCL's own
-- events; the rest comes from the profiler.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local kernel = require "ncclbpf.trace.kernel"
local permission = require "ncclbpf.trace.permission"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- ---- uprobes ---------------------------------------------------------------------

-- Return the path of the libnccl or librccl that a process has mapped, through the process's root
-- folder.
local function library(pid)
	local text = core.read(("/proc/%d/maps"):format(pid), 16 << 20)
	local path = text and text:match "(/[^\n]*lib[nr]ccl%.so[^\n]*)\n"
	return path and ("/proc/%d/root%s"):format(pid, path)
end

-- Start the kernel's probes of the processes' calls. -> probes | nil, reason
local function probes(s)
	local list, not_ours = {}, permission.missing()
	if not_ours then return nil, not_ours end
	for _, m in ipairs(s:living()) do
		local path = not m.unseen and library(m.pid)
		if not path then
			return nil, ("pid %d has no libnccl.so or librccl.so that can be seen")
				:format(m.pid)
		end
		list[#list + 1] = { m.pid, path }
	end
	local p, err = core.calls(list)
	if p then return p end
	return nil, err.message
end

-- ---- calls ---------------------------------------------------------------------

local GROUP = { ncclGroupStart = 1, ncclGroupEnd = -1 }

-- Combine the calls of a thread into units: a single call, or a group from its start to its end.
-- { start_ns, end_ns, cpu_ns, off_ns, colls, func }
local function units_of(calls)
	table.sort(calls, function(a, b) return a.start_ns < b.start_ns end)
	local threads, out = {}, {}
	for _, c in ipairs(calls) do
		local key = ("%d.%d"):format(c.pid, c.tid)
		local t = threads[key] or { depth = 0 }
		threads[key] = t
		if t.depth == 0 then
			t.unit = { pid = c.pid, tid = c.tid, start_ns = c.start_ns, cpu_ns = 0,
				off_ns = 0, longest_off_ns = 0, colls = 0, func = c.func }
		end
		local u = t.unit
		u.end_ns, u.cpu_ns, u.off_ns = c.end_ns, u.cpu_ns + c.end_ns - c.start_ns,
			u.off_ns + c.off_ns
		u.longest_off_ns = math.max(u.longest_off_ns, c.longest_off_ns)
		if not GROUP[c.func] then u.colls, u.func = u.colls + 1, c.func end
		t.depth = math.max(0, t.depth + (GROUP[c.func] or 0))
		if t.depth == 0 then out[#out + 1] = u end
	end
	return out
end

-- Return the units of NCCL's events: the outermost group is one unit.
local function units_of_events(spans)
	local out, groups = {}, {}
	for _, s in ipairs(spans) do
		if s.event == "group_api" or s.event == "coll_api" and not groups[s.parent] then
			local u = { pid = s.pid, tid = s.seq, start_ns = s.start_ns,
				end_ns = s.end_ns, cpu_ns = s.end_ns - s.start_ns, off_ns = 0,
				colls = 0 }
			if s.event == "group_api" then groups[s.id] = u end
			out[#out + 1] = u
		end
	end
	table.sort(out, function(a, b) return a.start_ns < b.start_ns end)
	return out
end

-- Find the unit of a process that enqueued a collective.
local function finder(list)
	local by = {}
	for _, u in ipairs(list) do
		lists.push(by, u.pid, u)
	end
	return function(s)
		local t = by[s.pid] or {}
		local lo, hi = 1, #t
		while lo <= hi do
			local mid = (lo + hi) // 2
			if t[mid].start_ns <= s.start_ns then lo = mid + 1 else hi = mid - 1 end
		end
		-- Calls of several threads overlap, so the call that enqueued s may be one of the
		-- calls before the latest one.
		for i = hi, math.max(1, hi - 16), -1 do
			if t[i].end_ns >= s.start_ns then return t[i] end
		end
	end
end

-- ---- three clocks ------------------------------------------------------------------

local function pick(list, q)
	table.sort(list)
	return list[math.max(1, math.ceil(#list * q))]
end

local function clocks(colls, find)
	local rows, order, matched = {}, {}, {}
	for _, s in ipairs(colls) do
		local u = find(s)
		if u then
			matched[s] = u
			u.found = (u.found or 0) + 1
		end
	end
	for _, s in ipairs(colls) do
		local u = matched[s]
		if u and s.exec_ns then
			local cpu = u.cpu_ns // math.max(u.found, 1)
			local wall = math.max(s.done_ns - u.start_ns, s.exec_ns, cpu)
			-- Add the two times, but count their overlap once.
			local both = math.max(0, math.min(u.end_ns, s.done_ns) - math.max(
				u.start_ns, s.done_ns - s.exec_ns))
			local seen = math.min(wall, math.max(
				cpu + s.exec_ns - both, s.exec_ns, cpu))
			local key = ("%s %d"):format(s.coll or "?", s.bytes)
			local r = rows[key] or lists.add(order, rows, key, {
				coll = s.coll, bytes = s.bytes, count = 0, wall = {},
					cpu = {}, exec = {}, before = {}, now = {},
					source = s.source })
			r.count = r.count + 1
			r.wall[r.count], r.cpu[r.count], r.exec[r.count] = wall, cpu, s.exec_ns
			r.before[r.count], r.now[r.count] = 1 - cpu / wall, seen / wall
		end
	end
	table.sort(order, lists.by("coll", "bytes"))
	return lists.map(order, function(r)
		return { coll = r.coll, bytes = r.bytes, count = r.count,
			wall_p50_ns = pick(r.wall, 0.5), cpu_p50_ns = pick(r.cpu, 0.5),
			cpu_p99_ns = pick(r.cpu, 0.99),
			exec_p50_ns = pick(r.exec, 0.5), source = r.source,
				unseen_before_pct = 100 * pick(r.before, 0.5),
				seen_now_pct = 100 * pick(r.now, 0.5) }
	end)
end

-- Return the calls with the longest time off the CPU.
local function outliers(list, most)
	local t = lists.select(list, function(u) return u.off_ns > 0 end)
	table.sort(t, function(a, b) return a.off_ns > b.off_ns end)
	return table.move(t, 1, math.min(#t, most), 1, {}), #t
end

local us = kernel.us
local function pct(v) return v and ("%.2f"):format(v) end

local EVENTS = "trace start events=coll,kernel_ch,proxy_op,group_api,coll_api follow=yes"

local function collect(s, seconds, p)
	local colls, events, calls = {}, {}, {}
	local lost, dropped = try(kernel.follow(s, EVENTS, seconds, p, function(list, member)
		for _, x in ipairs(list) do
			x.pid = member.pid
			local to = x.event == "coll" and colls
				or (x.event == "group_api" or x.event == "coll_api") and events
			if to then to[#to + 1] = x end
		end
		return #colls > 200000
	end, function(list) table.move(list, 1, #list, #calls + 1, calls) end))
	return { colls = colls, events = events, calls = calls, lost = lost, dropped = dropped }
end

function M.cmd_calls(ctx)
	local seconds = kernel.seconds(ctx)
	local uprobes = ctx:yes("uprobes", true)
	local s = try(ctx:session())
	local p, why
	if uprobes then p, why = probes(s) end
	local got = try(collect(s, seconds, p))
	local list, clock
	if p and #got.calls > 0 then
		list, clock = units_of(got.calls), "uprobes"
	elseif #got.events > 0 then
		list, clock = units_of_events(got.events), "NCCL's events of the call"
	else
		list, clock = {}, "NCCL's events of the enqueuing"
		for i, c in ipairs(got.colls) do
			list[i] = { pid = c.pid, start_ns = c.start_ns, end_ns = c.end_ns,
				cpu_ns = c.end_ns - c.start_ns, off_ns = 0, colls = 1 }
		end
	end
	local rank = kernel.ranks(s)
	local rows = clocks(got.colls, finder(list))
	local slow, n = outliers(list, 5)
	local foot = {}
	if p and n > 0 then
		foot[1] = ("%d of %d calls were off the CPU; the longest:"):format(n, #list)
		for _, u in ipairs(slow) do
			foot[#foot + 1] = (
				"  %s of %sthread %d: %s us, " ..
				"of which %s us not running (at most %s us at once)"):format(u.func,
				rank[u.pid] and ("rank %d, "):format(rank[u.pid]) or "", u.tid,
					us(u.end_ns - u.start_ns), us(u.off_ns),
					us(u.longest_off_ns))
		end
	end
	if why then foot[#foot + 1] = "note: no uprobes: " .. why end
	kernel.add_losses(foot, got.dropped, "calls", got.lost)
	if #rows == 0 and #got.colls > 0 then
		foot[#foot + 1] = (
			"note: none of %d collectives could be matched with its call"):format(
			#got.colls)
	end
	local slowest = core.array(lists.map(slow, function(u)
		return { func = u.func, rank = rank[u.pid], pid = u.pid, tid = u.tid,
			start_ns = u.start_ns, ns = u.end_ns - u.start_ns, off_ns = u.off_ns,
			longest_off_ns = u.longest_off_ns }
	end))
	local result = {
		schema = "trace.calls/1", rows = rows, id = "coll",
		empty = "no collective ended meanwhile", foot = foot,
		head = ("CPU calls timed by %s; WALL: from call to end of the collective; medians"
			):format(clock),
		data = { clock = p and #got.calls > 0 and "uprobes" or #got.events > 0
			and "api_events" or "enqueue", why = why, rows = core.array(rows),
			calls = #list,
			off_cpu = { calls = n, longest = slowest }, dropped = got.dropped,
			lost = got.lost },
		columns = {
			{ "coll" }, { "bytes", title = "SIZE", num = true, show = units.bytes },
			{ "count", num = true },
			{ "wall_p50_ns", title = "WALL us", num = true, show = us },
			{ "cpu_p50_ns", title = "CPU CALL us", num = true, show = us },
			{ "cpu_p99_ns", title = "CPU P99 us", num = true, wide = true, show = us },
			{ "exec_p50_ns", title = "EXECUTION us", num = true, show = us },
			{ "source" },
			{ "unseen_before_pct", title = "UNSEEN BEFORE %", num = true, show = pct },
			{ "seen_now_pct", title = "SEEN NOW %", num = true, show = pct },
		},
	}
	if ctx.opt.out then
		local text = format.render(result, { format = "json", target = s:label() })
		try(core.write(ctx.opt.out, text))
		foot[#foot + 1] = "written: " .. ctx.opt.out
	end
	return result
end

return M
