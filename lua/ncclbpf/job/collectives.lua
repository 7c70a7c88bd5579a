-- SPDX-License-Identifier: MIT
-- Collectives from the samples of all ranks of a job.
local read = require "ncclbpf.job.read"

local M = {}

-- "ring/ll128", what NCCL ran
function M.choice(t)
	local a, p = read.text(t.algo), read.text(t.proto)
	return (a or p) and ("%s/%s"):format(a or "?", p or "?") or "-"
end

-- The latest collectives of which all ranks here have a sample, from the answers to
-- `sample tail`: {id = {comm, coll, size, ran, seq, ns}}. A collective takes as long as its
-- slowest rank; ns is that rank's time.
function M.of(results)
	local ranks, ops = {}, {}
	for _, r in ipairs(results) do
		for _, c in ipairs(read.list(r.data, "comms")) do
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
	end
	for id, op in pairs(ops) do
		if op.n < ranks[op.comm] then ops[id] = nil end
	end
	return ops
end

return M
