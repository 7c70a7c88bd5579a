-- SPDX-License-Identifier: MIT
-- Evidence for the report: where a rollout ran, and each counted time, as CSV beside the rollout's
-- file. Only block medians decide; this file decides nothing.
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"

local M = {}

local HEAD = "block,generation,arm,comm,collective,size_bytes,ran,seq,time_ns\n"
local CHUNK = 1 << 20
M.PARTS = 100 -- quantiles in steps of one per cent

-- Return a value as a CSV word that needs no quotes.
local function word(v) return (tostring(v):gsub('[%s,"%c]', "_")) end

-- ---- writing ---------------------------------------------------------------------

-- Versions, policies with their digests, and communicators, as the job's processes report them.
-- @ask(line) -> the processes' answers
function M.where(ask)
	local status, out = ask "status", { hosts = core.array {}, processes = 0 }
	local hosts = {}
	for _, x in ipairs(status) do
		local host = read.text(x.data.host) or "unknown"
		if not hosts[host] then out.hosts[#out.hosts + 1] = host end
		hosts[host] = true
		out.times = out.times or read.text(x.data.times)
		out.library = out.library or read.text(x.data.library)
	end
	out.processes, out.version, out.tuner_abi = #status, status[1].data.version,
		status[1].data.tuner_abi
	out.policies, out.comms = core.array {}, core.array {}
	for _, p in ipairs(read.list(ask "policy list"[1].data, "policies")) do
		out.policies[#out.policies + 1] = { name = p.name, digest = p.digest }
	end
	for _, c in ipairs(read.list(ask "comm list"[1].data, "comms")) do
		out.comms[#out.comms + 1] = { comm = c.comm, ranks = c.ranks, nodes = c.nodes }
	end
	return out
end

-- Return {rank, ns}, the median of each rank's times by[rank], in order of ranks.
local function rank_medians(by)
	local out = core.array {}
	for rank, list in pairs(by) do
		out[#out + 1] = { rank = rank, ns = collectives.median(list) }
	end
	table.sort(out, lists.by "rank")
	return out
end

-- Return the median time of each rank; empty if the ranks of a process cannot be told apart.
local function by_rank(ops)
	local by = {}
	for _, op in ipairs(ops) do
		for rank, ns in pairs(op.by or {}) do lists.push(by, rank, ns) end
	end
	return rank_medians(by)
end

-- Store the collectives @ops of block @n: in the file @r.samples a line for each of them;
-- in @b their quantiles and the times of ranks. A write error is reported once and is
-- otherwise ignored.
function M.block(r, n, b, ops)
	local lines = {}
	b.spread, b.ranks = {}, {}
	for kind, list in pairs(ops) do
		local times = {}
		for i, op in ipairs(list) do
			times[i] = op.ns
			lines[#lines + 1] = ("%d,%s,%s,%s,%s,%d,%s,%d,%d"):format(
				n, word(b.generation), b.arm, word(op.comm), word(op.coll), op.size,
				word(op.ran), op.seq, op.ns)
		end
		local q = core.quantiles(times, M.PARTS)
		b.spread[kind] = { n = #times, p10_ns = q[11], p90_ns = q[91] }
		b.ranks[kind] = by_rank(list)
	end
	if #lines == 0 or not r.samples then return end
	local ok, err = core.append(r.samples, (core.stat(r.samples) and "" or HEAD)
		.. table.concat(lines, "\n") .. "\n")
	if not ok then r.samples_lost = r.samples_lost or err.message end
end

-- ---- reading ---------------------------------------------------------------------

-- Read the times of a file. entry(key) -> {list, n = 0} to append to, or false to skip; key is a
-- line without its last two fields.
local function each_line(path, entry)
	local f = io.open(path)
	if not f then return nil end
	local rest, entries, number = "", {}, tonumber
	for bytes in function() return f:read(CHUNK) end do
		bytes = rest .. bytes
		local last = bytes:match "^.*()\n" or 0
		rest = bytes:sub(last + 1)
		for key, ns in bytes:sub(1, last):gmatch "([^\n]*),%d+,(%d+)\n" do
			local e = entries[key]
			if e == nil then
				e = entry(key)
				entries[key] = e
			end
			if e then
				local list = e[1]
				list[#list + 1] = number(ns)
				e.n = e.n + 1
			end
		end
	end
	f:close()
	return entries
end

-- Return the bus bandwidth in GB/s of @bytes in @ns, as nccl-tests and `stats` define it. If the
-- number of ranks is unknown, return bytes over time.
local FACTOR = {
	allreduce = function(n) return 2 * (n - 1) / n end,
	allgather = function(n) return (n - 1) / n end,
	reducescatter = function(n) return (n - 1) / n end,
}
function M.bandwidth(coll, bytes, ranks, ns)
	local f = FACTOR[coll]
	return bytes / ns * (f and ranks and ranks > 1 and f(ranks) or 1)
end

local function ranks_of(r, comm)
	for _, c in ipairs(read.list(read.record(r.where), "comms")) do
		if c.comm == comm then return math.tointeger(c.ranks) end
	end
end

local function new_kind(r, kind)
	local coll, size, comm = collectives.parse(kind)
	return { coll = coll or tostring(kind), size = size or 0, comm = comm or "",
		ranks = ranks_of(r, comm), ran = {}, a = {}, b = {} }
end

-- Use the medians of blocks if the file has no times of collectives.
local function from_medians(r, kinds)
	for _, b in ipairs(r.blocks) do
		for kind, v in pairs(b.medians) do
			kinds[kind] = kinds[kind] or new_kind(r, kind)
			table.insert(kinds[kind][b.arm], v)
		end
	end
end

local function from_samples(r, kinds)
	local function entry(key)
		local n, generation, arm, comm, coll, size,
			ran = key:match "^(%d+),(%w+),([ab]),([^,]*),([^,]*),(%d+),([^,]*)$"
		local b = n and r.blocks[math.tointeger(tonumber(n))]
		-- Count a repeated block once.
		if not b or tostring(b.generation) ~= generation or b.arm ~= arm then
			return false
		end
		local kind = collectives.kind { coll = coll, comm = comm,
			size = math.tointeger(tonumber(size)) }
		local k = kinds[kind] or new_kind(r, kind)
		kinds[kind] = k
		k.ran[ran] = k.ran[ran] or { a = 0, b = 0 }
		return { k[arm], n = 0, ran = k.ran[ran], arm = arm }
	end
	local entries, all = each_line(r.samples, entry), 0
	for _, e in pairs(entries or {}) do
		if e then
			e.ran[e.arm] = e.ran[e.arm] + e.n
			all = all + e.n
		end
	end
	return all > 0 and all or nil
end

-- Set ranks_a and ranks_b of each kind of collective: for each rank, the median over the arm's
-- blocks of the rank's median time in the block.
local function ranks(r, kinds)
	for kind, k in pairs(kinds) do
		local by = { a = {}, b = {} }
		for _, b in ipairs(r.blocks) do
			for _, x in ipairs(read.list(read.record(b.ranks), kind)) do
				lists.push(by[b.arm], x.rank, x.ns)
			end
		end
		for arm, ranks_of_arm in pairs(by) do
			k["ranks_" .. arm] = rank_medians(ranks_of_arm)
		end
	end
end

-- M.labels(kinds) -> f(kind), a short name; without the communicator if all kinds share it
function M.labels(kinds)
	local comms, n = {}, 0
	for _, kind in ipairs(kinds) do
		local comm = kind:match " of (.*)$"
		if comm and not comms[comm] then comms[comm], n = true, n + 1 end
	end
	return function(kind) return n == 1 and (kind:gsub(" of .*$", "")) or kind end
end

-- M.read(r) -> {kinds = {kind = {coll, size, comm, ranks, ran = {choice = {a=, b=}},
-- a = {n, q_ns, busbw_gbs}, b = , ranks_a, ranks_b}}, samples = how many, of =
-- "collectives" | "blocks"}
-- q_ns: the 101 quantiles of 0 to 100 %; busbw_gbs: of the times at 10, 50 and 90 %.
function M.read(r)
	local kinds, of = {}, "collectives"
	local all = r.samples and from_samples(r, kinds)
	if not all then
		kinds, of, all = {}, "blocks", 0
		from_medians(r, kinds)
	end
	ranks(r, kinds)
	for _, k in pairs(kinds) do
		for _, arm in ipairs { "a", "b" } do
			local n, q = #k[arm], core.quantiles(k[arm], M.PARTS)
			if of == "blocks" then all = all + n end
			k[arm] = { n = n, q_ns = core.array(q) }
			if n > 0 then
				local function bw(i)
					return M.bandwidth(k.coll, k.size, k.ranks, q[i])
				end
				k[arm].busbw_gbs = { p10 = bw(91), p50 = bw(51), p90 = bw(11) }
			end
		end
	end
	return { kinds = kinds, samples = all, of = of }
end

return M
