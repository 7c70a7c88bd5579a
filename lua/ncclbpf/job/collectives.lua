-- SPDX-License-Identifier: MIT
-- Collectives from the samples of all ranks of a job.
local core = require "ncclbpf.core"
local read = require "ncclbpf.job.read"
local units = require "ncclbpf.base.units"

local M = {}

-- What is said wherever NCCL's own choice is shown and the library is RCCL.
M.RCCL = "RCCL changes the protocol of its own choice after it has asked the tuner: "

-- Return NCCL's words for what @kind names: "coll", "algo" or "proto".
function M.words_of(kind)
	local t, i = {}, 0
	while core.nccl(kind, i) do
		t[#t + 1] = core.nccl(kind, i)
		i = i + 1
	end
	return t
end

-- Return the algorithm and protocol that NCCL ran, such as "ring/ll128". A symmetric kernel has no
-- protocol.
function M.choice(t)
	local a, p = read.text(t.algo), read.text(t.proto)
	if not p then return a or "-" end
	return ("%s/%s"):format(a or "?", p)
end

-- Return the channels and the chunk size of an answer in words, each behind a blank: " x8 chunk
-- 256K"; "": NCCL's own.
function M.extras(t)
	local channels, chunk = read.number(t.channels), read.number(t.chunk_size)
	local size = units.bytes(chunk)
	return (channels > 0 and " x" .. channels or "") .. (chunk > 0 and " chunk "
		.. (size:find(".", 1, true) and tostring(chunk) or size) or "")
end

-- Return what NCCL offered, the bit mask @usable of its algorithms and protocols, in words: "ring,
-- tree/ll"
function M.offer(usable)
	local t = {}
	for a = 0, 6 do
		local set, protos = read.number(usable) >> 3 * a & 7, {}
		for p = 0, set == 7 and -1 or 2 do
			if set >> p & 1 == 1 then
				protos[#protos + 1] = ("%s/%s"):format(core.nccl("algo", a),
					core.nccl("proto", p))
			end
		end
		if set == 7 then protos[1] = core.nccl("algo", a) end
		table.move(protos, 1, #protos, #t + 1, t)
	end
	return #t > 0 and table.concat(t, ", ") or "nothing"
end

-- Return the name of a kind of collective: "allreduce 4M of ID"
function M.kind(op) return ("%s %s of %s"):format(op.coll, units.bytes(op.size), op.comm) end

-- Parse the name of a kind. -> collective, size in bytes, communicator | nil: not such a name
function M.parse(kind)
	local coll, size, comm = tostring(kind):match "^(%S+) (%S+) of (%S+)$"
	if coll then return coll, units.size(size), comm end
end

-- Kinds sorted by collective, size and communicator.
function M.kinds(t)
	local list, key = {}, {}
	for kind in pairs(t) do
		local coll, size, comm = M.parse(kind)
		list[#list + 1] = kind
		key[kind] = coll and ("%s %020d %s"):format(coll, size or 0, comm)
			or tostring(kind)
	end
	table.sort(list, function(a, b) return key[a] < key[b] end)
	return list
end

function M.median(times) return core.block_medians(times, #times)[1] end

-- Return the latest collectives of which all ranks here have a sample, from the answers to `sample
-- tail`: {id = {comm, coll, size, ran, seq, ns}}. ns is the time of the slowest rank, and so of the
-- collective.
function M.of(results)
	local ranks, ops = {}, {}
	for c in read.each(results, "comms") do
		ranks[c.comm] = (ranks[c.comm] or 0) + 1
		for _, s in ipairs(read.list(c, "samples")) do
			local id = ("%s %s %s"):format(c.comm, s.coll, s.seq)
			local op = ops[id] or {
				comm = c.comm, coll = s.coll,
				size = read.number(s.bytes_from), ran = M.choice(s),
				seq = read.number(s.seq), n = 0, ns = 0, by = {},
				ranks = math.tointeger(c.ranks) }
			op.by[read.number(c.comm_rank)] = read.number(s.exec_ns)
			op.n, op.ns = op.n + 1, math.max(op.ns, read.number(s.exec_ns))
			ops[id] = op
		end
	end
	for id, op in pairs(ops) do
		if op.n < ranks[op.comm] then ops[id] = nil end
	end
	return ops
end

-- NCCL numbers the collectives of each communicator and kind separately.
function M.line(op) return op.comm .. " " .. op.coll end

-- Return the largest number of collectives that were enqueued and have not ended, for each row of
-- the answers to `stats`.
local function in_flight(results)
	local open = {}
	for _, r in ipairs(results) do
		local here = {}
		for _, row in ipairs(read.list(r.data, "rows")) do
			local n = read.number(read.record(row.enqueue).count) - read.number(
				read.record(row.exec).count)
			local line = M.line(row)
			here[line] = (here[line] or 0) + math.max(n, 0)
		end
		for line, n in pairs(here) do
			open[line] = math.min(math.max(open[line] or 0, n), 1024)
		end
	end
	return open
end

-- Returns two values: for each row of `stats`, the number of the last collective that may
-- have been enqueued before now ({line = seq}); and the collectives so far. @ask(line):
-- sends a request and returns the answers of all processes
function M.until_now(ask)
	-- A collective that ends between the two answers counts as running, so none is missed.
	local flight = in_flight(ask "stats")
	local ops, seq = M.of(ask "sample tail count=1024"), {}
	for _, op in pairs(ops) do
		local line = M.line(op)
		seq[line] = math.max(seq[line] or -1, op.seq)
	end
	for line, n in pairs(flight) do seq[line] = (seq[line] or -1) + n end
	return seq, ops
end

return M
