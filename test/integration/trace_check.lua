-- SPDX-License-Identifier: MIT
-- Is a file in Chrome's trace format, as strictly as its readers could be:
--
--	trace_check.lua FILE [CODE]
--
-- The rules are those of the format's description ("Trace Event Format"), and
-- of what Perfetto's importer makes of it (src/trace_processor/importers/json
-- of its source): the first key it does not know ends the reading; some
-- versions take displayTimeUnit for the unit of all timestamps; timestamps
-- are decimal, with no exponent, or they lose what is behind the point; pid
-- and tid have 32 bits; thread_name names the last thread of that tid, of
-- whichever process; an arrow's id is a number or hexadecimal; arrows begin
-- and end in a slice of their thread, the one before them in the file; what
-- is neither in nor behind the slice before it is dropped.
--
-- CODE gets `events` (all), `slices` (the X ones), `of(cat)`, and `processes`
-- (by pid: their name); a failed assert is the verdict.
local path, code = arg[1], arg[2]
local encode = require "ncclbpf.core".encode
local decode = require "ncclbpf.core".decode
local f = assert(io.open(path))
local text = f:read "a"
f:close()
local t, why = decode(text)
assert(t, why and why.message)
assert(type(t.traceEvents) == "table", "no traceEvents")
for k in pairs(t) do assert(k == "traceEvents" or k == "otherData", "key " .. k) end
for v in text:gmatch '"ts":([^,}]*)' do assert(v:find "^%d+%.%d%d%d$", "ts " .. v) end
for v in text:gmatch '"dur":([^,}]*)' do assert(v:find "^%d+%.%d%d%d$", "dur " .. v) end

local events, slices, processes, threads = t.traceEvents, {}, {}, {}
local open, sources, sinks, owner, before = {}, {}, {}, {}, nil
local META = { process_name = "name", thread_name = "name", process_sort_index = "sort_index",
	thread_sort_index = "sort_index" }

local function check(e)
	assert(type(e.name) == "string" and e.name ~= "", "name")
	assert(math.type(e.pid) == "integer" and e.pid >= 0 and e.pid < 1 << 32, "pid")
	assert(math.type(e.tid) == "integer" and e.tid >= 0 and e.tid < 1 << 32, "tid")
	if e.ph == "M" then
		assert(META[e.name] and type(e.args) == "table", "metadata")
		local v = e.args[META[e.name]]
		assert(META[e.name] == "name" and type(v) == "string" or math.type(v) == "integer",
			"metadata's value")
		if e.name == "process_name" then
			assert(not processes[e.pid], "two names of a process")
			processes[e.pid] = v
		elseif e.name == "thread_name" then
			assert(not threads[e.pid .. "." .. e.tid], "two names of a thread")
			assert(not owner[e.tid], "two processes' threads of one number")
			owner[e.tid] = e.pid
			threads[e.pid .. "." .. e.tid] = v
		end
		return
	end
	assert(type(e.ts) == "number" and e.ts >= 0, "ts")
	assert(type(e.cat) == "string", "cat")
	local key = e.pid .. "." .. e.tid
	assert(processes[e.pid] and threads[key], "a thread without a name")
	local o = open[key] or { last = 0 }
	open[key] = o
	assert(e.ts >= o.last, "earlier than the one before it on its thread")
	o.last = e.ts
	if e.ph == "X" then
		assert(type(e.dur) == "number" and e.dur >= 0, "dur")
		assert(type(e.args) == "table", "args")
		-- what has ended by then is over; what has not holds it. Times
		-- are decimal: half a nanosecond is equal
		local stop = e.ts + e.dur
		while #o > 0 and o[#o] <= e.ts + 0.0005 do o[#o] = nil end
		assert(#o == 0 or stop <= o[#o] + 0.0005,
			"neither within nor behind the one before it")
		o[#o + 1] = stop
		slices[#slices + 1] = e
		before = e
		return
	end
	assert(math.type(e.id) == "integer" and e.id > 0, "an arrow's id")
	assert(before and before.pid == e.pid and before.tid == e.tid and before.ts == e.ts,
		"an arrow without its slice")
	if e.ph == "s" then
		assert(not sources[e.id], "two flows of one id")
		sources[e.id] = e.ts
	elseif e.ph == "f" then
		assert(sources[e.id] and sources[e.id] <= e.ts, "a flow that ends before it begins")
		assert(e.bp == "e" and not sinks[e.id], "a flow's end")
		sinks[e.id] = true
	else
		error("ph " .. tostring(e.ph))
	end
end

for i, e in ipairs(events) do
	local ok, bad = pcall(check, e)
	if not ok then
		error(("event %d: %s: %s"):format(i, bad, encode(e)), 0)
	end
end

local function of(cat)
	local list = {}
	for _, e in ipairs(slices) do
		if e.cat == cat then list[#list + 1] = e end
	end
	return list
end

if code then
	local env = setmetatable({ events = events, slices = slices, of = of, processes = processes,
		threads = threads, text = text, trace = t,
		encode = encode }, { __index = _G })
	assert(load(code, "=code", "t", env))()
end
