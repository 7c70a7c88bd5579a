-- SPDX-License-Identifier: MIT
-- trace start, stop, status: events of NCCL's profiler and of GIN. Processes send them
-- (plugin/control/commands/trace.c); the shell writes Chrome's trace format (trace/file.lua) or
-- JSON lines.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local gin = require "ncclbpf.trace.gin"
local merge = require "ncclbpf.job.merge"
local profiler = require "ncclbpf.job.profiler"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local tracefile = require "ncclbpf.trace.file"
local units = require "ncclbpf.base.units"

local try = errors.try
local M = {}

local SIGNAL_OPS = { "increment", "add" }

-- Read the fields of a GIN operation, or of a signal that arrived.
local function gin_span(s)
	s.context, s.channel, s.send, s.parent = s.channel, nil, nil, nil
	s.signal_op = SIGNAL_OPS[s.x1]
	if s.signal_op then s.signal, s.value = s.x2, s.x3 end
	if s.event == "gin_signal" then
		s.puts, s.context, s.seq = s.x0, nil, nil
	else
		s.held_ns = read.number(s.x0) > 0 and s.x0 or nil
		s.error = s.error ~= 0 and s.error or nil
	end
end

local STATES = { [0] = "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" }
-- Operations of posts (enum ibv_wr_opcode) and of completions (enum ibv_wc_opcode) on send queues
local POSTED = { [0] = "write", "write", "send", "send", "read", "atomic", "atomic" }
local SENT = { [0] = "send", "write", "read", "atomic", "atomic" }
local PHASES = { [0] = "create", [2] = "change", [3] = "destroy" }

-- Read the fields of a queue pair's event.
local function verbs_span(s)
	s.qp, s.seq, s.peer, s.channel, s.parent, s.id, s.comm = s.seq, nil, nil, nil, nil, nil, nil
	s.error = s.error ~= 0 and s.error or nil
	if s.event == "verbs_qp" then
		s.phase, s.send, s.bytes = PHASES[s.x1], nil, nil
		s.to = s.phase == "change" and (STATES[s.x0] or tostring(s.x0)) or nil
		s.peer_qp = s.x2 ~= 0 and s.x2 or nil
	else
		local words = s.event == "verbs_done" and SENT or POSTED
		s.operation = s.send and (words[s.x0] or "operation " .. s.x0) or "receive"
		s.requests, s.outstanding = s.x1, s.x2
		s.status = s.event == "verbs_done" and s.x3 or nil
		-- A failed completion has no opcode.
		if s.status and s.status ~= 0 and s.send then s.operation = nil end
	end
end

-- Convert a received array to a table by field names. The meaning of some fields depends on the
-- event.
local function span_of(fields, a)
	local s = {}
	for i, name in ipairs(fields) do s[name] = a[i] end
	for k, v in pairs(s) do
		if v == core.null then s[k] = nil end
	end
	if s.event == "coll" or s.event == "p2p" then
		s.exec_ns = read.number(s.x0) > 0 and s.x0 - 1 or nil
		s.source, s.done_ns = s.exec_ns and s.x1 or nil, s.x2
	elseif s.event == "kernel_ch" then
		if read.number(s.x1) > 0 then s.gpu_start_ns, s.gpu_stop_ns = s.x0, s.x1 end
	elseif s.event == "proxy_step" then
		s.gpu_wait_ns, s.peer_wait_ns, s.net_wait_ns, s.flush_wait_ns = s.x0, s.x1, s.x2,
			s.x3
	elseif s.event and s.event:find "^gin_" then
		gin_span(s)
	elseif s.event and s.event:find "^verbs_" then
		verbs_span(s)
	end
	s.x0, s.x1, s.x2, s.x3 = nil, nil, nil, nil
	return s
end

local TIMES = { "start_ns", "end_ns", "done_ns" }

-- Hosts start their monotonic clocks at different times. Move the times of a site's events to the
-- clock of the first host that answered, by the wall clocks. Processes of one host have one clock.
local function clocks(s)
	local first, by = nil, {}
	return function(member, wall)
		local site = s and s.fleet and s.sites[member.site]
		if not site or math.type(wall) ~= "integer" then return 0 end
		local host = site.host or member.site
		first = first or wall
		by[host] = by[host] or wall - first
		return by[host]
	end
end

local function move(span, ns)
	for _, k in ipairs(TIMES) do
		if math.type(span[k]) == "integer" then span[k] = span[k] + ns end
	end
	return span
end

-- Read the ring of the process @m from event number @from (nil: its oldest). take(data, m) gets
-- each answer, and ends the reading by returning true. At most one ring's length is read, because
-- the process may write faster than the shell reads. -> true | nil, err
local function read_ring(s, m, from, take)
	local bound
	while true do
		local line = "trace read" .. (from and " after=" .. tostring(from) or "")
		local r = s:ask(line, { members = { m } })[1]
		if r.err then return nil, r.err end
		local to = read.number(r.data.next)
		bound = bound or to + 32768
		if take(r.data, m) or r.data.more ~= true or to > bound or from and to <= from then
			return true
		end
		from = to
	end
end

-- Ask all @members at once which of them answer: asked one after the other, each stopped process
-- would cost a time limit of its own. -> list of those that answered, failures of the others
local function answering(s, members)
	local list, failures = {}, {}
	for _, r in ipairs(s:ask("trace status", { members = members })) do
		if r.err then failures[#failures + 1] = r else list[#list + 1] = r.member end
	end
	return list, failures
end

-- Parse the lines of the processes' streams; keep their field names and losses. @s: the target; nil
-- if all of its processes have the same clock
-- -> take(line's data, member), losses(), rest(target, events=) -> true | nil, err.
-- After the streams have ended, rest reads the events that came behind their last lines, from one
-- process after the other: the answers of all together may not fit into the shell's memory.
local function taker(each, s)
	local of, clock, full = {}, clocks(s), false
	local function parse(data, member, st, wanted)
		st.fields = type(data.fields) == "table" and data.fields or st.fields
		st.ahead = st.ahead or clock(member, data.wall_ns)
		st.next = read.number(data.next)
		-- a stream counts all that it has lost, an answer what it lacks itself
		local before = wanted and st.lost or 0
		st.lost = before + read.number(data.lost)
		if not wanted then st.left_out = read.number(data.left_out) end
		if not st.fields then return end
		local list = lists.map(read.list(data, "spans"), function(a)
			return move(span_of(st.fields, a), st.ahead)
		end)
		full = each(wanted and lists.select(list, wanted) or list, member) or full
		return full
	end
	-- Take a line or an answer as a whole: Ctrl-C waits. @wanted: which events of an answer
	local function whole(data, member, wanted)
		core.hold(true)
		local st = of[member] or { lost = 0, left_out = 0 }
		of[member] = st
		local ok, enough = pcall(parse, data, member, st, wanted)
		core.hold(false)
		if not ok then error(enough, 0) end
		return enough
	end
	local function losses()
		local lost, left_out = 0, 0
		for _, st in pairs(of) do
			lost, left_out = lost + st.lost, left_out + st.left_out
		end
		return lost, left_out
	end
	local function rest(target, events)
		local list = events and "," .. events .. ","
		local function wanted(span)
			return not list or list:find("," .. tostring(span.event) .. ",", 1, true)
		end
		if full then return true end
		local all = lists.select(target:living(), function(m) return of[m] end)
		local members, failures = answering(target, all)
		for _, m in ipairs(members) do
			local ok, err = read_ring(target, m, of[m].next, function(data)
				return whole(data, m, wanted)
			end)
			if not ok then failures[#failures + 1] = { member = m, err = err } end
			if full then break end
		end
		local err = session.sum_up(failures, #all)
		return not err or nil, err
	end
	return function(data, member) return whole(data, member) end, losses, rest
end
M.taker = taker

-- Send the request @line to all processes of @s and call @take for each line, then @rest; both are
-- those of one taker. @events: of the request, a list with commas; nil: all. @opts: of follow.
-- M.followed raises no error; one Ctrl-C or several only end it. -> was there a Ctrl-C, true, true,
-- err if processes did not tell their last events | false, true, nil, err if one refused the
-- request | false, false, the error that was raised
function M.followed(s, line, take, rest, events, opts)
	local interrupted, ok, good, failure = core.settled(s.follow, s, line, take, opts)
	if ok and not good or not ok and not interrupted then
		return false, ok, good, failure
	end
	local again, fine, whole, err = core.settled(rest, s, events)
	if not fine and not again then return false, false, whole end
	return interrupted or again, true, true, err
end

-- ---- options ---------------------------------------------------------------------

local function options(ctx)
	local o = { file = ctx.opt.out, size = 256 << 20,
		format = ctx:word("format", { "chrome", "ndjson" }) or "chrome",
		keep = ctx:whole("keep", 1, 1000), seconds = ctx:duration("seconds", 0.001) }
	if ctx.opt.size then
		o.size = units.size(ctx.opt.size)
		if not o.size or o.size < 4096 then
			return errors.fail("usage",
				"size=%s must be a size of 4K or more, such as 64M", ctx.opt.size)
		end
	end
	if not o.file then
		for _, k in ipairs { "format", "size", "seconds", "keep" } do
			if ctx.opt[k] then
				return errors.fail("usage", "%s= needs out=FILE", k)
			end
		end
	end
	return o
end

local function line_of(words, ctx)
	return words .. (ctx.opt.events and " events=" .. session.quote(ctx.opt.events) or "")
end

-- Return the error of a trace that lacks members, or nil.
local function missing(s)
	local list = {}
	for _, m in ipairs(s.members) do
		if m.lost then list[#list + 1] = { member = m, err = m.lost } end
	end
	local err = session.sum_up(list, #s.members)
	local has = "the file has the events of the other processes"
	return err and errors.new(err.code, err.message,
		{ hint = err.hint and has .. "; " .. err.hint or has })
end

-- ---- what is told ------------------------------------------------------------------

local WHY = {
	size = "the file's limit is reached", seconds = "traced for the requested time",
	interrupted = "interrupted", gone = "the job has ended", ring =
		"copied all events in the rings",
}

local function summary(w, why, lost, left_out, notes, kernels)
	local d = { file = w.path, format = w.format, files = w.files, spans = w.spans,
		bytes = w.bytes, skipped = w.skipped, lost = lost, left_out = left_out,
		ended = why }
	local foot = {}
	d.gin = kernels:rows()
	if d.gin then
		foot = gin.notes(d.gin)
		d.gin = core.array(d.gin)
	end
	if lost > 0 then
		foot[#foot + 1] = (
			"note: %d events were overwritten before this shell read them"):format(
			lost)
	end
	if left_out > 0 then
		foot[#foot + 1] = ("note: the processes omitted %d events"):format(
			left_out)
	end
	if why == "size" then
		foot[#foot + 1] = ("note: stopped at %s; size= allows more"):format(
			units.bytes(w.limit))
	end
	if w.files > 1 then
		local before = math.min(w.files, w.keep) - 1
		local older = before > 1 and ", the files before it are %s.1 to .%d"
			or before == 1 and ", the file before it is %s.1" or ""
		foot[#foot + 1] = ("note: the last of %d files of %s%s"):format(
			w.files, units.bytes(w.limit), older:format(w.path, before))
	end
	for _, n in ipairs(notes or {}) do foot[#foot + 1] = n end
	return {
		schema = "trace/1", data = d, rows = { d }, id = "file", foot = foot,
		text = ("%s: %d events, %s; %s"):format(
			w.path, w.spans, units.bytes(w.bytes), WHY[why]),
		columns = { { "file" }, { "format" }, { "spans", num = true },
			{ "bytes", num = true }, { "lost", num = true }, { "left_out", num = true },
			{ "ended" } },
	}
end

local state_columns = {
	{ "recording", show = function(v) return v and "yes" or "no" end },
	{ "traces", num = true, merge = "range" },
	{ "events", show = function(v)
		return type(v) == "table" and #v > 0 and table.concat(v, " ") or "none"
	end },
	{ "written", num = true, merge = "range" }, { "in_ring", title = "IN RING", num = true,
		merge = "range" },
	{ "left_out", title = "LEFT OUT", num = true, merge = "range" },
	{ "room", num = true, flat = true },
}

local function state(ctx, line, opts)
	return read.command(ctx, {
		schema = ctx.row.words:gsub(" ", ".") .. "/1", line = line,
		id = function() return "trace" end, name = "written", opts = opts,
		columns = state_columns,
		rows = function(d)
			local row = lists.copy(d)
			row.recording, row.events = d.recording == true, read.record(d.events)
			return { row }
		end,
		foot = function(per)
			local notes = profiler.notes(per)
			for _, note in ipairs(profiler.refused(per)) do notes[#notes + 1] = note end
			return notes
		end,
	})
end

-- Return the error of a trace; the file has the events so far.
local function partial(w, err)
	if not errors.is(err) then
		local text = tostring(err)
		err = errors.new(text:find("not enough memory", 1, true) and "no_memory"
			or "internal", text)
	end
	return errors.because(err, "%s is incomplete: %d events were written before the error",
		w.path, w.spans)
end

-- ---- commands --------------------------------------------------------------------

-- Does events= name only events of GIN and of queue pairs? These need no profiler.
local function only_ours(events)
	if not events then return false end
	for word in events:gmatch "[^,]+" do
		if not word:find "^gin_" and not word:find "^verbs_" then return false end
	end
	return true
end

local function stream(ctx, o)
	local s = try(ctx:session())
	-- NCCL may load a profiler with the next communicator, if the user has set one with env
	-- set.
	if not only_ours(ctx.opt.events) and profiler.absent(s) then
		ctx.app:complain(
			"note: NCCL has not called the profiler; no events but those of GIN " ..
				"and of queue pairs come until it does\nhint: "
			.. profiler.hint(s:living()) .. "\n")
	end
	local w
	local kernels = gin.new()
	-- Open the file at the first reply: a refused trace must not replace an older file.
	local function open()
		if w then return end
		local why
		w, why = tracefile.open(o.file, o.format, o.size, s.job, o.keep)
		if not w then error(why, 0) end
	end
	local why, notes = "seconds", {}
	local lacks = missing(s)
	local take, losses, rest = taker(function(list, member)
		open()
		kernels:add(list, member)
		if not w:add(list, member) then
			why = "size"
			return true
		end
	end, s)
	-- Ctrl-C ends a trace without a limit.
	local interrupted, ok, good, failure = M.followed(
		s, line_of("trace start", ctx) .. " follow=yes", take, rest, ctx.opt.events, {
		till = o.seconds and clock.now() + o.seconds,
		gone = function(m)
			notes[#notes + 1] = ("note: %s went away"):format(merge.who { m })
		end,
	})
	if ok and good and not o.seconds and why ~= "size" then why = "gone" end
	if ok and good and #notes > 0 and #s:living() == 0 and why ~= "size" then why = "gone" end
	if interrupted then why = "interrupted" end
	if good and failure then
		notes[#notes + 1] = "note: the last events are missing: " .. failure.message
	end
	if not w then
		if not ok then error(good, 0) end
		if not good then return nil, failure end
		open()
	end
	local closed, err = w:close()
	if not ok then error(partial(w, good), 0) end
	if not good then return nil, partial(w, failure) end
	if not closed then return nil, partial(w, err) end
	local lost, left_out = losses()
	if why == "seconds" then table.move(profiler.first(s), 1, 2, #notes + 1, notes) end
	local refused = only_ours(ctx.opt.events) and {} or profiler.refused(s:ask "trace status")
	for _, note in ipairs(refused) do notes[#notes + 1] = note end
	local result = summary(w, why, lost, left_out, notes, kernels)
	result.failure = lacks
	return result
end

function M.cmd_start(ctx)
	local o = try(options(ctx))
	if o.file then return stream(ctx, o) end
	return state(ctx, line_of("trace start", ctx))
end

-- Read the events in the rings of all processes, one at a time, to save memory.
local function rings(s, each)
	local take, losses = taker(each, s)
	for _, m in ipairs(s:living()) do
		local ok, err = read_ring(s, m, nil, take)
		if not ok then return nil, err end
	end
	return losses()
end

function M.cmd_stop(ctx)
	local o = try(options(ctx))
	local result, err = state(ctx, "trace stop")
	if not result or not o.file then return result, err end
	local s = try(ctx:session())
	local w = try(tracefile.open(o.file, o.format, o.size, s.job))
	local why, kernels = "ring", gin.new()
	local ok, lost, left_out = pcall(rings, s, function(list, member)
		kernels:add(list, member)
		if not w:add(list, member) then
			why = "size"
			return true
		end
	end)
	local closed, err = w:close()
	if not ok then error(partial(w, lost), 0) end
	if not lost then return nil, partial(w, left_out) end
	if not closed then return nil, partial(w, err) end
	local result = summary(w, why, lost, left_out, nil, kernels)
	result.failure = missing(s)
	return result
end

function M.cmd_status(ctx)
	return state(ctx, "trace status")
end

return M
