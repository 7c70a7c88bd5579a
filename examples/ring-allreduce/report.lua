-- SPDX-License-Identifier: MIT
-- report.lua: of the job NCCLBPF_JOB, what the policy net_steps has written
-- down: for each rank the time of every step of the ring and its jitter, and
-- the life of every connection.
local nb = require "ncclbpf"

local PARTS = 8
-- The shortest time of bucket @b (from 0), in ns.
local function from(b)
	if b < PARTS then return b end
	local top = b // PARTS + 2
	return (1 << top) + (b % PARTS << top - 3)
end

-- The middle of the bucket that contains the quantile @q.
local function quantile(step, q)
	local want, seen = step.count * q, 0
	for i, n in ipairs(step.bucket) do
		seen = seen + n
		if n > 0 and seen >= want then
			return math.min((from(i - 1) + from(i)) / 2, step.max_ns)
		end
	end
	return step.max_ns
end

local function us(ns) return ("%.1f"):format(ns / 1000) end
local KIND = { [0] = "recv", "send", "listen" }

local function sorted(entries, less)
	table.sort(entries, less)
	return entries
end

local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local steps = assert(job:map_dump { "steps", limit = 256 }).processes
local conns = assert(job:map_dump { "conns", limit = 1024 }).processes
local by_rank = function(a, b) return a.rank < b.rank end

print "Steps of the ring: microseconds from post to completion"
print(("%4s %4s %-5s %7s %9s %9s %9s %9s %9s")
	:format("RANK", "STEP", "KIND", "COUNT", "MEAN", "P50", "P99", "MAX", "JITTER"))
for _, p in ipairs(sorted(steps, by_rank)) do
	sorted(p.data.entries, function(a, b)
		if a.key.tag ~= b.key.tag then return a.key.tag < b.key.tag end
		return a.key.kind < b.key.kind
	end)
	for _, e in ipairs(p.data.entries) do
		local s = e.value
		print(("%4d %4d %-5s %7d %9s %9s %9s %9s %9s"):format(p.rank, e.key.tag,
			KIND[e.key.kind] or "flush", s.count, us(s.sum_ns / math.max(s.count, 1)),
			us(quantile(s, 0.5)), us(quantile(s, 0.99)), us(s.max_ns),
			us(s.jitter_ns / math.max(s.count - 1, 1))))
	end
end

print "\nConnections: set-up and life in microseconds; LINK is the same at both ends"
print(("%4s %5s %-6s %9s %11s %9s %12s %6s %-7s %s"):format(
	"RANK", "CONN", "KIND", "SET-UP", "LIFE", "REQUESTS", "BYTES", "QUEUE", "STATE", "LINK"))
for _, p in ipairs(sorted(conns, by_rank)) do
	for _, e in ipairs(sorted(p.data.entries, function(a, b) return a.key < b.key end)) do
		local c = e.value
		print(("%4d %5d %-6s %9s %11s %9d %12d %6d %-7s %s"):format(
			p.rank, e.key, KIND[c.kind], us(c.setup_ns), us(c.life_ns), c.requests,
			c.bytes, c.most_outstanding,
			c.errors > 0 and "errors" or c.closed > 0 and "closed" or "open",
			c.link == 0 and "-" or ("%016x"):format(c.link)))
	end
end
