-- SPDX-License-Identifier: MIT
-- report.lua DIRECTORY: the tables of the demo, from what collect.lua wrote: wire.json, loss.json
-- and tuned.json.
local dir = ...
local function file(name)
	local f = io.open(dir .. "/" .. name)
	if not f then return nil end
	local text = f:read "a"
	f:close()
	return text
end
local function run(name) return assert(nb.json.decode(assert(file(name .. ".json"), name))) end

local runs = { { "wire", "no loss" }, { "loss", "2 % loss" }, { "tuned", "2 % loss, tuned" } }
for _, r in ipairs(runs) do r.data = run(r[1]) end

local function us(ns) return ("%.0f"):format(ns / 1000) end
local function ms(ns) return ("%.2f"):format(ns / 1e6) end
local function put(fmt, ...) print((fmt:format(...):gsub("%s+$", ""))) end

-- ---- queue pairs -------------------------------------------------------------------

local wire = runs[1].data
put "Life of the queue pairs, microseconds since each was created (hook verbs/qp)"
put("%4s %6s %4s %6s %6s %8s %8s %8s %10s %6s", "RANK", "DEVICE", "QP", "PEER", "ERRORS", "INIT",
	"RTR", "RTS", "IN CHANGES", "ENDED")
for _, p in ipairs(wire.queue_pairs) do
	table.sort(p.list, function(a, b) return a.created_ns < b.created_ns end)
	for _, q in ipairs(p.list) do
		put("%4d %6d %4d %6d %6d %8s %8s %8s %10s %6s", p.rank, q.device, q.qp, q.peer_qp,
			q.errors, us(q.init_ns), us(q.rtr_ns), us(q.rts_ns), us(q.changing_ns),
			q.destroyed == 1 and "yes" or "no")
	end
end

put "\nConnections, from the first call to the last (hooks net/connect, net/accept)"
put("%4s %-8s %10s %9s %10s", "RANK", "KIND", "SET-UP us", "REQUESTS", "BYTES")
for _, p in ipairs(wire.connections) do
	for _, c in ipairs(p.list) do
		if c.kind < 2 then
			put("%4d %-8s %10s %9d %10d", p.rank, c.kind == 1 and "sending"
				or "receiving", us(c.setup_ns), c.requests, c.bytes)
		end
	end
end

-- ---- steps -------------------------------------------------------------------------

-- Times of the receives of one step, over ranks and rounds. The receiver sees a late send.
local function receives(data)
	local by, all = {}, {}
	for _, p in ipairs(data.steps) do
		local seen = {}
		for _, s in ipairs(p.list) do
			if s.send == 0 then
				seen[s.tag] = (seen[s.tag] or 0) + 1
				local x = { ns = s.end_ns - s.start_ns, rank = p.rank, step = s.tag,
					round = seen[s.tag] }
				by[s.tag] = by[s.tag] or {}
				table.insert(by[s.tag], x)
				all[#all + 1] = x
			end
		end
	end
	local function sort(t) table.sort(t, function(a, b) return a.ns < b.ns end) end
	for _, t in pairs(by) do sort(t) end
	sort(all)
	return by, all
end
local function at(t, q) return t[math.max(1, math.ceil(#t * q))].ns end

for _, r in ipairs(runs) do r.by, r.all = receives(r.data) end
put "\nReceives by step of the ring, milliseconds from post to completion (hook net/test)"
put("%-4s  %-22s  %-22s  %-22s", "", runs[1][2], runs[2][2], runs[3][2])
put("%4s%s", "STEP", (" %7s %7s %7s "):format("P50", "P99", "MAX"):rep(3))
local function row(name, lists)
	local t = {}
	for i, l in ipairs(lists) do
		t[i] = ("%8s%8s%8s"):format(ms(at(l, 0.5)), ms(at(l, 0.99)), ms(at(l, 1)))
	end
	put("%4s%s", name, table.concat(t))
end
local nsteps = 0
while runs[1].by[nsteps] do nsteps = nsteps + 1 end
for step = 0, nsteps - 1 do row(step, { runs[1].by[step], runs[2].by[step], runs[3].by[step] }) end
row("all", { runs[1].all, runs[2].all, runs[3].all })

put "\nThe slowest steps, and how many times the median without loss they took"
put("%-16s %4s %5s %4s %9s %7s", "RUN", "RANK", "ROUND", "STEP", "ms", "TIMES")
local median = at(runs[1].all, 0.5)
for _, r in ipairs(runs) do
	for i = #r.all, math.max(1, #r.all - 2), -1 do
		local x = r.all[i]
		put("%-16s %4d %5d %4d %9s %7.1f", r[2], x.rank, x.round, x.step, ms(x.ns),
			x.ns / median)
	end
end

-- ---- counters ----------------------------------------------------------------------

local names, devices = {}, {}
for _, r in ipairs(runs) do
	for d, c in pairs(r.data.counters) do
		if not devices[d] then devices[#devices + 1], devices[d] = d, true end
		for n in pairs(c) do
			if not names[n] then names[#names + 1], names[n] = n, true end
		end
	end
end
table.sort(names)
table.sort(devices)
local function sum(r, name)
	local n = 0
	for _, d in ipairs(devices) do n = n + r.data.counters[d][name] end
	return n
end
if #devices > 0 then
	put("\nCounters of the adapters %s, each run for itself", table.concat(devices, " and "))
	put("%-22s %10s %10s %16s", "", runs[1][2], runs[2][2], runs[3][2])
	for _, n in ipairs(names) do
		local t, before = {}, 0
		for i, r in ipairs(runs) do
			t[i] = sum(r, n) - before
			before = before + t[i]
		end
		put("%-22s %10d %10d %16d", n, t[1], t[2], t[3])
	end
end

-- ---- counts ------------------------------------------------------------------------

local hooks = {}
for _, p in ipairs(wire.calls) do
	for k, v in pairs(p.list[1]) do hooks[k] = (hooks[k] or 0) + v end
end
put "\nWhat the hooks counted, first run; trace rdma has the kernel's side of another round"
for _, row in ipairs { { "queue pairs created", "created" }, { "changes of state", "changed" },
	{ "queue pairs destroyed", "destroyed" }, { "posts to send queues", "post_send" },
	{ "posts to receive queues", "post_recv" }, { "completions", "completions" } } do
	put("%-26s %7d", row[1], hooks[row[2]] or 0)
end
