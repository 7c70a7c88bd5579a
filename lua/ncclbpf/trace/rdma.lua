-- SPDX-License-Identifier: MIT
-- trace rdma: the kernel's calls for the queue pairs of a job, beside what the tap counts, and in
-- one file with the events of NCCL's profiler. All adapters show the life of their queue pairs;
-- SoftRoCE alone shows doorbells and completions, because its data path is in the kernel.
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local kernel = require "ncclbpf.trace.kernel"
local permission = require "ncclbpf.trace.permission"
local read = require "ncclbpf.job.read"
local tracefile = require "ncclbpf.trace.file"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

-- ---- the kernel's programs -----------------------------------------------------------

-- Return the queue pairs that libncclbpf-verbs.so has seen, by process:
-- { pid, tap = is the library open there, qps = { {qp, device, ...} } }
local function queue_pairs(ctx)
	local per = try(read.ask(ctx, "verbs", { list = "queue_pairs" }))
	local out = {}
	for i, r in ipairs(per) do
		out[i] = { pid = r.member.pid, tap = r.data.tap == true, qps = {} }
		for _, q in ipairs(read.list(r.data, "queue_pairs")) do
			local device = read.text(q.device)
			if device then
				table.insert(out[i].qps, { qp = read.number(q.qp),
					device = device, sends = read.number(q.sends),
					receives = read.number(q.receives),
					outstanding = read.number(q.outstanding) })
			end
		end
	end
	return out
end

local function probes(processes)
	local why = permission.missing(true)
	if not why then
		local p, err = core.rdma(processes)
		if p then return p end
		why = not core.read("/sys/module/ib_core/initstate", 16)
			and "this kernel has no InfiniBand: the module ib_core is not loaded"
			or err.message
	end
	return nil, errors.new("not_supported", "trace rdma: " .. why, {
		hint = "verbs has the counters of the tap, which needs no permission" })
end

-- ---- what was seen -------------------------------------------------------------------

local function key_of(pid, device, qp) return ("%d %s %d"):format(pid, device:sub(1, 27), qp) end

-- Return a row for each queue pair; @events in the order of time.
local function rows_of(events, before, after, rank)
	local rows, order = {}, {}
	local function row(pid, device, qp)
		local key = key_of(pid, device, qp)
		return rows[key] or lists.add(order, rows, key, { pid = pid, rank = rank[pid],
			device = device, qp = qp, changes = 0, change_ns = 0, posts = 0,
			post_ns = 0, completions = 0, failed = 0 })
	end
	for _, e in ipairs(events) do
		local r = e.error == 0 and row(e.pid, e.device, e.qp)
		if not r then
			-- A failed call may have no number, because its queue pair was not
			-- created.
			if e.event ~= "create" then
				r = row(e.pid, e.device, e.qp)
				r.failed = r.failed + 1
			end
		elseif e.event == "create" then
			r.created_ns, r.create_ns = e.start_ns, e.end_ns - e.start_ns
		elseif e.event == "change" then
			r.changes, r.change_ns = r.changes + 1, r.change_ns + e.end_ns - e.start_ns
			if e.to == "INIT" or e.to == "RTR" or e.to == "RTS" then
				r[ascii.lower(e.to) .. "_ns"] = r.created_ns
					and e.end_ns - r.created_ns or nil
			end
		elseif e.event == "destroy" then
			r.destroyed = true
		elseif e.event == "post" then
			r.posts, r.post_ns = r.posts + 1, r.post_ns + e.end_ns - e.start_ns
		else
			r.completions = r.completions + 1
			if e.status ~= 0 then r.failed = r.failed + 1 end
		end
	end
	local counted = {}
	for _, p in ipairs(before) do
		for _, q in ipairs(p.qps) do counted[key_of(p.pid, q.device, q.qp)] = q end
	end
	for _, p in ipairs(after) do
		for _, q in ipairs(p.qps) do
			local b = counted[key_of(p.pid, q.device, q.qp)]
			local r = row(p.pid, q.device, q.qp)
			if r.created_ns then b = nil end -- a new queue pair has the same number
			r.tap_sends = q.sends - (b and b.sends or 0)
			r.tap_completions = q.sends + q.receives - q.outstanding
				- (b and b.sends + b.receives - b.outstanding or 0)
		end
	end
	table.sort(order, lists.by("rank", "device", "qp"))
	return order
end

-- Return the events as spans of the trace file.
local function spans_of(events)
	return lists.map(events, function(e)
		return { event = "kernel_" .. e.event, comm_rank = -1, start_ns = e.start_ns,
			end_ns = e.end_ns, device = e.device, qp = e.qp, to = e.to,
			status = e.status, bytes = e.bytes, send = e.send,
			error = e.error ~= 0 and e.error or nil }
	end)
end

-- ---- the command -----------------------------------------------------------------------

local function collect(s, p, seconds, w)
	local events, of, full = {}, {}, false
	for _, m in ipairs(s:living()) do of[m.pid] = m end
	local function write(list, member)
		full = w and not w:add(list, member) or full
		return full
	end
	local function take(got)
		local by = {}
		for _, e in ipairs(got) do
			events[#events + 1] = e
			lists.push(by, e.pid, e)
		end
		for pid, list in pairs(w and by or {}) do write(spans_of(list), of[pid]) end
		return full or #events > 1000000
	end
	local lost, dropped = kernel.follow(s, "trace start follow=yes", seconds, p, write, take)
	if not lost then return nil, dropped end
	table.sort(events, function(a, b) return a.end_ns < b.end_ns end)
	return { events = events, lost = lost, dropped = dropped, full = full }
end

local us = kernel.us

local COLUMNS = {
	{ "rank", num = true }, { "pid", num = true, wide = true }, { "device" },
	{ "qp", num = true },
	{ "create_ns", title = "CREATE us", num = true, show = us },
	{ "init_ns", title = "INIT us", num = true, show = us },
	{ "rtr_ns", title = "RTR us", num = true, show = us },
	{ "rts_ns", title = "RTS us", num = true, show = us },
	{ "change_ns", title = "IN CHANGES us", num = true, show = us },
	{ "posts", title = "KERNEL POSTS", num = true },
	{ "tap_sends", title = "TAP SENDS", num = true },
	{ "completions", title = "KERNEL DONE", num = true },
	{ "tap_completions", title = "TAP DONE", num = true },
	{ "failed", num = true },
	{ "destroyed", title = "ENDED", show = function(v) return v and "yes" or "no" end },
}

local function feet(rows, got, tap, w)
	local foot, sends, posts = {}, 0, 0
	for _, r in ipairs(rows) do
		sends, posts = sends + (r.tap_sends or 0), posts + r.posts
	end
	if sends > 0 and posts == 0 then
		foot[1] = "note: these adapters post and complete in the memory of processes: "
			.. "the kernel sees only how queue pairs begin, change and end; "
			.. "the tap sees all"
	end
	if not tap then
		foot[#foot + 1] =
			"note: no tap is loaded (NCCLBPF_VERBS=on): only the kernel's side is shown"
	end
	kernel.add_losses(foot, got.dropped, "events", got.lost)
	if got.full then
		foot[#foot + 1] = ("note: stopped at %s"):format(units.bytes(w.limit))
	end
	if w then foot[#foot + 1] = ("written: %s, %d events"):format(w.path, w.spans) end
	return foot
end

function M.cmd_rdma(ctx)
	local seconds = kernel.seconds(ctx)
	local s = try(ctx:session())
	local before = queue_pairs(ctx)
	local p = try(probes(before))
	local w
	if ctx.opt.out then
		local why
		w, why = tracefile.open(ctx.opt.out, "chrome", 256 << 20, s.job)
		if not w then
			p:close()
			return nil, why
		end
	end
	local ok, got, err = pcall(collect, s, p, seconds, w)
	if w then
		local closed, why = w:close()
		if ok and got and not closed then return nil, why end
	end
	if not ok then error(got, 0) end
	if not got then return nil, err end
	local rank, tap = kernel.ranks(s), false
	for _, q in ipairs(before) do tap = tap or q.tap end
	local after_ok, after = pcall(queue_pairs, ctx) -- the job may have ended
	local rows = rows_of(got.events, before, after_ok and after or {}, rank)
	local sums = { created = 0, changed = 0, destroyed = 0, posts = 0, completions = 0 }
	local COUNT = { create = "created", change = "changed", destroy = "destroyed",
		post = "posts", done = "completions" }
	for _, e in ipairs(got.events) do
		if e.error == 0 then sums[COUNT[e.event]] = sums[COUNT[e.event]] + 1 end
	end
	return {
		schema = "trace.rdma/1", rows = rows, columns = COLUMNS,
		id = function(r) return key_of(r.pid, r.device, r.qp) end,
		head = ("kernel: %d queue pairs created, %d changes, %d destroyed; %d posts, "
			.. "%d completions"):format(sums.created, sums.changed, sums.destroyed,
			sums.posts, sums.completions),
		empty = "no queue pair was created, changed or used during the trace",
		foot = feet(rows, got, tap, w),
		data = { kernel = sums, rows = core.array(rows), dropped = got.dropped,
			lost = got.lost, tap = tap },
	}
end

return M
