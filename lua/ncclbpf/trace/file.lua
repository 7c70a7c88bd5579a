-- SPDX-License-Identifier: MIT
-- Write spans to a file: the Trace Event Format of Chrome and Perfetto, or one JSON object a line.
-- A rank is a process; a communicator's calls, its collectives, a channel's kernels, its network,
-- each peer of GIN and each queue pair are threads. The file is complete at any moment: its end
-- is written after each batch and overwritten by the next.
--
-- Events of a thread must be nested or apart, and sorted by their start. So they are kept for
-- half a second and sorted. An event that does not fit goes to a second thread of the same name.
--
-- Perfetto's JSON importer needs: numbered arrows, thread numbers that are unique across
-- processes, and no displayTimeUnit, which some versions take for the unit of timestamps.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local units = require "ncclbpf.base.units"

local M = {}
local Writer = {}
Writer.__index = Writer

local KEEP_NS = 500000000
local MOST = 16384 -- most events kept in memory for sorting
local BATCH = 256 << 10
local LANES = 8
local FOOT = "\n]}\n"

-- ---- the file --------------------------------------------------------------------

local function put(w, text)
	w.batch[#w.batch + 1] = text
	w.bytes = w.bytes + #text
end

-- Write new events and the end in one write, so that the file is complete for readers at any time.
local function flush(w)
	local foot = w.format == "chrome" and FOOT or ""
	local text = table.concat(w.batch)
	if #text == 0 and w.footed then return end
	w.batch, w.footed = {}, true
	local ok, why = w.f:seek("set", w.bytes - #text)
	if ok then ok, why = w.f:write(text .. foot) end
	if not ok then error(errors.new("io", ("%s: %s"):format(w.path, tostring(why))), 0) end
	w.flushed = w.bytes
end

-- Write one event; false: the file has no room for it.
local function line(w, text)
	if w.full then return false end
	local comma = w.format == "chrome" and (w.any and ",\n" or "\n") or ""
	if w.format == "ndjson" then text = text .. "\n" end
	if w.bytes + #comma + #text + #FOOT > w.limit then
		w.full = true
		return false
	end
	put(w, comma .. text)
	w.any = true
	return true
end

-- Create an empty file; raise an error if this fails.
local function begin(w)
	local f, why = io.open(w.path, "w")
	if not f then error(errors.new("cannot_create", why), 0) end
	f:setvbuf "no"
	w.f, w.bytes, w.flushed, w.batch, w.any, w.footed, w.full, w.processes, w.begun = f, 0, 0,
		{}, nil, nil, nil, {}, {}
	w.tids, w.arrows = 0, 0
	w.files = w.files + 1
	if w.format == "chrome" then
		put(w, ('{"otherData":%s,"traceEvents":['):format(core.encode {
			producer = "ncclbpf " .. core.version, job = w.job or "",
				clock = "CLOCK_MONOTONIC", started = core.time() }))
	end
	flush(w)
end

-- The file is full: rename it to PATH.1, the older PATH.1 to PATH.2, and so on; delete the oldest.
-- Each file is complete.
local function turn(w)
	w.full = nil
	flush(w)
	local good, why = w.f:close()
	w.f = nil
	for i = w.keep - 1, 1, -1 do
		local from = i == 1 and w.path or ("%s.%d"):format(w.path, i - 1)
		if good then os.rename(from, ("%s.%d"):format(w.path, i)) end
	end
	if not good then error(errors.new("io", ("%s: %s"):format(w.path, tostring(why))), 0) end
	begin(w)
end

-- Call @write(), which returns false if the file has no room. With keep=, start the next file
-- then.
local function roomy(w, write)
	if write() then return true end
	if not w.keep then return false end
	turn(w)
	return write()
end

-- @keep: number of files of @limit bytes, of which the oldest is deleted; nil: one file, then the
-- trace ends
function M.open(path, format, limit, job, keep)
	local w = setmetatable({ path = path, format = format, limit = limit, job = job,
		keep = keep, spans = 0, skipped = 0, files = 0,
		kept = {}, newest = 0, npids = 0 }, Writer)
	local ok, err = pcall(begin, w)
	if not ok then
		if w.f then w.f:close() end
		return nil, err
	end
	return w
end

-- ---- Chrome's format ---------------------------------------------------------------

local function us(ns) return ("%d.%03d"):format(ns // 1000, ns % 1000) end

local function process_of(w, member, rank)
	-- Make one track for each rank, even if a process has several ranks.
	local number = member.rank or rank
	local key = member.rank and tostring(member) or tostring(member) .. "/" .. rank
	local p = w.processes[key]
	if p then return p end
	p = { pid = number and number >= 0 and number or member.pid, tracks = {} }
	w.processes[key] = p
	local pid = ("pid %d%s"):format(member.pid,
		member.site and " of site " .. member.site or "")
	local name = number and number >= 0 and ("rank %d (%s)"):format(number, pid) or pid
	line(w, core.encode { ph = "M", name = "process_name", pid = p.pid, tid = 0,
		args = { name = name } })
	line(w, core.encode { ph = "M", name = "process_sort_index", pid = p.pid, tid = 0,
		args = { sort_index = p.pid } })
	return p
end

local function new_lane(w, p, t)
	w.tids = w.tids + 1
	local lane = { tid = w.tids, last = 0, stack = {} }
	t.lanes[#t.lanes + 1] = lane
	local name = #t.lanes == 1 and t.name or ("%s (%d)"):format(t.name, #t.lanes)
	line(w, core.encode { ph = "M", name = "thread_name", pid = p.pid, tid = lane.tid,
		args = { name = name } })
	line(w, core.encode { ph = "M", name = "thread_sort_index", pid = p.pid, tid = lane.tid,
		args = { sort_index = t.order * 64 + #t.lanes } })
	return lane
end

-- Does the interval [from, to] lie after or within the lane's last event?
local function fits(lane, from, to)
	if from < lane.last then return false end
	local s = lane.stack
	while #s > 0 and s[#s] <= from do s[#s] = nil end
	return #s == 0 or to <= s[#s]
end

local function lane_of(w, p, track, from, to)
	local t = p.tracks[track.name]
	if not t then
		t = { name = track.name, order = track.order, lanes = {} }
		p.tracks[track.name] = t
	end
	for _, lane in ipairs(t.lanes) do
		if fits(lane, from, to) then return lane, from, to end
	end
	if #t.lanes < (track.lanes or LANES) then return new_lane(w, p, t), from, to end
	-- If there are more concurrent events than lanes, use the lane that is free first,
	-- and shorten the event.
	local best = t.lanes[1]
	local free = math.huge
	for _, lane in ipairs(t.lanes) do
		local at = math.max(lane.last, lane.stack[1] or 0)
		if at < free then best, free = lane, at end
	end
	best.stack = {}
	return best, free, math.max(free, to), true
end

local function comm_name(s) return "comm " .. s.comm end

local function size_name(s)
	return s.coll and ("%s %s"):format(s.coll, units.bytes(s.bytes)) or nil
end

local function ran(s)
	return s.proto and s.algo and ("%s/%s"):format(s.algo, s.proto) or s.algo
end

local function common(s)
	return { comm = s.comm, bytes = s.bytes > 0 and s.bytes or nil, id = s.id }
end

local function task_args(s)
	local a = common(s)
	a.coll, a.algo, a.proto, a.channels, a.seq, a.decision = s.coll, s.algo, s.proto, s.channel,
		s.seq, s.decision
	a.source, a.tag = s.source, s.tag
	a.exec_us = s.exec_ns and s.exec_ns / 1000
	a.enqueue_us = (s.end_ns - s.start_ns) / 1000
	a.until_done_us = s.done_ns > s.start_ns and (s.done_ns - s.start_ns) / 1000 or nil
	if s.event == "p2p" then a.peer, a.seq, a.decision = s.peer, nil, nil end
	return a
end

-- Convert a span to events: out(track, name, args, from, to, flow). Without from and to, it has the
-- span's times.
local shape = {}

function shape.coll(s, out)
	local calls = { name = comm_name(s) .. " calls", order = 1 }
	local whole = { name = comm_name(s), order = 2 }
	out(calls, "enqueue " .. (size_name(s) or s.event), s.exec_ns and common(s) or task_args(s),
		nil, nil, s.exec_ns and "s")
	if not s.exec_ns then return end
	-- Use the latest known time as the end, because a modelled GPU may report a longer time
	-- than has passed.
	local from = math.max(s.done_ns - s.exec_ns, s.start_ns)
	out(whole, ("%s%s"):format(size_name(s) or s.event, ran(s) and " " .. ran(s) or ""),
		task_args(s), from, from + s.exec_ns, "f")
end
shape.p2p = shape.coll

function shape.kernel_ch(s, out)
	local args, from = common(s), nil
	args.channel = s.channel
	if s.gpu_stop_ns and s.gpu_stop_ns >= s.gpu_start_ns then
		args.gpu_start_ns, args.gpu_us = s.gpu_start_ns,
			(s.gpu_stop_ns - s.gpu_start_ns) / 1000
		from = math.max(s.end_ns - (s.gpu_stop_ns - s.gpu_start_ns), 0)
	end
	out({ name = ("%s kernels %d"):format(comm_name(s), s.channel), order = 10 + s.channel },
		"kernel", args, from)
end

function shape.proxy_op(s, out)
	local args = common(s)
	args.peer, args.channel = s.peer, s.channel
	out({ name = ("%s network %d %s"):format(comm_name(s), s.channel, s.send and "send"
		or "receive"), order = 300 + s.channel * 2 },
		("%s rank %d"):format(s.send and "to" or "from", s.peer), args)
end

function shape.proxy_step(s, out)
	local args = common(s)
	args.step = s.seq
	for _, k in ipairs { "gpu", "peer", "net", "flush" } do
		local v = s[k .. "_wait_ns"]
		if v and v > 0 then args[k .. "_wait_us"] = v / 1000 end
	end
	out({ name = comm_name(s) .. " steps", order = 200 }, ("step %d"):format(s.seq), args)
end

local function call(name)
	return function(s, out)
		out({ name = comm_name(s) .. " calls", order = 1 },
			name .. (s.coll and " " .. size_name(s) or ""), common(s))
	end
end
shape.group, shape.group_api, shape.kernel_launch = call "plan", call "group", call "launch"
shape.coll_api, shape.p2p_api = call "call", call "call"

-- Puts to a peer may overlap, so its track has more lanes than others.
local function peer_track(s)
	return { name = ("%s gin rank %d"):format(comm_name(s), s.peer), order = 900 + s.peer,
		lanes = 16 }
end

local function gin_args(s)
	local a = common(s)
	a.peer, a.context, a.number, a.puts, a.error = s.peer, s.context, s.seq, s.puts, s.error
	a.signal, a.signal_op, a.value = s.signal, s.signal_op, s.value
	a.held_us = s.held_ns and s.held_ns / 1000
	return a
end

-- Write a put as a slice from post to done: "put 4KiB", "put 4KiB, signal 3", "signal 3".
function shape.gin_put(s, out)
	local name = {}
	if s.bytes > 0 or not s.signal_op then name[1] = "put " .. units.bytes(s.bytes) end
	if s.signal_op then name[#name + 1] = ("signal %d"):format(s.signal) end
	out(peer_track(s), table.concat(name, ", "), gin_args(s))
end

function shape.gin_get(s, out)
	out(peer_track(s), "get " .. units.bytes(s.bytes), gin_args(s))
end

-- A peer's signal has no length, so viewers show it as an instant event.
function shape.gin_signal(s, out)
	out(peer_track(s), ("signal %d arrived"):format(s.signal), gin_args(s))
end

-- Return the track of a queue pair, beside the kernel's track of it. Messages may overlap.
local function qp_track(s, who)
	return { name = ("%s%s queue pair %d"):format(who, s.device, s.qp), lanes = 16,
		order = 2000 + s.qp % 65536 * 2 + (who == "" and 0 or 1) }
end

local function qp_args(s)
	return { qp = s.qp, device = s.device, bytes = s.bytes, status = s.status,
		error = s.error, peer_qp = s.peer_qp, requests = s.requests,
		outstanding = s.outstanding }
end

local function done_name(s, what)
	return s.status ~= 0 and ("failed, status %d"):format(s.status) or what
end

-- names of the kernel's calls for a queue pair (trace rdma)
local KERNEL = { kernel_create = "create", kernel_destroy = "destroy", kernel_post = "post" }
local function kernel(s, out)
	local name = KERNEL[s.event]
	if s.event == "kernel_change" then
		name = s.to and "to " .. s.to or "change"
	elseif s.event == "kernel_done" then
		name = done_name(s, s.send and "sent" or "received")
	end
	out(qp_track(s, "kernel: "), name, qp_args(s))
end
for _, event in ipairs { "create", "change", "destroy", "post", "done" } do
	shape["kernel_" .. event] = kernel
end

-- Write the tap's events of a queue pair.
function shape.verbs_qp(s, out)
	out(qp_track(s, ""), s.to and "to " .. s.to or s.phase, qp_args(s))
end

function shape.verbs_post(s, out)
	out(qp_track(s, ""), "post " .. s.operation, qp_args(s))
end

-- Write a message as a slice from post to completion: "write 4KiB".
function shape.verbs_done(s, out)
	out(qp_track(s, ""), done_name(s, ("%s %s"):format(s.operation, units.bytes(s.bytes))),
		qp_args(s))
end

local SLICE = '{"ph":"X","name":%s,"cat":"%s","pid":%d,"tid":%d,"ts":%s,"dur":%s,"args":%s}'
local ARROW = ',\n{"ph":"%s","name":"runs","cat":"flow","id":%d,%s"pid":%d,"tid":%d,"ts":%s}'

local function slice(w, e)
	local p = process_of(w, e.member, e.rank)
	local lane, from, to, moved = lane_of(w, p, e.track, e.from, e.to)
	local args = moved and ('{"moved_us":%.3f,'):format((from - e.from) / 1000)
		.. e.args:sub(2) or e.args
	local text = SLICE:format(core.encode(e.name), e.cat, p.pid, lane.tid, us(from),
		us(to - from), args)
	local flow = e.flow and ("%d.%d"):format(p.pid, e.id)
	-- An arrow (flow) cannot lead from one file to the next.
	local arrow = flow and (w.begun[flow] or e.flow == "s" and w.arrows + 1)
	if arrow then
		text = text .. ARROW:format(e.flow, arrow, e.flow == "f" and '"bp":"e",' or "",
			p.pid, lane.tid, us(from))
	end
	if not line(w, text) then return false end
	if flow and e.flow == "s" then
		w.arrows, w.begun[flow] = arrow, arrow
	elseif flow then
		w.begun[flow] = nil
	end
	lane.last = from
	lane.stack[#lane.stack + 1] = to
	return true
end

-- Write the events that no older event can precede, and the events above MOST. An older event
-- that comes later then uses a second lane.
local function settle(w, till)
	table.sort(w.kept, function(a, b)
		if a.from ~= b.from then return a.from < b.from end
		-- Sort the longer event first, because it contains the other. A flow ends after
		-- its start.
		if (a.flow == "f") ~= (b.flow == "f") then return b.flow == "f" end
		return a.to > b.to
	end)
	local n, rest = 0, {}
	for i, e in ipairs(w.kept) do
		if e.from > till and #w.kept - i < MOST then
			rest = table.move(w.kept, i, #w.kept, 1, {})
			break
		end
		if not roomy(w, function() return slice(w, e) end) then break end
		n = i
		if w.bytes - w.flushed > BATCH then flush(w) end
	end
	w.skipped = w.skipped + (w.full and #w.kept - n or 0)
	w.kept = w.full and {} or rest
end

-- ---- adding ------------------------------------------------------------------------

local function add_ndjson(w, list, member)
	for _, s in ipairs(list) do
		s.schema, s.job, s.rank, s.pid = "ncclbpf.trace/1", w.job, member.rank
			or s.comm_rank, member.pid
		s.site = member.site
		local text = core.encode(s)
		if not roomy(w, function() return line(w, text) end) then return false end
		w.spans = w.spans + 1
	end
	return true
end

local function add_chrome(w, list, member)
	for _, s in ipairs(list) do
		local make = shape[s.event]
		if make and s.end_ns >= s.start_ns then
			make(s, function(track, name, args, from, to, flow)
				-- Text takes a fraction of a table's memory.
				w.kept[#w.kept + 1] = { track = track, name = name, id = args.id,
					args = core.encode(args), from = from or s.start_ns,
					to = to or s.end_ns, flow = flow, member = member,
					rank = s.comm_rank, cat = s.event }
			end)
			w.spans = w.spans + 1
			w.newest = math.max(w.newest, s.end_ns)
		end
	end
	settle(w, w.newest - KEEP_NS)
	return not w.full
end

-- Write @list, the spans of one process. Return false if the file is full. Raise the error of a
-- failed write.
function Writer:add(list, member)
	if self.full then return false end
	local good
	if self.format == "ndjson" then
		good = add_ndjson(self, list, member)
	else
		good = add_chrome(self, list, member)
	end
	flush(self)
	return good
end

-- -> true | nil, err
function Writer:close()
	if not self.f then return true end
	local ok, err = pcall(function()
		if self.format == "chrome" then settle(self, math.maxinteger) end
		flush(self)
		if self.format == "chrome" then self.bytes = self.bytes + #FOOT end
	end)
	local good, why = self.f:close()
	self.f = nil
	if not ok then return nil, err end
	if not good then
		return errors.fail("io", "%s: %s", self.path, tostring(why))
	end
	return true
end

return M
